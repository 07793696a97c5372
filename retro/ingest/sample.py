"""The beginning of a foreign file or folder, by which readers tell whether it is theirs."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sqlite3
import stat
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.source import SQLITE
from retro.ingest.sqlite import open_for_a_look

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["SourceSample", "refuse_special", "sample_of"]

_HEAD: Final = 1 << 16
_NAMES: Final = 200
_GZIP: Final = b"\x1f\x8b"
_SPECIAL: Final = "{} is neither a file nor a folder; name one that is"
_WIDTHS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


@dataclass(frozen=True)
class SourceSample:
    """What can be seen of a source without reading it.

    `head` is its first 64 KiB, of a gzip file unpacked; `names` are the entries of a folder, sorted, the first 200;
    `tables` the columns of the tables of a SQLite database; `members` the names in a zip archive.
    """

    path: Path
    is_folder: bool = False
    head: bytes = b""
    names: Sequence[str] = ()
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    members: Sequence[str] = ()

    @cached_property
    def text(self) -> str:
        """The head as text, by its byte order mark or as UTF-8; what is no letter there is a replacement mark."""
        encoding = next((name for mark, name in _WIDTHS if self.head.startswith(mark)), "utf-8")
        return self.head.decode(encoding, "replace")

    @cached_property
    def header(self) -> list[str]:
        """The cells of the first line that has any, split by the delimiter that it has most of; none of no text."""
        line = next((line for line in io.StringIO(self.text) if line.strip()), "")
        if not line or "\0" in line or line.lstrip().startswith(("{", "[", "<")):
            return []
        delimiter = max(",;\t|", key=line.count)
        with suppress(csv.Error):
            return [cell.strip().strip("\ufeff") for cell in next(csv.reader([line], delimiter=delimiter))]
        return []


def refuse_special(paths: Iterable[Path]) -> None:
    """`InputError` of a pipe or device: one gives nothing until somebody writes, the other never ends.

    What is not there, or may not be looked at, its reader says.
    """
    for path in paths:
        with suppress(OSError, ValueError):
            mode = path.stat().st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise InputError(_SPECIAL.format(path))


def sample_of(path: Path) -> SourceSample:
    """The sample of a file or folder; `InputError` where it cannot be looked at, or is neither."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            names = sorted(entry.name for entry in os.scandir(path))
            return SourceSample(path, is_folder=True, names=tuple(names[:_NAMES]))
        if not stat.S_ISREG(mode):
            raise InputError(_SPECIAL.format(path))
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path} cannot be read: {why}") from None
    if head.startswith(SQLITE):
        return SourceSample(path, head=head, tables=_tables(path))
    if head.startswith(b"PK\x03\x04"):
        return SourceSample(path, head=head, members=_members(path))
    if head.startswith(_GZIP):
        return SourceSample(path, head=_unpacked(path))
    return SourceSample(path, head=head)


def _tables(path: Path) -> dict[str, tuple[str, ...]]:
    """The tables of a database and their columns; none where it is locked or damaged, which its reader says."""
    try:
        with open_for_a_look(path) as connection:
            names = [
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            return {
                name: tuple(
                    column
                    for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
                )
                for name in names[:_NAMES]
            }
    except (sqlite3.Error, OSError):
        return {}


def _members(path: Path) -> tuple[str, ...]:
    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(archive.namelist()[:_NAMES])
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return ()


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return b""
