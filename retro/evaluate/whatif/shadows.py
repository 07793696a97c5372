"""Strategies that run beside the real one, day by day, and what their differences prove."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from itertools import compress
from math import fsum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.evaluate.records import SHADOW_EXIT_COLUMNS
from retro.evaluate.whatif.entered import days_of
from retro.evaluate.whatif.replay import replays
from retro.kernels.evaluators.paired_days import chance_of_none, holm_levels, peak, stationary_means
from retro.report.evaluators.shadows import ShadowRow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.evaluate.terms import ShadowTerms
    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import ShadowStrategy, WhatIfRule
    from retro.kernels.uncertainty import Floats, Integers
    from retro.report.evaluators.shadows import ShadowVerdict

__all__ = [
    "SHADOW_EXIT",
    "PairedDays",
    "ShadowExits",
    "exits_by_rule",
    "judged",
    "paired_by_rule",
]

_LEVEL: Final = 0.05
_FLOOR: Final = 0.005
"""Of the capital: a share of a smaller result would make any difference large."""
_ROUNDING: Final = 1e-12
"""A day's difference that is a smaller share of its money is rounding, and no difference."""


SHADOW_EXIT: Final = np.dtype(list(SHADOW_EXIT_COLUMNS))
"""One position beside what a rule made of it, instants in microseconds, money in base currency.

`left_at` is its exit, K of an open one; `real` what it made by then. `shadow_at` and `shadow` are the rule's: where it
`acts` it left by itself, `changed` says that it made another result. What is not believed or priced `counts` nowhere.
From `final_at` on it stands as it is, whatever comes later: FOREVER of what is open or has no price yet.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ShadowExits:
    """Positions (n,) by their names, oldest first, with a record of `SHADOW_EXIT` each."""

    names: Sequence[str] = ()
    records: NDArray[Any] = field(default_factory=lambda: np.empty(0, SHADOW_EXIT))

    def where(self, chosen: NDArray[np.bool_]) -> ShadowExits:
        """Some of them."""
        if chosen.all():
            return self
        return ShadowExits(list(compress(self.names, chosen.tolist())), self.records[chosen])

    def since(self, at: int) -> ShadowExits:
        """Those entered from an instant on."""
        return self.where(self.records["opened_at"] >= at)

    def until(self, now: int) -> ShadowExits:
        """Those entered by an instant."""
        return self.where(self.records["opened_at"] <= now)

    def running(self, now: int) -> list[str]:
        """The names of those that were not yet final at an instant."""
        return [self.names[place] for place in np.flatnonzero(self.records["final_at"] > now).tolist()]

    def with_replayed(self, replayed: ShadowExits, now: int) -> ShadowExits:
        """What was not yet final at an instant as it was replayed, in its own place; what was not, is left out."""
        fresh = dict(zip(replayed.names, replayed.records, strict=True))
        records, keeps = self.records.copy(), self.records["final_at"] <= now
        for place in np.flatnonzero(~keeps).tolist():
            record = fresh.get(self.names[place])
            if record is not None:
                records[place], keeps[place] = record, True
        return ShadowExits(self.names, records).where(keeps)


@dataclass(frozen=True, slots=True, eq=False)
class PairedDays:
    """What a shadow and the real strategy made on the same days, (d,) each; `first` is the number of the first.

    `days` is how many whole days it has run; `difference` is exactly 0 on days on which both did the same. `capital` is
    what the agent began with or, where that is not known, the most money that stood in positions at once.
    """

    name: str
    rule: str | None
    first: int
    days: int
    real: Floats
    shadow: Floats
    difference: Floats
    capital: float


def exits_by_rule(lives: EnteredLives, rule: WhatIfRule, final_at: Integers) -> ShadowExits:
    """What a rule made of each position; `final_at` (n,) as `SHADOW_EXIT` has it."""
    [replay] = replays(lives, [rule])
    acts = replay.at >= 0
    records = np.empty(len(lives), SHADOW_EXIT)
    records["opened_at"], records["left_at"] = lives.entered.at, lives.left_at
    records["closed"], records["real"], records["notional"] = lives.closed, lives.real, lives.notional
    records["shadow_at"], records["shadow"], records["acts"] = replay.left_at(lives), replay.pnl, acts
    records["changed"] = replay.touched & (replay.pnl != lives.real) | acts
    records["counts"], records["final_at"] = True, final_at
    return ShadowExits(lives.names, records)


def paired_by_rule(
    strategy: ShadowStrategy, exits: ShadowExits, known_until: int, zone: ZoneInfo, capital: float | None
) -> PairedDays:
    """A rule run forward over positions entered from its day on, up to the last whole day before K.

    `capital` is what the agent began with, None where that is not known.

    What a position made counts on the day of its exit: the rule's on the day on which it leaves, the real one's on the
    day on which it was closed. What is still open in both counts nowhere yet.
    """
    since = strategy.since.toordinal()
    days = max(0, int(days_of(np.array([known_until]), zone)[0]) - since)
    rows = exits.records[exits.records["counts"]]
    closed, acts, changed = rows["closed"], rows["acts"], rows["changed"]
    real_day, shadow_day = (days_of(rows[name], zone) - since for name in ("left_at", "shadow_at"))

    def by_day(place: Integers, amounts: Floats, which: NDArray[np.bool_]) -> Floats:
        inside = which & (place < days)
        return np.bincount(place[inside], amounts[inside], days).astype(np.float64)

    real = by_day(real_day, rows["real"], closed)
    shadow = by_day(shadow_day, rows["shadow"], acts | closed)
    difference = by_day(shadow_day, rows["shadow"], changed & (acts | closed)) - by_day(
        real_day, rows["real"], changed & closed
    )
    rounding = _ROUNDING * (np.abs(real) + np.abs(shadow) + rows["notional"].max(initial=0.0))
    difference[np.abs(difference) <= rounding] = 0.0
    whole = capital or peak(rows["opened_at"], rows["left_at"], rows["notional"])
    return PairedDays(strategy.name, strategy.rule.text, since, days, real, shadow, difference, whole)


def judged(shadows: Sequence[PairedDays], terms: ShadowTerms, seed: int) -> list[ShadowRow]:
    """What each is worth, by name; those that have run long enough are one family of comparisons."""
    ordered = sorted(shadows, key=lambda series: series.name)
    means = _drawn_means([None if _missing(series, terms) else series.difference for series in ordered], seed)
    levels = iter(holm_levels([chance_of_none(drawn) for drawn in means if drawn is not None], _LEVEL))
    return [
        _row(series, terms, drawn, 0.0 if drawn is None else next(levels))
        for series, drawn in zip(ordered, means, strict=True)
    ]


def _drawn_means(differences: Sequence[Floats | None], seed: int) -> list[Floats | None]:
    """Means of each of these days drawn again: of what has run equally long on the same days, in one draw."""
    means: list[Floats | None] = [None] * len(differences)
    by_length: dict[int, dict[int, Floats]] = {}
    for place, days in enumerate(differences):
        if days is not None:
            by_length.setdefault(len(days), {})[place] = days
    for alike in by_length.values():
        drawn = stationary_means(np.array([*alike.values()]), np.random.default_rng(seed))
        for place, row in zip(alike, drawn, strict=True):
            means[place] = row
    return means


def _row(series: PairedDays, terms: ShadowTerms, drawn: Floats | None, level: float) -> ShadowRow:
    real, shadow = fsum(series.real.tolist()), fsum(series.shadow.tolist())
    better, reasons = None, {}
    bound: float | None = None
    verdict: ShadowVerdict = "insufficient"
    if drawn is None:
        reasons["outperformance"] = reasons["bound"] = reasons["verdict"] = _missing(series, terms)
    else:
        size = max(abs(real), _FLOOR * series.capital)
        better = fsum(series.difference.tolist()) / size if size else None
        if better is None:
            reasons["outperformance"] = "nothing was made, and no capital and no position is known"
        # behind the first comparison that fails nothing is proven, whatever its own bound at 5 % says
        bound, upper = np.percentile(drawn, [100 * (level or _LEVEL), 100 * (1 - _LEVEL)]).tolist()
        looks_better = better is not None and better >= terms.promote_at and bound > 0
        if looks_better and level:
            verdict = "promote" if shadow > 0 else "less_bad"
        else:
            verdict = "reject" if upper < 0 else "keep_running"
            if looks_better:
                reasons["verdict"] = (
                    "a shadow with a smaller p is not proven, so this one is not either (Holm)"
                )
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
