"""The positions of a period that stand out, before anybody words or draws them: the best, the worst, those that moved most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.report.position import PositionRetrospective

__all__ = ["DRAWN", "Extremes", "extremes_of", "movers"]

DRAWN: Final = 12
"""Of how many positions the page of a period draws the paths: no other path is in its document."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """The positions that made most and least in the period, of `size` that are believed; one alone is both.

    `still` says that none of them moved: then there is no best.
    """

    best: PositionRetrospective
    worst: PositionRetrospective
    size: int
    still: bool


def extremes_of(positions: Iterable[PositionRetrospective]) -> Extremes | None:
    """The best and the worst of the believed positions that have a price, None where there is none.

    Ties go by id, so that they last.
    """
    priced = [
        (p.period_pnl, p.position_id, p) for p in positions if p.is_believed and p.period_pnl is not None
    ]
    ranked = [p for *_, p in sorted(priced, key=lambda row: row[:2])]
    if not ranked:
        return None
    still = not any(p.period_pnl for p in ranked)
    return Extremes(best=ranked[-1], worst=ranked[0], size=len(ranked), still=still)


def movers(positions: Iterable[PositionRetrospective]) -> list[PositionRetrospective]:
    """The believed positions, those that moved most in the period first; ties go by id."""
    believed = (p for p in positions if p.is_believed)
    return sorted(believed, key=lambda p: (-abs(p.period_pnl or 0.0), p.position_id))
