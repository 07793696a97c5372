"""What an examination finds, and what it looks at; the examinations themselves are the other files of this room, one a subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from retro.config import Config
    from retro.store.database import Store

__all__ = ["Check", "Examination", "Installation", "broken", "note", "ok"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: fine, worth knowing, or in need of a remedy (which `detail` names)."""

    name: str
    state: Literal["ok", "note", "broken"]
    detail: str


@dataclass(frozen=True, slots=True)
class Installation:
    """What is examined. `store` is None where there is no database yet, or none that opens; `now` is microseconds.

    `whole`: every row is read, too; on SQLite no commit ends meanwhile.
    """

    config: Config
    env: Mapping[str, str]
    now: int
    store: Store | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Examination:
    """Looks at one thing and says what it found. A `RetroError` it raises becomes a broken check under its name.

    `reads_all`: it reads every row of something, and is left out of a quick look.
    """

    name: str
    look: Callable[[Installation], Iterable[Check]]
    reads_all: bool = False


def ok(name: str, detail: str) -> Check:
    """It works."""
    return Check(name, "ok", detail)


def note(name: str, detail: str) -> Check:
    """It works, and there is something to know."""
    return Check(name, "note", detail)


def broken(name: str, detail: str) -> Check:
    """It does not work; the detail says what to do."""
    return Check(name, "broken", detail)
