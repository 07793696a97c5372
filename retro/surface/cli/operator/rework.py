"""`retro rework`: every review of many agents looked at anew, beside the service, by all processors there are."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call, instant

if TYPE_CHECKING:
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
        str, typer.Option("--executor", metavar="E", help="processes, or dask:ADDRESS of a scheduler")
    ] = "processes",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="leave a rework that is not finished as it is")
    ] = False,
) -> None:
    """Look at every review that is done anew, beside the service; of which a figure has moved gets a new revision.

    Computed by all processors, a hundred agents at a time, and stored agent by agent where nothing was told of it
    meanwhile. Killed, it goes on where it was when it is called again without options (docs/fleet.md).

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
    owner = f"rework:{os.getpid()}:{time.time_ns()}"
    bench = bench_of(call.store, call.config, os.environ, clock=clock, owner=owner, host=os.uname().nodename)
    with computers(executor) as (pool, at_once):
        _write_down(chosen, after)  # where nobody computes there is nothing to go on with
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


def _write_down(chosen: list[str] | None, since: int | None) -> None:
    """What is to be done, unless an earlier call has left something to do."""
    from retro.store.rework import enlist, open_units
    from retro.surface.cli.operator.agents import clock

    names = call.agents() if chosen is None else chosen
    with call.store.write() as conn:
        left = sum(len(unit.agents) for unit in open_units(conn))
        if left and (since is not None or chosen is not None):
            raise UsageError(
                f"a rework of {left:,} agents is not finished: `retro rework` goes on with it, --abandon leaves it"
            )
        if not left:
            enlist(conn, names, since or 0, clock())
    if left:
        call.say(f"going on with {left:,} agents")


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


def _tell(summary: ReworkSummary) -> None:
    for agent, reason in sorted(summary.failures.items()):
        call.say(f"{agent}: {reason}")
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
