"""What a page is made of, before any format: a headline, then sections of blocks. Every format draws the same blocks.

Strings here are bare: they may hold what an agent wrote, so each format escapes every one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from retro.present.page.diagrams import Diagrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from retro.present.references import Reference
    from retro.report import PositionRetrospective

__all__ = [
    "FIRST_COMMANDS",
    "NOBODY",
    "Bar",
    "Bars",
    "Block",
    "Cell",
    "Column",
    "Day",
    "Days",
    "Diagrams",
    "Figure",
    "FigureList",
    "Headline",
    "Notes",
    "OddsChart",
    "OddsLine",
    "Page",
    "PathChart",
    "PathView",
    "Prose",
    "Quote",
    "Section",
    "Table",
    "TableRow",
    "Tone",
    "Verdict",
    "Verdicts",
    "absence_page",
    "page_of_blocks",
    "tone_of",
    "unreadable_page",
]

_FEW: Final = 4
_SHORT: Final = 16
"""Columns that a narrow page has room for, and letters of a text beside others."""

Tone = Literal["plain", "up", "down", "warn", "faint", "strong"]


def tone_of(value: float | None) -> Tone:
    """Up, down or neither: the tone an amount is drawn in."""
    if value is None or value == 0:
        return "plain"
    return "up" if value > 0 else "down"


@dataclass(frozen=True, slots=True)
class Figure:
    """One labelled figure and what to know about it; `ref` is what it leads to.

    `name` is its path in the document it is of, such as risk.sharpe: by it one asks where it comes from.
    """

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"
    ref: Reference | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class FigureList:
    """Labelled figures, one under another."""

    rows: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: numbers stand right; `cut` is the least width a text may be cut to, 0 when it is never cut.

    `spare` columns go first where the page is too narrow, the highest number before the others.
    """

    title: str
    right: bool = True
    cut: int = 0
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell; `ref` is what its text leads to.

    `spark` is drawn in place of a text: levels of a way, a byte each, from its lowest, 0, to its highest, 255.
    """

    text: str
    tone: Tone = "plain"
    ref: Reference | None = None
    spark: bytes | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table row; `faint` marks groups too small to be compared. A `heads` row names the rows beneath it."""

    cells: tuple[Cell, ...]
    faint: bool = False
    heads: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with `omitted` rows left out, and a note beneath."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    omitted: int = 0
    note: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether a narrow page has no room for it: of many columns, or of long texts beside others."""
        number = len(self.columns)
        return number > _FEW or (
            number > 2 and any(len(cell.text) > _SHORT for row in self.rows for cell in row.cells[1:])
        )

    @classmethod
    def of(cls, columns: Iterable[Column], rows: Iterable[Iterable[Cell]], note: str = "") -> Table:
        """A table of plain rows, each as long as `columns`."""
        return cls(tuple(columns), tuple(TableRow(tuple(row)) for row in rows), note=note)


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph of ours."""

    text: str
    label: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Quote:
    """The agent's own words, shown as its own."""

    text: str
    by: str


