"""Lists page by page: every row once, in one order, in whatever parts they are read; and what a part costs."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event as sql_event

import retro as mirror
from retro.app.questions.bounds import ListBounds, ListPart, part_of, rows_of
from retro.app.questions.positions import positions
from retro.store.database import Store
from tests.worlds.commands import Retro, retro, round_trip, sample_db
from tests.worlds.lives import agent_of, settings_for
from tests.worlds.oracle import Life
from tests.worlds.places import ROOT

__all__ = ["retro", "sample_db"]


@given(
    rows=st.integers(0, 30),
    limit=st.none() | st.integers(1, 40),
    after=st.none() | st.integers(0, 29),
    size=st.integers(1, 7),
)
@settings(max_examples=60, deadline=None)
def test_parts_of_any_size_give_the_list(rows: int, limit: int | None, after: int | None, size: int) -> None:
    def read(bounds: ListBounds) -> ListPart[int]:
        bounds = ListBounds(min(bounds.limit or size, size), bounds.after)
        start = 0 if bounds.after is None else int(bounds.after) + 1
        return part_of(range(start, rows)[: bounds.with_one_more], bounds, str)

    first = 0 if after is None else after + 1
    whole = list(range(first, rows))
    assert list(rows_of(read, ListBounds(limit, None if after is None else str(after)))) == whole[:limit]


def names(result: str) -> list[str]:
    return [row["position_id"] for row in json.loads(result)]


def test_positions_come_page_by_page_each_once(sample_db: Path, retro: Retro) -> None:
    everything = names(retro("--db", sample_db, "positions", "--json").out)
    pages: list[str] = []
    words: list[str] = []
    while True:
        result = retro("--db", sample_db, "positions", "--json", "--limit", "7", *words)
        assert result.code == 0
        pages += names(result.out)
        if "to go on" not in result.err:
            break
        words = ["--after", pages[-1]]
        assert f"--after {pages[-1]}" in result.err
    assert pages == everything
    newest = names(retro("--db", sample_db, "positions", "--json", "--newest").out)
    assert newest == everything[::-1]
    after = retro("--db", sample_db, "positions", "--json", "--newest", "--after", newest[3], "--limit", "2")
    assert names(after.out) == newest[4:6]


def test_positions_of_one_instant_are_told_apart_by_their_names(retro: Retro) -> None:
    Path("a.jsonl").write_text("".join(round_trip(f"p-{i}") for i in (3, 1, 2, 10)))
    retro("ingest", "journal", "a.jsonl")
    assert names(retro("positions", "--json").out) == ["p-1", "p-10", "p-2", "p-3"]
    assert names(retro("positions", "--json", "--after", "p-10", "--limit", "1").out) == ["p-2"]


def test_a_part_of_a_spreadsheet_is_a_part_of_the_whole(sample_db: Path, retro: Retro) -> None:
    whole = retro("--db", sample_db, "positions", "--format", "csv").out.splitlines()
    rows = list(csv.DictReader(io.StringIO("\n".join(whole))))
    part = retro(
        "--db", sample_db, "positions", "--format", "csv", "--after", rows[4]["position_id"], "--limit", "3"
    )
    assert part.out.splitlines() == [whole[0], *whole[6:9]]


def on_a_terminal(*words: str) -> str:
    """What a command prints to a terminal of 80 columns, its words to the person included."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "retro", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(
        command, stdout=terminal, stderr=terminal, stdin=subprocess.DEVNULL, env=env
    ) as done:
        os.close(terminal)
        output = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            output += part
    os.close(controller)
    assert done.returncode == 0, output
    return output.decode()


def test_a_terminal_gets_a_hundred_rows_and_how_to_go_on_and_a_pipe_all(retro: Retro) -> None:
    Path("a.jsonl").write_text("".join(round_trip(f"p-{i:03}") for i in range(103)))
    retro("ingest", "journal", "a.jsonl")
    assert len(retro("positions").out.splitlines()) == 105
    screen = on_a_terminal("positions")
    assert "p-099" in screen
    assert "p-100" not in screen
    assert "100 of 103 positions; to go on, add: --after p-099" in screen
    following = retro("positions", "--after", "p-099").out.splitlines()
    assert [line.split()[0] for line in following[2:]] == ["p-100", "p-101", "p-102"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["positions", "--limit", "0"], "limit: 0 is no number of rows"),
        (["positions", "--after", "nobody"], "has no position 'nobody'"),
        (["reviews", "--after", "nobody"], "there is no review 'nobody'"),
        (["faults", "--after", "x"], "'x' is no number of this list"),
        (["deliver", "--after", "9" * 40], "is no number of this list"),
        (["positions", "--after", "half \ud800"], "is no text that a database could hold"),
    ],
)
def test_a_place_that_is_none_is_one_sentence(
    words: list[str], said: str, sample_db: Path, retro: Retro
) -> None:
    result = retro("--db", sample_db, *words)
    assert result.code in {1, 2}
    assert said in result.err
    assert "Traceback" not in result.err


def test_faults_are_read_alike(retro: Retro) -> None:
    Path("bad.jsonl").write_text("".join(f"no line {i}\n" for i in range(5)))
    retro("ingest", "journal", "bad.jsonl")
    everything = retro("faults", "--json").data
    assert [row["line"] for row in everything] == [1, 2, 3, 4, 5]
    first = retro("faults", "--json", "--limit", "2")
    cursor = first.err.rpartition("--after ")[2].strip()
    following = retro("faults", "--json", "--after", cursor)
    assert first.data + following.data == everything
    newest = retro("faults", "--limit", "1", "--newest")
    assert ":5:" in newest.out


@pytest.fixture
def life(tmp_path: Path) -> Life:
    life = Life(tmp_path)
    for i in range(60):
        life.trade(f"p-{i:02}", (i / 10, 100 + i), (i / 10 + 5, 105))
    life.until(24)
    return life


def statements(store: Store) -> list[str]:
    executed: list[str] = []
    sql_event.listen(store.engine, "before_cursor_execute", lambda *given: executed.append(given[2]))
    return executed


def test_a_page_reads_its_own_rows_by_the_index_and_nothing_else(life: Life) -> None:
    """However many positions there are: a few statements, one row beyond the page, no scan and no sorting."""
    agent = agent_of(life.store, life.name)
    options = settings_for()(agent)
    positions(life.store, agent, options, ListBounds(1))
    asked = statements(life.store)
    part = positions(life.store, agent, options, ListBounds(5, "p-30"))
    assert [row.name for row in part.rows] == [f"p-{i}" for i in range(31, 36)]
    assert part.next == "p-35"
    asked = [statement for statement in asked if statement.startswith("SELECT")]
    assert len(asked) == 4, asked  # the agent, its book's state, the place, the page
    if life.store.engine.dialect.name == "sqlite":
        page = next(statement for statement in asked if "ORDER BY" in statement)
        with life.store.read() as conn:
            plan = str(conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {page}", (life.name, 0, "p-30", 6, 0)).all())
        assert "book_positions_opened" in plan, plan
        assert "TEMP B-TREE" not in plan, plan


def test_python_lists_the_same(sample_db: Path, retro: Retro) -> None:
    with mirror.open(str(sample_db)) as opened:
        assert opened.positions() == retro("--db", sample_db, "positions", "--json").data
        first = opened.positions(limit=3)
        assert opened.positions(limit=2, after=first[0]["position_id"]) == first[1:]
        assert opened.reviews() == retro("--db", sample_db, "reviews", "--json").data
        assert opened.faults() == retro("--db", sample_db, "faults", "--json").data
        assert opened.deliveries() == retro("--db", sample_db, "deliver", "--json").data
