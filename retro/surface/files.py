"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from retro.errors import RetroError

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write beside, flush to disk, then rename into place; the directory must exist."""
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink()
            raise
    except OSError as error:
        raise RetroError(f"{path} cannot be written: {error.strerror or error}") from error
