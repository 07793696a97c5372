"""Drawings in characters: a position's path in braille dots, bars in eighths of a block, a strip of twins. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import money_of, seconds_between
from retro.present.page.screens.stops import stop_rows
from retro.present.path import in_window, path_points, stepwise
from retro.present.scale import amount_ticks, time_ticks
from retro.present.widths import TextSpan, cells, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import PathChart, Tone
    from retro.present.page.diagrams import TwinsDiagram
    from retro.present.page.screens.stops import StopRow
    from retro.present.widths import Line
    from retro.report import PositionRetrospective

__all__ = ["LEVELS_OF_ODDS", "diverging", "drawn_path", "odds_line", "spark_line", "twins_line"]

_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # braille dot bits by row and column
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_SPARK: Final = 8
_ROWS: Final = 12
_MOST, _HALF, _MIDDLE = "░", "▒", "┃"
ENTRY, CHECKPOINT, BEST, EXIT = "○", "◆", "▲", "●"


def spark_line(levels: bytes) -> str:
    """A position's way in eight blocks: the height, from its deepest loss to its peak, at the end of each eighth."""
    step = len(levels) // _SPARK
    return "".join(_HEIGHTS[level * len(_HEIGHTS) // 256] for level in levels[step - 1 :: step])


def diverging(amounts: Sequence[float], width: int) -> list[tuple[str, str]]:
    """Bars around one zero line, all on one scale: for each amount what stands left of zero and what right of it.

    The two together are `width` columns wide.
    """
    largest = max([0.0, *map(abs, amounts)])
    if largest <= 0:
        return [("", " " * width) for _ in amounts]
    shares = [
        amount / largest for amount in amounts
    ]  # between -1 and 1: nothing is lost to the smallest float
    gains, losses = max([0.0, *shares]), -min([0.0, *shares])
    loss_width = round(width * losses / (gains + losses))
    loss_width = min(max(loss_width, 1 if losses else 0), width - (1 if gains else 0))
    per_cell = max(losses / loss_width if losses else 0.0, gains / (width - loss_width) if gains else 0.0)
    bars = []
    for share in shares:
        size = abs(share) / per_cell
        if share < 0:
            body = "█" * int(size) if size >= 1 else ""
            half = "▐" if size - int(size) >= 0.5 or not body else ""
            bars.append(((half + body)[-loss_width:].rjust(loss_width), " " * (width - loss_width)))
        else:
            eighths = max(round(size * 8), 1 if share > 0 else 0)
            body = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
            bars.append((" " * loss_width, body[: width - loss_width].ljust(width - loss_width)))
    return bars


def twins_line(block: TwinsDiagram, width: int) -> Line:
    """The strip of a result among its twins': nine in ten, half of them, the middle one, and itself."""
    first, last = block.reach

    def place(amount: float) -> int:
        return round((amount - first) / ((last - first) or 1.0) * (width - 1))

    low, lower, middle, upper, high = map(place, block.quantiles)
    signs = [
        _MIDDLE if i == middle else _HALF if lower <= i <= upper else _MOST if low <= i <= high else " "
        for i in range(width)
    ]
    at = place(block.result)
    tone: Tone = "up" if block.result > 0 else "down" if block.result < 0 else "strong"
    return line(("".join(signs[:at]), "faint"), (EXIT, tone), ("".join(signs[at + 1 :]), "faint"))


_LEVELS: Final = ((0.1, "▁"), (0.3, "▂"), (1.0, "▃"), (3.0, "▄"), (10.0, "▅"), (30.0, "▆"), (100.0, "▇"))
LEVELS_OF_ODDS: Final = "▃ below 1, ▄ from 1, ▅ from 3, ▆ from 10 to 1, █ from 100"
"""What the heights of `odds_line` mean."""


def odds_line(values: Sequence[float], width: int) -> tuple[str, int]:
    """Odds week by week as one line, the newest last, and how many weeks each sign is: it shows the last of them."""
    step = max(1, -(-len(values) // max(1, width)))
    signs = [
        next((sign for limit, sign in _LEVELS if value < limit), "█") for value in values[::-1][::step][::-1]
    ]
    return "".join(signs), step


class _Frame(NamedTuple):
    """The plane a path is drawn on: seconds from `start` to `end` rightwards, money upwards, in cells of 2 x 4 dots."""

    start: float
    end: float
    low: float
    high: float
    columns: int
    rows: int

    def dot(self, seconds: float, amount: float) -> tuple[int, int]:
        """Column and row of the dot nearest to a point, the origin at the top left."""
        x = (seconds - self.start) / (self.end - self.start)
        y = (self.high - amount) / (self.high - self.low)
        return (
            min(max(round(x * (self.columns * 2 - 1)), 0), self.columns * 2 - 1),
            min(max(round(y * (self.rows * 4 - 1)), 0), self.rows * 4 - 1),
        )


def drawn_path(block: PathChart, width: int) -> list[Line]:
    """The PnL trajectory as lines of at most `width` columns: axis, path, entry, checkpoints, best exit, exit.

    Of a part of a life only that; where somebody points at a stop, a line goes through it, and its words stand beneath.
    """
    position = block.position
    path = path_points(position)
    start, end = block.window or (0.0, max(path[-1][0], 1.0))
    points = stepwise(in_window(path, (start, end)))
    marks = [mark for mark in _marks(position) if start <= mark[0] <= end]
    amounts = [0.0, *(pnl for _, pnl in points), *(pnl for _, pnl, _ in marks)]
    low, high = min(amounts), max(amounts)
    if low == high:
        high = low + 1.0
    money = money_of(block.unit, [low, high])
    ticks = amount_ticks(low, high, 6)
    labels = {tick: money.signed(tick) if abs(tick) > 1e-12 else "0" for tick in ticks}
    margin = max(map(cells, labels.values())) + 2
    frame = _Frame(start, end, low, high, max(20, width - margin - 4), _ROWS)
    rows = _dotted(points, frame)
    stop = _pointed(block, rows, frame)
    for seconds, pnl, glyph in marks:
        x, y = frame.dot(seconds, pnl)
        rows[y // 4][x // 2] = TextSpan(glyph, "strong")
    named = {frame.dot(start, tick)[1] // 4: labels[tick] for tick in ticks}
    out: list[Line] = []
    for y, row in enumerate(rows):
        label = named.get(y, "")
        out.append(line((f"  {label.rjust(margin - 2)} {'┤' if label else '│'}", "faint"), *row))
    legend = _legend(position, frozenset(glyph for _, _, glyph in marks), margin)
    return [*out, *_time_axis(frame, margin), *legend, *_words(stop, margin, width)]


def _dotted(points: Sequence[tuple[float, float]], frame: _Frame) -> list[list[TextSpan]]:
    """The path in braille on the line of nothing won or lost, a cell each."""
    zero = frame.dot(frame.start, 0.0)[1] // 4
    return [
        [
            TextSpan(chr(0x2800 + bits)) if bits else TextSpan("─", "faint") if y == zero else TextSpan(" ")
            for bits in dots
        ]
        for y, dots in enumerate(_traced(points, frame))
    ]


def _pointed(block: PathChart, rows: list[list[TextSpan]], frame: _Frame) -> StopRow | None:
    """Draw the line through the stop that is pointed at; gives that stop."""
    stops = stop_rows(block) if block.cursor is not None else []
    if block.cursor is None or not stops:
        return None
    stop = stops[min(block.cursor, len(stops) - 1)]
    x, y = frame.dot(stop.seconds, stop.amount)
    for row in rows:
        row[x // 2] = TextSpan("┃", "warn")
    rows[y // 4][x // 2] = TextSpan("╋", "warn")
    return stop


def _words(stop: StopRow | None, margin: int, width: int) -> list[Line]:
    """What a table of the stops says of one."""
    if stop is None:
        return []
    indent = " " * (margin + 2)
    spans = line(indent, (f"{stop.moment}  ", "strong"), f"{stop.after}  ", (stop.pnl, stop.tone))
    if not stop.name:
        return [spans]
    if sum(cells(span.text) for span in spans) + cells(stop.name) + 2 <= width:
        return [line(*spans, f"  {stop.name}")]
    return [spans, line(indent, stop.name)]


def _marks(position: PositionRetrospective) -> list[tuple[float, float, str]]:
    """What stands out on a path: seconds since the entry, pnl, glyph. Later ones are drawn over earlier ones."""
    marks = [
        (seconds_between(position.entry_at, point.at), point.pnl, CHECKPOINT)
        for point in position.pnl_trajectory[:-1]
        if point.pnl is not None
    ]
    marks.append((0.0, position.path[0].pnl, ENTRY))
    if position.optimal_exit_at is not None and position.optimal_exit_pnl is not None:
        at = seconds_between(position.entry_at, position.optimal_exit_at)
        marks.append((at, position.optimal_exit_pnl, BEST))
    marks.append((seconds_between(position.entry_at, position.path[-1].at), position.path[-1].pnl, EXIT))
    return marks


def _traced(points: Sequence[tuple[float, float]], frame: _Frame) -> list[list[int]]:
    """The path as braille bits, a cell each: straight between its corners."""
    grid = [[0] * frame.columns for _ in range(frame.rows)]
    dots = [frame.dot(seconds, pnl) for seconds, pnl in points]
    for (x0, y0), (x1, y1) in pairwise(dots):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for k in range(steps + 1):
            x, y = round(x0 + (x1 - x0) * k / steps), round(y0 + (y1 - y0) * k / steps)
            grid[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    return grid


def _time_axis(frame: _Frame, margin: int) -> list[Line]:
    axis, labels = ["─"] * frame.columns, [" "] * (frame.columns + 1)
    free = 0
    for seconds, label in time_ticks(frame.end, 8, frame.start):
        x = frame.dot(seconds, frame.low)[0] // 2
        axis[x] = "┬"
        if free <= x <= len(labels) - len(label):
            labels[x : x + len(label)] = label
            free = x + len(label) + 1
    indent = " " * (margin + 1)
    return [line((f"{indent}└{''.join(axis)}", "faint")), line((f"{indent} {''.join(labels)}", "faint"))]


def _legend(position: PositionRetrospective, glyphs: frozenset[str], margin: int) -> list[Line]:
    """What the glyphs mean that were drawn."""
    last = "now" if position.open else "exit"
    best = position.optimal_exit_at
    if best is not None and best == position.path[-1].at:
        last, glyphs = f"{last}, the best moment", glyphs - {BEST}
    names = {ENTRY: "entry", CHECKPOINT: "checkpoint", BEST: "best exit", EXIT: last}
    words = [f"{glyph} {name}" for glyph, name in names.items() if glyph in glyphs]
    return [line((f"{' ' * (margin + 2)}{'   '.join(words)}", "faint"))] if words else []
