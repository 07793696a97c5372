"""`retro ingest auto`: what a file is, and why; asked where it may be two things, and refused where it is nothing known."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retro.ingest.recognition import recognize
from retro.store.database import open_store
from retro.store.facts import agents
from tests.worlds.commands import JOURNAL, Retro, event, retro, round_trip
from tests.worlds.freqtrade_databases import D, Order, Trade, write
from tests.worlds.logs import hyperliquid, nofx, tables
from tests.worlds.service_world import MONDAY, World

__all__ = ["retro"]


def bot() -> None:
    write(
        Path("t.sqlite"),
        [Trade([Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 110.0, D.format(2))])],
    )


def journal() -> None:
    Path("a.jsonl").write_text("\n" + round_trip("p"))


FILES = {
    "journal": (journal, ["a.jsonl"]),
    "freqtrade": (bot, ["t.sqlite"]),
    "nofx": (lambda: nofx.write_folder(Path(), nofx.life()), ["decision_logs"]),
    "hyperliquid": (hyperliquid.write_exports, ["trade_history.csv", "funding_history.csv", "--zone", "UTC"]),
    "table": (lambda: Path("ledgers.csv").write_text(tables.KRAKEN, encoding="utf-8"), ["ledgers.csv"]),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_read_as_what_it_is_and_the_reader_is_named(retro: Retro, kind: str) -> None:
    make, words = FILES[kind]
    make()
    done = retro("ingest", "auto", *words, "--json")
    assert done.code == 0, done.err
    assert done.data["stored"] > 0
    assert done.data["notices"][0].startswith(f"read as {kind}: ")
    # the same as by its own command, to the event
    own = retro("ingest", kind, *words, "--json")
    assert (own.code, own.data["stored"], own.data["unchanged"]) == (0, 0, done.data["events"])
    again = retro("ingest", "auto", *words, "--json")
    assert (again.data["stored"], again.data["conflicts"]) == (0, 0)
    assert f"read as {kind}: " in retro("ingest", "auto", *words).err


def test_a_look_at_a_database_leaves_nothing_beside_it(retro: Retro) -> None:
    bot()
    with closing(sqlite3.connect("t.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert retro("ingest", "auto", "t.sqlite").code == 0
    assert sorted(path.name for path in Path().glob("t.sqlite*")) == ["t.sqlite"]


def test_prices_want_the_name_of_what_they_are_prices_of(retro: Retro) -> None:
    Path("eth.csv").write_text("timestamp,price\n2026-03-02T00:00:00Z,100\n")
    done = retro("ingest", "auto", "eth.csv")
    assert done.code == 2
    assert "retro ingest marks eth.csv --instrument" in done.err
    Path("trades.csv").write_text("timestamp,price,side,quantity\n")
    assert retro("ingest", "auto", "trades.csv").code == 1


def test_what_may_be_two_things_is_asked_about(retro: Retro) -> None:
    line = {"type": "x", "id": "1", "agent": "a", "at": "2026-03-02T00:00:00Z", "date": "2026-03-02"}
    Path("x.jsonl").write_text(json.dumps({**line, "positions": {"CASH": 1}}) + "\n")
    done = retro("ingest", "auto", "x.jsonl")
    assert done.code == 2
    assert "say which: `retro ingest ai-trader`: rows with positions" in done.err
    assert "`retro ingest journal`: lines with type" in done.err
    assert not Path("memory_data").exists()


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\0" * 5000, b"a,b\n1,2\n", b"{", b"[" * 10_000, b"\x80\x04\x95pickle"]
)
def test_what_is_nothing_known_is_said_with_what_was_tried(retro: Retro, content: bytes) -> None:
    Path("x").write_bytes(content)
    done = retro("ingest", "auto", "x", "--json")
    assert done.code == 1
    assert "x: no reader knows it (tried: journal, freqtrade, marks, " in done.err
    [fault] = done.data["faults"]
    assert (fault["where"], "`retro map x`" in fault["reason"], done.data["events"]) == ("x", True, 0)
    assert not Path("memory_data").exists()


def test_files_of_two_kinds_and_options_of_another_are_refused(retro: Retro) -> None:
    bot()
    journal()
    done = retro("ingest", "auto", "a.jsonl", "t.sqlite")
    assert (done.code, "different kinds" in done.err) == (2, True)
    done = retro("ingest", "auto", "a.jsonl", "--zone", "UTC")
    assert (done.code, "--zone says nothing to retro ingest journal" in done.err) == (2, True)
    assert retro("ingest", "auto", "nothing.csv").code != 0
    assert "does not exist" in retro("ingest", "auto", "nothing.csv").err


def test_a_folder_is_what_its_files_are_and_links_that_lead_nowhere_are_passed_by(tmp_path: Path) -> None:
    nofx.write_folder(tmp_path, nofx.life())
    inner = next(path for path in (tmp_path / "decision_logs").iterdir() if path.is_dir())
    (inner / "loop").symlink_to("loop")
    os.mkfifo(inner / "a-pipe")
    assert recognize([inner]).adapter.name == "nofx"
    assert recognize([JOURNAL]).adapter.name == "journal"


def test_a_corrected_bot_is_corrected_as_by_its_own_command(retro: Retro) -> None:
    bot()
    retro("ingest", "auto", "t.sqlite")
    Path("t.sqlite").unlink()
    write(
        Path("t.sqlite"),
        [Trade([Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 120.0, D.format(2))])],
    )
    done = retro("ingest", "auto", "t.sqlite", "--json")
    assert (done.code, done.data["conflicts"], done.data["stored"]) == (0, 0, 1)


def test_the_service_reads_a_source_as_what_it_is_and_tells_of_one_it_does_not_know(tmp_path: Path) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path)
    known, unknown = tmp_path / "a.jsonl", tmp_path / "x.txt"
    known.write_text(event("cost", "c", kind="gas", amount="1"))
    unknown.write_text("nothing\n")
    world.configuration = {"source": [{"kind": "auto", "path": str(path)} for path in (known, unknown)]}
    world.clock.set(MONDAY + 3_600_000_000)
    assert world.knock().sources_failed == 1
    [failure] = [fields for name, fields in world.log if name == "source_failed"]
    assert "no reader knows it" in failure["reason"]
    with known.open("a") as file:
        file.write(event("cost", "d", "2026-03-02T09:01:00Z", kind="gas", amount="1"))
    world.clock.advance(600)
    world.knock()
    with world.store.read() as conn:
        assert agents.existing_agent(conn, "ada").events == 2
    reads = [fields for name, fields in world.log if name == "source_read"]
    assert [read["stored"] for read in reads] == [1, 1], "a journal is read on, not read again"
    world.store.close()
