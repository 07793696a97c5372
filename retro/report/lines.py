"""The lines of an attribution: what each is called, and how it enters the total. The one table of them.

Books sum by it, reviews and pages list by it, words are made from it: a new line is a row here and a field of
`PnlAttribution`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from retro.report.money import PnlAttribution

__all__ = [
    "COMPONENTS",
    "IMPLAUSIBLE",
    "LINES",
    "SIGNS",
    "WALLET",
    "AttributionLine",
    "SignedLine",
    "counted_lines",
    "main_lines",
    "signed_lines",
]


@dataclass(frozen=True, slots=True)
class AttributionLine:
    """One line: a field of `PnlAttribution` that is added to the total (`sign` 1) or taken from it (-1).

    `label` names it on a page, `phrase` inside a sentence of the plain words.
    A line that is not `booked` comes from what the agent stated, not from bookings, and may be absent. The value of a
    `two_sided` line is a change, written with its sign; that of any other is an amount.
    """

    name: str
    sign: int
    label: str
    phrase: str
    booked: bool = True
    two_sided: bool = False


IMPLAUSIBLE: Final = "implausible_pnl"
"""The line of impossible fills: it closes the attribution; its losses count, its gains enter no headline."""

WALLET: Final = "wallet_pnl"
"""The line of the coins that lie in the wallet: what no position made and no cost took."""

LINES: Final = (
    AttributionLine("lp_fees_earned", 1, "LP fees earned", "LP fees"),
    AttributionLine("lending_interest_earned", 1, "Lending interest earned", "lending interest"),
    AttributionLine("borrow_interest", -1, "Borrow interest", "borrow interest"),
    AttributionLine("staking_rewards", 1, "Staking rewards", "staking rewards"),
    AttributionLine("funding", 1, "Funding", "funding", two_sided=True),
    AttributionLine("trading_gains", 1, "Trading gains", "trading gains"),
    AttributionLine("trading_losses", -1, "Trading losses", "trading losses"),
    AttributionLine("impermanent_loss", -1, "Impermanent loss", "impermanent loss"),
    AttributionLine("unrealized_pnl", 1, "Unrealised change", "the change of unrealised PnL", two_sided=True),
    AttributionLine(WALLET, 1, "Coins in the wallet", "the wallet's coins", two_sided=True),
    AttributionLine("gas_costs", -1, "Gas costs", "gas"),
    AttributionLine("inference_costs", -1, "Inference costs", "inference"),
    AttributionLine("data_costs", -1, "Data costs", "data"),
    AttributionLine(IMPLAUSIBLE, 1, "Implausible fills", "implausible fills", two_sided=True),
    AttributionLine(
        "unattributed", 1, "Unattributed", "what no event explains", booked=False, two_sided=True
    ),
)
"""The lines in the order they are read."""

_GAP: Final = LINES[-1]
_LARGEST: Final = 3
_LARGE: Final = 0.01  # of equity
_ROUNDED: Final = 1e-6  # of equity: a statement in cents
_ROUNDING: Final = 1e-9

SIGNS: Final = {line.name: float(line.sign) for line in LINES if line.booked}
"""The sign of every line that bookings make."""

COMPONENTS: Final = tuple(SIGNS)
"""The lines that bookings make."""


class SignedLine(NamedTuple):
    """A line and what it adds to the total of one attribution."""

    line: AttributionLine
    amount: float


def signed_lines(pnl: PnlAttribution) -> list[SignedLine]:
    """The lines of an attribution that are not 0, with their sign: they add up to its total."""
    return [SignedLine(line, line.sign * amount) for line in LINES if (amount := getattr(pnl, line.name))]


def counted_lines(pnl: PnlAttribution) -> list[SignedLine]:
    """The lines as headlines and words count them, largest first: they add up to `believed`.

    Of implausible fills that is their losses.
    """
    lines = [
        SignedLine(line, amount - pnl.unbelieved_pnl if line.name == IMPLAUSIBLE else amount)
        for line, amount in signed_lines(pnl)
    ]
    rounding = _ROUNDING * abs(pnl.unbelieved_pnl)
    return sorted((line for line in lines if abs(line.amount) > rounding), key=lambda line: -abs(line.amount))


def main_lines(
    pnl: PnlAttribution, equity: float | None, number: int
) -> tuple[list[SignedLine], list[SignedLine]]:
    """The largest counted gains and the largest losses, at most so many of each, largest first.

    What no event explains is among them only where it is large, and then always: one of the three largest lines, or
    more than 1 % of `equity` (None: not known).
    """
    lines = counted_lines(pnl)
    with_gap = _is_gap_large(lines, equity)

    def side(sign: int) -> list[SignedLine]:
        own = [part for part in lines if part.amount * sign > 0 and (with_gap or part.line is not _GAP)]
        return [part for rank, part in enumerate(own) if rank < number or part.line is _GAP]

    return side(1), side(-1)


def _is_gap_large(lines: list[SignedLine], equity: float | None) -> bool:
    """Whether what no event explains is to be named; what a statement was rounded by is not."""
    size = next((abs(amount) for line, amount in lines if line is _GAP), 0.0)
    level = 0.0 if equity is None else abs(equity)
    if size <= max(_ROUNDED * level, _ROUNDING * fsum(abs(amount) for _, amount in lines)):
        return False
    is_among_largest = any(line is _GAP for line, _ in lines[:_LARGEST])
    return is_among_largest or (equity is not None and size > _LARGE * level)
