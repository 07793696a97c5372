"""Charts of days: the equity curve with its drawdown, the calendar of daily pnl."""

from __future__ import annotations

from datetime import date
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.figures import money_of, percent
from retro.present.charts.bars import WIDTH
from retro.present.charts.plane import Plane, plane_of, thousands
from retro.present.charts.svg import INLINE, Palette, circle, document, label, polygon, polyline, rect, stroke
from retro.present.scale import amount_ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Day

__all__ = ["calendar", "equity_curve"]

_DAYS_WITH_NAMES: Final = 42


def equity_curve(
    days: Sequence[Day],
    opening: float | None,
    *,
    unit: str = "",
    palette: Palette = INLINE,
    ident: str = "equity",
    rows: str = "",
) -> str:
    """Equity at the end of each day above its drawdown; cumulative pnl alone where no capital is known.

    `rows` is the id of a table of the days, for a cursor that goes along them.
    """
    has_equity = opening is not None and all(day.equity is not None for day in days)
    if has_equity:
        levels = [opening or 0.0, *(day.equity or 0.0 for day in days)]
    else:
        levels = [0.0, *accumulate(day.pnl or 0.0 for day in days)]
    falls = [day.drawdown for day in days]
    deep = min((fall for fall in falls if fall is not None), default=0.0)
    shows_fall = deep < 0
    bottom = 130.0
    height = bottom + (74 if shows_fall else 24)
    low, high = min(levels), max(levels)
    plane = plane_of(low, high, 10, bottom)
    money = money_of(unit, levels)
    written = money.plain if has_equity else money.signed
    body = [
        part for tick in amount_ticks(low, high, 5) for part in _rule(tick, written(tick), plane, palette)
    ]
    step = 1 / len(days)
    line = [(plane.x(i * step), plane.y(level)) for i, level in enumerate(levels)]
    body += [polyline(line, palette.up, width=2), circle(*line[-1], 3.5, palette.up, palette.paper)]
    if shows_fall:
        body += _fall(falls, deep, plane, bottom + 14, palette)
    names = [(0, days[0].date), (len(days) - 1, days[-1].date)]
    for (i, name), anchor in zip(names, ("start", "end"), strict=True):
        x = plane.left_edge if i == 0 else plane.right_edge
        body.append(label(x, height - 4, name, palette.quiet, anchor=anchor, size=10.5))
    title = "Equity and drawdown" if has_equity else "Cumulative PnL"
    description = f"from {money.amount(levels[0])} to {money.amount(levels[-1])} over {len(days)} days"
    description += f", deepest fall {percent(deep, 1)}" if shows_fall else ""
    return document(
        WIDTH,
        height,
        body,
        ident=ident,
        title=title,
        desc=description,
        font=palette.font,
        rows=rows,
        points=line[1:],
    )


def _rule(amount: float, text: str, plane: Plane, palette: Palette) -> tuple[str, str]:
    """A line across the plane at an amount, and the amount before it, shortened where there is no room."""
    y = plane.y(amount)
    name = thousands(amount) if len(text) > 8 else text
    return (
        stroke(plane.left_edge, y, plane.right_edge, y, palette.rule, width=0.8),
        label(plane.left_edge - 6, y + 4, name, palette.quiet, anchor="end", size=10.5),
    )


def _fall(
    falls: Sequence[float | None], deep: float, plane: Plane, top: float, palette: Palette
) -> list[str]:
    """The drawdown, hanging from its own zero line."""
    size, step = 34.0, 1 / len(falls)
    points = [(plane.left_edge, top)]
    points += [(plane.x((i + 1) * step), top + (fall or 0.0) / deep * size) for i, fall in enumerate(falls)]
    return [
        polygon([*points, (plane.right_edge, top)], palette.down, opacity=0.22),
        polyline(points, palette.down, width=1.2),
        label(plane.left_edge - 6, top + 4, "0 %", palette.quiet, anchor="end", size=10.5),
        label(plane.left_edge - 6, top + size + 4, percent(deep, 1), palette.down, anchor="end", size=10.5),
    ]


def calendar(
    days: Sequence[Day], *, unit: str = "", palette: Palette = INLINE, ident: str = "calendar"
) -> str:
    """Daily pnl as a heat strip: weeks beneath each other with their amounts, or, many, beside each other."""
    dates = [date.fromisoformat(day.iso) for day in days]
    first = dates[0].toordinal() - dates[0].weekday()
    most = max((abs(day.pnl or 0.0) for day in days), default=0.0) or 1.0
    named = len(days) <= _DAYS_WITH_NAMES
    weeks = (dates[-1].toordinal() - first) // 7 + 1
    wide = WIDTH / 7 if named else min(14.0, WIDTH / weeks)
    tall = 40.0 if named else min(14.0, wide)
    money = money_of(unit, [day.pnl for day in days])
    top = 18.0 if named else 2.0
    body = _weekdays(wide, palette) if named else []
    for day, at in zip(days, dates, strict=True):
        week, weekday = divmod(at.toordinal() - first, 7)
        column, row = (weekday, week) if named else (week, weekday)
        x, y = column * wide, top + row * tall
        pnl = day.pnl or 0.0
        share = abs(pnl) / most
        gap = 3.0 if named else 1.5
        fill = palette.rule if pnl == 0 else palette.of(pnl)
        body.append(
            rect(x, y, wide - gap, tall - gap, fill, opacity=0.12 + 0.5 * share if pnl else 0.5, round_=3)
        )
        if named:
            text = money.signed(day.pnl)
            text = text if len(text) <= 8 else f"{'+' if pnl > 0 else ''}{thousands(pnl)}"
            body += [
                label(x + 6, y + 13, str(at.day), palette.ink, size=9.5),
                label(x + wide / 2 - 1.5, y + 29, text, palette.ink, anchor="middle", size=11),
            ]
    height = top + (weeks if named else 7) * tall
    gains = sum((day.pnl or 0.0) > 0 for day in days)
    description = (
        f"{gains} of {len(days)} days above 0, together {money.change(fsum(day.pnl or 0.0 for day in days))}"
    )
    return document(WIDTH, height, body, ident=ident, title="PnL by day", desc=description, font=palette.font)


def _weekdays(wide: float, palette: Palette) -> list[str]:
    return [
        label(i * wide + wide / 2, 11, name, palette.quiet, anchor="middle", size=10.5)
        for i, name in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))
    ]
