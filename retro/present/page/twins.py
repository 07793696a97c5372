"""A position among its twins: what a random moment would have brought, and what the choice of this one did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import percent
from retro.present.page.blocks import Diagrams, Figure, FigureList, Prose, Section, tone_of
from retro.present.page.diagrams import TwinsDiagram

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.report.evaluators.luck import TwinSpread

__all__ = ["twins_section"]

_TITLE: Final = "Luck, and choosing when"
_ONE_LIFE: Final = "One life says little of luck: `retro luck` holds all of them against chance."


def twins_section(spread: TwinSpread, result: float | None, money: MoneyStyle) -> Section:
    """The strip of its twins' results with its own in it; where it has none, why."""
    if spread.quantiles is None or spread.luck is None or result is None:
        return Section("luck", _TITLE, (Prose(f"No twins: {spread.reason}.", tone="faint"),))
    texts = tuple(map(money.signed, spread.quantiles))
    low, lower, middle, upper, high = texts
    words = (
        f"Of {spread.twins} random moments nine in ten brought {low} to {high}, half {lower} to {upper}, "
        f"the one in the middle {middle}; this position {money.signed(result)}."
    )
    strip = TwinsDiagram(
        f"What random moments brought, {money.currency}".rstrip(", "),
        spread.quantiles,
        (low, lower, middle, upper, high),
        result,
        money.signed(result),
        words,
    )
    figures = (
        Figure(
            "Being there: luck",
            money.change(spread.luck),
            "what its twins made on average: its side, size, time held and fees, at other moments",
        ),
        Figure(
            "Choosing when: selection",
            money.change(result - spread.luck),
            f"it made more than {percent(spread.percentile)} of them",
            tone_of(result - spread.luck),
        ),
    )
    blocks = (Diagrams((strip,), words, words), FigureList(figures), Prose(_ONE_LIFE, tone="faint"))
    return Section("luck", _TITLE, blocks, money.currency)
