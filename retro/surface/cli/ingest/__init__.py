"""The commands of `retro ingest`."""

from __future__ import annotations

from retro.surface.cli.ingest.commands import add_to, app

__all__ = ["add_to", "app"]
