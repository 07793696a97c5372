"""`retro doctor`: what works, what does not, and what to do about it."""

from __future__ import annotations

import typer

from retro.surface.context import call

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("doctor")(doctor)


def doctor() -> None:
    """Check configuration, database, SQLite version, sources and playbooks; exit 1 when something is broken.

    Example: retro doctor
    """
    from retro.pipeline.doctor import examine

    checks = examine(call)
    if call.json:
        call.out_json([{"check": c.name, "state": c.state, "detail": c.detail} for c in checks])
    else:
        for check in checks:
            call.out(f"{check.state:<5} {check.name}: {check.detail}")
    if any(check.state == "broken" for check in checks):
        call.code = 1
