"""The market beside what an agent made: what doing nothing was, and what the pairs did meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.figures import DASH, count, interval, percent, ratio
from retro.present.page.blocks import Figure, tone_of
from retro.present.page.labels import reason_text

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.report import RetrospectiveReport

__all__ = ["benchmark_figure", "cash_note", "market_figure", "market_note"]


def cash_note(report: RetrospectiveReport) -> str:
    """What doing nothing was, where it says nothing of its own; empty elsewhere."""
    if not report.is_in_cash:
        return ""
    result = "these are the results themselves" if report.open_positions.size else "this is the result itself"
    return f"doing nothing was cash: {result}"


def market_note(report: RetrospectiveReport) -> str:
    """The market in a clause: the market -3.20 % (5 pairs), the agent -1.40 %."""
    market = report.market
    if market is None or market.change is None:
        return ""
    text = f"the market {_change(market.change)} ({count(market.pairs, 'pair')})"
    if report.risk.time_weighted_return is not None:
        text += f", the agent {_change(report.risk.time_weighted_return)}"
    return text


def market_figure(report: RetrospectiveReport) -> Figure | None:
    """How the agent's return stands to its pairs'; None for a review from before it was said, or without pairs."""
    market = report.market
    if market is None or not (market.pairs or market.left_out):
        return None
    label = "Against the market"
    if market.change is None:
        return Figure(label, DASH, reason_text(market.reasons, "change"))
    basket = f"{count(market.pairs, 'pair')} traded or watched, equally weighted, {_change(market.change)}"
    if market.left_out:
        basket += f"; {len(market.left_out):,} left out, without a mark at both ends"
    if market.over_market is None:
        return Figure(label, DASH, f"{basket}; {reason_text(market.reasons, 'over_market')}")
    made = report.risk.time_weighted_return
    return Figure(
        label,
        _change(market.over_market),
        f"return {_change(made)}; {basket}",
        tone_of(market.over_market),
    )


def benchmark_figure(report: RetrospectiveReport, money: MoneyStyle) -> Figure | None:
    """What trades made beyond the owner's benchmark; None where none is named, or nothing was traded."""
    split = report.benchmark
    if split is None or not (split.traded or split.market):
        return None
    label = "Timing and selection"
    if split.selection is None:
        return Figure(label, DASH, reason_text(split.reasons, "selection"))
    note = (
        f"trades made {money.signed(split.traded)}, of that {split.instrument} {money.signed(split.market)}"
    )
    if split.beta is not None and split.beta_interval is not None:
        low, high = split.beta_interval
        note += f"; beta {ratio(split.beta)}, 95 % {interval(low, high)}"
    return Figure(label, money.change(split.selection), note, tone_of(split.selection))


def _change(share: float | None) -> str:
    return percent(share, 2, signed=True)
