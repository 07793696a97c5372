"""Commands that ask the evaluators."""
