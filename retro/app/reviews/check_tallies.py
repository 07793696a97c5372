"""How many of the figures that sources state agree with ours, in one line a kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.figures import count, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.app.reviews.checks import ComparedCheck

__all__ = ["CheckTally", "tallies"]

_NOUNS: Final = {
    "positions": ("position", "positions"),
    "fills": ("fill", "fills"),
    "balance": ("balance", "balances"),
    "holding": ("holding", "holdings"),
    "equity": ("statement of equity", "statements of equity"),
}


@dataclass(slots=True)
class CheckTally:
    """Of one agent's figures of one kind: how many agree, do not, and cannot be computed.

    `tolerance` is the largest that one of those compared allows, in `unit` ("" where they have several).
    """

    agent: str
    kind: str
    unit: str
    agreeing: int = 0
    failing: int = 0
    unknown: int = 0
    tolerance: float = 0.0

    def add(self, row: ComparedCheck, unit: str) -> None:
        """Count one more."""
        self.unit = unit if unit == self.unit else ""
        if row.within is None:
            self.unknown += 1
            return
        self.tolerance = max(self.tolerance, float(row.check.tolerance))
        self.agreeing += int(row.within)
        self.failing += int(not row.within)

    @property
    def sentence(self) -> str:
        """Such as "27 of 27 positions agree within 0.01 USDC"."""
        noun, plural = _NOUNS[self.kind]
        compared = self.agreeing + self.failing
        if not compared:
            return f"none of {count(self.unknown, noun, plural)} can be compared"
        within = f"{quantity(self.tolerance)} {self.unit}".rstrip()
        verb = "agrees" if compared == 1 else "agree"
        text = f"{self.agreeing:,} of {count(compared, noun, plural)} {verb} within {within}"
        return f"{text}; {self.unknown:,} cannot be compared" if self.unknown else text


def tallies(rows: Iterable[ComparedCheck], currencies: Mapping[str, str]) -> list[CheckTally]:
    """The tallies of these rows, agent by agent; `currencies` are what each agent counts in."""
    counted: dict[tuple[str, str], CheckTally] = {}
    for row in rows:
        check = row.check
        kind = check.what if check.what != "realized_pnl" else "positions" if check.fill is None else "fills"
        unit = check.subject if kind in {"balance", "holding"} else currencies.get(check.agent, "")
        key = (check.agent, kind)
        if key not in counted:
            counted[key] = CheckTally(check.agent, kind, unit)
        counted[key].add(row, unit)
    order = list(_NOUNS)
    return sorted(counted.values(), key=lambda tally: (tally.agent, order.index(tally.kind)))
