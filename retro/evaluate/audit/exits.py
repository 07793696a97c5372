"""What the positions themselves made that an exit row closed, beside the loss it avoided; and why an exit is not judged."""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING, Final

from playbook.citation import resolve
from retro.evaluate.position.foresight import EXIT_ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.evaluate.position.summary import PositionSummary
    from retro.report import HeuristicReport

__all__ = ["with_results"]

_RESULTS: Final = ("result_avg", "result_win_rate")
_NOT_AN_EXIT: Final = "for exits: an entry's outcomes are its positions' own results"
_NO_PRICE: Final = "no price after the exit: there is no mark near exit + holding time"
_WAITING: Final = "its time after the exit has not passed yet"
_NO_TIME: Final = "what was held for no time, or is no trade, has no exit to judge"


def with_results(
    rows: Iterable[HeuristicReport],
    summaries: Iterable[PositionSummary],
    claims: Mapping[str, str],
    start: int,
    end: int,
) -> list[HeuristicReport]:
    """The rows of an audit of [start, end), those of exits with what the positions made that they closed in it.

    An exit row without any outcome says whether a price is missing or its time has not come.
    """
    closed: dict[str, list[PositionSummary]] = defaultdict(list)
    for summary in summaries:
        if summary.closed_at is not None and start <= summary.closed_at < end:
            exits = (c for c in summary.decisions if c.action in EXIT_ACTIONS and not c.after_the_fact)
            for heuristic in resolve((cite for cited in exits for cite in cited.cites), claims):
                closed[heuristic].append(summary)
    return [_with_result(row, closed.get(row.heuristic_id, []), end) for row in rows]


def _with_result(row: HeuristicReport, closed: list[PositionSummary], end: int) -> HeuristicReport:
    if row.role != "exit":
        reasons = row.reasons | dict.fromkeys(_RESULTS, _NOT_AN_EXIT)
        return row.model_copy(update={"reasons": reasons})
    results = [made for summary in closed if (made := summary.final_pnl) is not None and summary.counts(made)]
    n, reasons = len(results), dict(row.reasons)
    if not n:
        reasons |= dict.fromkeys(_RESULTS, "it closed no position in the period")
    if closed and not row.evaluated_count:
        absent = [name for name, why in reasons.items() if why == reasons.get("win_rate")]
        reasons |= dict.fromkeys(absent, _unjudged(closed, end))
    return row.model_copy(
        update={
            "result_count": n,
            "result_avg": fsum(results) / n if n else None,
            "result_win_rate": sum(made > 0 for made in results) / n if n else None,
            "reasons": reasons,
        }
    )


def _unjudged(closed: Sequence[PositionSummary], end: int) -> str:
    """Why none of these exits has an outcome: no price for those that are due, time for those that wait."""
    times = [summary.exit_resolved_at for summary in closed if summary.exit_resolved_at is not None]
    waiting = sum(at >= end for at in times)
    if not times:
        return _NO_TIME
    if waiting == len(times):
        return _WAITING
    if not waiting:
        return _NO_PRICE
    return (
        f"no price after {len(times) - waiting:,} of {len(times):,} exits; {waiting:,} not due yet: judged only where marks"
        " of the time after them are told"
    )
