"""Charts as SVG text: pure functions of figures and a palette, the same bytes for the same figures.

All are drawn 380 wide, so that they read on a phone and stand two abreast on a desk.
"""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from retro.present.charts.svg import INLINE, Palette, circle, document, label, polygon, rect, stroke
from retro.present.widths import cells, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Bar, Verdict

__all__ = ["WIDTH", "forest", "waterfall"]

WIDTH: Final = 380.0
_ROW: Final = 26.0
_NAMES: Final = 146.0
_VALUES: Final = 66.0
_FEW: Final = 3  # outcomes
_GOES_ON: Final = "beyond the axis"
_UNIT: Final = 5  # characters that fit beside the end of an axis
_NAME: Final = 18  # characters of a heuristic in its chart


def waterfall(
    rows: Sequence[Bar], total: Bar, *, unit: str = "", palette: Palette = INLINE, ident: str = "waterfall"
) -> str:
    """An attribution as steps from nothing to the total; each line starts where the one above it ended."""
    ends = list(accumulate(row.amount for row in rows))
    low, high = min([0.0, total.amount, *ends]), max([0.0, total.amount, *ends])
    room = WIDTH - _NAMES - _VALUES - 16
    scale = room / (high - low) if high > low else 0.0

    def x(amount: float) -> float:
        return _NAMES + 8 + (amount - low) * scale

    height = (len(rows) + 1) * _ROW + 8
    body = [stroke(x(0), 2, x(0), height - 2, palette.rule)]
    for i, (row, (start, end)) in enumerate(zip(rows, pairwise([0.0, *ends]), strict=True)):
        body += _step(i * _ROW + 4, row, (x(start), x(end)), palette)
    y = len(rows) * _ROW + 4
    body += [
        stroke(0, y - 2, WIDTH, y - 2, palette.rule),
        label(0, y + 14, total.label, palette.ink, weight=600),
        rect(
            min(x(0), x(total.amount)),
            y + 2,
            max(abs(total.amount) * scale, 1.5),
            _ROW - 10,
            palette.ink,
            round_=2,
        ),
        label(WIDTH, y + 14, total.amount_text, palette.ink, anchor="end", weight=600),
    ]
    description = ", ".join(f"{row.label} {row.amount_text}" for row in (*rows, total))
    return document(
        WIDTH,
        height,
        body,
        ident=ident,
        title="Where the money came from",
        desc=f"{description} {unit}".strip(),
        font=palette.font,
    )


def _step(y: float, row: Bar, ends: tuple[float, float], palette: Palette) -> list[str]:
    """One line of an attribution from where the one above it ended, and the thread to the one below."""
    start, end = ends
    colour = palette.of(row.amount)
    return [
        label(0, y + 14, row.label, palette.ink),
        rect(min(start, end), y + 2, max(abs(end - start), 1.5), _ROW - 10, colour, round_=2),
        stroke(end, y + _ROW - 8, end, y + _ROW + 2, palette.quiet, width=0.8),
        label(WIDTH, y + 14, row.amount_text, colour, anchor="end"),
    ]


def forest(
    rows: Sequence[Verdict], *, unit: str = "", palette: Palette = INLINE, ident: str = "forest"
) -> str:
    """Heuristics with their average in the period (dot) and the 95 % interval of their mean so far.

    The thin bar is the interval at every look, the thick one inside it that of this look alone.
    """
    names, values = 118.0, 82.0
    reach = _reach(rows)
    axis_start, axis_end = names + 10, WIDTH - values - 8
    middle, scale = (axis_start + axis_end) / 2, (axis_end - axis_start) / 2 / reach
    height = len(rows) * _ROW + 24
    body = [stroke(middle, 2, middle, height - 18, palette.quiet, width=0.8)]
    for i, row in enumerate(rows):
        body += _row(i * _ROW + 14, row, (axis_start, axis_end), (middle, scale, reach), palette)
    y = height - 4
    body += [
        label(axis_start, y, f"-{_short(reach)}", palette.quiet, size=10.5),
        label(middle, y, "0", palette.quiet, anchor="middle", size=10.5),
        label(
            axis_end,
            y,
            f"+{_short(reach)} {unit if len(unit) <= _UNIT else ''}".rstrip(),
            palette.quiet,
            anchor="end",
            size=10.5,
        ),
    ]
    if any(_beyond(row, reach) for row in rows):
        body += [
            _arrow(0, y - 4, palette.quiet, ahead=True),
            label(11, y, _GOES_ON, palette.quiet, size=10.5),
        ]
    description = "; ".join(
        f"{row.name} {row.role}: {row.verdict} ({row.doubt}), {row.average_text or 'no outcome'}"
        for row in rows
    )
    title = f"Heuristics: average and 95 % interval{f' in {unit}' if unit else ''}"
    return document(WIDTH, height, body, ident=ident, title=title, desc=description, font=palette.font)


