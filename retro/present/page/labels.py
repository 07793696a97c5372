"""The words of a page: what each figure of a report is called, once for every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.present.page.blocks import Bar, Bars

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Tone
    from retro.report import PnlAttribution

__all__ = [
    "FLAGS",
    "IMPLAUSIBLE",
    "KINDS",
    "MEASURES",
    "PARTS",
    "ROLES",
    "VERDICTS",
    "attribution_bars",
    "believed",
    "clip",
    "reason_text",
    "signed_components",
    "verdict_tone",
]

IMPLAUSIBLE: Final = "Implausible (not believed)"

COMPONENTS: Final = (
    ("lp_fees_earned", "LP fees earned", 1),
    ("lending_interest_earned", "Lending interest earned", 1),
    ("borrow_interest", "Borrow interest", -1),
    ("staking_rewards", "Staking rewards", 1),
    ("funding", "Funding", 1),
    ("trading_gains", "Trading gains", 1),
    ("trading_losses", "Trading losses", -1),
    ("impermanent_loss", "Impermanent loss", -1),
    ("unrealized_pnl", "Unrealised change", 1),
    ("gas_costs", "Gas costs", -1),
    ("inference_costs", "Inference costs", -1),
    ("data_costs", "Data costs", -1),
    ("implausible_pnl", IMPLAUSIBLE, 1),
    ("unattributed", "Unattributed", 1),
)
"""Lines of an attribution in the order they are read, with the sign they enter the total with."""

KINDS: Final = {
    "spot": "spot",
    "perp": "perp",
    "lp": "LP",
    "lending": "lending",
    "staking": "staking",
}

VERDICTS: Final = {
    "keep": "KEEP",
    "demote": "DEMOTE",
    "investigate": "INVESTIGATE",
    "insufficient_data": "INSUFFICIENT DATA",
}

ROLES: Final = {"entry": "entry", "exit": "exit"}

PARTS: Final = {
    "vs_inaction": "gains over doing nothing",
    "psr": "chance that the Sharpe ratio is above 0",
    "components": "income against losses and costs",
}
"""The parts of the effectiveness score."""

FLAGS: Final = {
    "open": "still open",
    "implausible": "implausible: kept out of every rate, audit and component",
    "insufficient_marks": "too few marks to judge the exit",
    "provisional": "valued at an old mark: may still change",
}

MEASURES: Final = {
    "insufficient_marks": "too few marks inside its life",
    "too_few_days": "fewer than 2 daily returns",
}
"""Reasons the figures give as codes, in words."""


def clip(text: str, most: int = 32) -> str:
    """A name short enough for a sentence that has to fit a screen."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def reason_text(reasons: dict[str, str], name: str) -> str:
    """Why a figure is absent, in words; empty when nothing says."""
    reason = reasons.get(name, "")
    return MEASURES.get(reason, reason)


def verdict_tone(kind: str) -> Tone:
    """How a recommendation is drawn."""
    tones: dict[str, Tone] = {"keep": "up", "demote": "down", "investigate": "warn"}
    return tones.get(kind, "faint")


def signed_components(pnl: PnlAttribution) -> list[tuple[str, float]]:
    """The lines of an attribution that are not 0, with their sign: they add up to its total."""
    lines = []
    for name, label, sign in COMPONENTS:
        amount = getattr(pnl, name)
        if amount:
            lines.append((label, sign * amount))
    return lines


def believed(pnl: PnlAttribution) -> float:
    """The total without what implausible positions made: what a headline may say."""
    return pnl.total - pnl.implausible_pnl


def attribution_bars(pnl: PnlAttribution, money: MoneyStyle) -> Bars:
    """The attribution as bars, its total beneath."""
    rows = tuple(Bar(label, amount, money.signed(amount)) for label, amount in signed_components(pnl))
    return Bars(rows, Bar("Total", pnl.total, money.signed(pnl.total)), money.currency)
