"""Bytes of tables by the chunk, members of a zip archive among them, bounded however far they would unfold."""

from __future__ import annotations

import io
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from retro.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["CHUNK", "chunks", "open_archive", "open_member"]

CHUNK: Final = 1 << 16
"""How many bytes are looked at in one go."""

_MOST_MEMBERS: Final = 10_000
_BOMB_FROM: Final = 16 << 20
_BOMB_RATIO: Final = 250
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


class _Member(io.RawIOBase):
    """A member that stops, with a sentence, where it unfolds beyond what tables can, or cannot be unfolded."""

    def __init__(self, packed: BinaryIO, packed_bytes: int) -> None:
        self._packed = packed
        self._most = max(_BOMB_FROM, _BOMB_RATIO * packed_bytes)
        self._plain_bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._packed.read(size)
        except _DAMAGED as error:
            raise InputError(f"the zip archive is damaged ({error}); copy the file again") from None
        self._plain_bytes += len(data)
        if self._plain_bytes > self._most:
            raise InputError(f"the zip archive unfolds more than {_BOMB_RATIO}-fold; this is no export")
        return data


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream as they come, whether or not it is a buffered one."""
    read = cast("Callable[[int], bytes]", getattr(stream, "read1", stream.read))
    while chunk := read(CHUNK):
        yield chunk


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive; `InputError` names the file and what is wrong with it."""
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGED as error:
        raise InputError(f"{path} is no readable zip archive ({error}); export it again") from None
    with archive:
        if len(archive.namelist()) > _MOST_MEMBERS:
            raise InputError(f"{path} holds more than {_MOST_MEMBERS} files; this is no export")
        yield archive


@contextmanager
def open_member(archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    """The bytes of a member, unfolded as they are read; KeyError where there is none of that name."""
    entry = archive.getinfo(name)
    if entry.flag_bits & 0x1:
        raise InputError("it is locked with a password; save it without one")
    try:
        packed = archive.open(entry)
    except _DAMAGED as error:
        raise InputError(f"the zip archive is damaged ({error}); copy the file again") from None
    with packed:
        yield cast("BinaryIO", _Member(cast("BinaryIO", packed), entry.compress_size))
