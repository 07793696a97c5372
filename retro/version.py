"""The version of this package, in a module of its own so that nobody imports the root for it."""

__version__ = "0.1.0"
