"""Taking episodes into the memory, from a file or one by one; and what is said of any such file. Imported only where the memory is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from retro.app.experience.door import memory, translate_memory_errors
from retro.ingest.source import open_source, read_lines
from retro.model import Fault
from retro.store.facts import faults
from retro.store.facts.departures import departures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from sqlalchemy import Connection

    from memory.library.intake import AddedItems
    from retro.store.database import Store

__all__ = ["ImportResult", "import_episodes", "import_file", "lines_of"]

_COMMIT_EVERY: Final = 20_000
_F = TypeVar("_F")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of the episodes, or of the items of a library, of a source."""

    source: str
    done: memory.Remembered | AddedItems

    @property
    def clean(self) -> bool:
        """Whether everything could be used."""
        return not self.done.conflicts and not self.done.faults

    def document(self) -> dict[str, Any]:
        """What `retro remember --json` and `retro library add --json` print of one source."""
        done, conflicts = self.done, len(self.done.conflicts)
        return {
            "source": self.source,
            "events": done.stored + done.unchanged + conflicts + len(done.faults),
            "stored": done.stored,
            "unchanged": done.unchanged,
            "conflicts": conflicts,
            "faults": [{"where": f.where, "line": f.line, "reason": f.reason} for f in done.faults],
        }


def import_episodes(
    store: Store,
    terms: memory.Settings,
    episodes: Iterable[Mapping[str, Any]],
    *,
    not_after: int | None = None,
) -> ImportResult:
    """Store episodes, all in one transaction; each is stored, unchanged, a conflict or at fault."""
    with translate_memory_errors(), store.write() as conn:
        return ImportResult(
            "-",
            memory.remember(
                conn, _of_today(conn, episodes, "-"), settings=terms, not_after=not_after, where="-"
            ),
        )


def import_file(
    store: Store, terms: memory.Settings, path: str, *, not_after: int | None = None
) -> ImportResult:
    """Store the episodes of a file of JSON Lines (.gz too, - for stdin); what cannot be used is kept as its faults."""
    where, done = "stdin" if path == "-" else path, memory.Remembered()
    unread: list[memory.EpisodeFault] = []
    with translate_memory_errors(), open_source(path) as stream:
        lines = lines_of(stream, where, unread, memory.EpisodeFault)
        read = memory.read_episodes(lines, where, registry=terms.registry, not_after=not_after)
        with store.write() as conn:
            faults.forget(conn, where)  # this reading says afresh what is wrong with it
        while batch := list(islice(read, _COMMIT_EVERY)):
            with store.write() as conn:
                of_today = _of_today(conn, batch, where)
                done += memory.remember(conn, of_today, settings=terms, not_after=not_after, where=where)
        done += memory.Remembered(faults=tuple(unread))
        if done.faults:
            with store.write() as conn:
                faults.add(conn, where, [Fault(f.where, f.line, f.reason) for f in done.faults])
    return ImportResult(where, done)


def _of_today(conn: Connection, told: Iterable[Any], where: str) -> Iterator[Any]:
    """The episodes, but as faults those of agents that were forgotten, or are called otherwise now."""
    gone = departures(conn)
    for number, episode in enumerate(told, 1):
        name = episode.get("agent") if isinstance(episode, Mapping) else getattr(episode, "agent", None)
        departure = gone.of(name) if isinstance(name, str) else None
        if departure is None:
            yield episode
        elif departure.successor is None:
            reason = f"agent {name} was forgotten; `retro agents forget {name} --undo` takes it in again"
            yield memory.EpisodeFault(where, number, reason)
        else:
            yield memory.EpisodeFault(where, number, f"agent {name} is {departure.successor} now: tell it so")


def lines_of(
    stream: BinaryIO, where: str, unread: list[_F], fault: Callable[[str, int, str], _F]
) -> Iterator[bytes]:
    """The lines of a stream; those without a text (too long, or the stream broke) are empty, and `unread` says why."""
    for part in read_lines(stream):
        if part.fault is not None:
            unread.append(fault(where, part.first, part.fault))
        yield from part.texts
