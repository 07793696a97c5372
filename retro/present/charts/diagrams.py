"""Diagrams as SVG: reliability, values with intervals, how often values came, shares that fall in steps, and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import percent
from retro.present.charts.bars import WIDTH
from retro.present.charts.lives import lives
from retro.present.charts.prices import prices
from retro.present.charts.svg import INLINE, Palette, circle, document, label, polyline, rect, stroke
from retro.present.charts.twins import twins
from retro.present.charts.waterfall import waterfall
from retro.present.page.diagrams import (
    HistogramDiagram,
    LivesDiagram,
    PriceDiagram,
    RangeDiagram,
    ReliabilityDiagram,
    TwinsDiagram,
    WaterfallDiagram,
)
from retro.present.scale import amount_ticks
from retro.present.widths import cells, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retro.present.page.diagrams import Diagram, RangeRow, StepDiagram

__all__ = ["drawn_diagram"]

_TOP: Final = 30.0
_PLOT: Final = 168.0
_LEFT: Final = 44.0
_ROW: Final = 26.0
_NAMES: Final = 122.0
_VALUES: Final = 96.0
_CELL: Final = 6.4
_NAME: Final = 17
_TITLE: Final = 52
_SMALL: Final = 10.5
_DASH: Final = "4 3"
_HEIGHT: Final = 96.0


class _Frame(NamedTuple):
    """A plot: x from a share of its width, y from a share of its height, 0 at the lower left."""

    left: float
    right: float
    top: float
    bottom: float

    def x(self, share: float) -> float:
        return self.left + share * (self.right - self.left)

    def y(self, share: float) -> float:
        return self.bottom - share * (self.bottom - self.top)


def drawn_diagram(block: Diagram, *, palette: Palette = INLINE, ident: str = "diagram") -> str:
    """The diagram, named and described in words for those who do not see it."""
    if isinstance(block, ReliabilityDiagram):
        body, height, words = _reliability(block, palette)
    elif isinstance(block, RangeDiagram):
        body, height, words = _ranges(block, palette)
    elif isinstance(block, HistogramDiagram):
        body, height, words = _histogram(block, palette)
    elif isinstance(block, WaterfallDiagram):
        body, height, words = waterfall(block, palette)
    elif isinstance(block, LivesDiagram):
        body, height, words = lives(block, palette)
    elif isinstance(block, PriceDiagram):
        body, height, words = prices(block, palette)
    elif isinstance(block, TwinsDiagram):
        body, height, words = twins(block, palette)
    else:
        body, height, words = _steps(block, palette)
    title = block.title if cells(block.title) <= _TITLE else cut(block.title, _TITLE)
    body = [label(0, 14, title, palette.ink, weight=600), *body]
    return document(WIDTH, height, body, ident=ident, title=block.title, desc=words, font=palette.font)


def _reliability(block: ReliabilityDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """The diagonal, a disc for each bin (larger for more claims), and the curve in force."""
    frame = _Frame(_LEFT, _LEFT + _PLOT * 1.38, _TOP, _TOP + _PLOT)
    body = _shares(frame, palette)
    body.append(stroke(frame.x(0), frame.y(0), frame.x(1), frame.y(1), palette.quiet, width=1, dash=_DASH))
    if len(block.curve) > 1:
        body.append(polyline([(frame.x(p), frame.y(q)) for p, q in block.curve], palette.up, width=1.8))
    most = max((point.n for point in block.points), default=1)
    for point in block.points:
        radius = 3 + 6 * (point.n / most) ** 0.5
        above = point.right >= point.stated
        colour = palette.up if above else palette.down
        body.append(
            circle(frame.x(point.stated), frame.y(point.right), radius, colour, palette.paper, width=1.2)
        )
    height = _TOP + _PLOT + 34
    right = frame.right + 12
    body += [
        label(frame.x(0.5), height - 6, "stated confidence", palette.quiet, anchor="middle", size=_SMALL),
        label(right, _TOP + 10, "came true", palette.quiet, size=_SMALL),
        label(right, _TOP + 30, "above the line:", palette.up, size=_SMALL),
        label(right, _TOP + 43, "too modest", palette.up, size=_SMALL),
        label(right, _TOP + 62, "below:", palette.down, size=_SMALL),
        label(right, _TOP + 75, "too sure", palette.down, size=_SMALL),
    ]
    if len(block.curve) > 1:
        body += [
            stroke(right, _TOP + 92, right + 16, _TOP + 92, palette.up, width=1.8),
            label(right, _TOP + 106, "what it is worth", palette.quiet, size=_SMALL),
        ]
    words = "; ".join(
        f"stated {percent(point.stated)}: {percent(point.right)} of {point.n:,} came true"
        for point in block.points
    )
    return body, height, words


def _shares(frame: _Frame, palette: Palette) -> list[str]:
    """Both axes from 0 to 100 %."""
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = frame.y(share)
        parts += [
            stroke(frame.left, y, frame.right, y, palette.rule, width=0.8),
            label(frame.left - 6, y + 4, percent(share), palette.quiet, anchor="end", size=_SMALL),
            label(
                frame.x(share), frame.bottom + 14, percent(share), palette.quiet, anchor="middle", size=_SMALL
            ),
        ]
    return parts


def _ranges(block: RangeDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """A dot for each value, a bar for its interval, all around 0."""
    ends = [end for row in block.rows for end in (row.value, row.low, row.high) if end is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    width = (high - low) or 1.0
    low, high = low - 0.04 * width, high + 0.04 * width
    words_wide = max((cells(row.text) for row in block.rows), default=0) * _CELL
    frame = _Frame(_NAMES, WIDTH - max(_VALUES, words_wide), _TOP, _TOP + len(block.rows) * _ROW)

    def x(value: float) -> float:
        return frame.x((value - low) / (high - low))

    body = [stroke(x(0.0), _TOP - 2, x(0.0), frame.bottom, palette.quiet, width=0.9)]
    for i, row in enumerate(block.rows):
        body += _range(row, _TOP + i * _ROW + 12, x, palette)
    height = frame.bottom + 20
    marked: list[float] = []
    for tick in amount_ticks(low, high, 4):
        if all(abs(x(tick) - other) > 40 for other in marked):
            marked.append(x(tick))
            body.append(
                label(x(tick), height - 6, f"{tick:.4g}", palette.quiet, anchor="middle", size=_SMALL)
            )
    body.append(label(WIDTH, height - 6, block.unit, palette.quiet, anchor="end", size=_SMALL))
    words = "; ".join(f"{row.label}: {row.text}" for row in block.rows)
    return body, height, words


def _range(row: RangeRow, y: float, place: Callable[[float], float], palette: Palette) -> list[str]:
    """One value at a height: its name, its interval, itself as a dot and in words."""
    name = row.label if cells(row.label) <= _NAME else cut(row.label, _NAME)
    parts = [
        label(0, y + 4, name, palette.ink),
        label(WIDTH, y + 4, row.text, palette.ink, anchor="end", size=11),
    ]
    colour = palette.quiet if row.value is None else palette.of(row.value)
    if row.low is not None and row.high is not None:
        low, high = place(row.low), place(row.high)
        parts += [
            stroke(low, y, high, y, colour, width=1.6),
            stroke(low, y - 4, low, y + 4, colour, width=1.6),
            stroke(high, y - 4, high, y + 4, colour, width=1.6),
        ]
    if row.value is not None:
        parts.append(circle(place(row.value), y, 4.2, colour, palette.paper, width=1.2))
    return parts


def _histogram(block: HistogramDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """A bar a part, the line of what chance alone would give, and the real one as a strong mark."""
    frame = _Frame(8, WIDTH - 8, _TOP + 16, _TOP + 16 + _HEIGHT)
    most = max([1, *block.counts]) if block.expected is None else max([block.expected, *block.counts, 1])
    parts = max(1, len(block.counts))
    body = []
    for i, number in enumerate(block.counts):
        left, right = frame.x(i / parts), frame.x((i + 1) / parts)
        top = frame.y(number / most)
        body.append(
            rect(left + 0.75, top, right - left - 1.5, frame.bottom - top, palette.quiet, opacity=0.45)
        )
    body.append(stroke(frame.left, frame.bottom, frame.right, frame.bottom, palette.rule))
    if block.expected is not None:
        y = frame.y(block.expected / most)
        body.append(stroke(frame.left, y, frame.right, y, palette.ink, width=1, dash=_DASH))
    if block.real is not None and block.high > block.low:
        share = min(max((block.real - block.low) / (block.high - block.low), 0.0), 1.0)
        at = frame.x(share)
        anchor = "start" if share < 0.25 else "end" if share > 0.75 else "middle"
        body += [
            stroke(at, frame.top - 6, at, frame.bottom, palette.up, width=2),
            label(at, frame.top - 10, block.real_text, palette.up, anchor=anchor, size=11, weight=600),
        ]
    height = frame.bottom + 20
    body += [
        label(frame.left, height - 6, block.low_text, palette.quiet, size=_SMALL),
        label(frame.right, height - 6, block.high_text, palette.quiet, anchor="end", size=_SMALL),
    ]
    words = f"from {block.low_text} to {block.high_text}: {', '.join(f'{n:,}' for n in block.counts)}"
    return body, height, f"{words}; {block.real_text}" if block.real_text else words


def _steps(block: StepDiagram, palette: Palette) -> tuple[list[str], float, str]:
    """The share that is left after so many days, in steps; the line at one half."""
    frame = _Frame(_LEFT, WIDTH - 8, _TOP, _TOP + _HEIGHT)
    end = max(block.end, *(days for days, _ in block.points), 1.0) if block.points else max(block.end, 1.0)
    body = []
    for share in (0.0, 0.5, 1.0):
        y = frame.y(share)
        colour = palette.quiet if share == 0.5 else palette.rule
        body += [
            stroke(frame.left, y, frame.right, y, colour, width=0.9, dash=_DASH if share == 0.5 else ""),
            label(frame.left - 6, y + 4, percent(share), palette.quiet, anchor="end", size=_SMALL),
        ]
    corners = _corners(block.points, end)
    body.append(
        polyline([(frame.x(days / end), frame.y(share)) for days, share in corners], palette.up, width=1.8)
    )
    height = frame.bottom + 20
    for days in amount_ticks(0.0, end, 5):
        body.append(
            label(
                frame.x(days / end),
                height - 6,
                f"{days:.4g} d" if days else "0",
                palette.quiet,
                anchor="end" if days > 0.95 * end else "middle",
                size=_SMALL,
            )
        )
    words = "; ".join(f"after {days:.4g} days {percent(share)} are left" for days, share in block.points)
    return body, height, words or "nobody has died"


def _corners(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """The line's corners: level until a day, then down."""
    corners = [(0.0, 1.0)]
    for days, share in points:
        corners += [(days, corners[-1][1]), (days, share)]
    return [*corners, (end, corners[-1][1])]
