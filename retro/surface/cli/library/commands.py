"""`retro library`: where its commands hang."""

from __future__ import annotations

import typer

from retro.surface.cli.library import items, layers, upkeep

__all__ = ["add_to", "app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What an agent knows, in words: found by meaning, in layers.",
)


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    items.add_to(app)
    upkeep.add_to(app)
    layers.add_to(app)
    parent.add_typer(app, name="library")
