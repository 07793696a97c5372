"""Files that others write on: the stretch that is new, and the file found again under the name it was rotated to.

A file is known by how it begins and by what stands before the place it was read to; so one that was replaced, cut
short or rotated away is seen to be another.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from retro.model import Batch

__all__ = [
    "FileStretch",
    "KnownFile",
    "LogReading",
    "Stretch",
    "known_file",
    "last_newline",
    "newlines",
    "unread_from",
]

_HEAD: Final = 4096
_TAIL: Final = 256
_BLOCK: Final = 1 << 16


class Stretch(NamedTuple):
    """From where to where a file is read, in bytes, and how many lines stand before."""

    start: int
    end: int
    lines: int = 0


class KnownFile(NamedTuple):
    """A file as it was read: how far, a digest of its beginning and of what stands before there, and its inode."""

    offset: int
    digest: str
    inode: int = 0

    def is_in(self, file: BinaryIO) -> bool:
        """Whether an open file is it, as it was or longer, or a copy of it."""
        offset = self.offset
        return offset > 0 and file.seek(0, io.SEEK_END) >= offset and _digest(file, offset) == self.digest


@dataclass(slots=True)
class LogReading:
    """One reading of a source: its batches, and once they were all taken, what the next one goes on from.

    `is_continued`: the file is read on, so that what was wrong with it before still is. `place` is JSON; empty where the
    next reading begins anew.
    """

    batches: Iterator[Batch]
    is_continued: bool
    place: Mapping[str, Any]
    is_waiting: bool = False
    """Whether a last line is left that may still be being written."""


def known_file(file: BinaryIO, offset: int) -> KnownFile:
    """An open file that was read to `offset`."""
    return KnownFile(offset, _digest(file, offset), os.fstat(file.fileno()).st_ino)


def _digest(file: BinaryIO, offset: int) -> str:
    file.seek(0)
    head = file.read(min(_HEAD, offset))
    file.seek(max(0, offset - _TAIL))
    tail = file.read(min(_TAIL, offset))
    return hashlib.sha256(head + b"|" + tail).hexdigest()


def unread_from(path: Path, known: KnownFile) -> tuple[Path | None, bool]:
    """Where a file lies now that was read at `path`, None where it is gone; and whether what lies there goes on with it.

    A renamed file has its inode still, a copy its bytes; its new name begins as the path's does (`trades.csv.1`,
    `trades_old_2026.csv`).
    """
    with path.open("rb") as file:
        is_same = os.fstat(file.fileno()).st_ino == known.inode
        goes_on = known.is_in(file)
    if goes_on and is_same:
        return path, True
    siblings = [sibling for sibling in _siblings(path) if _is_it(sibling, known)]
    renamed = next((sibling for sibling in siblings if _inode(sibling) == known.inode), None)
    if renamed is not None:
        return renamed, False
    return (path, True) if goes_on else (next(iter(siblings), None), False)


def _is_it(path: Path, known: KnownFile) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return known.is_in(file)
    return False


def _inode(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_ino
    return 0


def last_newline(file: BinaryIO, start: int) -> int:
    """Where the last whole line ends; `start` when none has ended since."""
    end = file.seek(0, io.SEEK_END)
    while end > start:
        begin = max(start, end - _BLOCK)
        file.seek(begin)
        place = file.read(end - begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        end = begin
    return start


def newlines(file: BinaryIO, start: int, end: int) -> int:
    """How many lines end between two places."""
    count = 0
    file.seek(start)
    while start < end and (data := file.read(min(_BLOCK, end - start))):
        count += data.count(b"\n")
        start += len(data)
    return count


def _siblings(path: Path) -> Iterator[Path]:
    """The files beside a file whose names begin as its own does, newest first."""
    dated = []
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name.startswith(path.stem) and entry.name != path.name:
                with suppress(OSError):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode):
                        dated.append((status.st_mtime_ns, entry.name))
    return (path.parent / name for _, name in sorted(dated, reverse=True))


class FileStretch:
    """The bytes of an open file from `start` to `end` as a stream, after the first `header` of the file."""

    def __init__(self, file: BinaryIO, start: int, end: int, *, header: int = 0) -> None:
        self._file = file
        self._parts = [(0, header), (start, end)]

    def read1(self, size: int) -> bytes:
        """The next bytes, at most `size`; nothing at the end."""
        while self._parts:
            at, end = self._parts[0]
            self._file.seek(at)
            data = self._file.read(min(size, end - at))
            if data:
                self._parts[0] = (at + len(data), end)
                return data
            self._parts.pop(0)
        return b""
