"""Whether an agent is still learning: lives of its rules, its competence, this week against the one before."""
