"""The evidence a proposal rests on: one row of the citation audit, and what of it an owner is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import date

__all__ = ["MIN_RESOLVED", "AuditRow", "SinceStated", "evidence"]

_MEASURES = {"r": "R", "bps": "bps of notional"}
MIN_RESOLVED = 3  # below this the audit recommends nothing


@dataclass(frozen=True, slots=True)
class SinceStated:
    """The resolved citations since a confidence was stated, and E against that number (10: 10 to 1)."""

    wins: int
    losses: int
    e: float


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What citing one heuristic (or unclaimed label) in one role led to, since its text last changed.

    `avg`, `interval` (95 % at every look, of the mean; an end that nothing limits is None), `vs_inaction` and `regret` are
    per resolved citation, in `unit`. `e_against` and `e_for` are what the bets made of 1 in `bets` weeks under the bound
    `bound`, `clipped` the share of its gains that they did not count, `break_even` the gain that would bring a losing sum
    to 0 and the largest so far. `stated` is what came since the confidence was stated. `resolved_since` counts those
    resolved since the last merged amendment of this heuristic; None when not known. `citation_count` counts those that are not resolved too; None: not known. `since` is the day this evidence begins. `partners` are (heuristic, Jaccard index of co-citation). `currency` is what
    the agent counts in, where the unit is money. `averaged`: how many of the resolved have a size in the unit, so that `avg`
    is theirs; None: all.
    """

    heuristic_id: str
    role: Literal["entry", "exit"]
    kind: Literal["keep", "demote", "investigate", "insufficient_data"]
    grade: Literal["none", "weak", "suggestive", "supported"]
    evaluated_count: int
    win_count: int
    avg: float | None
    citation_count: int | None = 0
    interval: tuple[float | None, float | None] | None = None
    e_against: float | None = None
    e_for: float | None = None
    bets: int = 0
    bound: float | None = None
    clipped: float | None = None
    break_even: tuple[float, float | None] | None = None
    reviews: tuple[str, ...] = ()
    unit: str = "usd"
    currency: str | None = None
    since: date | None = None
    partners: tuple[tuple[str, float], ...] = ()
    stated: SinceStated | None = None
    resolved_since: int | None = None
    vs_inaction: float | None = None
    regret: float | None = None
    averaged: int | None = None

    @property
    def e(self) -> float | None:
        """E in the direction in which it went."""
        if not self.avg:
            return None
        return self.e_against if self.avg < 0 else self.e_for

    @property
    def averaged_of(self) -> str:
        """Over how many the average is, and of how many resolved where not all have a size: `12`, or `8 of 12`."""
        if self.averaged in (None, self.evaluated_count):
            return str(self.evaluated_count)
        return f"{self.averaged} of {self.evaluated_count}"

    @property
    def measure(self) -> str:
        """The unit in words: the agent's own currency, R, or basis points of notional."""
        return (self.currency or self.unit) if self.unit == "usd" else _MEASURES.get(self.unit, self.unit)


def _figure(value: float | None) -> float | None:
    """Six significant digits; None for what is no number."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def evidence(row: AuditRow) -> dict[str, Any]:
    """The figures of a row as a proposal carries them; figures that do not exist are null.

    The word `supported` stands only where an entry heuristic is recommended `demote` on it, so that finding it in a
    proposal always means the same; a supported `keep` speaks through E, interval and counts.
    """
    figures: dict[str, Any] = {
        "role": row.role,
        "citations": None if row.citation_count is None else max(row.citation_count, row.evaluated_count),
        "resolved": row.evaluated_count,
        **({} if row.averaged in (None, row.evaluated_count) else {"averaged": row.averaged}),
        "wins": row.win_count,
        "average": _figure(row.avg),
        "unit": row.unit,
        **({"currency": row.currency} if row.currency and row.unit == "usd" else {}),
        "interval": [_figure(end) for end in row.interval] if row.interval else None,
        "e": _figure(row.e),
        "e_against": _figure(row.e_against),
        "e_for": _figure(row.e_for),
        "bets": row.bets,
        "bound": _figure(row.bound),
        "since": row.since.isoformat() if row.since else None,
        "reviews": list(row.reviews),
    }
    if row.break_even is not None:
        gain, largest = row.break_even
        figures["break_even"] = {"gain": _figure(gain), "largest": _figure(largest)}
    if row.clipped:
        figures["clipped"] = _figure(row.clipped)
    for name, value in (("vs_inaction", row.vs_inaction), ("regret", row.regret)):
        if _figure(value) is not None:
            figures[name] = _figure(value)
    if row.grade != "supported" or (row.role == "entry" and row.kind == "demote"):
        figures["grade"] = row.grade
    return figures
