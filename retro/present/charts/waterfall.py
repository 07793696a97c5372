"""A waterfall as SVG: from one total to another, each line a bar that begins where the one before it ended."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from retro.present.charts.bars import WIDTH
from retro.present.charts.svg import label, rect, stroke
from retro.present.widths import cells, cut

if TYPE_CHECKING:
    from retro.present.charts.svg import Palette
    from retro.present.page.diagrams import WaterfallDiagram

__all__ = ["waterfall"]

_TOP: Final = 30.0
_ROW: Final = 24.0
_BAR: Final = 12.0
_NAMES: Final = 122.0
_VALUES: Final = 96.0
_NAME: Final = 17
_THIN: Final = 1.5


def waterfall(block: WaterfallDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """The totals as quiet bars from 0, the steps between them in the colours of gain and loss; height and words."""
    rows = [block.first, *block.steps, block.last]
    levels = list(accumulate(step.amount for step in (block.first, *block.steps)))
    spans = [(0.0, block.first.amount), *pairwise(levels), (0.0, block.last.amount)]
    low = min(0.0, *(min(span) for span in spans))
    high = max(0.0, *(max(span) for span in spans))
    scale = (WIDTH - _VALUES - _NAMES) / ((high - low) or 1.0)

    def x(value: float) -> float:
        return _NAMES + (value - low) * scale

    bottom = _TOP + len(rows) * _ROW
    body = [stroke(x(0.0), _TOP - 2, x(0.0), bottom, palette.quiet, width=0.9)]
    for number, (row, (start, end)) in enumerate(zip(rows, spans, strict=True)):
        y = _TOP + number * _ROW
        is_total = number in (0, len(rows) - 1)
        colour = palette.quiet if is_total or not row.amount else palette.of(row.amount)
        name = row.label if cells(row.label) <= _NAME else cut(row.label, _NAME)
        edge, width = x(min(start, end)), max(abs(end - start) * scale, _THIN)
        body += [
            label(0, y + 14, name, palette.ink, weight=600 if is_total else 400),
            rect(edge, y + 4, width, _BAR, colour, opacity=0.55 if is_total else 1.0),
            label(WIDTH, y + 14, row.text, palette.ink, anchor="end", size=11),
        ]
        if number < len(rows) - 1:  # where the next one begins
            body.append(stroke(x(end), y + 4 + _BAR, x(end), y + _ROW + 4, palette.rule, width=0.9))
    words = "; ".join(f"{row.label}: {row.text}" for row in rows)
    return body, bottom + 8, words
