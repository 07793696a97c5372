"""Whatever bytes a journal holds: no traceback, no good line lost, and the quick reading never says more than the full."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retro.errors import RetroError
from retro.ingest import candles as marks
from retro.ingest.journal import reader as journal
from retro.ingest.journal.events import EventReader, _instant
from retro.journal import FIELDS, REQUIRED, RejectedError, check
from retro.model import Batch, EventRow, decode
from retro.periods import parse_instant
from tests.worlds.places import ROOT

NOW = parse_instant("2026-11-21T12:00:00Z")
EXAMPLE = (ROOT / "examples" / "agent.jsonl").read_bytes().splitlines()
QUICK = settings(max_examples=150, deadline=None)

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**22), 10**22)
    | st.floats(allow_nan=True)
    | st.sampled_from(["", "a", "0", "-0.0", "1.50", "1e5", " 1", "1_0", "NaN", "H-7", "a:b", '"', "\\", "\0", "é", "\n", "٣"])
    | st.text(max_size=6)
    | st.decimals(allow_nan=False, allow_infinity=False).map(str)
)  # fmt: skip
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def events(draw: st.DrawFn) -> bytes:
    """Lines near the truth: an event's own fields, mostly with values that fit, spelled in many ways."""
    kind = draw(st.sampled_from(sorted(FIELDS)))
    event = json.loads(draw(st.sampled_from([e for e in EXAMPLE if json.loads(e)["type"] == kind])))
    for name in draw(st.sets(st.sampled_from([*FIELDS[kind], "zz"]), max_size=3)):
        event[name] = draw(_values)
    for name in draw(st.sets(st.sampled_from(sorted(event)), max_size=1)):
        del event[name]
    compact = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), ("\t,\r", "\t:")]))
    text = json.dumps(event, ensure_ascii=draw(st.booleans()), separators=compact)
    for old, new in draw(
        st.lists(
            st.sampled_from(
                [
                    ('"id"', '"id":"e","id"'),
                    ('"at"', '"at":0,"at"'),
                    ('"USDC"', '"USDC":1,"USDC"'),
                    ('"tick"', '"tick":1,"\\u0074ick"'),
                    (":", "\\u003a"),
                    ("e", "\\u0065"),
                    ("a", "\x7f"),
                    ("1", "1e400"),
                    ("1", "1e-400"),
                    ("1", "1" * 310),
                    ("0", "0E-42"),
                    ("Z", "+00:00"),
                    ("Z", ".5Z"),
                    ("Z", ""),
                    ("}", "}}"),
                    ("}", ""),
                    ("{", "{{"),
                    ('"', ""),
                ]
            ),
            max_size=2,
        )
    ):
        text = text.replace(old, new, 1)
    return text.encode("utf-8", "surrogatepass").strip(b" \t\r").replace(b"\n", b"")


def _in_full(line: bytes) -> EventRow | None:
    try:
        return check(line.decode(), NOW).row
    except (RejectedError, UnicodeDecodeError):
        return None


@QUICK
@given(st.lists(events().filter(bool), min_size=1, max_size=4))
@example([b'{"type":"death","id":"x","agent":"a","at":0}{"type":"death","id":"y","agent":"a","at":0}', b"{"])
@example([b'{"type":"death","id":"x","agent":"a","at":0,"cause":[{}', b"{}]}"])
def test_the_quick_reading_accepts_what_the_full_check_accepts_and_nothing_else(lines: list[bytes]) -> None:
    results = EventReader(NOW).read(lines)
    assert len(results) == len(lines)
    for line, result in zip(lines, results, strict=True):
        assert (result if isinstance(result, EventRow) else None) == _in_full(line)


@QUICK
@given(events())
def test_what_is_accepted_can_be_read_back_from_the_store(line: bytes) -> None:
    row = _in_full(line)
    if row is not None:
        fact = decode(row.body, row.at)
        assert (fact.agent, fact.id, fact.at) == (row.agent, row.id, row.at)
        for name in REQUIRED[row.type]:
            value = getattr(fact, name)
            assert not isinstance(value, Decimal) or value.is_finite()


