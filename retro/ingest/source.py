"""Opening a foreign file and cutting it into lines, in constant memory whatever it holds."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol, cast

from retro.errors import InputError
from retro.journal import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SQLITE", "WIDE_MARKS", "Lines", "magic", "open_source", "other_encoding", "read_lines"]

SQLITE: Final = b"SQLite format 3\0"
"""How a SQLite database begins."""

WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
"""How a text in UTF-16 begins, where its maker says so."""

_MARK: Final = b"\xef\xbb\xbf"
_CHUNK: Final = 1 << 18
_GZIP: Final = b"\x1f\x8b"
_PACKED: Final = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_BOMB_FROM: Final = 64 << 20
_BOMB_RATIO: Final = 250


class _Stream(Protocol):
    def read1(self, size: int, /) -> bytes: ...


class Lines(NamedTuple):
    """Lines in a row, without their newlines; `first` is the number of the first, counted from 1.

    With a `fault` there is one line, and its text is not to be had. `ended` is False for a last line that has no
    newline.
    """

    first: int
    texts: list[bytes]
    fault: str | None = None
    ended: bool = True


class _Counted:
    """Counts the packed bytes that were taken, so that a bomb shows."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self.packed_bytes = 0

    def read(self, size: int = -1) -> bytes:
        data = self._packed.read(size)
        self.packed_bytes += len(data)
        return data


class _Unzipped(io.RawIOBase):
    """A gzip stream that stops, with a sentence, when it unfolds beyond what records can."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = _Counted(packed)
        self._plain = gzip.GzipFile(fileobj=cast("BinaryIO", self._packed), mode="rb")
        self._plain_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class takes any buffer
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read1(self, size: int = -1) -> bytes:
        try:
            data = self._plain.read1(size)
        except EOFError:
            raise InputError("the gzip data end early; copy the file again") from None
        except (zlib.error, OSError) as error:
            raise InputError(f"the gzip data are damaged ({error}); copy the file again") from None
        self._plain_bytes += len(data)
        if self._plain_bytes > max(_BOMB_FROM, _BOMB_RATIO * self._packed.packed_bytes):
            raise InputError(f"the gzip data unfold more than {_BOMB_RATIO}-fold; unpack the file by hand")
        return data


def magic(path: str) -> bytes:
    """The first 16 bytes of a file that must exist and be one; `InputError` otherwise."""
    try:
        with Path(path).open("rb") as file:
            return file.read(16)
    except (OSError, ValueError) as error:
        raise InputError(_cannot_open(path, error)) from None


@contextmanager
def open_source(path: str) -> Iterator[BinaryIO]:
    """The bytes of a file, of a gzip file (known by its first bytes, not its name) or, for "-", of standard input."""
    if path == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed; give it something to read, or name a file")
        yield _unfolded(sys.stdin.buffer)
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below, where reading it may fail in other words
    except (OSError, ValueError) as error:
        raise InputError(_cannot_open(path, error)) from None
    with file:
        _refuse_other_formats(path, file)
        yield _unfolded(file)


def _cannot_open(path: str, error: Exception) -> str:
    if isinstance(error, IsADirectoryError):
        return f"{path} is a directory; name a file"
    if isinstance(error, FileNotFoundError):
        return f"{path} does not exist; check the path"
    if isinstance(error, PermissionError):
        return f"{path} may not be read; check its permissions"
    why = error.strerror if isinstance(error, OSError) else str(error)
    return f"{path} cannot be opened: {why}"


def _refuse_other_formats(path: str, file: io.BufferedReader) -> None:
    head = _peek(file)
    if head.startswith(SQLITE):
        raise InputError(f"{path} is a SQLite database; for a freqtrade bot use retro ingest freqtrade")
    if head.startswith((b"ARROW1", b"FEA1", b"PAR1")):
        raise InputError(f"{path} is a column file; for candles use retro ingest marks")
    if head.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{path} is a zip archive; unpack it first, or use retro ingest freqtrade for results"
        )
    for signature, name in _PACKED.items():
        if head.startswith(signature):
            raise InputError(f"{path} is packed with {name}; unpack it first, or pack it with gzip")


def _unfolded(file: BinaryIO) -> BinaryIO:
    if _peek(file).startswith(_GZIP):
        return cast("BinaryIO", _Unzipped(file))
    return file


def _peek(file: BinaryIO) -> bytes:
    """The next bytes without taking them; nothing where the stream cannot look ahead or cannot be read."""
    try:
        return bytes(file.peek(16)) if isinstance(file, io.BufferedReader) else b""
    except OSError:
        return b""


def read_lines(stream: BinaryIO) -> Iterator[Lines]:
    """The lines of a stream by the chunk, without the mark that some programs begin UTF-8 with.

    A line longer than `LONGEST_LINE` comes without its text. A stream that fails part way ends with a fault that says
    so, after everything that came before it.
    """
    number, parts, length = 1, [b""], 0
    try:
        while chunk := _read1(stream):
            chunk = chunk.removeprefix(_MARK) if number == 1 and not length else chunk
            head, newline, tail = chunk.partition(b"\n")
            length += len(head)
            if length <= LONGEST_LINE:
                parts.append(head)
            else:
                parts = []
            if newline:
                yield _line(number, parts, length)
                texts = tail.split(b"\n")
                parts = [texts.pop()]
                length = len(parts[0])
                if texts:
                    yield Lines(number + 1, texts)
                number += 1 + len(texts)
    except InputError as error:
        yield Lines(number, [b""], fault=str(error))
    except (OSError, ValueError) as error:
        yield Lines(number, [b""], fault=f"the file cannot be read from here on: {error}")
    else:
        if length:
            yield _line(number, parts, length)._replace(ended=False)


def other_encoding(first: bytes) -> str | None:
    """What is wrong when a file's first line is UTF-16 or UTF-32, with or without a byte order mark; else None.

    Latin letters stand at every second or fourth byte there, and the others are zero. A line that a crash left full of
    zeros is no text, and what follows it may be sound.
    """
    head = first[:64].lstrip(b"\xff\xfe\0")[:16]
    for name, width in (("UTF-32", 4), ("UTF-16", 2)):
        letters = head[::width]
        if len(letters) > 1 and 0 not in letters and head.count(0) == len(head) - len(letters):
            return f"the file is {name}; save it as UTF-8 and ingest it again"
    return None


def _line(number: int, parts: list[bytes], length: int) -> Lines:
    if length > LONGEST_LINE:
        return Lines(number, [b""], fault=f"the line is longer than {LONGEST_LINE >> 20} MiB; split it")
    return Lines(number, [b"".join(parts)])


def _read1(stream: BinaryIO) -> bytes:
    if hasattr(stream, "read1"):
        return cast("_Stream", stream).read1(_CHUNK)
    return stream.read(_CHUNK)
