"""What is owed, claimed, made in stages and delivered: each review exactly once."""
