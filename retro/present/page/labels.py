"""The words of a page: what each figure of a report is called, once for every format."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Final

from retro.invariant import invariant
from retro.present.page.blocks import Bar, Bars
from retro.report.lines import signed_lines
from retro.safe import shorten

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Tone
    from retro.report import PnlAttribution

__all__ = [
    "FLAGS",
    "MEASURES",
    "PARTS",
    "POSITION_KINDS",
    "ROLES",
    "VERDICTS",
    "attribution_bars",
    "figure_name",
    "reason_text",
    "result_text",
    "short_name",
    "verdict_tone",
]

_NAME: Final = 32
_ROUNDING: Final = 1e-9
_NOTHING: Final = 5e-10  # what figures write as 0

POSITION_KINDS: Final = {
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
    "implausible": "implausible: its gain is kept out of every rate, return and audit; a loss stays",
    "confirmed": "confirmed by its owner: counts as it is",
    "rejected": "rejected by its owner: neither gain nor loss counts",
    "insufficient_marks": "too few marks to judge the exit",
    "unbounded": "neither equity nor margin is known: holding on has no end here",
    "from the bot's extremes": "peak and deepest loss are from the bot's extremes, which carry no times",
    "provisional": "valued at an old mark: may still change",
}

MEASURES: Final = {
    "insufficient_marks": "too few marks inside its life",
    "too_few_days": "fewer than 2 daily returns",
    "no mark close before exit + h": "no mark near the end of as long again after the exit",
}
"""Reasons the figures give as codes, in words."""

_FIGURES: Final = {
    "pnl_r": "result in R",
    "mfe_r": "peak in R",
    "mae_r": "deepest loss in R",
    "mfe_price": "price at the peak",
    "mae_price": "price at the deepest loss",
    "exit_at": "exit",
    "final_pnl": "result",
    "period_pnl": "result in the period",
    "attribution.slippage_mark_age_s": "age of the marks slippage is measured against",
    "attribution.risk_adjusted_return": "risk-adjusted yield",
}
"""Fields of a position whose name says too little, in words."""


def short_name(text: str) -> str:
    """A name short enough for a sentence that has to fit a screen."""
    return shorten(text, _NAME, trim=False)


def reason_text(reasons: dict[str, str], name: str) -> str:
    """Why a figure is absent, in words; empty when nothing says."""
    reason = reasons.get(name, "")
    return MEASURES.get(reason, reason)


def figure_name(field: str) -> str:
    """What a field of a position is called on its page."""
    return _FIGURES.get(field, field.rpartition(".")[2].replace("_", " "))


def verdict_tone(kind: str) -> Tone:
    """How a recommendation is drawn."""
    tones: dict[str, Tone] = {"keep": "up", "demote": "down", "investigate": "warn"}
    return tones.get(kind, "faint")


def attribution_bars(pnl: PnlAttribution, money: MoneyStyle) -> Bars:
    """The attribution as bars, its total beneath; `InvariantError` where the bars do not add up to the total."""
    lines = signed_lines(pnl)
    amounts = [amount for _, amount in lines]
    # each line and the total are rounded once, so they differ by no more than the last digits of the largest
    if abs(fsum(amounts) - pnl.total) > _ROUNDING * fsum(map(abs, (*amounts, 1.0))):
        invariant(
            False, "the bars of an attribution add up to its total", f"{fsum(amounts)!r}, {pnl.total!r}"
        )
    rows = tuple(Bar(line.label, amount, money.signed(amount)) for line, amount in lines)
    return Bars(rows, Bar("Total", pnl.total, money.signed(pnl.total)), money.currency)


def result_text(value: float | None, money: MoneyStyle) -> str:
    """Up 8.41 USDC, Down 3.20 USDC, or Flat; without a value: not priced."""
    if value is None:
        return "Not priced"
    if abs(value) < _NOTHING:
        return "Flat"
    return f"{'Up' if value > 0 else 'Down'} {money.amount(abs(value))}"
