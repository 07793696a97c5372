"""The adapter of our own journal."""
