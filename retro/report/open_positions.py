"""What is open beside what was closed: no figure of closed positions alone speaks for the agent."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pydantic import Field

from retro.figures import count
from retro.report.form import Document, Reasons

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.figures import MoneyStyle
    from retro.report.position import PositionRetrospective

__all__ = ["KinLife", "OpenPositions", "PositionKin", "open_positions_of"]


@dataclass(frozen=True, slots=True)
class OpenPositions:
    """The open positions that are believed and priced: how many, and what they stand at since their entry.

    `pnl` is in base currency, at the marks of the period's end, + is a gain.
    """

    size: int
    pnl: float

    def words(self, money: MoneyStyle) -> str:
        """5 open positions stand at -2,218.44 USDC; nothing where none is open."""
        if not self.size:
            return ""
        verb = "stands" if self.size == 1 else "stand"
        return f"{count(self.size, 'open position')} {verb} at {money.change(self.pnl)}"

    def beside(self, closed: float | None, money: MoneyStyle) -> str:
        """A sum over closed positions with what is open: closed +517.61, open -2,218.44 USDC."""
        if not self.size:
            return money.change(closed)
        return f"closed {money.signed(closed)}, open {money.change(self.pnl)}"

    def lower(self, closed: float | None) -> float | None:
        """The sum over closed positions, or that with the open ones where it is lower; None where none was closed.

        By it a page is coloured: an open loss darkens what was closed, an open gain brightens no loss.
        """
        return None if closed is None else min(closed, fsum([closed, self.pnl]))


def open_positions_of(positions: Iterable[PositionRetrospective]) -> OpenPositions:
    """Those of a report's positions that stand open at its end."""
    standing = [p.final_pnl for p in positions if p.open and p.is_believed and p.final_pnl is not None]
    return OpenPositions(len(standing), fsum(standing))


class KinLife(Document):
    """A finished life that began like an open position; `likeness` is its score in the memory."""

    position: str
    likeness: float
    pnl: float = Field(description="its result, base currency")
    exit_reason: str | None


class PositionKin(Document):
    """How lives ended that began like an open position, the most like first: what was, never a forecast."""

    n: int
    mean: float | None = Field(description="of their results, base currency")
    low: float | None = Field(description="95 % of the mean by Student's t; null below 5 lives")
    high: float | None
    gained: int | None = Field(description="lives that ended above 0")
    lives: list[KinLife]
    reasons: Reasons = Field(default={})
