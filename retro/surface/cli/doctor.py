"""`retro doctor`: what works, what does not, and what to do about it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import typer

from retro.surface.cli.context import call
from retro.surface.cli.screen import print_findings

if TYPE_CHECKING:
    from retro.app.doctor.check import Check

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("doctor")(doctor)


def doctor() -> None:
    """Say what works and what does not; exit 1 if anything is broken.

    Example: retro doctor
    """
    from retro.app.doctor.examine import examine

    checks = examine(call.config_path, call.db, os.environ, now=time.time_ns() // 1000)
    if call.json:
        call.out_json([{"check": c.name, "state": c.state, "detail": c.detail} for c in checks])
    else:
        print_findings([(c.state, c.name, c.detail) for c in checks])
        call.say(_summary(checks))
    if any(check.state == "broken" for check in checks):
        call.code = 1


def _summary(checks: list[Check]) -> str:
    wrong = sum(check.state == "broken" for check in checks)
    notes = sum(check.state == "note" for check in checks)
    if wrong:
        return f"{wrong} broken, {notes} to know, {len(checks) - wrong - notes} in order"
    return f"everything works{f', {notes} to know' if notes else ''}"
