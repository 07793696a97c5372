"""A position's whole life, measured."""
