"""A forgotten agent leaves no row, no file and no word; its neighbours keep every byte; its sources do not bring it back."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import inspect

from retro.app.estate.folders import run_errands
from retro.app.estate.removal import forget
from retro.config import load
from retro.errors import BusyError, RetroError
from retro.store.estate.holdings import counts, holdings
from retro.store.facts import agents
from retro.store.jobs import claims, reviews
from tests.app.estate.homes import Home, SavedHome, texts
from tests.syscalls import CAN_TRACE, MODES, traced
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

NOBODYS = {"schema_version", "sources", "hosts", "seen"}
"""Tables with no row of any agent: a new table that is neither here nor led to an agent fails the test below."""


def now() -> int:
    return 2_000_000_000_000_000


def home_at(folder: Path, url: str | None = None) -> Home:
    place = Home(folder, url)
    place.tell("harbor", "harbor.weekly", days=3)
    place.shared_marks("ETH/USDC", 2000)
    with place.journal.open("ab") as file:
        file.write(b'{"type": "fill", "agent": "harbor", "id": "bad"}\n')
    assert place.do("run", "--once") == 0
    place.remember("harbor", "m-1")
    place.remember("harbor.weekly", "m-2")
    return place


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> SavedHome:
    return SavedHome(home_at(tmp_path_factory.mktemp("origin") / "home"))


@pytest.fixture
def home(saved: SavedHome, tmp_path: Path, database_url: str) -> Home:
    return home_at(tmp_path / "home", database_url) if "://" in database_url else saved.restored()


def rows_with(home: Home, word: str) -> list[tuple[str, str]]:
    store = home.store()
    rows = [(table, column) for table, column, value in texts(store) if word in value]
    store.close()
    return rows


def test_no_row_of_any_table_and_no_file_names_it(home: Home) -> None:
    named = {table for table, _ in rows_with(home, "harbor-p0") + rows_with(home, '"harbor"')}
    assert {"events", "review_documents", "memory_episode", "book_positions"} <= named
    beside = {
        key: text
        for key, text in home.documents().items()
        if key[0].removeprefix("harbor.weekly.")[0].isalpha() and key[0].startswith("harbor.weekly.")
    }
    own = {name: data for name, data in home.files().items() if "harbor.weekly" in name}
    assert home.do("agents", "forget", "harbor", "--yes") == 0
    # the name of its neighbour begins with its own
    words = ("harbor-", '"harbor"', "harbor.daily", "harbor.position")
    assert [row for word in words for row in rows_with(home, word)] == []
    assert home.documents() == beside
    files = home.files()
    assert {name: data for name, data in files.items() if "harbor.weekly" in name} == own
    assert not (home.folder / "reviews" / "harbor").exists()
    assert not [name for name, data in files.items() if b"harbor-" in data or b"agent: harbor\n" in data]
    store = home.store()
    with store.read() as conn:
        assert counts(conn, "harbor") == {}
        assert [agent.name for agent in agents.agents(conn)] == ["harbor.weekly"]
    store.close()


def test_every_table_is_an_agents_or_nobodys(home: Home) -> None:
    store = home.store()
    with store.read() as conn:
        tables = set(inspect(conn).get_table_names())
    store.close()
    assert tables == {holding.table.name for holding in holdings()} | NOBODYS


def test_its_source_does_not_bring_it_back_until_that_is_undone(home: Home, retro: Retro) -> None:
    ingest = ("--config", home.config, "--db", home.url, "ingest", "journal", home.journal, "--json")
    home.tell("harbor", days=4)
    home.do("ingest", "journal", home.journal)
    before = retro("--db", home.url, "review", "position", "harbor-p0", "--agent", "harbor", "--json").out
    home.do("agents", "forget", "harbor", "--yes")
    home.journal.touch()
    assert home.do("run", "--once") == 0
    report = retro(*ingest)
    assert report.code == 0
    assert report.data["notices"][0].startswith("55 events of harbor passed over: it was forgotten")
    assert rows_with(home, "harbor-") == []
    assert "was forgotten" in retro("--db", home.url, "agents", "show", "harbor").err
    assert home.do("remember", episode(home)) == 1
    assert home.do("agents", "forget", "harbor", "--undo") == 0
    assert home.do("agents", "forget", "harbor", "--undo") == 2
    assert home.do("run", "--once") == 0
    after = retro("--db", home.url, "review", "position", "harbor-p0", "--agent", "harbor", "--json").out
    assert after == before


def episode(home: Home) -> Path:
    path = home.folder / "told.episodes"
    path.write_text(
        json.dumps({"id": "m", "agent": "harbor", "at": "2026-03-02T14:00:00Z", "pnl_r": 1}) + "\n"
    )
    return path


def test_a_second_call_deletes_what_another_machine_still_has(home: Home) -> None:
    home.do("agents", "forget", "harbor", "--yes")
    beside = home.folder / "reviews" / "harbor" / "daily"
    beside.mkdir(parents=True)
    (beside / "2026-03-02.json").write_text("{}")
    assert home.do("agents", "forget", "harbor", "--yes") == 0
    assert not beside.parent.exists()
    assert home.do("agents", "forget", "nobody", "--yes") == 2


def test_its_session_neither_asks_nor_tells_under_the_name(home: Home, retro: Retro) -> None:
    for name in ("harbor", "harbor.weekly"):
        home.do("agents", "forget", name, "--yes")
    for words in (["recall", "--context", "{}"], ["plans"], ["state"]):
        result = retro("--db", home.url, *words, "--agent", "harbor")
        assert result.code == 2, words
        assert "agent 'harbor' was forgotten on" in result.err


def test_a_dry_run_and_a_missing_yes_change_nothing(home: Home, retro: Retro) -> None:
    store = home.store()
    before, files = sorted(texts(store)), home.files()
    words = ("--config", home.config, "--db", home.url, "agents", "forget", "harbor")
    dry = retro(*words, "--dry-run", "--json").data
    with store.read() as conn:
        assert dry["rows"] == counts(conn, "harbor")
    assert dry["dry_run"] is True
    assert dry["files"]["reviews"] > 10
    refused = retro(*words)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert sorted(texts(store)) == before
    assert home.files() == files
    store.close()


def test_who_makes_or_sends_a_review_is_waited_for(home: Home) -> None:
    store = home.store()
    with store.write() as conn:
        conn.exec_driver_sql("UPDATE reviews SET state = 'due', not_before = 0")
        claimed = claims.claim(conn, "worker", now(), 90_000_000, limit=1000)
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            with store.write() as conn:
                for review in claimed:
                    claims.release(conn, review)

    config = load(home.config, {})
    forget(store, config, home.folders, "harbor", clock=now, host="here", sleep=sleep)
    assert waits == [1.0] * 3
    with store.write() as conn:
        assert claims.claim(conn, "worker", now(), 90_000_000, limit=1000)
        assert {review.agent for review in reviews.listed(conn)} == {"harbor.weekly"}
    with pytest.raises(BusyError, match=r"the service is making harbor\.weekly"):
        forget(store, config, home.folders, "harbor.weekly", clock=now, host="here", sleep=lambda _: None)
    store.close()


@pytest.mark.skipif(not CAN_TRACE, reason="the kernel's tracer of Linux on x86-64 is needed")
def test_killed_anywhere_it_is_whole_or_gone_and_the_next_command_finishes(tmp_path: Path) -> None:
    """At each call but those that write pages, of which every twentieth is as good as all; in each way in turn."""
    origin = Home(tmp_path / "origin")
    origin.tell("harbor", "otter", days=2)
    assert origin.do("run", "--once") == 0
    whole, files = origin.documents(), origin.files()
    beside = {key: text for key, text in whole.items() if key[0].startswith("otter.")}
    calls = traced(lambda: forgotten(copy_of(origin, tmp_path / "calm"))).calls
    assert len(calls) > 40
    pages = [point for point, call in enumerate(calls, 1) if call == "pwrite"]
    points = sorted({*range(1, len(calls) + 1)}.difference(pages) | {*pages[::20]})
    ends = set()
    for number, mode in enumerate(MODES):
        for point in points[number :: len(MODES)]:
            home = copy_of(origin, tmp_path / f"{number}-{point}")
            traced(lambda home=home: forgotten(home), mode, point)  # type: ignore[misc]
            store = home.store()
            run_errands(store, home.folders)
            store.close()
            gone = home.documents() == beside
            ends.add(gone)
            if gone:
                assert [name for name, data in home.files().items() if b"harbor" in data] == []
                assert rows_with(home, "harbor") == []
            else:
                assert home.documents() == whole
                assert home.files() == files
            shutil.rmtree(home.folder)
    assert ends == {True, False}


def copy_of(origin: Home, folder: Path) -> Home:
    shutil.copytree(origin.folder, folder)
    return Home(folder)


def forgotten(home: Home) -> None:
    store = home.store()
    try:
        forget(
            store,
            load(home.config, {}),
            home.folders,
            "harbor",
            clock=now,
            host="here",
        )
    except RetroError as error:
        raise SystemExit(1) from error
    finally:
        store.close()


NAMES = st.from_regex(r"[ab][ab._-]{0,4}", fullmatch=True)
CLOCKS = re.compile(rb'"(?:told_at|enrolled_at)": \d+')


@given(NAMES, NAMES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_to_forget_is_never_to_have_been_told(tmp_path: Path, name: str, other: str) -> None:
    """Whatever both are called: the rows that stay are those of a database that heard of the other alone."""
    assume(name != other)
    shutil.rmtree(tmp_path / "law", ignore_errors=True)
    both, alone = Home(tmp_path / "law" / "both"), Home(tmp_path / "law" / "alone")
    both.tell(name, other, days=1)
    alone.tell(other, days=1)
    for home in (both, alone):
        assert home.do("ingest", "journal", home.journal) == 0
    both.remember(name, "m")
    assert both.do("agents", "forget", name, "--yes") == 0
    sizes = []
    for home in (both, alone):
        assert home.do("export", other, home.folder / "out") == 0
        store = home.store()
        rows = [(table, column) for table, column, _ in texts(store) if table != "departures"]
        store.close()
        sizes.append(Counter(rows))
    assert sizes[0] == sizes[1]
    exports = [
        {
            path.name: CLOCKS.sub(b"", path.read_bytes().replace(bytes(home.folder), b""))
            for path in (home.folder / "out").rglob("*.jsonl")
        }
        for home in (both, alone)
    ]
    assert exports[0] == exports[1]
    assert len(exports[0]) > 2


@pytest.mark.parametrize(("typed", "code"), [("harbor\n", 0), ("harbour\n", 2), ("\n", 2)])
def test_at_a_terminal_the_name_is_asked_for_once_more(tmp_path: Path, typed: str, code: int) -> None:
    home = Home(tmp_path / "home")
    home.tell("harbor", days=1)
    home.do("ingest", "journal", home.journal)
    person, terminal = pty.openpty()
    words = ["--config", str(home.config), "--db", home.url, "agents", "forget", "harbor"]
    process = subprocess.Popen(
        [sys.executable, "-m", "retro", *words],
        stdin=terminal,
        stderr=terminal,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(terminal)
    os.write(person, typed.encode())
    process.communicate(timeout=60)
    os.close(person)
    assert process.returncode == code
    store = home.store()
    with store.read() as conn:
        assert bool(agents.agents(conn)) is (code != 0)
    store.close()
