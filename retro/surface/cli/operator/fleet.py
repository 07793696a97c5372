"""`retro fleet`: every agent on one page; the engine of a fleet of workers, and `retro worker`, one of them."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final, get_args

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]

fleet_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Every agent on one page: who wants you, and what the last complete week came to.",
    epilog="Example: retro fleet --format html -o fleet.html",
)
_PORT: Final = 65535


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(fleet_app, name="fleet")
    parent.command("worker")(worker)


@fleet_app.callback()
def fleet(
    context: typer.Context,
    week: Annotated[
        str | None, typer.Option("--week", metavar="2026-W47", help="default: the newest that is reviewed")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="agents listed by name")] = 50,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Every agent on one page: who wants you, and what the last complete week came to. Reads what is stored.

    Example: retro fleet --format html -o fleet.html
    """
    if context.invoked_subcommand is not None:
        return
    from retro.app.questions.fleet import FleetQuestion
    from retro.app.questions.fleet import fleet as ask
    from retro.present.page.fleet import page_of_fleet
    from retro.safe import clean

    if limit < 1:
        raise UsageError(f"--limit: {limit} is no number of rows; 1 is the least")
    question = FleetQuestion(time.time_ns() // 1000, limit, week)
    report = clean(ask(call.store, call.config, question))
    if not report.agents:
        call.say("no agents yet; start with: retro ingest journal FILE, or retro ingest freqtrade DB")
    answer(report.model_dump(mode="json"), lambda: page_of_fleet(report), form, output)


@fleet_app.command("init")
def init() -> None:
    """Make the tables of the engine that knocks for workers, in a schema of their own. Twice does no harm.

    Example: retro --db postgresql://retro@db.example.org/retro fleet init
    """
    from retro.daemon.fleet import install

    made = install(call.store)
    if call.json:
        call.out_json({"made": made})
    else:
        call.out(
            "the engine's tables are made; start workers: retro worker" if made else "the tables are there"
        )


@fleet_app.command("status")
def status(form: PageFormat = "text", output: PageOutput = None) -> None:
    """Say how a fleet of workers is: who works, what waits in how many buckets, what is stalled or parked.

    Example: retro fleet status --json
    """
    from retro.app.questions.engine import workers
    from retro.present.page.screens.workers import workers_page

    report = workers(call.store, time.time_ns() // 1000)
    answer(report.model_dump(mode="json"), lambda: workers_page(report), form, output)


def worker(
    queues: Annotated[
        str, typer.Option("--queues", metavar="Q,...", help="stream, letters, rework")
    ] = "stream,letters",
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=64, help="knocks answered at a time")
    ] = 1,
    page: Annotated[
        str, typer.Option("--page", metavar="[HOST:]PORT", help="serve /healthz and /metrics there")
    ] = "",
) -> None:
    """Work on a PostgreSQL among many: one process a core, on any number of hosts. Ends in good order at SIGTERM.

    Example: retro worker --queues stream,letters --page 9464
    """
    from retro.daemon.fleet import WorkerTerms, work
    from retro.surface.cli.service import orders

    call.code = work(orders(), WorkerTerms(_queues(queues), concurrency, _address(page)))


def _queues(text: str) -> tuple[Any, ...]:
    from retro.app.context import Queue

    known: tuple[str, ...] = get_args(Queue)
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise UsageError(f"--queues: there is no queue {name!r}; it takes {', '.join(known)}")
    return names


def _address(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _PORT):
        raise UsageError(f"--page: {text!r} is no port; it takes PORT or HOST:PORT, as 9464 or 0.0.0.0:9464")
    return host.strip("[]") or "127.0.0.1", int(port)
