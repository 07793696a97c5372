"""From evidence to an amendment, a pull request, and what became of it."""
