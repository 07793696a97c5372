"""What the evaluators say, as sections and pages."""
