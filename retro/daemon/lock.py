"""One process at a time on a SQLite database: a lock that the kernel lets go of when its holder dies."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from retro.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Instance"]


class Instance:
    """The lock beside a database. It needs no cleaning up: a dead holder has let go of it."""

    def __init__(self, handle: int, path: Path) -> None:
        self.handle = handle
        self.path = path

    @classmethod
    def of(cls, database: Path, *, handle: int | None = None) -> Instance:
        """Take the lock, or keep the one that came with `handle` over an exec; `BusyError` when another has it."""
        path = database.with_name(f"{database.name}.lock")
        if handle is not None and _is(handle, path):
            os.set_inheritable(handle, False)
            return cls(handle, path)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode(errors="replace").partition("\n")[0]
            os.close(handle)
            raise BusyError(
                f"another process{f' ({holder})' if holder.isdigit() else ''} already works on {database};"
                " two on one SQLite database would be in each other's way"
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        return cls(handle, path)

    def note(self, path: str, stamp: Sequence[int] | None) -> None:
        """Write down by which file of configuration its holder goes, and what that was like: `retro doctor` compares."""
        state = " ".join(map(str, stamp or ()))
        text = f"{os.getpid()}\n{state}\n{path}\n".encode(errors="surrogateescape")
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, text, 0)

    def release(self) -> None:
        """Let the next one in."""
        os.close(self.handle)


def _is(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
