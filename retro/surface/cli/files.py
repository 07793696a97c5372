"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from retro.errors import RetroError

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write beside, flush to disk, then rename into place; the directory must exist.

    A link is followed, and what is no regular file (a pipe, a terminal) is written to as it is. The file has the
    permissions it had, or the usual ones.
    """
    try:
        status = path.stat() if path.exists() else None
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise RetroError(f"{path} is a directory; name a file in it")
        if status is not None and not stat.S_ISREG(status.st_mode):
            path.write_text(text, encoding="utf-8", newline="")
            return
        _replace(path.resolve(), text, _usual_mode() if status is None else stat.S_IMODE(status.st_mode))
    except (OSError, ValueError) as error:
        raise RetroError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error


def _replace(path: Path, text: str, mode: int) -> None:
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(handle, mode)
            file.write(text)
            file.flush()
            os.fsync(handle)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink()
        raise


def _usual_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
