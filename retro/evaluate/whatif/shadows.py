"""Strategies that run beside the real one, day by day, and what their differences prove."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from math import fsum
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.evaluate.whatif.replay import replays
from retro.kernels.evaluators.paired_days import chance_of_none, holm_levels, peak, stationary_means
from retro.report.evaluators.shadows import ShadowRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.kernels.uncertainty import Floats
    from retro.report.evaluators.shadows import ShadowVerdict

__all__ = ["PairedDays", "ShadowStrategy", "ShadowTerms", "judged", "paired_by_rule"]

_LEVEL: Final = 0.05
_FLOOR: Final = 0.005
_ROUNDING: Final = 1e-12
"""A day's difference that is a smaller share of its money is rounding, and no difference."""
"""Of the capital: a share of a smaller result would make any difference large."""


@dataclass(frozen=True, slots=True)
class ShadowStrategy:
    """A rule that runs forward from the start of a day on."""

    name: str
    rule: WhatIfRule
    since: date


@dataclass(frozen=True, slots=True)
class ShadowTerms:
    """When a shadow is judged, in days, and by how much it has to be better to be promoted."""

    min_days: int = 7
    promote_at: float = 0.10


@dataclass(frozen=True, slots=True, eq=False)
class PairedDays:
    """What a shadow and the real strategy made on the same days, (d,) each; `first` is the number of the first.

    `days` is how many whole days it has run; `difference` is exactly 0 on days on which both did the same. `at_risk`
    is the most money that stood in positions at once.
    """

    name: str
    rule: str | None
    first: int
    days: int
    real: Floats
    shadow: Floats
    difference: Floats
    at_risk: float


def paired_by_rule(
    name: str, rule: WhatIfRule, lives: EnteredLives, since: int, known_until: int
) -> PairedDays:
    """A rule run forward over positions entered from a day on, up to the last whole day before K.

    What a position made counts on the day of its exit: the rule's on the day on which it leaves, the real one's on the
    day on which it was closed. What is still open in both counts nowhere yet.
    """
    days = max(0, int(lives.days(np.array([known_until]))[0]) - since)
    [replay] = replays(lives, [rule])
    acts = replay.at >= 0

    def by_day(at: np.ndarray, amounts: Floats, which: np.ndarray) -> Floats:
        place = lives.days(at[which]) - since
        inside = place < days
        return np.bincount(place[inside], amounts[which][inside], days).astype(np.float64)

    real = by_day(lives.left_at, lives.real, lives.closed)
    shadow = by_day(replay.left_at(lives), replay.pnl, acts | lives.closed)
    changed = replay.touched & (replay.pnl != lives.real) | acts
    difference = by_day(replay.left_at(lives), replay.pnl, changed & (acts | lives.closed)) - by_day(
        lives.left_at, lives.real, changed & lives.closed
    )
    rounding = _ROUNDING * (np.abs(real) + np.abs(shadow) + lives.notional.max(initial=0.0))
    difference[np.abs(difference) <= rounding] = 0.0
    at_risk = peak(lives.entered.at.tolist(), lives.left_at.tolist(), lives.notional.tolist())
    return PairedDays(name, rule.text, since, days, real, shadow, difference, at_risk)


def judged(
    shadows: Sequence[PairedDays], terms: ShadowTerms, capital: float | None, seed: int
) -> list[ShadowRow]:
    """What each is worth, by name; those that have run long enough are one family of comparisons."""
    ordered = sorted(shadows, key=lambda series: series.name)
    means = [
        None if _missing(series, terms) else stationary_means(series.difference, np.random.default_rng(seed))
        for series in ordered
    ]
    p = [chance_of_none(drawn) for drawn in means if drawn is not None]
    levels = iter(holm_levels(p, _LEVEL))
    return [
        _row(series, terms, capital, drawn, 0.0 if drawn is None else next(levels))
        for series, drawn in zip(ordered, means, strict=True)
    ]


def _row(
    series: PairedDays, terms: ShadowTerms, capital: float | None, drawn: Floats | None, level: float
) -> ShadowRow:
    real, shadow = fsum(series.real.tolist()), fsum(series.shadow.tolist())
    better, reasons = None, {}
    bound: float | None = None
    verdict: ShadowVerdict = "insufficient"
    if drawn is None:
        reasons["outperformance"] = reasons["bound"] = reasons["verdict"] = _missing(series, terms)
    else:
        size = max(abs(real), _FLOOR * (capital or series.at_risk))
        better = fsum(series.difference.tolist()) / size if size else None
        if better is None:
            reasons["outperformance"] = "nothing was made, and no capital and no position is known"
        # behind the first comparison that fails nothing is proven: those are bounded at the strictest level
        bound = float(np.percentile(drawn, 100 * (level or _LEVEL)))
        if not level:
            reasons["bound"] = (
                "another shadow with a smaller p is not proven, so this one is not either (Holm)"
            )
        upper = float(np.percentile(drawn, 100 * (1 - _LEVEL)))
        is_better = better is not None and better >= terms.promote_at and bound > 0 and level > 0
        if is_better:
            verdict = "promote" if shadow > 0 else "less_bad"
        else:
            verdict = "reject" if upper < 0 else "keep_running"
    return ShadowRow(
        name=series.name,
        rule=series.rule,
        since=date.fromordinal(series.first).isoformat(),
        days=series.days,
        paired=_paired(series),
        real=real,
        shadow=shadow,
        outperformance=better,
        bound=bound,
        verdict=verdict,
        reasons=reasons,
    )


def _paired(series: PairedDays) -> int:
    return int(np.count_nonzero(series.difference))


def _missing(series: PairedDays, terms: ShadowTerms) -> str:
    """What there is too little of; empty where there is enough."""
    parts = []
    if series.days < terms.min_days:
        parts.append(f"{series.days} of {terms.min_days} days")
    if _paired(series) < terms.min_days:
        parts.append(f"{_paired(series)} of {terms.min_days} days with a difference")
    return " and ".join(parts)
