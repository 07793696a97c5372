"""Sheets of a spreadsheet (XLSX), row by row: values as they are stored, formulas as the values cached beside them.

Parts may be UTF-16, as MetaTrader writes them. The sheet is streamed; only its shared texts are held, 64 Mi characters
at most. Nothing that a workbook points at is opened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.rows.archive import open_archive, open_member
from retro.ingest.rows.row import GridRow, Row, named
from retro.ingest.rows.xml import Element, elements

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["grid", "is_workbook", "rows", "sheets"]

_WORKBOOK: Final = "xl/workbook.xml"
_TEXTS: Final = "xl/sharedStrings.xml"
_MOST_TEXT: Final = 64 << 20
_MOST_COLUMNS: Final = 16_384
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})[0-9]{1,7}")


def is_workbook(members: list[str] | tuple[str, ...]) -> bool:
    """Whether a zip archive with these members is a spreadsheet."""
    return _WORKBOOK in members


def sheets(path: Path) -> tuple[str, ...]:
    """The names of its sheets, in their order."""
    with open_archive(path) as archive:
        return tuple(_parts(path, archive))


def rows(
    path: Path, sheet: str | None = None, *, skip_lines: int = 0, section: str | None = None
) -> Iterator[Row]:
    """Rows of a sheet (the first unless named) under their header; see `row.named` for sections and equal names."""
    return named(grid(path, sheet), skip_lines=skip_lines, section=section)


def grid(path: Path, sheet: str | None = None) -> Iterator[GridRow]:
    """Rows of a sheet by place: cell 0 is column A, whether or not a row has it."""
    with open_archive(path) as archive:
        parts = _parts(path, archive)
        if sheet is not None and sheet not in parts:
            raise InputError(f"{path} has no sheet {sheet!r}; it has {', '.join(map(repr, parts))}")
        part = parts[sheet] if sheet is not None else next(iter(parts.values()))
        try:
            texts = _texts(archive)
            with open_member(archive, part) as stream:
                yield from _rows(elements(stream, frozenset({"c", "row", "t"})), texts)
        except KeyError:
            raise InputError(f"{path} names a sheet that is not in it ({part}); save it again") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


def _parts(path: Path, archive: zipfile.ZipFile) -> dict[str, str]:
    """Sheet -> the member that holds it."""
    try:
        with open_member(archive, "xl/_rels/workbook.xml.rels") as stream:
            targets = {
                relation.attributes.get("Id", ""): relation.attributes.get("Target", "")
                for relation in elements(stream, frozenset({"Relationship"}))
                if relation.attributes.get("TargetMode") != "External"
            }
        with open_member(archive, _WORKBOOK) as stream:
            found = {
                sheet.attributes.get("name", ""): _member(targets.get(sheet.attributes.get("id", ""), ""))
                for sheet in elements(stream, frozenset({"sheet"}))
            }
    except KeyError:
        raise InputError(f"{path} is a zip archive without a workbook; save it as .xlsx") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not found:
        raise InputError(f"{path} has no sheet; save it again")
    return found


def _member(target: str) -> str:
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _texts(archive: zipfile.ZipFile) -> list[str]:
    """The shared texts, in their order; a workbook may have none."""
    texts: list[str] = []
    length = 0
    try:
        with open_member(archive, _TEXTS) as stream:
            pieces: list[str] = []
            for element in elements(stream, frozenset({"t", "si"})):
                if element.name == "t" and not _is_phonetic(element):
                    pieces.append(element.text)
                elif element.name == "si":
                    texts.append("".join(pieces))
                    length += len(texts[-1]) + 64
                    pieces = []
                if length > _MOST_TEXT:
                    raise InputError("its shared texts exceed 64 MiB; save the sheet as CSV")
    except KeyError:
        return []
    return texts


def _is_phonetic(element: Element) -> bool:
    return element.parent is not None and element.parent.name == "rPh"


def _rows(found: Iterator[Element], texts: list[str]) -> Iterator[GridRow]:
    cells: dict[int, str] = {}
    inline: list[str] = []
    number = following = 0
    for element in found:
        if element.name == "t":
            inline += [] if _is_phonetic(element) else [element.text]
        elif element.name == "c":
            place = _column(element.attributes.get("r", ""), following)
            following = place + 1
            if value := _value(element, texts, "".join(inline)):
                cells[place] = value
            inline.clear()
        elif element.name == "row":
            told = element.attributes.get("r", "")
            number = int(told) if told.isascii() and told.isdigit() and len(told) < 8 else number + 1
            yield GridRow(number, tuple(cells.get(place, "") for place in range(max(cells, default=-1) + 1)))
            cells, following = {}, 0


def _column(reference: str, following: int) -> int:
    """Column A is 0; a cell without a reference stands after the one before it."""
    matched = _REFERENCE.fullmatch(reference)
    if not matched:
        return following
    place = 0
    for letter in matched[1]:
        place = place * 26 + ord(letter) - 64
    if place > _MOST_COLUMNS:
        raise InputError(f"cell {reference} lies beyond the last column a sheet may have")
    return place - 1


def _value(cell: Element, texts: list[str], inline: str) -> str:
    """The text of a cell; a number as it is stored (a date as its serial number), a truth as TRUE or FALSE."""
    kind = cell.attributes.get("t", "")
    if kind == "inlineStr":
        return inline.strip()
    told = cell.children.get("v")
    if told is None:
        if "f" in cell.children:
            reference = cell.attributes.get("r", "a cell")
            raise InputError(f"{reference} is a formula without its value; open the file and save it once")
        return ""
    if kind == "s":
        if not (told.isascii() and told.isdigit() and len(told) < 10 and int(told) < len(texts)):
            raise InputError(
                f"{cell.attributes.get('r', 'a cell')} names a text that is not there; save it again"
            )
        return texts[int(told)].strip()
    if kind == "b":
        return "TRUE" if told == "1" else "FALSE"
    return told.strip()