@dataclass(frozen=True, slots=True)
class Notes:
    """Remarks, one a line."""

    items: tuple[str, ...]
    omitted: int = 0
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of an attribution: what it adds to the total."""

    label: str
    amount: float
    amount_text: str


@dataclass(frozen=True, slots=True)
class Bars:
    """An attribution that closes: its lines add up to the total."""

    rows: tuple[Bar, ...]
    total: Bar
    unit: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One heuristic in one role: the recommendation, how sure it is, and the figures behind both.

    `average`, with `low` and `high`, its 95 % interval at every look (None: nothing limits that end), and `one_look`, that
    of this look alone, are drawn in the unit of the block; `n` outcomes. `average_text` is in money.
    """

    name: str
    role: str
    kind: str
    verdict: str
    doubt: str
    figures: tuple[str, ...]
    text: str
    average: float | None
    average_text: str
    low: float | None
    high: float | None
    tone: Tone
    n: int = 0
    one_look: tuple[float, float] | None = None
    ref: Reference | None = None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The citation audit: rows that want a decision first; `omitted` counts those left out, and says where they are.

    `unit` is what its chart counts in; `untouched` are rules that nobody cited, with `more_untouched` beside them.
    """

    rows: tuple[Verdict, ...]
    unit: str
    omitted: str = ""
    untouched: tuple[str, ...] = ()
    more_untouched: int = 0

    @property
    def names_untouched(self) -> tuple[str, ...]:
        """The names of those nobody cited, and where the many more are that a page has no room for."""
        if not self.more_untouched:
            return self.untouched
        return (
            *self.untouched,
            f"and {self.more_untouched:,} more: retro playbook audit and the JSON document have them all",
        )

    @property
    def is_drawn(self) -> bool:
        """Whether a chart of it shows anything: some row has an average or an interval."""
        return any(
            value is not None for row in self.rows for value in (row.average, row.low, row.high, row.one_look)
        )


@dataclass(frozen=True, slots=True)
class OddsLine:
    """The odds of one heuristic in one role at each week's end since the Monday `first`: 10 is 10 to 1.

    `words` say what they are now.
    """

    name: str
    role: str
    first: date
    against: tuple[float, ...]
    in_favour: tuple[float, ...]
    words: str


@dataclass(frozen=True, slots=True)
class OddsChart:
    """Odds week by week, of the rules that matter here, on one axis; `note` says which are left out."""

    rows: tuple[OddsLine, ...]
    note: str = ""

    @property
    def first(self) -> date:
        """The Monday with which the axis begins."""
        return min(row.first for row in self.rows)

    @property
    def last(self) -> date:
        """The Sunday with which it ends."""
        return max(row.first + timedelta(weeks=len(row.against), days=-1) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Day:
    """A day: its pnl, and where capital is known the equity at its end and the fall from the peak so far (<= 0)."""

    iso: str
    date: str
    pnl: float | None
    pnl_text: str
    equity: float | None
    equity_text: str
    drawdown: float | None


@dataclass(frozen=True, slots=True)
class Days:
    """Pnl, equity and drawdown day by day; `opening` is the equity before the first day, `note` says what is absent."""

    rows: tuple[Day, ...]
    unit: str
    opening: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PathView:
    """A way to another part of the same path."""

    title: str
    ref: Reference


@dataclass(frozen=True, slots=True)
class PathChart:
    """A position's path: entry, checkpoints, best exit, exit, and its `result`; a `small` one is one of many.

    `window`: only this part of it is drawn, in seconds since the entry; `views` lead to other parts. `cursor` is the
    stop of that part that somebody points at, from 0 on.
    """

    position: PositionRetrospective
    unit: str
    small: bool = False
    result: str = ""
    tone: Tone = "plain"
    ref: Reference | None = None
    window: tuple[float, float] | None = None
    views: tuple[PathView, ...] = ()
    cursor: int | None = None


Block = FigureList | Table | Prose | Quote | Notes | Bars | Verdicts | OddsChart | Days | PathChart | Diagrams


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page; `aside` stands at the right of the title."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """What the first screen says: what this is about, the result, and why."""

    kicker: str
    title: str
    subtitle: str
    result: str
    why: str
    tone: Tone
    facts: tuple[Figure, ...] = ()
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """One review, ready to be drawn in any format."""

    headline: Headline
    sections: tuple[Section, ...]
    foot: tuple[str, ...] = field(default=())


def page_of_blocks(
    kicker: str, title: str, subtitle: str, result: str, blocks: Iterable[Block], *, key: str = ""
) -> Page:
    """A page of one section, which has the kicker's name, and the `key` or that name in small letters."""
    return Page(
        Headline(kicker, title, subtitle, result, "", "plain"),
        (Section(key or kicker.lower().replace(" ", "-"), kicker, tuple(blocks)),),
    )


NOBODY: Final = "No agent has told anything yet."
FIRST_COMMANDS: Final = ("retro ingest journal FILE", "retro ingest freqtrade DB", "retro run")
"""What an owner of an empty house types."""


def absence_page(title: str, why: str, commands: Sequence[str] = ()) -> Page:
    """A screen that has nothing to show: why, and what to type."""
    blocks = (Notes(tuple(commands)),) if commands else ()
    return Page(
        Headline(kicker="Nothing here", title=title, subtitle="", result=why, why="", tone="plain"),
        (Section("absence", "What to do", blocks),) if blocks else (),
    )


def unreadable_page(why: str) -> Page:
    """A filter, an order or an instant that nobody can read, and why."""
    return Page(Headline("Nothing here", "The slow mirror", "", "That cannot be read", why, "plain"), ())
