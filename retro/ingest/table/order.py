"""Rows in the order of their time, whatever the order of the file, in bounded memory.

What equal instants hold comes as a group: within one, rows keep the order of their file (turned round where the file
runs backwards), and equal rows are told apart or together as the mapping says. Fills that say which position they found
are put in the order in which one's end is the next one's beginning.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from decimal import Decimal

    from retro.ingest.table.cells import Cells
    from retro.ingest.table.executions import Item

__all__ = ["FileRuns", "TimedRow", "in_chain", "in_order", "straight"]

_MOST: Final = 20_000
_CHUNK: Final = 1_000
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class TimedRow(NamedTuple):
    """A row with its instant (microseconds) and the number of the file it is from; `line` counts from 1."""

    at: int
    file: int
    line: int
    cells: Cells


@dataclass(slots=True)
class FileRuns:
    """Which way each file runs, by its number: rows later than the one above less rows earlier, and the instant of the last."""

    runs: dict[int, int] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)

    def see(self, entry: TimedRow) -> None:
        """Count the next row of a file."""
        before = self.latest.get(entry.file, entry.at)
        self.runs[entry.file] = self.runs.get(entry.file, 0) + (entry.at > before) - (entry.at < before)
        self.latest[entry.file] = entry.at


def straight(entries: Iterable[TimedRow | Fault], where: str) -> Iterator[list[TimedRow] | Fault]:
    """The groups of a file that runs forward in time; a row that goes back is a fault."""
    latest: int | None = None
    group: list[TimedRow] = []
    for entry in entries:
        if isinstance(entry, Fault):
            yield entry
        elif latest is not None and entry.at < latest:
            reason = 'time: is before that of the row above; write order = "any" in [source] of the mapping'
            yield Fault(where, entry.line, reason)
        else:
            if entry.at != latest and group:
                yield group
                group = []
            latest = entry.at
            group.append(entry)
    if group:
        yield group


def in_order(
    entries: Iterable[TimedRow | Fault], *, backwards: bool | None = None, ways: FileRuns | None = None
) -> Iterator[list[TimedRow] | Fault]:
    """The groups of files whose rows stand in any order; the faults come first.

    `backwards`: rows of one instant stand newest first; None: as the file that they are in mostly runs,
    `ways` saying how those ran that are read on.
    """
    ways = ways or FileRuns()
    ahead: list[TimedRow] = []
    with (
        TemporaryDirectory(prefix="retro-") as room,
        closing(sqlite3.connect(f"{room}/rows.sqlite")) as spool,
    ):
        is_spilled = False
        for entry in entries:
            if isinstance(entry, Fault):
                yield entry
                continue
            ways.see(entry)
            ahead.append(entry)
            if len(ahead) >= _MOST:
                _spill(spool, ahead, first=not is_spilled)
                is_spilled, ahead = True, []
        turned = {file for file, run in ways.runs.items() if (run < 0 if backwards is None else backwards)}
        if not is_spilled:
            places = range(len(ahead))
            keys = [(e.at, e.file, -n if e.file in turned else n) for n, e in zip(places, ahead, strict=True)]
            ordered: Iterable[TimedRow] = [ahead[n] for n in sorted(places, key=keys.__getitem__)]
        else:
            _spill(spool, ahead, first=False)
            ahead = []
            ordered = _sorted_rows(spool, turned)
        for _, group in groupby(ordered, key=lambda entry: entry.at):
            yield list(group)


def _spill(spool: sqlite3.Connection, entries: list[TimedRow], *, first: bool) -> None:
    if first:
        for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -8000", "temp_store = FILE"):
            spool.execute(f"PRAGMA {setting}")
        spool.execute(
            "CREATE TABLE entries (n INTEGER PRIMARY KEY, at INTEGER, file INTEGER, line INTEGER, body BLOB)"
        )
    for start in range(0, len(entries), _CHUNK):
        spool.executemany(
            "INSERT INTO entries (at, file, line, body) VALUES (?, ?, ?, ?)",
            [(e.at, e.file, e.line, _body(e.cells)) for e in entries[start : start + _CHUNK]],
        )
    spool.commit()


def _body(cells: Cells) -> bytes:
    try:
        return _encode(cells)
    except (OverflowError, ValueError):  # an integer beyond 64 bits, as chains have them
        return json.dumps(cells).encode()


def _sorted_rows(spool: sqlite3.Connection, turned: set[int]) -> Iterator[TimedRow]:
    backwards = ",".join(map(str, sorted(turned))) or "-1"
    statement = (
        "SELECT at, file, line, body FROM entries"  # noqa: S608 - numbers of ours
        f" ORDER BY at, file, CASE WHEN file IN ({backwards}) THEN -n ELSE n END"
    )
    for at, file, line, body in spool.execute(statement):
        yield TimedRow(at, file, line, _decode(body))


def in_chain(
    items: Sequence[Item],
    before: Callable[[Cells], Decimal | None],
    change: Callable[[Item], tuple[str, Decimal, Decimal] | None],
) -> list[Item]:
    """The rows of one instant, those of each instrument in the order in which their positions follow each other.

    `before` is the signed position a row states it found, `change` its instrument, its signed quantity and what is
    held before the instant. An instrument whose chain does not close keeps the order of its file.
    """
    places: dict[str, list[int]] = {}
    links: dict[int, tuple[Decimal, Decimal]] = {}
    holding: dict[str, Decimal] = {}
    for place, item in enumerate(items):
        changed = change(item)
        if changed is None:
            continue
        instrument, quantity, holding[changed[0]] = changed
        start = before(item.cells)
        places.setdefault(instrument, []).append(place)
        if start is not None:
            links[place] = (start, start + quantity)
    ordered = list(items)
    for instrument, slots in places.items():
        if len(slots) > 1 and all(slot in links for slot in slots):
            for slot, source in zip(slots, _chain(slots, links, holding[instrument]), strict=True):
                ordered[slot] = items[source]
    return ordered


def _chain(slots: list[int], links: dict[int, tuple[Decimal, Decimal]], holding: Decimal) -> list[int]:
    """The slots from the one that found what is held, else from a beginning that is nobody's end; else as they are."""
    ends = [links[slot][1] for slot in slots]
    heads = [slot for slot in slots if links[slot][0] == holding]
    heads += [slot for slot in slots if links[slot][0] not in ends]
    for head in heads:
        waiting, chain = [slot for slot in slots if slot != head], [head]
        while waiting:
            end = links[chain[-1]][1]
            following = next((slot for slot in waiting if links[slot][0] == end), None)
            if following is None:
                break
            waiting.remove(following)
            chain.append(following)
        if not waiting:
            return chain
    return slots
