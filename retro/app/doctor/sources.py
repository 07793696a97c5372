"""Can what the configuration names be read: sources, their candles, playbooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.app.proposals.files import read_playbook
from retro.errors import InputError
from retro.figures import count
from retro.ingest.registry import ADAPTERS
from retro.ingest.source import SQLITE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "playbooks", "sources"]

_SHOWN: Final = 3


def sources(house: Installation) -> Iterator[Check]:
    """Every `[[source]]`: there, readable, and of the kind it is said to be."""
    for source in house.config.source:
        adapter = ADAPTERS[source.kind]
        may_be_folder = adapter.growth in {"folder", "log", "auto"}
        wrong = _unreadable(source.path, folder=may_be_folder and source.path.is_dir())
        if wrong is None and adapter.growth == "appended" and _head(source.path) == SQLITE:
            wrong = f'{source.path} is a SQLite database; for a freqtrade bot write kind = "freqtrade"'
        if wrong is not None:
            yield broken("source", wrong)
        elif source.candles is not None and (wrong := _unreadable(source.candles, folder=True)):
            yield broken("source", f"candles: {wrong}")
        else:
            yield ok("source", f"{source.path}, {source.kind}")
        if adapter.wants_candles and source.candles is None:
            yield note("source", f"{source.path} names no candles: without marks no path and no regret")


def _unreadable(path: Path, *, folder: bool) -> str | None:
    if not path.exists():
        return f"{path} does not exist"
    if path.is_dir() != folder:
        return f"{path} is {'no folder' if folder else 'a folder, not a file'}"
    if not os.access(path, os.R_OK | (os.X_OK if folder else 0)):
        return f"{path} may not be read by this user"
    if folder and not any(path.iterdir()):
        return f"{path} is empty"
    return None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(SQLITE))


def playbooks(house: Installation) -> Iterator[Check]:
    """Every playbook: readable, and without faults."""
    for agent, table in house.config.agent.items():
        if table.playbook is None:
            continue
        try:
            book = read_playbook(table.playbook)
        except InputError as error:
            yield broken("playbook", f"{agent}: {error}")
            continue
        for fault in book.faults[:_SHOWN]:
            yield broken("playbook", f"{agent}: {table.playbook}:{fault.line}: {fault.reason}")
        if len(book.faults) > _SHOWN:
            remainder = len(book.faults) - _SHOWN
            yield broken(
                "playbook", f"{agent}: {remainder} more faults; retro playbook lint {table.playbook}"
            )
        if not book.faults:
            yield ok("playbook", f"{agent}: {count(len(book.heuristics), 'heuristic')}, {table.playbook}")


CHECKS: Final = (
    Examination("sources", sources),
    Examination("playbooks", playbooks),
)
"""In the order in which they are told."""
