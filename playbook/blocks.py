"""As much of Markdown as it takes to tell a list item from prose that looks like one.

Lines end at LF or CRLF, nothing else. Fenced code, HTML comments and raw HTML blocks are walls: nothing inside them
is read. A line indented four columns beyond its container is code. The rules are CommonMark's, with one exception:
an unindented line after an item is prose, never its lazy continuation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Heading", "ListItem", "Outline", "outline", "split_lines"]

_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*")
_RAW = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})([ \t].*)?")
_BREAK = re.compile(r"([-*_])(?:[ \t]*\1){2,}")
_MARKER = re.compile(r"([-*+]|[0-9]{1,9}[.)])([ \t]+|(?=[\r\n])|\Z)")
_INTERRUPTING = re.compile(r"(?:[-*+]|0*1[.)])[ \t]+")  # a marker that may follow text without a blank line
_BLANKS = " \t\r\n"
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 or 2, by the index of its line."""

    line: int
    level: int
    title: str


@dataclass(slots=True)
class ListItem:
    """A list item: its lines [line, end), those of its first paragraph [line, head), and where bullet and content start.

    `content` is None for ordered items and for items whose content is code. Columns count characters of the line.
    """

    line: int
    bullet: int
    content: int | None
    head: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The lines of a text with their ends, its items and headings, and the line of a wall that never closes."""

    lines: tuple[str, ...]
    items: tuple[ListItem, ...]
    headings: tuple[Heading, ...]
    unclosed: int | None


@dataclass(slots=True)
class _Wall:
    line: int
    base: int  # column of the container: a line left of it ends container and wall
    closes: re.Pattern[str]
    whole: bool  # whether the closing pattern must be the whole line


@dataclass(slots=True)
class _Scan:
    items: list[ListItem] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    containers: list[tuple[int, ListItem]] = field(
        default_factory=list
    )  # content column, item; outermost first
    paragraph: ListItem | None = None  # the item whose first paragraph may still go on
    wall: _Wall | None = None


def split_lines(text: str) -> tuple[str, ...]:
    """Split at LF only, keeping the ends; joining the parts gives `text` back."""
    parts = text.split("\n")
    return (*(part + "\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else []))


def _width(blanks: str, column: int = 0) -> int:
    """Columns that a run of blanks takes when it starts at `column`; tabs go to the next multiple of four."""
    start = column
    for char in blanks:
        column += 4 - column % 4 if char == "\t" else 1
    return column - start


def _wall(body: str, line: int, base: int) -> _Wall | None:
    """The wall that a line opens and does not close itself."""
    if fence := _FENCE.fullmatch(body):
        run = fence[1] or fence[2]
        return _Wall(line, base, re.compile(re.escape(run[0]) + f"{{{len(run)},}}"), whole=True)
    if body.startswith("<!--"):
        return None if "-->" in body else _Wall(line, base, re.compile("-->"), whole=False)
    if _RAW.match(body):
        return None if _RAW_END.search(body) else _Wall(line, base, _RAW_END, whole=False)
    return None


def _begins_block(body: str) -> bool:
    """Whether a line ends the paragraph before it."""
    return bool(
        body[0] in ">|"
        or body.startswith("<!--")
        or _INTERRUPTING.match(body)
        or _BREAK.fullmatch(body)
        or _HEADING.fullmatch(body)
        or _FENCE.fullmatch(body)
        or _RAW.match(body)
    )


def _inside_wall(scan: _Scan, number: int, body: str, indent: int) -> bool:
    """Whether the line belongs to the open wall; closes the wall when the line does."""
    wall = scan.wall
    if wall is None:
        return False
    if body and indent < wall.base:
        scan.wall = None
        return False
    if body:
        _reach(scan, number)
    if wall.closes.fullmatch(body) and indent - wall.base < 4 if wall.whole else wall.closes.search(body):
        scan.wall = None
    return True


def _title(text: str) -> str:
    """A heading's words without the run of # that may close it."""
    bare = text.rstrip("#")
    return (bare if bare[-1:] in ("", " ", "\t") else text).strip()


def _reach(scan: _Scan, number: int) -> None:
    for _, item in scan.containers:
        item.end = number + 1


def _read_item(scan: _Scan, number: int, line: str, indent: int, marker: re.Match[str]) -> None:
    edge = indent + len(marker[1])
    gap = _width(marker[2], edge)
    is_text = 1 <= gap <= 4
    readable = is_text and marker[1] in "-*+" and line[marker.end() :].strip(_BLANKS)
    item = ListItem(number, marker.start(), marker.end() if readable else None, number + 1, number + 1)
    scan.items.append(item)
    scan.containers.append((edge + (gap if is_text else 1), item))
    scan.paragraph = item


def _read(scan: _Scan, number: int, line: str) -> None:
    skip = 1 if number == 0 and line.startswith(_BOM) else 0
    body = line[skip:].strip(_BLANKS)
    first = len(line) - len(line[skip:].lstrip(_BLANKS))
    indent = _width(line[skip:first])
    if _inside_wall(scan, number, body, indent):
        return
    if not body:
        scan.paragraph = None
        return
    containers = [entry for entry in scan.containers if entry[0] <= indent]
    base = containers[-1][0] if containers else 0
    is_code = indent - base > 3
    if scan.paragraph and indent and (is_code or not _begins_block(body)):
        scan.paragraph.head = number + 1
        _reach(scan, number)
        return
    scan.paragraph, scan.containers = None, containers
    _reach(scan, number)
    if is_code:
        return
    scan.wall = _wall(body, number, base)
    heading = _HEADING.fullmatch(body)
    marker = _MARKER.match(line, first)
    if heading and not base and len(heading[1]) <= 2:
        scan.headings.append(Heading(number, len(heading[1]), _title(heading[2] or "")))
    elif marker and not _BREAK.fullmatch(body):
        _read_item(scan, number, line, indent, marker)


def outline(text: str) -> Outline:
    """Find the list items and the headings of a Markdown text."""
    lines = split_lines(text)
    scan = _Scan()
    for number, line in enumerate(lines):
        _read(scan, number, line)
    unclosed = scan.wall.line if scan.wall else None
    return Outline(lines, tuple(scan.items), tuple(scan.headings), unclosed)
