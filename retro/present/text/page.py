"""A page as text for a terminal, 80 columns wide unless told otherwise; colour only when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, date_text, odds, percent
from retro.present.page.blocks import (
    Bars,
    Days,
    Diagrams,
    Figure,
    FigureList,
    Notes,
    OddsChart,
    PathChart,
    Prose,
    Quote,
    Table,
    Verdicts,
    tone_of,
)
from retro.present.page.diagrams import TwinsDiagram
from retro.present.text.drawings import LEVELS_OF_ODDS, diverging, drawn_path, odds_line, twins_line
from retro.present.text.tables import table_lines
from retro.present.widths import cells, cut, line, pad, paint, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Block, Headline, Page, Section, Tone, Verdict
    from retro.present.references import Reference
    from retro.present.widths import Line

__all__ = ["block_lines", "lines_of", "text_of"]

_INDENT: Final = "  "
_DAYS: Final = 31
_QUOTED: Final = 2000
_VALUE: Final = 22
"""The widest value that a column of values makes room for: a wider one stands above its note."""
_NARROWEST: Final = 60


def text_of(page: Page, *, width: int = 80, colour: bool = False) -> str:
    """The page as text, no line wider than `width` (60 at least)."""
    width = max(width, _NARROWEST)
    return paint((row for part in lines_of(page, width) for row in part), width, colour=colour)


def lines_of(page: Page, width: int) -> list[list[Line]]:
    """The page as lines of `width` columns (60 at least): those of its headline, of each section, of its foot."""
    width = max(width, _NARROWEST)
    parts = [_headline(page.headline, width), *(_section(section, width) for section in page.sections)]
    if page.foot:
        rule = line(("─" * width, "faint"))
        parts.append([(), rule, *(line((text, "faint")) for foot in page.foot for text in wrap(foot, width))])
    return parts


def _headline(head: Headline, width: int) -> list[Line]:
    mark = {"up": "▲ ", "down": "▼ "}.get(head.tone, "")
    lines: list[Line] = [
        line((text, "strong")) for text in wrap(f"{head.kicker.upper()}: {head.title}", width)
    ]
    if head.subtitle:
        lines += [line((text, "faint")) for text in wrap(head.subtitle, width)]
    lines.append(())
    lines += [line(_INDENT, (text, head.tone)) for text in wrap(f"{mark}{head.result}", width - 2)]
    if head.why:
        lines += [line(_INDENT, text) for text in wrap(head.why, width - 2)]
    for alarm in head.alarms:
        lines += [line(_INDENT, (text, "warn")) for text in wrap(f"! {alarm}", width - 2)]
    return [*lines, (), *_facts(head.facts, width)] if head.facts else lines


def _section(section: Section, width: int) -> list[Line]:
    title, aside = section.title.upper(), section.aside
    room = width - cells(title) - cells(aside) - 2
    if room < 3:
        aside, room = "", width - cells(title) - 1
    rule = "─" * (room if aside else width - cells(title) - 1)
    lines: list[Line] = [
        (),
        line((title, "strong"), (f" {rule}", "faint"), (f" {aside}" if aside else "", "faint")),
    ]
    titled = len(lines)
    for i, block in enumerate(section.blocks):
        drawn = block_lines(block, width)
        if (
            len(lines) > titled
            and drawn
            and not (isinstance(block, Notes) and isinstance(section.blocks[i - 1], Prose))
        ):
            lines.append(())
        lines += drawn
    return lines


def block_lines(block: Block, width: int) -> list[Line]:
    """One block as lines of at most `width` columns."""
    match block:
        case FigureList():
            return _facts(block.rows, width)
        case Table():
            return table_lines(block, width)
        case Prose():
            return _prose(block, width)
        case Quote():
            return _quote(block, width)
        case Notes():
            return _notes(block, width)
        case Bars():
            return _bars(block, width)
        case Verdicts():
            return _verdicts(block, width)
        case OddsChart():
            return _odds(block, width)
        case Days():
            return _days(block, width)
        case PathChart():
            return [] if block.small else drawn_path(block, width)
        case Diagrams():
            strips = [item for item in block.items if isinstance(item, TwinsDiagram)]
            drawn = [line(_INDENT, *twins_line(item, width - 4)) for item in strips]
            return drawn + [line(_INDENT, (part, "faint")) for part in wrap(block.words, width - 2) if part]


def _facts(rows: Sequence[Figure], width: int) -> list[Line]:
    """Label, value, note: notes hang in a column of their own, or below a value that leaves them no room."""
    label = min(24, max((cells(row.label) for row in rows), default=0))
    widths = (cells(row.value) for row in rows if row.note)
    value = max((width for width in widths if width <= _VALUE), default=0)
    start = 2 + label + 2 + value + 2
    lines: list[Line] = []
    for row in rows:
        head = line(_INDENT, pad(row.label, label), "  ")
        if not row.value:
            lines += _hung(head, wrap(row.note, width - label - 4), label + 4)
        elif cells(row.value) > value or width - start < 24 or not row.note:
            value_lines = wrap(row.value, width - label - 4)
            lines += _hung(head, value_lines, label + 4, row.tone, row.ref)
            lines += [
                line(" " * (label + 4), (text, "faint")) for text in wrap(row.note, width - label - 4) if text
            ]
        else:
            first, *continuation = wrap(row.note, width - start)
            lines.append(line(*head, (pad(row.value, value), row.tone, row.ref), "  " + first))
            lines += [line(" " * start, text) for text in continuation]
    return lines


def _hung(
    head: Line, texts: list[str], indent: int, tone: Tone = "plain", ref: Reference | None = None
) -> list[Line]:
    first, *continuation = texts
    return [line(*head, (first, tone, ref)), *(line(" " * indent, (text, tone)) for text in continuation)]


def _prose(block: Prose, width: int) -> list[Line]:
    heads = [block.label] if cells(block.label) <= width - 2 else wrap(block.label, width - 2)
    label = [line(_INDENT, (text, "strong")) for text in heads if text]
    return [*label, *(line(_INDENT, (text, block.tone)) for text in wrap(block.text, width - 2))]


def _quote(block: Quote, width: int) -> list[Line]:
    quotation = (
        block.text if len(block.text) <= _QUOTED else f"{block.text[:_QUOTED]} ... (cut; JSON has all)"
    )
    lines = [line(_INDENT, ("│ ", "faint"), text) for text in wrap(quotation, width - 4)]
    return [*lines, line(_INDENT, ("│ ", "faint"), (cut(f"said by {block.by}", width - 4), "faint"))]


def _notes(block: Notes, width: int) -> list[Line]:
    lines: list[Line] = []
    for item in block.items:
        first, *continuation = wrap(item, width - 4)
        lines += [line(_INDENT, ("- ", block.tone), first), *(line("    ", text) for text in continuation)]
    return [*lines, *_more(block.omitted)]


def _more(n: int) -> list[Line]:
    return [line(_INDENT, (f"and {n:,} more", "faint"))] if n else []


def _bars(block: Bars, width: int) -> list[Line]:
    label = min(30, max(cells(row.label) for row in (*block.rows, block.total)))
    value = max(cells(row.amount_text) for row in (*block.rows, block.total))
    room = max(8, width - label - value - 7)
    lines: list[Line] = []
    for row, (loss_bar, gain_bar) in zip(
        block.rows, diverging([row.amount for row in block.rows], room), strict=True
    ):
        tone = tone_of(row.amount)
        amount = pad(row.amount_text, value, right=True)
        lines.append(
            line(
                _INDENT,
                f"{pad(row.label, label)}  ",
                (loss_bar, tone),
                ("│", "faint"),
                (gain_bar, tone),
                "  ",
                (amount, tone),
            )
        )
    total = pad(block.total.amount_text, value, right=True)
    gap = " " * (room + 1)
    return [
        *lines,
        line(_INDENT, ("─" * (label + room + value + 5), "faint")),
        line(_INDENT, (f"{pad(block.total.label, label)}  {gap}  {total}", "strong")),
    ]


def _verdicts(block: Verdicts, width: int) -> list[Line]:
    name = min(8, max((cells(row.name) for row in block.rows), default=0))
    lines: list[Line] = []
    for row in block.rows:
        lines += _verdict(row, name, width)
    lines += [line(_INDENT, (part, "faint")) for part in wrap(block.omitted, width - 2) if part]
    if block.untouched:
        names = ", ".join(block.names_untouched)
        text = f"Never cited in the period, condition never triggered: {names}."
        lines += [line(_INDENT, (part, "faint")) for part in wrap(text, width - 2)]
    return lines


def _odds(block: OddsChart, width: int) -> list[Line]:
    """Two lines for each rule, the bets against it and for it, with what they are now."""
    names = [f"{row.name} {row.role}" for row in block.rows]
    name = min(22, max(map(cells, names)))
    sides: list[list[tuple[str, tuple[float, ...], Tone]]] = [
        [("against", row.against, "down"), ("for", row.in_favour, "up")] for row in block.rows
    ]
    value = max(cells(odds(values[-1])) for of in sides for _, values, _ in of)
    weeks = max(len(values) for of in sides for _, values, _ in of)
    room = min(weeks, max(8, width - name - value - 14))
    lines: list[Line] = [line(_INDENT, ("Odds week by week", "strong"))]
    step = 1
    for row_name, of in zip(names, sides, strict=True):
        for i, (side, values, tone) in enumerate(of):
            drawn, step = odds_line([*[0.0] * (weeks - len(values)), *values], room)
            known = -(-len(values) // step)
            drawn = " " * (len(drawn) - known) + drawn[len(drawn) - known :]
            text = pad("" if i else row_name, name)
            now = pad(odds(values[-1]), value, right=True)
            leads = values[-1] == max(other[-1] for _, other, _ in of)
            lines.append(
                line(
                    _INDENT,
                    (text, "strong"),
                    (f"  {side:<8}", "faint"),
                    (drawn, tone if leads else "faint"),
                    f"  {now}",
                )
            )
    legend = f"{date_text(block.first)} to {date_text(block.last)}, each sign {count(step, 'week')}: {LEVELS_OF_ODDS}. {block.note}"
    return [*lines, *(line(_INDENT, (part, "faint")) for part in wrap(legend, width - 2))]


def _verdict(row: Verdict, name: int, width: int) -> list[Line]:
    average = f"{row.average_text} avg" if row.average_text and row.role == "entry" else row.average_text
    head = line(
        "▸ ", (pad(row.name, max(name, min(24, cells(row.name)))), "strong", row.ref), f" {row.role:<5} "
    )
    head += line((row.verdict, row.tone))
    room = width - sum(cells(span.text) for span in head) - cells(average)
    doubt = f" ({row.doubt})"
    beside = cells(doubt) + 2 <= room
    head += line(pad(doubt if beside else "", room), (average, tone_of(row.average)))
    lines = [head]
    if not beside:
        lines += [line("    ", text) for text in wrap(row.doubt, width - 4)]
    for figure in row.figures:
        lines += [line("    ", (text, "faint")) for text in wrap(figure, width - 4)]
    if row.text:
        quotation = wrap(
            f"\N{LEFT DOUBLE QUOTATION MARK}{row.text}\N{RIGHT DOUBLE QUOTATION MARK}", width - 4
        )
        lines += [line("    ", text) for text in quotation[:3]]
    return lines


def _days(block: Days, width: int) -> list[Line]:
    rows = block.rows[-_DAYS:]
    value = max(cells(row.pnl_text) for row in rows)
    level = max(cells(row.equity_text) for row in rows) if block.opening is not None else 0
    date = max(cells(row.date) for row in rows)
    tail = level + 11 if level else 0
    room = max(8, width - 2 - date - value - tail - 7)
    lines: list[Line] = []
    earlier = len(block.rows) - len(rows)
    if earlier:
        lines.append(line(_INDENT, (f"{earlier:,} earlier days are in the JSON document", "faint")))
    if level:
        head = f"{'PnL':>{value}}  {'Equity':>{level}}  {'Drawdown':>8}"
        lines.append(line(" " * (width - cells(head)), (head, "faint")))
    for row, (loss_bar, gain_bar) in zip(
        rows, diverging([row.pnl or 0.0 for row in rows], room), strict=True
    ):
        tone = tone_of(row.pnl)
        spans = line(
            _INDENT,
            f"{pad(row.date, date, right=True)}  ",
            (loss_bar, tone),
            ("│", "faint"),
            (gain_bar, tone),
            ("  " + pad(row.pnl_text, value, right=True), tone),
        )
        if level:
            fall = DASH if row.drawdown is None else percent(row.drawdown, 1)
            spans += line(f"  {pad(row.equity_text, level, right=True)}  {fall:>8}")
        lines.append(spans)
    return lines + [line(_INDENT, (part, "faint")) for part in wrap(block.note, width - 2) if part]
