"""The lines of an attribution: what each is called, and how it enters the total. The one table of them.

Books sum by it, reviews and pages list by it, words are made from it: a new line is a row here and a field of
`PnlAttribution`.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    "signed_lines",
]


@dataclass(frozen=True, slots=True)
class AttributionLine:
    """One line: a field of `PnlAttribution` that is added to the total (`sign` 1) or taken from it (-1).

    `label` names it on a page, `phrase` inside a sentence of the plain words; a line without a phrase is never worded.
    A line that is not `booked` comes from what the agent stated, not from bookings, and may be absent. The value of a
    `two_sided` line is a change, written with its sign; that of any other is an amount.
    """

    name: str
    sign: int
    label: str
    phrase: str = ""
    booked: bool = True
    two_sided: bool = False


IMPLAUSIBLE: Final = "implausible_pnl"
"""The line of what is not believed: it closes the attribution and enters no headline."""

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
    AttributionLine(IMPLAUSIBLE, 1, "Implausible (not believed)", two_sided=True),
    AttributionLine("unattributed", 1, "Unattributed", booked=False, two_sided=True),
)
"""The lines in the order they are read."""

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
