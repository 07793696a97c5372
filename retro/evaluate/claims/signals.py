"""How each decision turned out, from -1 to 1: by the predictions made for it, else by what became of its position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retro.accounting.order import natural_key
from retro.evaluate.audit.history import identity
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Decision

__all__ = ["DecisionSignal", "signals_of"]


@dataclass(frozen=True, slots=True)
class DecisionSignal:
    """A decision that turned out: `signal` in [-1, 1], above 0 for the better; instants in microseconds."""

    decision: Decision
    resolved_at: int
    signal: float


class _Verdicts(NamedTuple):
    """What the judged predictions of a decision say together."""

    right: float
    judged: int
    resolved_at: int


def signals_of(
    decisions: Iterable[Decision],
    claims: ClaimHistory,
    rows: Mapping[str, PositionSummary],
    entry_outcome: Literal["final_pnl", "vs_inaction"],
    before: int,
) -> list[DecisionSignal]:
    """The decisions that had turned out before an instant, in the order in which they did; ties by decision.

    2 x accuracy - 1 over the judged predictions that name it, resolved with the last of them; without any, the sign of
    what the audit counts for it. `rows` are the positions by the name that decisions give them.
    """
    verdicts = _verdicts(claims.before(before).records)
    out = []
    for decision in decisions:
        spoke = verdicts.get(identity(decision.id))
        if spoke is not None:
            out.append(DecisionSignal(decision, spoke.resolved_at, 2 * spoke.right / spoke.judged - 1))
            continue
        row = rows.get(decision.position or "")
        outcome = None if row is None else _outcome(decision, row, entry_outcome)
        if outcome is not None and outcome[1] < before:
            value, at = outcome
            out.append(DecisionSignal(decision, at, float((value > 0) - (value < 0))))
    return sorted(out, key=lambda each: (each.resolved_at, natural_key(each.decision.id)))


def _verdicts(records: NDArray[Any]) -> dict[int, _Verdicts]:
    """Decision -> its judged predictions."""
    judged = records[~np.isnan(records["verdict"]) & (records["decision"] != 0)]
    names, place = np.unique(judged["decision"], return_inverse=True)
    right = np.bincount(place, judged["verdict"], len(names))
    count = np.bincount(place, minlength=len(names))
    last = np.zeros(len(names), np.int64)
    np.maximum.at(last, place, judged["resolved_at"])
    rows = zip(names.tolist(), right.tolist(), count.tolist(), last.tolist(), strict=True)
    return {name: _Verdicts(hits, n, at) for name, hits, n, at in rows}


def _outcome(
    decision: Decision, row: PositionSummary, entry_outcome: Literal["final_pnl", "vs_inaction"]
) -> tuple[float, int] | None:
    """What the audit counts for a decision, and when that was known; None where nothing can be, or it came after the fact."""
    late = any(cited.after_the_fact and cited.id == decision.id for cited in row.decisions)
    if late or row.closed_at is None or decision.at > row.closed_at:
        return None
    value, at = None, None
    if decision.action in EXIT_ACTIONS:
        value, at = row.exit_outcome, row.exit_resolved_at
    elif decision.action in ENTRY_ACTIONS:
        value, at = row.final_pnl if entry_outcome == "final_pnl" else row.vs_inaction, row.closed_at
        own = _increased(decision, row)
        value = value if own is None else own
    return None if value is None or at is None or not row.counts(value) else (value, at)


def _increased(decision: Decision, row: PositionSummary) -> float | None:
    """What the lots made that an increase put in; None where they are not told apart from the entry's."""
    if decision.action != "increase":
        return None
    cites = set(cites_of(decision))
    parts = [pnl for cited, pnl in row.increases if cites.issuperset(cited)]
    return sum(parts) if parts else None
