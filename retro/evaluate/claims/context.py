"""What stood in front of the agent when it decided well, and when it did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retro.kernels import uncertainty
from retro.kernels.evaluators import attribution as kernel
from retro.periods import day_of, format_instant
from retro.report.evaluators.context import ContextItem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from retro.evaluate.claims.signals import DecisionSignal
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["context_items", "item_multipliers"]

_TOO_FEW: Final = f"insufficient: {{}} decisions with it and {{}} without, of {kernel.LEAST_WITH} and {kernel.LEAST_WITHOUT}"


def context_items(
    signals: Sequence[DecisionSignal], decay: float, zone: ZoneInfo, seed: int
) -> list[ContextItem]:
    """One row an item, best first; `signals` in the order in which decisions turned out, days are the owner's.

    A decision that names an item twice had it in front of it once.
    """
    names, item, step = _pairs(signals)
    signal = np.array([each.signal for each in signals], dtype=np.float64)
    days = np.array([day_of(each.decision.at, zone).toordinal() for each in signals], dtype=np.int64)
    credit = kernel.presence_credit(signal, item, step, len(names), decay)
    lifts = kernel.lifts(signal, days, item, step, len(names), seed)
    q = _adjusted([None if lift is None else lift.p for lift in lifts])
    last = np.zeros(len(names), np.int64)
    last[item] = step  # in order of step: the last one stands
    rows = [
        ContextItem(
            item=name,
            appearances=appearances,
            weight=weight,
            value=value,
            multiplier=multiplier,
            lift=None if lift is None else lift.lift,
            p=None if lift is None else lift.p,
            q=adjusted,
            last_at=format_instant(signals[newest].decision.at),
            reasons={}
            if lift is not None
            else dict.fromkeys(("lift", "p", "q"), _TOO_FEW.format(appearances, len(signals) - appearances)),
        )
        for name, appearances, weight, value, multiplier, lift, adjusted, newest in zip(
            names,
            credit.appearances.tolist(),
            credit.weight.tolist(),
            credit.value.tolist(),
            kernel.multipliers(credit.value).tolist(),
            lifts,
            q,
            last.tolist(),
            strict=True,
        )
    ]
    return sorted(rows, key=lambda row: (-row.value, row.item))


def item_multipliers(signals: Sequence[DecisionSignal], decay: float) -> dict[str, float]:
    """Item -> its `multiplier` alone, without what has to be drawn by lot: for who asks at every decision."""
    names, item, step = _pairs(signals)
    signal = np.array([each.signal for each in signals], dtype=np.float64)
    credit = kernel.presence_credit(signal, item, step, len(names), decay)
    return dict(zip(names, kernel.multipliers(credit.value).tolist(), strict=True))


def _pairs(signals: Sequence[DecisionSignal]) -> tuple[list[str], Integers, Integers]:
    """The items by name, and (item, step) of each that was there, in order of step."""
    shown = [sorted(set(each.decision.context_items or ())) for each in signals]
    names = sorted({name for items in shown for name in items})
    place = {name: number for number, name in enumerate(names)}
    item = np.array([place[name] for items in shown for name in items], dtype=np.int64)
    step = np.repeat(np.arange(len(shown)), [len(items) for items in shown]).astype(np.int64)
    return names, item, step


def _adjusted(p: Sequence[float | None]) -> list[float | None]:
    """Adjusted by Benjamini and Hochberg over those that have a p."""
    tested = [number for number, value in enumerate(p) if value is not None]
    values: Floats = uncertainty.benjamini_hochberg([value for value in p if value is not None])
    out: list[float | None] = [None] * len(p)
    for number, value in zip(tested, values.tolist(), strict=True):
        out[number] = value
    return out
