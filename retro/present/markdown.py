"""A page as Markdown (CommonMark with tables, as forges render it). Whatever an agent wrote shows as plain text.

Every string is escaped in one place, `escaped`: characters that can start a construct become character references,
which no parser reads as structure and no naive reader of the source takes for a link or tag. What a forge finds only
after rendering (mentions, issue numbers, emoji codes) is held apart by code spans around its first character.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, date_text, odds, percent
from retro.present.commands import commands_as_spans
from retro.present.page.blocks import (
    Bars,
    Days,
    Diagrams,
    FigureList,
    Notes,
    OddsChart,
    PathChart,
    Prose,
    Quote,
    Table,
    Verdicts,
)
from retro.present.text.drawings import LEVELS_OF_ODDS, drawn_path, odds_line, spark_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.present.page.blocks import Block, Figure, Page, Section, TableRow, Verdict

__all__ = ["escaped", "markdown_of"]

_ALWAYS: Final = frozenset("\\`*_[]<>&|~^$#{}!")
_HELD: Final = re.compile(
    r"@+|#+(?=\d)|:(?=[A-Za-z0-9_+-]{1,64}:)|(?<=[Gg][Hh])-(?=\d)"  # mentions, issues, emoji codes, GH-1
)
_STARTS: Final = re.compile(r"[-+=](?![0-9A-Za-z])|\d{1,9}[.)](?=\s|$)")  # lists, rules and underlinings
_NUMERIC: Final = frozenset("0123456789.+-")
_WIDE: Final = 78
_SIGNS: Final = 26  # a half year of weeks, or as many signs as stand in a cell of a table


def escaped(text: str) -> str:
    """The text so that any Markdown renderer shows exactly it, on one line: no construct, no link, no table cell."""
    text = " ".join(text.split())
    code_indices = {i for match in _HELD.finditer(text) for i in range(*match.span())}
    start = _STARTS.match(text)
    opening = start.end() - 1 if start else -1
    parts = []
    for in_code, run in groupby(range(len(text)), code_indices.__contains__):
        if in_code:
            parts.append(f"`{''.join(text[i] for i in run)}`")
        else:
            parts += [_reference(text, i, opening=i == opening) for i in run]
    return "".join(parts)


def _sentence(text: str) -> str:
    """The same for a text in which commands of ours may stand: they are code."""
    return commands_as_spans(escaped(text))


def _reference(text: str, i: int, *, opening: bool) -> str:
    """One character as itself where it is harmless, else as a character reference."""
    character = text[i]
    before, after = text[i - 1 : i] if i else "", text[i + 1 : i + 2]
    if character in _ALWAYS or opening:
        harmless = False
    elif character == "/":
        harmless = before not in {"", "/", ":"} and after != "/"
    elif character in ".:":  # what joins the parts of an address
        harmless = after in {"", " "} or (before in _NUMERIC and after in _NUMERIC)
    else:
        harmless = True
    return character if harmless else f"&#{ord(character)};"


def markdown_of(page: Page) -> str:
    """The page as Markdown."""
    head = page.headline
    parts = [
        f"# {escaped(head.kicker)}: {escaped(head.title)}",
        escaped(head.subtitle),
        f"**{escaped(head.result)}.** {_sentence(head.why)}",
        *(f"> **{_sentence(alarm)}**" for alarm in head.alarms),
        _facts(head.facts),
    ]
    for section in page.sections:
        parts += _section(section)
    if page.foot:
        parts += ["---", "  \n".join(_sentence(text) for text in page.foot)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> list[str]:
    title = f"## {escaped(section.title)}"
    aside = f"*{escaped(section.aside)}*" if section.aside else ""
    return [title, aside, *(_block(block) for block in section.blocks)]


def _block(block: Block) -> str:
    match block:
        case FigureList():
            return _facts(block.rows)
        case Table():
            return _table(block)
        case Prose():
            return _prose(block)
        case Quote():
            return f"> {escaped(block.text)}\n>\n> *said by {escaped(block.by)}*"
        case Notes():
            return "\n".join([*(f"- {_sentence(item)}" for item in block.items), *_more(block.omitted, "- ")])
        case Bars():
            rows = [(escaped(row.label), escaped(row.amount_text)) for row in block.rows]
            total = (f"**{escaped(block.total.label)}**", f"**{escaped(block.total.amount_text)}**")
            return _grid([("", False), (escaped(block.unit or "Amount"), True)], [*rows, total])
        case Verdicts():
            return _verdicts(block)
        case OddsChart():
            return _odds(block)
        case Days():
            return _days(block)
        case PathChart():
            return "" if block.small else _drawing(block)
        case Diagrams():
            return escaped(block.words)


def _grid(titles: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> str:
    """A table: titles with whether their column stands right, then rows of escaped cells."""
    lines = [
        f"| {' | '.join(title for title, _ in titles)} |",
        f"|{'|'.join('---:' if right else ':---' for _, right in titles)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return "\n".join(lines)


def _facts(rows: Sequence[Figure]) -> str:
    if not rows:
        return ""
    notes = any(row.note for row in rows)
    titles = [("", False), ("", False), ("", False)][: 3 if notes else 2]
    return _grid(titles, [_fact(row)[: len(titles)] for row in rows])


def _fact(row: Figure) -> list[str]:
    value = f"**{escaped(row.value)}**" if row.value else ""
    return [escaped(row.label), value, _sentence(row.note)]


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    titles = [(escaped(column.title), column.right) for column in table.columns]
    text = _grid(titles, [_row(row) for row in table.rows])
    return "\n\n".join([text, *_more(table.omitted), *([f"*{_sentence(table.note)}*"] if table.note else [])])


def _row(row: TableRow) -> list[str]:
    first, *values = [
        _sentence(cell.text) if cell.spark is None else escaped(spark_line(cell.spark)) for cell in row.cells
    ]
    if row.heads:
        return [f"**{first}**", *values]
    return [f"&#126; {first}" if row.faint else first, *values]


def _more(n: int, before: str = "") -> list[str]:
    return [f"{before}and {n:,} more"] if n else []


def _prose(block: Prose) -> str:
    text = _sentence(block.text)
    if block.label:
        return f"**{escaped(block.label)}.** {text}"
    return f"*{text}*" if block.tone == "faint" and text else text


def _verdicts(block: Verdicts) -> str:
    titles = [
        ("Heuristic", False),
        ("Role", False),
        ("Recommendation", False),
        ("Average", True),
        ("Figures", False),
    ]
    parts = [_grid(titles, [_verdict(row) for row in block.rows])] if block.rows else []
    parts += [f"*{escaped(block.omitted)}*"] if block.omitted else []
    if block.untouched:
        names = ", ".join(escaped(name) for name in block.names_untouched)
        parts.append(f"Never cited in the period, condition never triggered: {names}")
    return "\n\n".join(parts)


def _verdict(row: Verdict) -> list[str]:
    name = f"**{escaped(row.name)}**"
    text = f" {escaped(row.text)}" if row.text else ""
    return [
        name + text,
        escaped(row.role),
        f"**{escaped(row.verdict)}** ({escaped(row.doubt)})",
        escaped(row.average_text) or DASH,
        escaped("; ".join(row.figures)),
    ]


def _odds(block: OddsChart) -> str:
    titles = [("Heuristic", False), ("Bets", False), ("Week by week", False), ("Odds", True)]
    rows = []
    for row in block.rows:
        for side, values in (("against", row.against), ("for", row.in_favour)):
            name = f"**{escaped(row.name)}** {escaped(row.role)}" if side == "against" else ""
            rows.append([name, f"{side} it", odds_line(values, _SIGNS)[0], odds(values[-1])])
    note = f"until {date_text(block.last)}: {LEVELS_OF_ODDS}. {block.note}"
    return f"{_grid(titles, rows)}\n\n*{escaped(note.strip())}*"


def _days(block: Days) -> str:
    titles = [("Day", False), (f"PnL ({escaped(block.unit)})" if block.unit else "PnL", True)]
    if block.opening is not None:
        titles += [("Equity", True), ("Drawdown", True)]
    rows = [
        [
            escaped(row.date),
            escaped(row.pnl_text),
            row.equity_text,
            DASH if row.drawdown is None else percent(row.drawdown, 1),
        ][: len(titles)]
        for row in block.rows
    ]
    return "\n\n".join([_grid(titles, rows), *([f"*{_sentence(block.note)}*"] if block.note else [])])


def _drawing(block: PathChart) -> str:
    """The path in characters; only figures and our own words stand in it, so that a code block is safe."""
    lines = ["".join(span.text for span in spans).rstrip() for spans in drawn_path(block, _WIDE)]
    return "\n".join(["```text", *lines, "```"])
