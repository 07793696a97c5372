"""Files made to break a reader: every reader of logs says one clear thing of each, soon, in little memory, and keeps nothing."""

from __future__ import annotations

import csv
import gzip
import io
import os
import pickle
import resource
import signal
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from retro.ingest.registry import ADAPTERS
from retro.store.database import open_store
from retro.surface.cli.main import run
from tests.worlds.commands import Retro, retro, round_trip

__all__ = ["retro"]

MIB: Final = 1 << 20
KINDS: Final = [name for name, adapter in ADAPTERS.items() if adapter.growth in {"log", "auto", "whole"}]
MOST_MEMORY: Final = 150
"""MiB above what the process had: a reader holds a part of a file, never the whole of one of a gigabyte."""
HEADS: Final = {
    "table": b"txid,refid,time,type,subtype,aclass,asset,amount,fee,balance\n",
    "hyperliquid": b"time,coin,dir,px,sz,ntl,fee,closedPnl\n",
    "nofx": b'{"timestamp":"2025-11-08T00:00:00Z","cycle_number":1,"decision_json":"',
    "ai-trader": b'{"date":"2025-10-01","id":1,"positions":{"CASH":1,"',
    "metatrader": b"<html><head><title>Statement: 1</title></head><body><table><tr><td>",
    "auto": b"time,coin,dir,px,sz,ntl,fee,closedPnl\n",
}
"""How a file begins that a reader takes for its own."""


class Outcome(NamedTuple):
    """How a command ended: its exit code, what it printed, and the MiB it took."""

    code: int
    out: str
    memory: int


def ingest(kind: str, path: Path) -> Outcome:
    """`retro ingest KIND PATH` in a process of its own, with an alarm where it waits for ever."""
    printed = path.parent / "printed"
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    zone = ["--zone", "UTC"] if "zone" in ADAPTERS[kind].options else []
    child = os.fork()
    if not child:
        signal.alarm(30)
        target = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, 1)
        os.dup2(target, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        code = run(["--db", str(path.parent / "r.db"), "-q", "ingest", kind, str(path), *zone])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status, used = os.wait4(child, 0)
    out = printed.read_text(errors="replace")
    return Outcome(os.waitstatus_to_exitcode(status), out, (used.ru_maxrss - own) // 1024)


def long_line(path: Path, head: bytes) -> None:
    """A gigabyte without a newline; zeros that the disk does not keep."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(1024 * MIB)


def spaces(path: Path, *members: str) -> None:
    """An archive whose members unfold a thousandfold."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            with archive.open(member, "w") as file:
                for _ in range(64):
                    file.write(b" " * MIB)


def unfolding(path: Path, head: bytes) -> None:
    with gzip.open(path, "wb", 6) as file:
        file.write(head)
        for _ in range(160):
            file.write(b"0" * MIB)


ENTITIES: Final = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
LAUGHS: Final = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "{"a" * 10}">{ENTITIES}]>'
OUTSIDE: Final = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
FLEX: Final = (
    '<FlexQueryResponse><FlexStatements><FlexStatement accountId="U1"><Trades><Trade symbol="&{};"/></Trades>'
    "</FlexStatement></FlexStatements></FlexQueryResponse>"
)

FILES: Final[dict[str, Callable[[Path, bytes], object]]] = {
    "a line of a gigabyte": long_line,
    "a gigabyte of zeros": lambda path, _: long_line(path, b""),
    "a bomb of a spreadsheet": lambda path, _: spaces(path, "xl/workbook.xml", "xl/worksheets/sheet1.xml"),
    "a bomb of a result": lambda path, _: spaces(path, "backtest-result-1.json"),
    "a bomb of gzip": unfolding,
    "a billion laughs": lambda path, _: path.write_text(LAUGHS + FLEX.format("j")),
    "an entity outside": lambda path, _: path.write_text(OUTSIDE + FLEX.format("a")),
    "a pickle": lambda path, _: path.write_bytes(pickle.dumps({"a": [1] * 100})),
    "brackets without end": lambda path, _: path.write_bytes(b"[" * 200_000),
    "objects without end": lambda path, _: path.write_bytes(b'{"a":' * 100_000),
    "a torn database": lambda path, _: path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20),
    "numbers beyond all": lambda path, head: path.write_bytes(
        head + b"1e999999999," + b"9" * 6000 + b",NaN,1\n"
    ),
    "zeros in text": lambda path, head: path.write_bytes(head + b"\0\0,\0,1,1\n"),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a device without end": lambda path, _: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_file_is_one_clear_error(tmp_path: Path, kind: str, what: str) -> None:
    path = tmp_path / "file"
    FILES[what](path, HEADS.get(kind, b""))
    done = ingest(kind, path)
    assert done.code in {1, 2}, done
    assert done.memory < MOST_MEMORY, done
    assert done.out.strip()
    assert "internal error" not in done.out, done.out
    assert "root:" not in done.out
    assert len(done.out) < 2000, "one clear error, not a book"
    if (tmp_path / "r.db").exists():
        store = open_store(str(tmp_path / "r.db"))
        with store.read() as conn:
            assert conn.exec_driver_sql("SELECT count(*) FROM events").scalar() == 0
        store.close()


def test_the_kinds_whose_files_are_known_by_a_head_are_among_the_readers() -> None:
    assert {kind for kind in HEADS if kind in KINDS} >= {"table", "hyperliquid", "nofx", "ai-trader", "auto"}


def test_a_formula_is_text_wherever_it_goes(retro: Retro) -> None:
    """What a spreadsheet would run stands in our CSV behind an apostrophe."""
    Path("a.jsonl").write_text(round_trip("=cmd|' /C calc'!A1"))
    assert retro("ingest", "auto", "a.jsonl").code == 0
    [_, row] = csv.reader(io.StringIO(retro("positions", "--format", "csv").out))
    assert row[0] == "'=cmd|' /C calc'!A1"
    assert retro("positions", "--json").data[0]["final_pnl"] == 5
