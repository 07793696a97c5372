"""The version of this package and of its definitions, in a module of its own so that nobody imports the root for them."""

__version__ = "0.1.0"

DEFINITIONS = 6
"""Counts the changes of docs/numbers.md that alter stored figures: 3 was release 0.1.0.

It is in the fingerprint of the settled book, so that an upgraded database settles again by itself, and in each report's
provenance, so that a revision can say that it follows other definitions than the one before.
"""

EDITION = f"{__version__}, definitions {DEFINITIONS}"
"""What two computers must have in common for their figures to be the same."""
