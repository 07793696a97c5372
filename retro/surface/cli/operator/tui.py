"""`retro tui`: the owner's screens in this terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from retro.errors import UsageError
from retro.periods import format_instant
from retro.surface.cli.context import call

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("tui")(tui)


def tui(
    read_only: Annotated[
        bool, typer.Option("--read-only", help="nothing can be retried, skipped, resent")
    ] = False,
) -> None:
    """Show the owner's screens in this terminal, until q. Reading changes nothing; what was done is noted on stderr.

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
    notes: list[str] = []  # written when the terminal is given back: until then it is full of screens

    def note(sentence: str) -> None:
        notes.append(f"{format_instant(house.clock())} {sentence}")

    house = house_of_call()
    app = MirrorApp(house, note=None if read_only else note)
    app.run()
    for sentence in notes:
        call.say(sentence)
    raise typer.Exit(app.return_code or 0)
