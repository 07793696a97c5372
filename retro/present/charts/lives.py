"""Lives laid over each other as SVG: one line each, in per cent of what was put in, aligned at one moment of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import percent
from retro.present.charts.bars import WIDTH
from retro.present.charts.svg import circle, label, polyline, stroke
from retro.present.path import stepwise
from retro.present.scale import amount_ticks, time_ticks
from retro.present.widths import cells, cut

if TYPE_CHECKING:
    from retro.present.charts.svg import Palette
    from retro.present.page.diagrams import LivesDiagram

__all__ = ["lives"]

_LEFT: Final = 54.0
_TOP: Final = 26.0
_BOTTOM: Final = 214.0
_ROW: Final = 16.0
_NAME: Final = 40
_CROWDED: Final = 0.05
"""The part of the axis after the common moment that has no room for names of its own."""
_DASHES: Final = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4")
"""One for each line, so that no colour is needed to tell them apart."""


def lives(block: LivesDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """The lines on one axis of seconds around the common moment, a legend beneath them; height and words."""
    ends = [at for row in block.rows for at, _ in row.points]
    first, last = min([0.0, *ends]), max([1.0, *ends])
    shares = [share for row in block.rows for _, share in row.points]
    low, high = min([0.0, *shares]), max([0.0, *shares])
    if high <= low:
        high = low + 0.01

    def x(seconds: float) -> float:
        return _LEFT + (seconds - first) / (last - first) * (WIDTH - 10 - _LEFT)

    def y(share: float) -> float:
        return _BOTTOM - (share - low) / (high - low) * (_BOTTOM - _TOP)

    body = [stroke(x(0.0), _TOP - 4, x(0.0), _BOTTOM, palette.quiet, width=0.9)]
    for tick in amount_ticks(low, high, 4):
        is_zero = abs(tick) < 1e-12
        body += [
            stroke(
                _LEFT, y(tick), WIDTH - 10, y(tick), palette.quiet if is_zero else palette.rule, width=0.8
            ),
            label(_LEFT - 6, y(tick) + 4, percent(tick, 1), palette.quiet, anchor="end", size=10.5),
        ]
    beside = last > _CROWDED * (last - first)
    for seconds, name in [
        *(time_ticks(last, 4) if beside else [(0.0, "0")]),
        *((-at, f"-{name}") for at, name in time_ticks(-first, 3)[1:]),
    ]:
        body.append(label(x(seconds), _BOTTOM + 16, name, palette.quiet, anchor="middle", size=10.5))
    colours = (palette.ink, palette.up, palette.down, palette.warn, palette.quiet, palette.ink)
    for i, (row, colour, dash) in enumerate(zip(block.rows, colours, _DASHES, strict=False)):
        corners = [(x(at), y(share)) for at, share in stepwise(row.points)]
        base = _BOTTOM + 36 + i * _ROW
        name = row.label if cells(row.label) <= _NAME else cut(row.label, _NAME)
        body += [
            polyline(corners, colour, width=2 if i == 0 else 1.5, dash=dash),
            circle(*corners[-1], 3, colour, palette.paper, width=1),
            stroke(_LEFT, base - 4, _LEFT + 28, base - 4, colour, width=2 if i == 0 else 1.5, dash=dash),
            label(_LEFT + 36, base, name, palette.ink, size=11),
            label(WIDTH - 10, base, row.text, palette.ink, anchor="end", size=11),
        ]
    words = "; ".join(f"{row.label}: {row.text}" for row in block.rows)
    return body, _BOTTOM + 44 + len(block.rows) * _ROW, words
