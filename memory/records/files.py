"""Files that several people and programs write: locked among us, compared before they are replaced, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memory.errors import DamagedError, ExperienceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LARGEST: Final = 8 * 1024 * 1024
_LOCK: Final = ".records.lock"
_PATIENCE_S: Final = 10.0
_TRIES: Final = 20


class Busy(ExperienceError):  # noqa: N818  named for what happened, like its kin
    """Somebody else holds the records, or writes them again and again; try later."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A file, or a part of one, that cannot be used: it was passed over and left as it is."""

    path: str
    reason: str


def read_text(path: Path) -> str | None:
    """The text of a file; None when there is none. Raises `DamagedError` for what is no text, or no record's size."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    if len(data) > LARGEST:
        raise DamagedError(f"larger than {LARGEST >> 20} MiB; that is no record")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DamagedError(f"line {line}: not UTF-8") from None


@contextmanager
def locked(directory: Path, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Hold the records of a directory, which is made; raises `Busy` when somebody else does not let go."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _acquire(handle, directory, patience_s)
        yield
    finally:
        os.close(handle)  # which lets go of the lock


def _acquire(handle: int, directory: Path, patience_s: float) -> None:
    try:
        import fcntl  # noqa: PLC0415  not on every system; there, comparing before replacing has to do
    except ImportError:
        return
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise Busy(f"the records in {directory} are held by another process") from None
            time.sleep(0.02)
        else:
            return


def update(path: Path, change: Callable[[str | None], str | None]) -> bool:
    """Replace a file by what `change` makes of its text (None: there is none); False when nothing changed.

    `change` may be called again: a person's editor knows no lock, so what was read is compared once more right before
    the new file takes its place. It gives None to leave the file alone.
    """
    path = path.resolve()  # a link is followed, not replaced
    for _ in range(_TRIES):
        before = read_text(path)
        after = change(before)
        if after is None or after == before:
            return False
        if _replace(path, before, after):
            return True
    raise Busy(f"{path.name} is being changed by somebody else")


def _replace(path: Path, before: str | None, after: str) -> bool:
    """Write beside, flush to disk, rename into place; False when the file is no longer what was read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(handle, _mode(path))
            file.write(after)
            file.flush()
            os.fsync(handle)
        if read_text(path) != before:
            return False
        os.replace(beside, path)  # noqa: PTH105  the other end is a string
        _flush(path.parent)
        return True
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)  # noqa: PTH108  as above


def _mode(path: Path) -> int:
    """The permissions the file has, or the usual ones."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _flush(directory: Path) -> None:
    """Make the rename outlive a loss of power, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
