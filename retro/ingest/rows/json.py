"""Rows of JSON: a line each (JSON Lines), or the entries of a list or dictionary somewhere in a document.

Numbers keep the digits they were written with. A document is read whole, up to a size; what grows belongs into lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from retro.errors import InputError
from retro.ingest.rows.row import Row
from retro.ingest.source import open_source, other_encoding, read_lines
from retro.journal import quote
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["line_rows", "line_rows_of", "rows"]

_LARGEST: Final = 256 << 20
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
        if part.first == 1:
            if wrong := other_encoding(part.texts[0]):
                raise InputError(f"{where}: {wrong}")
            part.texts[0] = part.texts[0].removeprefix(b"\xef\xbb\xbf")
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

    Without a place the document itself, where it is a list or an object. `line` counts the entries from 1.
    """
    document = _document(path)
    entries = _at(document, place, path)
    if isinstance(entries, dict) and place.endswith("[*]"):
        entries = [
            {"key": key, **entry} if isinstance(entry, dict) else {"key": key, "value": entry}
            for key, entry in entries.items()
        ]
    elif isinstance(entries, dict):
        entries = [entries]
    if not isinstance(entries, list):
        raise InputError(
            f'{path}: at {place} stands no list; name the place of the rows, such as path = "$.trades[*]"'
        )
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, dict):
            yield Row(number, entry)
        else:
            yield Fault(path, number, "row: is no JSON object")


def _document(path: str) -> Any:
    with open_source(path) as stream:
        raw = stream.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise InputError(
            f"{path} is larger than {_LARGEST >> 20} MiB; write it as JSON Lines, one object a line"
        )
    if wrong := other_encoding(raw[:64]):
        raise InputError(f"{path}: {wrong}")
    try:
        return _decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({quote(str(error), 80)}); write it again") from None


def _at(document: Any, place: str, path: str) -> Any:
    """What stands at a place; a last `[*]` stays with the list or dictionary whose entries are meant."""
    node, steps = document, _STEP.findall(place.removeprefix("$").removesuffix("[*]"))
    for name, index in steps:
        try:
            node = node[name] if name else node[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            raise InputError(
                f"{path}: there is no {quote(name or index)} on the way to {place}; correct the path"
            ) from None
    return node
