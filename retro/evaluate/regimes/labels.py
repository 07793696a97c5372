"""The regime in which each position was entered: as the agent stated it by then, or as marks before the entry say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from retro.kernels.evaluators.trends import market_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from retro.accounting.prices import PriceLine
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Decision

__all__ = ["RegimeLabels", "labels_from_marks", "stated_labels"]

_TRENDS: Final = {-1: "falling", 0: "flat", 1: "rising"}


@dataclass(frozen=True, slots=True)
class RegimeLabels:
    """Regimes `by_position`, and the `statements` of decisions: instants (microseconds) in order, each with its regime."""

    source: Literal["stated", "from marks"]
    by_position: Mapping[str, str]
    statements: Sequence[tuple[int, str]]


def stated_labels(rows: Iterable[PositionSummary], decisions: Sequence[Decision]) -> RegimeLabels | None:
    """What the agent stated when it entered; None where it never did.

    A decision counts up to the entry, an `enter` also later unless it came after the fact: who learns the regime while a
    position is open has not entered in it.
    """
    stated = sorted(
        (
            (decision.at, decision.id, decision, regime)
            for decision in decisions
            if (regime := _regime(decision))
        ),
        key=lambda row: row[:2],
    )
    if not stated:
        return None
    of_position: dict[str, list[tuple[Decision, str]]] = defaultdict(list)
    for _, _, decision, regime in stated:
        if decision.position:
            of_position[decision.position].append((decision, regime))
    labels: dict[str, str] = {}
    for row in rows:
        late = {cited.id for cited in row.decisions if cited.after_the_fact}
        for decision, regime in of_position.get(row.position, ()):
            entered = decision.action == "enter" and decision.id not in late
            if entered or decision.at <= row.opened_at:
                labels.setdefault(row.position, regime)
    return RegimeLabels("stated", labels, [(at, regime) for at, _, _, regime in stated])


def labels_from_marks(
    rows: Iterable[PositionSummary],
    decisions: Sequence[Decision],
    marks_of: Callable[[str, int, int], PriceLine],
) -> RegimeLabels:
    """Labels such as `rising calm`: only of marks before the entry, or the decision, of its own instrument.

    `marks_of` gives an instrument's marks for instants from one to another; it is asked once an instrument, in order.
    """
    entries: dict[str, list[tuple[int, str]]] = defaultdict(list)
    asked: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        entries[row.instrument].append((row.opened_at, row.position))
    for decision in decisions:
        if decision.instrument:
            asked[decision.instrument].append(decision.at)
    labels: dict[str, str] = {}
    statements: list[tuple[int, str]] = []
    for instrument in sorted({*entries, *asked}):
        moments = sorted({*asked[instrument], *(at for at, _ in entries[instrument])})
        known = _labels(marks_of(instrument, moments[0], moments[-1]), moments)
        labels |= {position: known[at] for at, position in entries[instrument] if at in known}
        statements += [(at, known[at]) for at in asked[instrument] if at in known]
    return RegimeLabels("from marks", labels, sorted(statements))


def _labels(line: PriceLine, moments: Sequence[int]) -> dict[int, str]:
    usable = line.at(line.price > 0)
    states = market_states(usable.t, usable.price, np.array(moments, np.int64))
    return {
        at: f"{_TRENDS[trend]} {'volatile' if is_volatile else 'calm'}"
        for at, trend, is_volatile, is_known in zip(
            moments, states.trend.tolist(), states.is_volatile.tolist(), states.is_known.tolist(), strict=True
        )
        if is_known
    }


def _regime(decision: Decision) -> str | None:
    regime = (decision.context or {}).get("regime")
    return regime if isinstance(regime, str) and regime else None
