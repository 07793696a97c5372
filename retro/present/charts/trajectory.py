"""The chart of a position's path: entry, checkpoints, best exit, exit."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import money_of, seconds_between
from retro.present.charts.bars import WIDTH
from retro.present.charts.plane import Plane, amount_axis, plane_of
from retro.present.charts.svg import INLINE, Palette, circle, document, label, polygon, polyline, rect, stroke
from retro.present.path import in_window, path_points, path_stops, stepwise
from retro.present.scale import time_ticks
from retro.present.widths import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.report import PositionRetrospective

__all__ = ["position_path"]

_LETTER: Final = 6.4  # how wide a letter of a caption is, roughly
_FLOOR: Final = 184.0  # where the axis of time begins
_SHIFTS: Final = (-9.0, 20.0, -22.0, 33.0, -36.0, 47.0, -52.0, 63.0, -70.0, 81.0)
"""Where a caption may stand above or below its point, the nearest first."""


def position_path(
    position: PositionRetrospective,
    *,
    unit: str = "",
    palette: Palette = INLINE,
    ident: str = "path",
    small: bool = False,
    window: tuple[float, float] | None = None,
    rows: str = "",
) -> str:
    """A position's pnl from entry to exit by steps, with its checkpoints, its best exit and its exit marked.

    `window`: only what lies between so many seconds since the entry and so many. `rows` is the id of a table whose rows
    are the stops of the path, for a cursor that goes along them.
    """
    height, bottom = (132.0, 110.0) if small else (212.0, 184.0)
    life = max(seconds_between(position.entry_at, position.path[-1].at), 1.0)
    span = _Span(*(window or (0.0, life)), life)
    points = [
        (span.share(at), pnl)
        for at, pnl in stepwise(in_window(path_points(position), (span.start, span.end)))
    ]
    best = None
    if position.optimal_exit_at is not None and position.optimal_exit_pnl is not None:
        at = seconds_between(position.entry_at, position.optimal_exit_at)
        best = (span.share(at), position.optimal_exit_pnl) if span.holds(at) else None
    amounts = [0.0, *(pnl for _, pnl in points), *([best[1]] if best else [])]
    low, high = min(amounts), max(amounts)
    plane = plane_of(low, high, 14 if small else 28, bottom - (10 if small else 24))
    body = [*amount_axis(plane, low, high, palette, unit), *_areas(points, plane, palette, ident)]
    body.append(polyline([(plane.x(share), plane.y(pnl)) for share, pnl in points], palette.ink))
    body += _time_axis(span, bottom, plane, palette)
    body += _checkpoints(position, span, plane, palette)
    body += _ends(position, points, best, plane, palette, unit, span=span, named=not small)
    stops = [stop for stop in path_stops(position) if span.holds(stop.seconds)] if rows else []
    return document(
        WIDTH,
        height,
        body,
        ident=ident,
        title=f"PnL of {position.position_id} from entry to {'now' if position.open else 'exit'}",
        desc=_description(position, unit),
        font=palette.font,
        rows=rows,
        points=[(plane.x(span.share(stop.seconds)), plane.y(stop.pnl)) for stop in stops],
    )


class _Span(NamedTuple):
    """The seconds since the entry that are drawn, of a life of so many."""

    start: float
    end: float
    life: float

    def share(self, seconds: float) -> float:
        return (seconds - self.start) / max(self.end - self.start, 1.0)

    def holds(self, seconds: float) -> bool:
        return self.start <= seconds <= self.end


def _time_axis(span: _Span, bottom: float, plane: Plane, palette: Palette) -> list[str]:
    """Ticks since the entry."""
    parts = []
    for seconds, name in time_ticks(span.end, 6, span.start):
        x = plane.x(span.share(seconds))
        anchor = "middle" if x < plane.right_edge - 14 else "end"
        parts.append(stroke(x, bottom, x, bottom + 4, palette.quiet, width=0.8))
        parts.append(label(x, bottom + 16, name, palette.quiet, anchor=anchor, size=10.5))
    return parts


def _areas(points: Sequence[tuple[float, float]], plane: Plane, palette: Palette, ident: str) -> list[str]:
    """What lies between the path and zero: one colour above, one below."""
    zero = plane.y(0.0)
    outline = [(plane.x(share), plane.y(pnl)) for share, pnl in points]
    closed = [(outline[0][0], zero), *outline, (outline[-1][0], zero)]
    width = plane.right_edge - plane.left_edge + 4
    clips = [
        f'<clipPath id="{ident}-{name}">{rect(plane.left_edge, top, width, size, "#000")}</clipPath>'
        for name, top, size in (("a", 0.0, zero), ("b", zero, 400.0))
    ]
    return [
        *clips,
        polygon(closed, palette.up, opacity=0.16, clip=f"{ident}-a"),
        polygon(closed, palette.down, opacity=0.16, clip=f"{ident}-b"),
    ]


def _checkpoints(position: PositionRetrospective, span: _Span, plane: Plane, palette: Palette) -> list[str]:
    parts = []
    for point in position.pnl_trajectory[:-1]:
        seconds = seconds_between(position.entry_at, point.at)
        if point.pnl is not None and span.holds(seconds):
            x = plane.x(span.share(seconds))
            y = plane.y(point.pnl)
            corners = [(x, y - 4.5), (x + 4.5, y), (x, y + 4.5), (x - 4.5, y)]
            parts.append(polygon(corners, palette.paper))
            parts.append(polyline([*corners, corners[0]], palette.ink, width=1.3))
    return parts


def _ends(
    position: PositionRetrospective,
    points: Sequence[tuple[float, float]],
    best: tuple[float, float] | None,
    plane: Plane,
    palette: Palette,
    unit: str,
    *,
    span: _Span,
    named: bool,
) -> list[str]:
    """Entry, best exit and exit, as far as they lie in the picture; the last two with their amount where there is room."""
    money = money_of(unit, [pnl for _, pnl in points])
    (first, opened), (last, final) = points[0], points[-1]
    x, y = plane.x(last), plane.y(final)
    colour = palette.of(final)
    parts = [circle(plane.x(first), plane.y(opened), 4, palette.paper, palette.ink)] if not span.start else []
    exit_is_best = best is not None and abs(best[0] - last) < 1e-9
    boxes: list[_Box] = []
    if best is not None and not exit_is_best:
        bx, by = plane.x(best[0]), plane.y(best[1])
        parts.append(polygon([(bx, by - 11), (bx + 5, by - 3), (bx - 5, by - 3)], palette.up))
        anchor = "start" if bx < plane.left_edge + 60 else "end" if bx > plane.right_edge - 70 else "middle"
        caption = f"best exit {money.signed(best[1])}"
        if named:
            parts.append(label(bx, by - 14, caption, palette.up, anchor=anchor, size=11, halo=palette.paper))
            wide = _LETTER * cells(caption)
            left = {"start": bx, "end": bx - wide}.get(anchor, bx - wide / 2)
            boxes.append(_Box(left, by - 25, left + wide, by))
    if span.end < span.life:
        return parts
    parts.append(circle(x, y, 4.5, colour, palette.paper))
    name = "now" if position.open else "best exit, taken" if exit_is_best else "exit"
    caption = f"{name} {money.signed(final)}"
    if named:
        line = [(plane.x(share), plane.y(pnl)) for share, pnl in points]
        base = _baseline(_LETTER * cells(caption), (x - 8, y), line, boxes)
        parts.append(label(x - 8, base, caption, colour, anchor="end", size=11, halo=palette.paper))
    return parts


class _Box(NamedTuple):
    """A rectangle of the picture, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def covered(self, start: tuple[float, float], end: tuple[float, float]) -> float:
        """How much of a line along an axis lies inside."""
        (x0, x1), (y0, y1) = sorted((start[0], end[0])), sorted((start[1], end[1]))
        wide, tall = min(x1, self.right) - max(x0, self.left), min(y1, self.bottom) - max(y0, self.top)
        return max(wide, tall) + 1e-6 if wide >= 0 and tall >= 0 else 0.0


