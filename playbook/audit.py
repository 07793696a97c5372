"""The evidence a proposal rests on: one row of the citation audit, and what of it an owner is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import date

__all__ = ["MIN_RESOLVED", "AuditRow", "evidence"]

_MEASURES = {"r": "R", "bps": "bps of notional"}
MIN_RESOLVED = 3  # below this the audit recommends nothing


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What citing one heuristic (or unclaimed label) in one role led to, since its text last changed.

    `avg`, `interval` (95 %, of the mean), `vs_inaction` and `regret` are per resolved citation, in `unit`. `prior` is the
    confidence from before these citations; None: the stated one, right as long as no amendment has moved it on them.
    `resolved_since` counts those resolved since the last merged amendment of this heuristic; None when not known.
    `citation_count` counts those that are not resolved too; None: not known. `since` is the day this evidence begins. `partners` are (heuristic, Jaccard index of co-citation). `currency` is what
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
    interval: tuple[float, float] | None = None
    q: float | None = None
    reviews: tuple[str, ...] = ()
    unit: str = "usd"
    currency: str | None = None
    since: date | None = None
    partners: tuple[tuple[str, float], ...] = ()
    prior: float | None = None
    resolved_since: int | None = None
    vs_inaction: float | None = None
    regret: float | None = None
    averaged: int | None = None

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
    proposal always means the same; a supported `keep` speaks through q, interval and counts.
    """
    interval = [_figure(bound) for bound in row.interval] if row.interval else None
    figures: dict[str, Any] = {
        "role": row.role,
        "citations": None if row.citation_count is None else max(row.citation_count, row.evaluated_count),
        "resolved": row.evaluated_count,
        **({} if row.averaged in (None, row.evaluated_count) else {"averaged": row.averaged}),
        "wins": row.win_count,
        "average": _figure(row.avg),
        "unit": row.unit,
        **({"currency": row.currency} if row.currency and row.unit == "usd" else {}),
        "interval": interval if interval and None not in interval else None,
        "q": _figure(row.q),
        "since": row.since.isoformat() if row.since else None,
        "reviews": list(row.reviews),
    }
    for name, value in (("vs_inaction", row.vs_inaction), ("regret", row.regret)):
        if _figure(value) is not None:
            figures[name] = _figure(value)
    if row.grade != "supported" or (row.role == "entry" and row.kind == "demote"):
        figures["grade"] = row.grade
    return figures
