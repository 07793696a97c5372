"""`retro doctor` and `metrics`: what works, what does not and what to do about it; what a monitoring system watches."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("doctor")(doctor)
    parent.command("metrics")(metrics)


def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="without reading every row: what the screen Service shows")
    ] = False,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Say what works and what does not; exit 1 if anything is broken.

    Example: retro doctor
    """
    from retro.app.doctor.examine import examine
    from retro.present.page.screens.pages import findings_page

    checks = examine(call.config_path, call.db, os.environ, now=time.time_ns() // 1000, whole=not quick)
    answer(
        [{"check": c.name, "state": c.state, "detail": c.detail} for c in checks],
        lambda: findings_page([(c.state, c.name, c.detail) for c in checks]),
        form,
        output,
    )
    if any(check.state == "broken" for check in checks):
        call.code = 1


def metrics(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="write there, whole or not at all: a .prom file"),
    ] = None,
) -> None:
    """What a monitoring system watches, as OpenMetrics text: what waits, who works, ages, cost.

    Example: retro metrics --output /var/lib/node_exporter/retro.prom
    """
    import socket

    from retro.app.questions.metrics import metrics as measure
    from retro.present.openmetrics import openmetrics_of
    from retro.surface.cli.files import write_whole

    with call.store.read() as conn:
        families = measure(conn, call.config, socket.gethostname(), time.time_ns() // 1000)
    if output is not None:
        write_whole(output, openmetrics_of(families))
    elif call.json:
        call.out_json([family.model_dump(mode="json") for family in families])
    else:
        call.out(openmetrics_of(families))
