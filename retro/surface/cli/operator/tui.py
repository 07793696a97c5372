"""`retro tui`: the owner's screens in this terminal."""

from __future__ import annotations

import sys

import typer

from retro.errors import UsageError

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("tui")(tui)


def tui() -> None:
    """Show the owner's screens in this terminal, until q. It reads what is stored, and changes nothing.

    Example: retro tui
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        raise UsageError("retro tui needs a terminal; `retro fleet` and `retro reviews` print the same")
    import gc

    gc.disable()  # nothing that is imported is ever garbage: to look through it costs a tenth of the start
    from retro.surface.cli.operator.house import house_of_call
    from retro.surface.tui.app import MirrorApp

    gc.freeze()
    gc.enable()
    app = MirrorApp(house_of_call())
    app.run()
    raise typer.Exit(app.return_code or 0)
