"""What an instrument cost while a position was held and afterwards, as SVG: by steps, the time after the exit hatched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import price
from retro.present.charts.bars import WIDTH
from retro.present.charts.svg import circle, label, polyline, rect, stroke
from retro.present.path import stepwise
from retro.present.scale import amount_ticks, time_ticks
from retro.present.widths import cells

if TYPE_CHECKING:
    from retro.present.charts.svg import Palette
    from retro.present.page.diagrams import PriceDiagram

__all__ = ["prices"]

_LETTER: Final = 6.2
_TOP: Final = 30.0
_BOTTOM: Final = 166.0
_HATCH: Final = 7.0
"""Between two strokes of what lies after the exit."""


def prices(block: PriceDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """The price from the entry on, what was paid and taken, and where the position was left; height and words."""
    last = max(1.0, block.points[-1][0], block.left_after or 0.0)
    shown = [value for _, value in block.points] + [x for x in (block.entry, block.exit) if x is not None]
    low, high = min(shown), max(shown)
    if high <= low:
        low, high = low - 0.01 * abs(low or 1.0), high + 0.01 * abs(high or 1.0)
    ticks = [(tick, price(tick)) for tick in amount_ticks(low, high, 4)]
    left = max(54.0, 12 + _LETTER * max((cells(text) for _, text in ticks), default=0))
    right = WIDTH - 10

    def x(seconds: float) -> float:
        return left + seconds / last * (right - left)

    def y(value: float) -> float:
        return _BOTTOM - (value - low) / (high - low) * (_BOTTOM - _TOP)

    body = []
    for tick, text in ticks:
        body += [
            stroke(left, y(tick), right, y(tick), palette.rule, width=0.8),
            label(left - 6, y(tick) + 4, text, palette.quiet, anchor="end", size=10.5),
        ]
    for seconds, name in time_ticks(last, 6):
        anchor = "middle" if x(seconds) < right - 14 else "end"
        body.append(label(x(seconds), _BOTTOM + 16, name, palette.quiet, anchor=anchor, size=10.5))
    if block.left_after is not None and block.left_after < last:
        body += _afterwards(x(block.left_after), right, palette)
    body.append(polyline([(x(at), y(value)) for at, value in stepwise(block.points)], palette.ink))
    if block.entry is not None:
        body.append(circle(x(0.0), y(block.entry), 4, palette.paper, palette.ink))
    if block.left_after is not None:
        at = x(block.left_after)
        body.append(stroke(at, _TOP, at, _BOTTOM, palette.quiet, width=1, dash="4 3"))
        if block.exit is not None:
            body.append(circle(at, y(block.exit), 4.5, palette.ink, palette.paper))
    return body, _BOTTOM + 26, block.words


def _afterwards(start: float, end: float, palette: Palette) -> list[str]:
    """A pale field with strokes, so that no colour is needed to see that nothing was held there."""
    parts = [rect(start, _TOP, end - start, _BOTTOM - _TOP, palette.quiet, opacity=0.1)]
    at = start + _HATCH
    while at < end:
        foot = max(start, at - _HATCH)
        parts.append(stroke(foot, _BOTTOM, at, _BOTTOM - _HATCH, palette.quiet, width=0.6))
        at += _HATCH
    if end - start > 60:
        parts.append(label(end - 4, _TOP + 12, "after the exit", palette.quiet, anchor="end", size=10.5))
    return parts
