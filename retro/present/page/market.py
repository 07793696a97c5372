"""The market beside what an agent made: what doing nothing was, and what the pairs did meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.figures import DASH, count, duration, interval, percent, price, ratio, seconds_between
from retro.periods import SECOND, parse_instant
from retro.present.page.blocks import Diagrams, Figure, Section, tone_of
from retro.present.page.diagrams import PriceDiagram
from retro.present.page.labels import reason_text

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.report import PositionRetrospective, RetrospectiveReport

__all__ = ["PriceTrack", "benchmark_figure", "cash_note", "market_figure", "market_note", "price_section"]


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


# what the instrument of one position cost


class PriceTrack(NamedTuple):
    """Marks of an instrument from an entry on, thinned for drawing: (UTC microseconds, price), in order of time.

    `held` is how many there are until the exit, whose lowest and highest price `low` and `high` are, and `after` how many
    follow it.
    """

    points: tuple[tuple[int, float], ...]
    held: int
    after: int
    low: float
    high: float


def price_section(life: PositionRetrospective, track: PriceTrack) -> Section:
    """The price as a drawing and in a sentence. Where it went afterwards was not known at the exit."""
    entry_at = parse_instant(life.entry_at)
    points = tuple(((at - entry_at) / SECOND, value) for at, value in track.points)
    left_after = None if life.exit_at is None else seconds_between(life.entry_at, life.exit_at)
    words = _words(life, track, points[-1], left_after)
    diagram = PriceDiagram(
        f"Price of {life.instrument}", points, left_after, life.entry_price, life.exit_price, words
    )
    return Section("price", "The price meanwhile", (Diagrams((diagram,), words, words),), life.instrument)


def _words(
    life: PositionRetrospective, track: PriceTrack, last: tuple[float, float], left_after: float | None
) -> str:
    paid = f"Entered at {price(life.entry_price)}" if life.entry_price is not None else "While it was held"
    ended = f", left at {price(life.exit_price)}" if life.exit_price is not None else ""
    between = f"between {price(track.low)} and {price(track.high)} in {count(track.held, 'mark')} of its life"
    words = f"{paid}{ended}; {between}"
    if left_after is None or not track.after:
        return f"{words}."
    seconds, value = last
    change = ""
    if life.exit_price:
        change = f", {percent(value / life.exit_price - 1, 1, signed=True)} from where it was left"
    later = f"{duration(seconds - left_after)} after the exit it stood at {price(value)}{change}"
    return f"{words}. {later} ({count(track.after, 'mark')}), which nobody knew then."
