"""An agent's journal: JSON Lines in, batches of rows, marks and faults out, in constant memory.

Every line that is an event is kept, whatever stands around it. A last line without a newline is torn, even when it
happens to be whole: its writer was not done. Nothing is lost, for the file ingested again gives it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import msgspec
import numpy as np

from retro.ingest.candles import series_of
from retro.ingest.journal.events import EventReader
from retro.ingest.source import open_source, other_encoding, read_lines
from retro.journal.values import AGENT_NAME
from retro.model import Batch, EventRow, Fault, Mark, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.ingest.source import Lines

__all__ = ["open_source", "read"]

_BLANK: Final = b" \t\r"
_SLICE: Final = 128
_AGENT: Final = re.compile(rb'"agent"\s*:\s*"([A-Za-z0-9._-]{1,64})"')
_TORN: Final = "line: is torn (it has no newline at its end); complete it and ingest the file again"


def read(stream: BinaryIO, where: str, *, now: int, size: int = 2000) -> Iterator[Batch]:
    """The events of a journal, about `size` at a time, in the order they were written.

    `now` is the ingest clock in microseconds. `Batch.events` counts the events, faults left out; `mark` events come
    as series of their agent, an asset's under the asset's own name. Nothing is raised for what a line holds.
    """
    reader, collected = EventReader(now), _Collected(where)
    for part in read_lines(stream):
        if part.first == 1 and (wrong := other_encoding(part.texts[0])):
            collected.faults.append(Fault(where, 1, f"line: {wrong}"))
            break
        for first, lines in _slices(part, collected):
            collected.take(reader.read(lines), first, lines)
            if len(collected) >= size:
                yield collected.batch(reader)
                collected = _Collected(where)
    if len(collected):
        yield collected.batch(reader)


def _slices(part: Lines, collected: _Collected) -> Iterator[tuple[Sequence[int], list[bytes]]]:
    """The lines that are not blank with their numbers, a few at a time; what has no text goes to the faults."""
    first, texts, fault, ended = part
    if not ended and not fault and texts[0].strip(_BLANK):
        fault = _TORN
    if fault:
        collected.faults.append(Fault(collected.where, first, fault, _named_in(texts[0])))
        yield (), []
        return
    for start in range(0, len(texts), _SLICE):
        lines = [text.strip(_BLANK) for text in texts[start : start + _SLICE]]
        numbers: Sequence[int] = range(first + start, first + start + len(lines))
        if b"" in lines:
            numbers = [number for number, line in zip(numbers, lines, strict=True) if line]
            lines = [line for line in lines if line]
        yield numbers, lines


def _named_in(line: bytes) -> str | None:
    """The agent that a line names which is no event, as far as it can be read: of a torn one, what stands there."""
    try:
        event = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = _AGENT.search(line)
        return found[1].decode() if found else None
    name = event.get("agent") if isinstance(event, dict) else None
    return name if isinstance(name, str) and AGENT_NAME.fullmatch(name) else None


class _Collected:
    """What the next batch is made of."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.rows: list[EventRow] = []
        self.lines: list[int] = []
        self.faults: list[Fault] = []
        self._marks: dict[tuple[str, str], list[tuple[int, float]]] = {}
        self._marked = 0

    def __len__(self) -> int:
        return len(self.rows) + len(self.faults) + self._marked

    def take(self, results: Sequence[EventRow | str], numbers: Sequence[int], lines: Sequence[bytes]) -> None:
        """Rows, or the reasons why there is none, with the numbers of their lines and the lines."""
        facts = [row for row in results if row.__class__ is EventRow and row[1] != "mark"]
        if len(facts) == len(results):
            self.rows.extend(facts)
            self.lines.extend(numbers)
            return
        for number, row, line in zip(numbers, results, lines, strict=True):
            if isinstance(row, str):
                self.faults.append(Fault(self.where, number, row, _named_in(line)))
            elif row.type == "mark":
                self._mark(row)
            else:
                self.rows.append(row)
                self.lines.append(number)

    def _mark(self, row: EventRow) -> None:
        mark = cast("Mark", decode(row.body, row.at))
        key = (row.agent, mark.instrument or mark.asset or "")
        self._marks.setdefault(key, []).append((row.at, float(mark.price)))
        self._marked += 1

    def batch(self, reader: EventReader) -> Batch:
        """Everything collected, and the unknown fields met since the last batch."""
        marks = [
            series
            for (agent, instrument), pairs in self._marks.items()
            for series in series_of(
                agent,
                instrument,
                np.array([t for t, _ in pairs], np.int64),
                np.array([price for _, price in pairs], np.float64),
            )
        ]
        unknown = dict(reader.unknown)
        reader.unknown.clear()
        return Batch(
            rows=self.rows,
            lines=self.lines,
            marks=marks,
            faults=self.faults,
            events=len(self.rows) + self._marked,
            unknown=unknown,
        )
