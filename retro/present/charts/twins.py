"""A result among those of its twins as SVG: the band of nine in ten, that of half, the middle, and the real one in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.present.charts.bars import WIDTH
from retro.present.charts.svg import circle, label, rect, stroke

if TYPE_CHECKING:
    from retro.present.charts.svg import Palette
    from retro.present.page.diagrams import TwinsDiagram

__all__ = ["twins"]

_EDGE: Final = 12.0
_TOP: Final = 52.0
_BAND: Final = 26.0
_NARROW: Final = 60.0
"""Labels nearer to each other than this are not both written."""
_SMALL: Final = 10.5


def twins(block: TwinsDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """The strip on an axis of money, height and words."""
    first, last = block.reach
    width = (last - first) or 1.0

    def x(amount: float) -> float:
        return _EDGE + (amount - first) / width * (WIDTH - 2 * _EDGE)

    low, lower, middle, upper, high = map(x, block.quantiles)
    bottom, at = _TOP + _BAND, x(block.result)
    body = [
        rect(low, _TOP, high - low, _BAND, palette.quiet, opacity=0.22),
        rect(lower, _TOP, upper - lower, _BAND, palette.quiet, opacity=0.4),
        stroke(middle, _TOP, middle, bottom, palette.ink, width=1.4),
    ]
    if first < 0 < last:
        body.append(stroke(x(0.0), _TOP - 4, x(0.0), bottom + 4, palette.quiet, dash="4 3"))
        body.append(label(x(0.0), bottom + 30, "0", palette.quiet, anchor="middle", size=_SMALL))
    colour = palette.of(block.result)
    body += [
        circle(at, _TOP + _BAND / 2, 5, colour, palette.paper),
        label(at, _TOP - 10, block.result_text, colour, anchor=_anchor(at), size=11, weight=600),
    ]
    marked: list[float] = []
    for place, text in ((middle, 2), (low, 0), (high, 4)):
        if all(abs(place - other) > _NARROW for other in marked):
            marked.append(place)
            words = block.quantile_texts[text]
            body.append(label(place, bottom + 16, words, palette.quiet, anchor=_anchor(place), size=_SMALL))
    return body, bottom + 36, block.words


def _anchor(place: float) -> str:
    """Where a text at a place begins, so that it stays in the picture."""
    return "start" if place < _NARROW else "end" if place > WIDTH - _NARROW else "middle"
