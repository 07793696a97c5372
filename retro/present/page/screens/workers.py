"""A fleet of workers, as a page: who works, what waits in how many buckets, what is stalled or parked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.figures import count
from retro.present.page.blocks import Figure, FigureList, page_of_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.present.page.blocks import Page
    from retro.report.metrics import ReworkCounts, WorkersReport

__all__ = ["workers_page"]


def workers_page(report: WorkersReport) -> Page:
    """What the engine says, and what the ledger has for it."""
    lag = "" if report.lag_s is None else f"the oldest for {report.lag_s / 3600:,.1f} h"
    letters = f"letters in {report.with_letters:,}"
    rows = (
        *_engine_rows(report),
        Figure("Buckets with work", f"{report.ripe:,} of {report.buckets:,}", letters),
        Figure("Due", f"{report.due:,}", lag),
        Figure("Running", f"{report.running:,}"),
        Figure("Parked", f"{report.parked:,}", tone="warn" if report.parked else "plain"),
    )
    return page_of_blocks(
        "Workers", "Fleet", "", _result(report), [FigureList((*rows, *_rework_rows(report.rework)))]
    )


def _result(report: WorkersReport) -> str:
    if not report.has_server:
        return "no workers: SQLite has one service"
    if report.engine is None:
        return "no engine yet: retro fleet init makes it"
    return count(report.engine.workers, "worker")


def _engine_rows(report: WorkersReport) -> tuple[Figure, ...]:
    if report.engine is None:
        return ()
    stalled = report.engine.stalled
    return (
        Figure("Knocks waiting", _by_queue(report.engine.waiting)),
        Figure("Knocks being answered", _by_queue(report.engine.answered)),
        Figure("Stalled", f"{stalled:,}", tone="warn" if stalled else "plain"),
    )


def _rework_rows(rework: ReworkCounts | None) -> tuple[Figure, ...]:
    if rework is None:
        return ()
    failed = f"{rework.failed:,} failed: `retro rework` begins with them anew" if rework.failed else ""
    counts = Figure(
        "To be looked at anew", count(rework.left, "agent"), failed, "warn" if failed else "plain"
    )
    return (counts, *(Figure(agent, "failed", reason) for agent, reason in rework.failures.items()))


def _by_queue(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{queue} {number:,}" for queue, number in sorted(counts.items())) or "none"
