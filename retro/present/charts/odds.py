"""Odds by week as SVG: two lines on a log scale, and the line at 10 to 1 that they have to cross."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import date_text, odds
from retro.present.charts.bars import WIDTH
from retro.present.charts.svg import INLINE, Palette, circle, document, label, polyline, stroke
from retro.present.widths import cells, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import OddsChart, OddsLine

__all__ = ["odds_by_week"]

_LEFT: Final = 62.0
_TOP: Final = 26.0
_PLOT: Final = 74.0
_PANEL: Final = _TOP + _PLOT + 10
_FOOT: Final = 34.0
_LEAST: Final = 0.1
"""Odds below 1 to 10 are drawn at the lower edge: how far a bet was lost says nothing more."""
_LOWEST_TOP: Final = 30.0
_MOST: Final = 1e6
_NAME: Final = 26
_DASH: Final = "4 3"


class _Axis(NamedTuple):
    """Weeks to the right, the logarithm of the odds upwards from a panel's lower edge."""

    weeks: int
    highest: float

    def x(self, week: int) -> float:
        return _LEFT + week / max(1, self.weeks - 1) * (WIDTH - 8 - _LEFT)

    def height(self, e: float) -> float:
        inside = min(max(e, _LEAST), self.highest)
        return math.log(inside / _LEAST) / math.log(self.highest / _LEAST) * _PLOT


def odds_by_week(
    block: OddsChart, only: OddsLine | None = None, *, palette: Palette = INLINE, ident: str = "odds"
) -> str:
    """The odds against each rule (solid) and for it (dashed) at each week's end; all on the block's axes.

    `only`: one rule's panel by itself.
    """
    rows = block.rows if only is None else (only,)
    most = max(e for row in block.rows for e in (*row.against, *row.in_favour))
    axis = _Axis(((block.last - block.first).days + 1) // 7, min(max(most, _LOWEST_TOP), _MOST))
    body: list[str] = []
    for i, row in enumerate(rows):
        body += _panel(row, (row.first - block.first).days // 7, i * _PANEL, axis, palette)
    height = len(rows) * _PANEL + _FOOT
    body += _foot(block, height, palette)
    return document(
        WIDTH,
        height,
        body,
        ident=ident,
        title="Odds week by week",
        desc="; ".join(f"{row.name} {row.role}: {row.words}" for row in rows),
        font=palette.font,
    )


def _panel(row: OddsLine, begins: int, y: float, axis: _Axis, palette: Palette) -> list[str]:
    """One rule: its name, the lines of the scale, and both bets to the newest week."""
    bottom = y + _TOP + _PLOT
    name = f"{row.name} {row.role}"
    parts = [label(0, y + 14, name if cells(name) <= _NAME else cut(name, _NAME), palette.ink, weight=600)]
    leads = row.against[-1] >= row.in_favour[-1]
    parts.append(
        label(
            WIDTH,
            y + 14,
            f"{odds(max(row.against[-1], row.in_favour[-1]))} {'against' if leads else 'for'} it",
            palette.down if leads else palette.up,
            anchor="end",
        )
    )
    for e in _ticks(axis.highest):
        at, wanted = bottom - axis.height(e), e == 10  # the line that a bet has to cross
        parts += [
            stroke(
                _LEFT,
                at,
                WIDTH - 8,
                at,
                palette.ink if wanted else palette.rule,
                width=1.1 if wanted else 0.8,
            ),
            label(
                _LEFT - 6,
                at + 4,
                f"{e:,.0f} to 1",
                palette.ink if wanted else palette.quiet,
                anchor="end",
                size=10.5,
            ),
        ]
    # the bet that leads is drawn last, over the other
    sides = [(row.against, palette.down, ""), (row.in_favour, palette.up, _DASH)]
    for values, colour, dash in reversed(sides) if leads else sides:
        points = _points(values, begins, bottom, axis)
        if len(points) > 1:
            parts.append(polyline(points, colour, width=1.8, dash=dash))
        parts.append(circle(*points[-1], 2.6, colour, palette.paper, width=1))
    return parts


def _points(values: Sequence[float], begins: int, bottom: float, axis: _Axis) -> list[tuple[float, float]]:
    return [(axis.x(begins + i), bottom - axis.height(e)) for i, e in enumerate(values)]


def _ticks(highest: float) -> list[float]:
    """1 and 10 to 1, and above them one power of ten where there is room for its words."""
    above = 10.0 ** math.floor(math.log10(highest))
    return [1.0, 10.0, *([above] if above >= 100 else [])]


def _foot(block: OddsChart, height: float, palette: Palette) -> list[str]:
    """From when to when, and which line is which."""
    dates, legend = height - _FOOT + 12, height - 5
    return [
        label(_LEFT, dates, date_text(block.first), palette.quiet, size=10.5),
        label(WIDTH - 8, dates, date_text(block.last), palette.quiet, anchor="end", size=10.5),
        stroke(_LEFT, legend - 4, _LEFT + 18, legend - 4, palette.down, width=1.8),
        label(_LEFT + 23, legend, "bets against it", palette.quiet, size=10.5),
        stroke(_LEFT + 118, legend - 4, _LEFT + 136, legend - 4, palette.up, width=1.8, dash=_DASH),
        label(_LEFT + 141, legend, "bets for it", palette.quiet, size=10.5),
    ]
