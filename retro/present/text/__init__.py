"""A page as terminal text."""
