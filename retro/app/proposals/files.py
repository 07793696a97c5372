"""PLAYBOOK.md and proposals as files on disk, read for a person who named them: what is wrong is an `InputError`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from playbook import Amendment, Playbook, apply, from_json, parse
from playbook.errors import PlaybookError
from retro.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from retro.config import Config

__all__ = ["amended_text", "playbook_of", "read_playbook", "read_proposals"]

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


def playbook_of(config: Config, agent: str) -> Playbook | None:
    """The agent's PLAYBOOK.md, when the configuration names one; `InputError` when it cannot be read, and where it is named."""
    table = config.agent.get(agent)
    if table is None or table.playbook is None:
        return None
    try:
        return read_playbook(table.playbook)
    except InputError as error:
        raise InputError(f"{error}; [agent.{agent}] playbook in the configuration names it") from error


def read_proposals(path: Path) -> list[Amendment]:
    """Proposals from a file as `retro playbook propose --json` prints them; `InputError` says what is wrong."""
    try:
        documents: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(documents, list):
        raise InputError(
            f"{path}: a list of proposals is expected, as `retro playbook propose --json` prints it"
        )
    amendments = []
    for number, document in enumerate(documents, 1):
        try:
            amendments.append(from_json(document))
        except PlaybookError as error:
            raise InputError(f"{path}: proposal {number}: {error}") from error
    return amendments


def amended_text(book: Playbook, amendments: Sequence[Amendment]) -> str:
    """The document with the amendments applied; `InputError` where one does not fit."""
    try:
        return apply(book, amendments)
    except PlaybookError as error:
        raise InputError(f"the playbook is not changed: {error}") from error
