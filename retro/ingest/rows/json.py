"""Rows of JSON: a line each (JSON Lines), or the entries of a list or dictionary somewhere in a document.

Numbers keep the digits they were written with. Neither is read whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from retro.errors import InputError
from retro.ingest.rows.json_text import JsonText
from retro.ingest.rows.row import Row
from retro.ingest.source import open_source, other_encoding, read_lines
from retro.journal import quote
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["line_rows", "line_rows_of", "rows"]

_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_TORN: Final = "line: is torn (it has no newline at its end); complete it and ingest the file again"
_decode: Final = msgspec.json.Decoder(float_hook=str).decode


def line_rows(path: str) -> Iterator[Row | Fault]:
    """The objects of a file of JSON Lines; a last line without a newline that is not whole is torn."""
    with open_source(path) as stream:
        yield from line_rows_of(stream, path)


def line_rows_of(stream: BinaryIO, where: str) -> Iterator[Row | Fault]:
    """The objects of a stream, one a line, blank lines left out."""
    for part in read_lines(stream):
        if part.first == 1 and (wrong := other_encoding(part.texts[0])):
            raise InputError(f"{where}: {wrong}")
        for number, raw in enumerate(part.texts, part.first):
            if part.fault:
                yield Fault(where, number, part.fault)
            elif raw.strip():
                yield _row(raw, where, number, ended=part.ended)


def _row(raw: bytes, where: str, number: int, *, ended: bool) -> Row | Fault:
    try:
        cells = _decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return Fault(
            where, number, f"line: is not JSON ({quote(str(error), 80)}); correct it" if ended else _TORN
        )
    if not isinstance(cells, dict):
        return Fault(where, number, "line: is no JSON object; every line needs one")
    return Row(number, cells)


def rows(path: str, place: str = "$") -> Iterator[Row | Fault]:
    """The entries at a `place` of a document such as `$.trades[*]`; of a dictionary each with its `key`.

    Without a place the document itself, where it is a list or an object. `line` counts the entries from 1. A list or
    dictionary is read entry by entry, however long it is.
    """
    with open_source(path) as stream:
        text = JsonText(stream, path)
        for name, index in _STEP.findall(place.removeprefix("$").removesuffix("[*]")):
            if not _goes_to(text, name, index):
                raise InputError(
                    f"{path}: there is no {quote(name or index)} on the way to {place}; correct the path"
                )
        for number, entry in enumerate(_entries(text, path, place), 1):
            if isinstance(entry, dict):
                yield Row(number, entry)
            else:
                yield Fault(path, number, "row: is no JSON object")
        if place == "$" and text.begins():
            raise text.refusal("something follows it")


def _entries(text: JsonText, path: str, place: str) -> Iterator[Any]:
    begins = text.begins()
    if begins == "[":
        for _ in _items(text):
            yield text.value()
    elif begins == "{" and place.endswith("[*]"):
        for key in _keys(text):
            entry = text.value()
            yield {"key": key, **entry} if isinstance(entry, dict) else {"key": key, "value": entry}
    elif begins == "{":
        yield text.value()
    else:
        text.skip()  # what is no JSON at all is said to be that
        raise InputError(
            f'{path}: at {place} stands no list; name the place of the rows, such as path = "$.trades[*]"'
        )


def _goes_to(text: JsonText, name: str, index: str) -> bool:
    """Go to the value of a key, or to an entry of a list; False where there is none."""
    if name and text.begins() == "{":
        for key in _keys(text):
            if key == name:
                return True
            text.skip()
    elif index and text.begins() == "[":
        for number in _items(text):
            if number == int(index):
                return True
            text.skip()
    return False


def _keys(text: JsonText) -> Iterator[str]:
    """The keys of an object, each before its value, which has to be taken."""
    text.expect("{")
    if text.takes("}"):
        return
    while True:
        if text.begins() != '"':
            raise text.refusal("expected a key")
        key = text.value()
        text.expect(":")
        yield key
        if text.takes("}"):
            return
        text.expect(",")


def _items(text: JsonText) -> Iterator[int]:
    """The numbers of a list's entries from 0, each before the entry, which has to be taken."""
    text.expect("[")
    if text.takes("]"):
        return
    number = 0
    while True:
        yield number
        if text.takes("]"):
            return
        text.expect(",")
        number += 1
