"""Reading a journal as a stream: line ends, torn ends, batches; nothing around a fault is lost."""

from __future__ import annotations

import io
import json
import random

import pytest

from retro.ingest.journal import reader as journal
from retro.ingest.journal.parallel import read_path
from retro.journal import FIELDS
from retro.model import FACT_TYPES
from retro.periods import parse_instant
from tests.worlds.journal_lines import DEATH, FILL, MARK, NOW, line, read
from tests.worlds.places import ROOT

EXAMPLE = ROOT / "examples" / "agent.jsonl"


def test_blank_lines_are_ignored_but_counted_as_lines() -> None:
    data = b"\n \t\r\n" + line(DEATH, id="a") + b"\n\r\n" + line(DEATH, id="b") + b"x\n\n"
    batch = read(data)
    assert batch.lines == [3, 6]
    assert [fault.line for fault in batch.faults] == [7]
    assert batch.events == 2


def test_an_empty_file_is_no_fault() -> None:
    for data in (b"", b"\n\n", b"\xef\xbb\xbf", b"  "):
        batch = read(data)
        assert (batch.events, batch.faults) == (0, [])


def test_a_byte_order_mark_is_tolerated_at_the_start_only() -> None:
    data = b"\xef\xbb\xbf" + line(DEATH, id="a")
    assert [row.id for row in read(data).rows] == ["a"]
    batch = read(line(DEATH, id="b") + data)
    assert [row.id for row in batch.rows] == ["b"]
    assert len(batch.faults) == 1


def test_windows_line_ends_are_line_ends() -> None:
    data = b"".join(line(DEATH, id=str(n)) for n in range(300)).replace(b"\n", b"\r\n")
    batch = read(data)
    assert batch.events == 300
    assert not batch.faults
    assert not any(row.body.endswith("\r") for row in batch.rows)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_another_unicode_is_one_fault_that_names_it(encoding: str) -> None:
    batch = read((line(DEATH).decode() * 3).encode(encoding))
    name = encoding.upper()[:6]
    assert [fault.reason for fault in batch.faults] == [
        f"line: the file is {name}; save it as UTF-8 and ingest it again"
    ]


def test_zeros_that_a_crash_left_cost_only_their_line() -> None:
    for zeros in (bytes(64) + b"\n", bytes(5) + line(DEATH, id="lost"), b"{\0\n"):
        batch = read(zeros + line(DEATH))
        assert ([fault.line for fault in batch.faults], len(batch.rows)) == ([1], 1)


def test_a_last_line_without_newline_is_torn_wherever_it_ends() -> None:
    first, last = line(DEATH, id="a"), line(FILL, id="b")
    for end in range(1, len(last)):
        batch = read(first + last[:end])
        assert [row.id for row in batch.rows] == ["a"]
        (fault,) = batch.faults
        assert (fault.line, "is torn" in fault.reason) == (2, True)
    assert read(first + last).events == 2


def test_a_torn_line_completed_later_is_read_then() -> None:
    data = line(DEATH, id="a")[:-1]
    assert read(data).events == 0
    assert read(data + b"\n").events == 1


def test_a_line_too_long_is_passed_over_in_constant_memory() -> None:
    class Endless(io.RawIOBase):
        """1 GB without a newline, then a good line."""

        remaining = 1 << 30

        def readable(self) -> bool:
            return True

        def read1(self, size: int) -> bytes:
            self.remaining -= size
            if self.remaining > 0:
                return b"x" * size
            if self.remaining > -2 * size:
                self.remaining = -2 * size
                return b"\n" + line(DEATH, id="after")
            return b""

    import tracemalloc

    tracemalloc.start()
    (batch,) = journal.read(Endless(), "big", now=NOW)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [fault.reason for fault in batch.faults] == ["the line is longer than 4 MiB; split it"]
    assert (batch.rows[0].id, batch.lines) == ("after", [2])
    assert peak < 32 << 20


def test_memory_does_not_grow_with_the_file() -> None:
    import tracemalloc

    class Repeated(io.RawIOBase):
        def __init__(self, lines: int) -> None:
            self.numbers = iter(range(lines))

        def readable(self) -> bool:
            return True

        def read1(self, size: int) -> bytes:
            return b"".join(line(FILL, id=str(n)) for _, n in zip(range(500), self.numbers, strict=False))

    peaks = []
    for lines in (5_000, 20_000):
        tracemalloc.start()
        assert sum(b.events for b in journal.read(Repeated(lines), "big", now=NOW)) == lines  # type: ignore[arg-type,misc]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_marks_become_series_of_their_agent() -> None:
    at = parse_instant("2026-03-01T12:00:00Z")
    events = [
        line(MARK, id="1", at=at // 1000 + 60_000, price="3001.5"),
        line(MARK, id="2", price=3000),
        line(MARK, id="3", price=3000),
        line(MARK, id="4", price=3999),
        line(MARK, id="5", instrument=..., asset="ETH", price=2990),
        line(MARK, id="6", agent="beta", price=1),
        line(DEATH),
    ]
    batch = read(b"".join(events))
    assert batch.events == 7
    assert [row.type for row in batch.rows] == ["death"]
    series = {(m.agent, m.instrument, tuple(m.t.tolist()), tuple(m.price.tolist())) for m in batch.marks}
    t = at // 1000 * 1000
    assert series == {
        ("alpha", "ETH/USDC", (t, t + 60_000_000), (3000.0, 3001.5)),
        ("alpha", "ETH/USDC", (t,), (3999.0,)),  # the second price for an instant, for the store to refuse
        ("alpha", "ETH", (t,), (2990.0,)),
        ("beta", "ETH/USDC", (t,), (1.0,)),
    }


def test_batches_are_bounded_and_in_order() -> None:
    data = b"".join(line(DEATH, id=str(n)) for n in range(1000))
    batches = list(journal.read(io.BytesIO(data), "x", now=NOW, size=100))
    assert len(batches) > 3
    assert [row.id for batch in batches for row in batch.rows] == [str(n) for n in range(1000)]
    assert [number for batch in batches for number in batch.lines] == list(range(1, 1001))


def test_a_bad_line_anywhere_in_a_large_file_costs_only_itself() -> None:
    rng = random.Random(4)
    lines = [line(FILL, id=str(n)) for n in range(1000)]
    bad = sorted(rng.sample(range(1000), 40))
    for n in bad:
        lines[n] = rng.choice([b"{\n", line(FILL, price=-1), b"\xff\n", line(FILL, extra=1, at="x")])
    batch = read(b"".join(lines))
    assert [fault.line for fault in batch.faults] == [n + 1 for n in bad]
    assert [int(row.id) for row in batch.rows] == [n for n in range(1000) if n not in bad]


def test_the_example_shows_every_type_and_every_field_of_it_is_known() -> None:
    (batch,) = read_path(str(EXAMPLE), now=NOW)
    assert not batch.faults
    assert not batch.unknown
    types = {json.loads(text)["type"] for text in EXAMPLE.read_text().splitlines()}
    assert types == FACT_TYPES.keys() == FIELDS.keys()


def test_a_fault_says_whom_its_line_names() -> None:
    lines = [
        line(FILL, quantity=-1, agent="beta"),
        b'{"type":"fill","id":"1","agent":"gamma","at":17',
        b"no json at all\n",
        line(FILL, agent="not a name"),
    ]
    batch = read(b"".join([lines[0], lines[1], b"\n", lines[2], lines[3], lines[1]]))
    assert [(fault.line, fault.agent) for fault in batch.faults] == [
        (1, "beta"),
        (2, "gamma"),
        (3, None),
        (4, None),
        (5, "gamma"),
    ]