def _baseline(
    wide: float, end: tuple[float, float], line: Sequence[tuple[float, float]], boxes: Sequence[_Box]
) -> float:
    """Where a caption of that width stands that ends at a point: where it covers least of the line and of others."""
    x, y = end

    def cost(base: float) -> float:
        box = _Box(x - wide, base - 10, x, base + 3)
        others = sum(
            wide
            for other in boxes
            if box.top < other.bottom
            and other.top < box.bottom
            and box.left < other.right
            and other.left < box.right
        )
        outside = 1e6 if box.top < 0 or box.bottom > _FLOOR else 0.0
        return outside + others + sum(box.covered(a, b) for a, b in pairwise(line))

    return min((y + shift for shift in _SHIFTS), key=cost)


def _description(position: PositionRetrospective, unit: str) -> str:
    money = money_of(unit, [position.final_pnl])
    parts = [f"{'valued' if position.open else 'exit'} at {money.change(position.final_pnl)}"]
    if position.optimal_exit_pnl is not None:
        parts.append(f"best exit {money.change(position.optimal_exit_pnl)} at {position.optimal_exit_at}")
    parts += [
        f"after {point.offset} {money.change(point.pnl)}"
        for point in position.pnl_trajectory[:-1]
        if point.pnl is not None
    ]
    return "; ".join(parts)
