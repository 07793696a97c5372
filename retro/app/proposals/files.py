"""PLAYBOOK.md files on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from playbook import Playbook, parse
from retro.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_playbook"]

_LIMIT: Final = 16 * 1024 * 1024


def read_playbook(path: Path) -> Playbook:
    """Parse a file; `InputError` when it cannot be read. Faults of its content are values in the result."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory; name a PLAYBOOK.md")
        if path.stat().st_size > _LIMIT:
            raise InputError(f"{path} is larger than {_LIMIT >> 20} MiB; that is no playbook")
        return parse(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