@QUICK
@given(events())
def test_a_refusal_is_one_short_printable_sentence(line: bytes) -> None:
    for result in EventReader(NOW).read([line] if line else []):
        if isinstance(result, str):
            assert result.isprintable()
            assert len(result) < 200


def _valid_line(number: int) -> bytes:
    return b'{"type":"death","id":"%d","agent":"fuzz","at":1772366400000}\n' % number


@QUICK
@given(
    st.lists(
        st.binary(max_size=60).filter(lambda junk: not junk.startswith((b"\xff\xfe", b"\xfe\xff"))),
        max_size=6,
    )
)
def test_good_lines_around_arbitrary_bytes_are_all_kept(junk: list[bytes]) -> None:
    data = b"".join(part + b"\n" + _valid_line(number) for number, part in enumerate(junk, 1))
    batches = list(journal.read(io.BytesIO(_valid_line(0) + data), "x", now=NOW))
    assert [row.id for b in batches for row in b.rows] == [str(n) for n in range(len(junk) + 1)]
    junk_lines = sum(1 for part in junk for text in part.split(b"\n") if text.strip(b" \t\r"))
    assert sum(len(b.faults) for b in batches) == junk_lines


@QUICK
@given(st.binary(max_size=300), st.integers(1, 40))
def test_arbitrary_bytes_in_arbitrary_pieces_never_raise(data: bytes, piece: int) -> None:
    class Dribble(io.RawIOBase):
        remaining = data

        def readable(self) -> bool:
            return True

        def read1(self, size: int) -> bytes:
            head, self.remaining = self.remaining[:piece], self.remaining[piece:]
            return head

    whole = list(journal.read(io.BytesIO(data), "x", now=NOW))
    dribbled = list(journal.read(Dribble(), "x", now=NOW))  # type: ignore[arg-type]
    assert [b.faults for b in whole] == [b.faults for b in dribbled]


@QUICK
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_flipped_byte_of_a_gzip_file_costs_only_what_follows(place: int, mask: int) -> None:
    packed = bytearray(gzip.compress(b"".join(_valid_line(n) for n in range(200)), mtime=0))
    packed[place % len(packed)] ^= mask
    stream = io.BufferedReader(io.BytesIO(packed))
    from retro.ingest.source import _unfolded

    batches = list(journal.read(_unfolded(stream), "x", now=NOW))
    rows = [row for b in batches for row in b.rows]
    assert len(rows) == 200 or any(b.faults for b in batches)


@QUICK
@given(
    st.from_regex(
        r"(2026|0001|9999|1970)-(0[1-9]|1[0-3]|W09)-([0-3][0-9]|7)[Tt ]?[0-2][0-9]:?[0-6][0-9](:[0-6][0-9]?)?"
        r"([.,:][0-9]{0,9})?(Z|z|[+-]0[01]:?[03]0(:00)?|\+00| Z|)?",
        fullmatch=True,
    )
)
def test_the_quick_clock_reads_times_as_the_calendar_does(text: str) -> None:
    def parsed(how: Callable[[str], Any]) -> Any:
        try:
            return how(text)
        except (ValueError, IndexError):
            return None

    assert parsed(_instant) == parsed(parse_instant) or parsed(_instant) is None


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@QUICK
@given(
    st.binary(max_size=80)
    | st.lists(st.sampled_from(["timestamp", "price", "close", "low", "high", ",", ";", "\n", "1.5", "0", "nan", "1e999", '"',
                                "2026-03-01T00:00:00Z", "2026-03-01", "1772366400", "-", "\0", "é", "9" * 25]), max_size=30)
    .map(lambda parts: "".join(parts).encode())
)  # fmt: skip
def test_arbitrary_price_files_give_marks_faults_or_one_sentence(workshop: Path, data: bytes) -> None:
    path = workshop / "prices.csv"
    path.write_bytes(data)
    batches: list[Batch] = []
    for timeframe in (None, "1h"):
        try:
            batches += marks.read(str(path), "ETH/USDC", timeframe, now=NOW)
        except RetroError as error:
            batches.append(Batch(unknown={str(error): 1}))
    assert not any("\n" in sentence for batch in batches for sentence in batch.unknown)
    for series in [series for batch in batches for series in batch.marks]:
        assert (series.t[1:] > series.t[:-1]).all()
        assert (series.price > 0).all()
