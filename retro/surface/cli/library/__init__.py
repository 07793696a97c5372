"""The commands of `retro library`."""

from __future__ import annotations

from retro.surface.cli.library.commands import add_to, app

__all__ = ["add_to", "app"]