def _row(
    y: float,
    row: Verdict,
    edges: tuple[float, float],
    axis: tuple[float, float, float],
    palette: Palette,
) -> list[str]:
    """One heuristic at a height: its name, both intervals, its average as a dot and in words."""
    (axis_start, axis_end), (middle, scale, reach) = edges, axis
    colour = {"up": palette.up, "down": palette.down, "warn": palette.warn}.get(row.tone, palette.quiet)
    body = [label(0, y + 4, _named(row), palette.ink)]
    if row.low is not None or row.high is not None:
        ends = (-math.inf if row.low is None else row.low, math.inf if row.high is None else row.high)
        body += _whisker(y, ends, (middle, scale, reach), colour)
    if row.one_look is not None:
        low, high = (middle + max(-reach, min(reach, end)) * scale for end in row.one_look)
        body.append(rect(low, y - 2.5, high - low, 5, colour, opacity=0.3, round_=1))
    if row.average is not None and abs(row.average) > reach:
        edge = axis_end if row.average > 0 else axis_start
        body.append(_arrow(edge, y, colour, ahead=row.average > 0))
    elif row.average is not None:
        dot = middle + row.average * scale
        body.append(circle(dot, y, 4.2, colour, palette.paper, width=1.2))
    body.append(
        label(
            WIDTH,
            y + 4,
            row.average_text or "no outcome",
            colour if row.average_text else palette.quiet,
            anchor="end",
        )
    )
    return body


def _named(row: Verdict) -> str:
    """Name and role, or as much of the name as there is room for."""
    text = f"{row.name} {row.role}"
    return text if cells(text) <= _NAME else cut(row.name, _NAME)


def _reach(rows: Sequence[Verdict]) -> float:
    """How far the axis goes on either side: all averages, and intervals unless a few dwarf the rest.

    Of fewer than three outcomes neither says anything yet: such a row sets no scale where another can.
    """
    sound = [row for row in rows if row.n >= _FEW] or rows
    ends = sorted(
        max(abs(end) for end in _ends(row) if end is not None)
        for row in sound
        if any(end is not None for end in _ends(row))
    )
    averages = [abs(row.average) for row in sound if row.average is not None]
    most = max([*averages, *ends], default=0.0)
    usual = max([1.15 * max(averages, default=0.0), 3 * ends[len(ends) // 2] if ends else 0.0])
    return min(most * 1.05, usual) or 1.0


def _ends(row: Verdict) -> tuple[float | None, ...]:
    """The ends of both intervals; None where there is none, or nothing limits it."""
    return (row.low, row.high, *(row.one_look or ()))


def _whisker(
    y: float, interval: tuple[float, float], axis: tuple[float, float, float], colour: str
) -> list[str]:
    """An interval as a thin bar with caps; an end beyond the axis, or that nothing limits, is an arrow that points there."""
    middle, scale, reach = axis
    low, high = (middle + max(-reach, min(reach, end)) * scale for end in interval)
    parts = [stroke(low, y, high, y, colour, width=1.4)]
    for end, x in zip(interval, (low, high), strict=True):
        if abs(end) <= reach:
            parts.append(stroke(x, y - 5, x, y + 5, colour, width=1.4))
        else:
            parts.append(_arrow(x, y, colour, ahead=end > 0))
    return parts


def _arrow(x: float, y: float, colour: str, *, ahead: bool) -> str:
    """What was cut goes on: a triangle outside the axis."""
    tip = x + 7 if ahead else x - 7
    return polygon([(x, y - 5), (tip, y), (x, y + 5)], colour)


def _beyond(row: Verdict, reach: float) -> bool:
    """Whether something of a row lies beyond the axis."""
    has_open_end = (row.low is None) != (row.high is None)
    return has_open_end or any(abs(end) > reach for end in (*_ends(row), row.average) if end is not None)


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1e4 else f"{value:.2e}"
