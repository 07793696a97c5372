"""Houses that several files here begin with."""

from tests.worlds.playbook_lives import lived, placed

__all__ = ["lived", "placed"]
