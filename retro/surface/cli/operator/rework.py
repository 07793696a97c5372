"""`retro rework`: every review of many agents looked at anew, beside the service, by all processors there are or a fleet's workers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import UsageError
from retro.figures import count
from retro.surface.cli.context import call, instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.app.engine.rework import ReworkSummary

__all__ = ["add_to"]

_EACH_S = 5.0
"""Seconds between two words of progress."""


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("rework")(rework)


def rework(
    since: Annotated[
        str | None, typer.Option("--since", metavar="T", help="only periods that end after this")
    ] = None,
    agents: Annotated[
        Path | None, typer.Option("--agents", metavar="FILE", help="only these agents, a name a line")
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", metavar="E", help="processes, workers (of a fleet), dask:ADDRESS")
    ] = "processes",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="leave a rework that is not finished as it is")
    ] = False,
) -> None:
    """Look at every review that is done anew, beside the service; of which a figure has moved gets a new revision.

    Computed by all processors, a hundred agents at a time, and stored agent by agent where nothing was told of it
    meanwhile. Killed, it goes on where it was when it is called again without options. With --executor workers it is
    written down for the workers of a fleet, and the command ends (docs/fleet.md).

    Example: retro rework --since 2026-01-01
    """
    from retro.app.engine.executors import computers
    from retro.app.engine.rework import rework as work_off
    from retro.app.engine.wiring import bench_of
    from retro.surface.cli.operator.agents import clock

    if abandon:
        _abandon()
        return
    chosen = None if agents is None else _names(agents)
    after = None if since is None else instant(since, "--since")
    if executor == "workers":
        _hand_to_workers(chosen, after)
        return
    owner = f"rework:{os.getpid()}:{time.time_ns()}"
    bench = bench_of(call.store, call.config, os.environ, clock=clock, owner=owner, host=os.uname().nodename)
    with computers(executor) as (pool, at_once):
        _write_down(chosen, after, by_workers=False)  # where nobody computes there is nothing to go on with
        _tell(work_off(bench, pool, at_once, _Progress()))


def _names(file: Path) -> list[str]:
    """The agents that a file names; `UsageError` with its line where there is none of that name."""
    known = set(call.agents())
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    names = {line.strip(): number for number, line in enumerate(lines, 1) if line.strip()}
    for name, number in names.items():
        if name not in known:
            raise UsageError(f"{file} line {number}: there is no agent {name!r}; `retro agents` lists them")
    if not names:
        raise UsageError(f"{file} names no agent")
    return sorted(names)


def _write_down(chosen: list[str] | None, since: int | None, *, by_workers: bool) -> int:
    """What is to be done, unless an earlier call has left something to do, and by whom; how many agents."""
    from retro.store import rework as work
    from retro.surface.cli.operator.agents import clock

    names = call.agents() if chosen is None else chosen
    with call.store.write() as conn:
        left = work.count_open(conn)
        if left and (since is not None or chosen is not None):
            raise UsageError(
                f"a rework of {left:,} agents is not finished: `retro rework` goes on with it, --abandon leaves it"
            )
        failures = work.failures(conn)
        if not left:
            work.enlist(conn, names, since or 0, clock())
        work.hand_over(conn, by_workers=by_workers)
    if left:
        _tell_failures(failures)
        call.say(f"going on with {left:,} agents")
    return left or len(names)


def _hand_to_workers(chosen: list[str] | None, since: int | None) -> None:
    """Write down what is to be done, and leave it to whoever works on this database."""
    from retro.store.migrations.engine import has_engine

    with call.store.read() as conn:
        if call.store.dialect != "postgresql" or not has_engine(conn):
            raise UsageError(
                "--executor workers leaves it to a fleet: a PostgreSQL, once `retro fleet init`, then"
                " `retro worker --queues rework`"
            )
    agents = _write_down(chosen, since, by_workers=True)
    if call.json:
        call.out_json({"left": agents})
    else:
        call.out(
            f"{count(agents, 'agent')} to be looked at anew by workers of the queue rework;"
            " how many are left: retro fleet status"
        )


def _abandon() -> None:
    from retro.store.rework import abandon as strike_all

    with call.store.write() as conn:
        left = strike_all(conn)
    call.out(f"{left:,} agents are left as they are")


class _Progress:
    """A line on stderr now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, summary: ReworkSummary, left: int) -> None:
        if time.monotonic() - self._last >= _EACH_S:
            self._last = time.monotonic()
            call.say(f"{summary.agents:,} agents, {summary.reviews:,} reviews, {left:,} agents left")


def _tell_failures(failures: Mapping[str, str]) -> None:
    for agent, reason in sorted(failures.items()):
        call.say(f"{agent}: {reason}")


def _tell(summary: ReworkSummary) -> None:
    _tell_failures(summary.failures)
    call.code = 1 if summary.failures else 0
    if call.json:
        call.out_json(
            {
                "agents": summary.agents, "reviews": summary.reviews, "revised": summary.revised,
                "again": summary.again, "failures": summary.failures,
            }
        )  # fmt: skip
    else:
        failed = (
            f"; {len(summary.failures):,} agents failed and wait for another call" if summary.failures else ""
        )
        call.out(
            f"{summary.agents:,} agents, {summary.reviews:,} reviews looked at, {summary.revised:,} made again{failed}"
        )
