"""Where a journal comes from: files, gzip, standard input, a child process that reads ahead, and what is none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
from pathlib import Path
from typing import Any

import pytest

from retro.errors import InputError, RetroError
from retro.ingest.journal.parallel import read_ahead, read_path, worth_it
from tests.worlds.journal_lines import DEATH, DECISION, FILL, LP, MARK, NOW, line


def test_a_gzip_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(gzip.compress(line(DEATH, id="a")) + gzip.compress(line(DEATH, id="b")))
    (batch,) = read_path(str(path), now=NOW)
    assert [row.id for row in batch.rows] == ["a", "b"]


def test_a_gzip_file_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    rng = random.Random(1)
    whole = b"".join(line(DEATH, id=str(n), cause=rng.randbytes(40).hex()) for n in range(2000))
    packed = gzip.compress(whole)
    path = tmp_path / "journal.gz"
    for end in (len(packed) // 2, len(packed) - 4, 11):
        path.write_bytes(packed[:end])
        batches = list(read_path(str(path), now=NOW))
        rows = [row for batch in batches for row in batch.rows]
        (fault,) = [fault for batch in batches for fault in batch.faults]
        assert "gzip data end early" in fault.reason
        assert fault.line == len(rows) + 1
        assert [int(row.id) for row in rows] == list(range(len(rows)))
    path.write_bytes(packed[:-8] + bytes(8))
    assert "gzip data are damaged" in next(f.reason for b in read_path(str(path), now=NOW) for f in b.faults)
    half = bytearray(packed)
    half[len(half) // 2] ^= 0xFF
    path.write_bytes(half)
    assert "gzip data are damaged" in [f.reason for b in read_path(str(path), now=NOW) for f in b.faults][-1]


def test_a_gzip_bomb_stops_with_a_sentence_and_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(line(DEATH, id="first"))
        for _ in range(160):
            file.write(bytes(1 << 20))
    (batch,) = read_path(str(path), now=NOW)
    assert [row.id for row in batch.rows] == ["first"]
    assert "unfold more than 250-fold" in batch.faults[-1].reason


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.mkdir(), "is a directory; name a file"),
        (lambda path: None, "does not exist; check the path"),
        (lambda path: path.symlink_to(path), "cannot be opened"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(100)), "is a SQLite database"),
        (
            lambda path: path.write_bytes(b"ARROW1\0\0"),
            "is a column file; for candles use retro ingest marks",
        ),
        (lambda path: path.write_bytes(b"PK\x03\x04..."), "is a zip archive"),
        (lambda path: path.write_bytes(bz2.compress(b"{}")), "is packed with bzip2; unpack it first"),
        (lambda path: path.write_bytes(lzma.compress(b"{}")), "is packed with xz; unpack it first"),
    ],
)
def test_what_is_no_journal_at_all_is_one_sentence(tmp_path: Path, make: Any, says: str) -> None:
    path = tmp_path / "source"
    make(path)
    with pytest.raises(InputError, match=says) as caught:
        list(read_path(str(path), now=NOW))
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, RetroError)


def test_a_path_that_cannot_be_a_path_is_one_sentence() -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        list(read_path("a\0b", now=NOW))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (line(DEATH, id="a"), gzip.compress(line(DEATH, id="a"))):
        reader, writer = os.pipe()
        os.write(writer, data)
        os.close(writer)
        with os.fdopen(reader, "rb") as stdin:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
            (batch,) = read_path("-", now=NOW)
        assert [row.id for row in batch.rows] == ["a"]


def test_standard_input_that_is_closed_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        list(read_path("-", now=NOW))


def test_a_child_process_reads_exactly_what_we_would(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    kinds: list[Any] = [FILL, MARK, DECISION, LP, line(FILL, quantity=-1), b"{\n"]
    parts = [
        kind if isinstance(kind, bytes) else line(kind, id=str(n), cause2="x", tick=n)
        for n in range(400)
        for kind in kinds
    ]
    path.write_bytes(b"".join(parts) + b"torn")
    in_process = list(read_path(str(path), now=NOW, size=500, ahead=False))
    in_child = list(read_ahead(str(path), now=NOW, size=500))
    assert [b.rows for b in in_child] == [b.rows for b in in_process]
    assert [b.lines for b in in_child] == [b.lines for b in in_process]
    assert [b.faults for b in in_child] == [b.faults for b in in_process]
    assert [b.unknown for b in in_child] == [b.unknown for b in in_process]
    assert [b.events for b in in_child] == [b.events for b in in_process]
    for ours, theirs in zip(in_process, in_child, strict=True):
        assert [(m.agent, m.instrument, m.t.tolist(), m.price.tolist()) for m in ours.marks] == [
            (m.agent, m.instrument, m.t.tolist(), m.price.tolist()) for m in theirs.marks
        ]


def test_a_child_process_fails_in_the_same_words_and_can_be_left_early(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; check the path"):
        list(read_ahead(str(tmp_path / "none"), now=NOW, size=10))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(line(DEATH, id=str(n)) for n in range(20_000)))
    batches = read_ahead(str(path), now=NOW, size=100)
    assert next(batches).rows[0].id == "0"
    batches.close()  # type: ignore[attr-defined]


def test_only_large_regular_files_are_worth_a_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * 100)
    assert not worth_it(str(path))
    assert not worth_it("-")
    assert not worth_it(str(tmp_path))
