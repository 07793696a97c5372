"""The cache is the ledger's content or nothing: after rollbacks, crashes, other writers and damage."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

import memory
from memory import DEFAULT, Retrospective, Settings
from memory.episodic import cache
from memory.episodic.columns import EpisodeColumns
from memory.store import ledger, tables
from memory.store.ledger import BLOCK
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, experience, histories, many, raw_episode
from tests.worlds.places import ROOT

__all__ = ["db"]


def identical(first: EpisodeColumns, second: EpisodeColumns) -> bool:
    """Whether two sets of columns hold the same episodes in the same order, bit for bit."""
    pairs = [
        *(
            (getattr(first, name), getattr(second, name))
            for name in EpisodeColumns.__slots__
            if name not in ("context", "memo", "reviewed")
        ),
        *zip(first.context, second.context, strict=True),
    ]
    return first.reviewed == second.reviewed and all(
        np.array_equal(column, other_column, equal_nan=column.dtype.kind == "f")
        for column, other_column in pairs
    )


def fresh(conn: Connection) -> EpisodeColumns:
    """The columns read from the store without any cache."""
    return cache.built(conn, "ada", DEFAULT, ledger.head(conn, "ada"))


@given(history=histories(most=30), data=st.data())
@settings(deadline=None, max_examples=25)
def test_a_cache_that_catches_up_equals_one_built_anew(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, Any]], data: st.DataObject
) -> None:
    with experience(str(tmp_path_factory.mktemp("memory") / "m.db")) as store:
        order = data.draw(st.permutations(history))
        while order:
            size = data.draw(st.integers(1, 4))
            batch, order = order[:size], order[size:]
            with store.write() as conn:
                memory.remember(conn, batch)
                if data.draw(st.booleans()):
                    review = Retrospective("r", START + data.draw(st.integers(0, 100)), vs_inaction=-2.0)
                    memory.amend(conn, "ada", batch[0]["id"], review)
                assert identical(cache.columns(conn, "ada", DEFAULT), fresh(conn))


def test_sealed_blocks_hold_what_the_rows_hold(db: Store) -> None:
    history = many(2 * BLOCK + 100)
    with db.write() as conn:
        memory.remember(conn, history[:1500])
        memory.remember(conn, history[1500:])
        now = ledger.head(conn, "ada")
        assert sorted(ledger.sealed(conn, "ada", DEFAULT.layout, now.episodes)) == [0, 1]
        from_blocks = fresh(conn)
        conn.execute(sa.delete(tables.blocks))
        assert identical(from_blocks, fresh(conn))
        assert len(from_blocks) == len(history)


def test_a_damaged_block_is_read_from_its_rows_and_named(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, many(BLOCK))
        sound = fresh(conn)
        data = bytearray(conn.execute(sa.select(tables.blocks.c.data)).scalar_one())
        data[5000] ^= 1
        conn.execute(sa.update(tables.blocks).values(data=bytes(data)))
        assert identical(fresh(conn), sound)
        (report,) = memory.health(conn)
        assert "1 cached blocks are damaged" in report.problems[0]
        conn.execute(sa.update(tables.blocks).values(data=bytes(data[:-1])))
        assert identical(fresh(conn), sound)


def test_blocks_follow_the_registry_and_an_old_layout_does_not_mislead(db: Store) -> None:
    registry = DEFAULT.extended([memory.Field("funding", "absolute", 1.0, 0.01)])
    chosen = Settings(registry=registry)
    history = many(BLOCK)
    history[700]["context"]["funding"] = 0.05
    with db.write() as conn:
        memory.remember(conn, history)
        (hit, *_) = memory.recall(conn, "ada", {"funding": 0.05}, settings=chosen)
        assert hit.id == "e00700"
        memory.remember(conn, many(1, first=BLOCK), settings=chosen)
        layouts = set(conn.execute(sa.select(tables.blocks.c.layout)).scalars())
        assert layouts == {registry.layout}
        memory.forget(conn)
        (hit, *_) = memory.recall(conn, "ada", {"funding": 0.05}, settings=chosen)
        assert hit.id == "e00700"


def test_what_was_rolled_back_is_forgotten_even_if_as_much_was_written_since(db: Store) -> None:
    """A counter would not notice: the same number of other episodes stands in the same places."""
    with db.write() as conn:
        memory.remember(conn, many(5))
        memory.recall(conn, "ada", {"regime": "volatile"})

    class Stop(Exception):
        pass

    with pytest.raises(Stop), db.write() as conn:
        memory.remember(conn, [raw_episode("ghost", day=9, pnl_r=5.0, context={"regime": "volatile"})])
        memory.amend(conn, "ada", "e00000", Retrospective("r1", START, vs_inaction=-2.0))
        assert memory.recall(conn, "ada", {"regime": "volatile"})[0].id == "ghost"
        raise Stop
    with db.read() as conn:
        assert "ghost" not in [hit.id for hit in memory.recall(conn, "ada", {"regime": "volatile"}, k=50)]
    with db.write() as conn:
        memory.remember(conn, [raw_episode("real", day=9, pnl_r=5.0, context={"regime": "ranging"})])
        memory.amend(conn, "ada", "e00001", Retrospective("r1", START, vs_inaction=-2.0))
    with db.read() as conn:
        assert identical(cache.columns(conn, "ada", DEFAULT), fresh(conn))
        hits = memory.recall(conn, "ada", {"regime": "volatile"}, k=50)
        assert [hit.id for hit in hits if hit.amended] == ["e00001"]


def test_what_another_process_writes_is_seen_at_the_next_recall(db: Store, new_database_url: str) -> None:
    with experience(new_database_url) as other:
        for i in range(4):
            with (db, other)[i % 2].write() as conn:
                memory.remember(
                    conn, [raw_episode(f"e{i}", day=-i, pnl_r=1.0, context={"regime": "volatile"})]
                )
            for store in (db, other):
                with store.read() as conn:
                    assert len(memory.recall(conn, "ada", {"regime": "volatile"})) == i + 1
                    assert identical(cache.columns(conn, "ada", DEFAULT), fresh(conn))


class Crash(Exception):
    """Stands for the process dying at a statement: the transaction never commits."""


def crashing(conn: Connection, at: int) -> None:
    """Raise at the statement with this number, counted from the call on."""
    numbers = count(1)

    @sa.event.listens_for(conn, "before_cursor_execute")
    def tick(*_: object) -> None:
        if next(numbers) == at:
            raise Crash


def view(conn: Connection) -> tuple[Any, ...]:
    """Everything anybody can read of the memory."""
    query = {"regime": "volatile"}
    return (
        memory.episodes(conn, "ada", limit=10**4),
        memory.state(conn, "ada", settings=Settings(capital=1000.0)),
        memory.habits(conn, "ada"),
        memory.beliefs(conn, "ada"),
        memory.plans(conn, "ada"),
        memory.markers(conn, "ada"),
        [hit.document() for hit in memory.recall(conn, "ada", query, k=30)],
        [memory.amendments(conn, "ada", episode["id"]) for episode in memory.episodes(conn, "ada", limit=20)],
        memory.health(conn, thorough=True),
    )


def remember_step(conn: Connection) -> None:
    memory.remember(conn, many(30, first=BLOCK - 10, tags=["plan:P1"]))


def amend_step(conn: Connection) -> None:
    review = Retrospective("week", START + 10**13, vs_inaction=-3.0, regret=4.0, pnl=-1.0)
    memory.amend(conn, "ada", "e00003", review)


@pytest.mark.parametrize("step", [remember_step, amend_step])
def test_a_crash_at_any_statement_leaves_the_memory_as_it_was(db: Store, step: Any) -> None:
    with db.write() as conn:
        memory.remember(
            conn, [*many(3), raw_episode("e00003", pnl=5.0, tags=["plan:P1"]), *many(BLOCK - 14, first=4)]
        )
        memory.create_plan(
            conn, "ada", at=START, trigger={"all": [{"field": "regime", "op": "==", "value": "x"}]},
            action={"type": "alert"}, reasoning="why not", identity="P1",
        )  # fmt: skip
    with db.read() as conn:
        before = view(conn)
    at = 0
    while True:
        at += 1
        try:
            with db.write() as conn:
                crashing(conn, at)
                step(conn)
        except Crash:
            with db.read() as conn:
                assert view(conn) == before
            continue
        break
    assert at > 5  # several statements were crossed
    with db.read() as conn:
        after = view(conn)
    assert after != before
    with db.write() as conn:
        step(conn)  # told again after it succeeded: nothing more happens
    with db.read() as conn:
        assert view(conn) == after


def test_a_process_killed_while_it_writes_leaves_whole_transactions(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with experience(str(path)):
        pass
    script = (
        "from tests.worlds.memory_databases import experience, many\n"
        "import memory\n"
        f"with experience({str(path)!r}) as store:\n"
        "    for i in range(10**6):\n"
        "        with store.write() as conn:\n"
        "            memory.remember(conn, many(7, first=7 * i))\n"
        "        print(i, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with experience(str(path)) as store, store.read() as conn:
        (report,) = memory.health(conn, thorough=True)
        assert report.problems == ()
        assert report.episodes % 7 == 0
        assert report.episodes >= 14
        assert len(memory.recall(conn, "ada", {"regime": "volatile"}, k=5)) == 5


def test_writers_at_the_same_time_lose_and_double_nothing(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, many(1))
    history = many(60)

    def tell(mine: list[dict[str, Any]]) -> None:
        for start in range(0, len(mine), 5):
            with db.write() as conn:
                memory.remember(conn, mine[start : start + 5])

    threads = [
        threading.Thread(target=tell, args=(part,)) for part in (history[:40], history[20:], history[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with db.read() as conn:
        (report,) = memory.health(conn, thorough=True)
        assert (report.episodes, report.problems) == (60, ())
        assert identical(cache.columns(conn, "ada", DEFAULT), fresh(conn))


def test_a_row_changed_behind_the_memorys_back_is_named(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, many(10))
        memory.amend(conn, "ada", "e00002", Retrospective("r", START, vs_inaction=-2.0))
        assert memory.health(conn, thorough=True)[0].problems == ()
        where = (tables.episodes.c.agent == "ada") & (tables.episodes.c.number == 4)
        text = conn.execute(sa.select(tables.episodes.c.document).where(where)).scalar_one()
        changed = text.replace('"pnl_r":', '"pnl_r":1')
        conn.execute(sa.update(tables.episodes).where(where).values(document=changed))
        assert memory.health(conn, thorough=True)[0].problems == ("episode number 4 is not what was told",)
        conn.execute(sa.update(tables.episodes).where(where).values(document=text))
        conn.execute(sa.update(tables.retrospectives).values(at=START + 1))
        (problem,) = memory.health(conn, thorough=True)[0].problems
        assert problem == "retrospective number 0 is not what was found"


def test_rows_that_belong_to_nothing_are_counted(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, many(3))
        memory.amend(conn, "ada", "e00002", Retrospective("r", START, vs_inaction=-2.0))
        conn.execute(sa.delete(tables.episodes).where(tables.episodes.c.number == 2))
        (report,) = memory.health(conn)
        assert any("the head counts 3 episodes, there are 2" in problem for problem in report.problems)
        assert any("belong to no episode" in problem for problem in report.problems)


def test_a_cold_cache_holds_fewer_than_200_bytes_an_episode(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, many(3000))
        memory.recall(conn, "ada", {"regime": "volatile"}, settings=Settings(capital=100.0))
        columns = cache.columns(conn, "ada", DEFAULT)
        total_bytes = columns.nbytes + sum(
            part.nbytes
            for value in columns.memo.values()
            for part in (value if isinstance(value, tuple) else (value,))
            if isinstance(part, np.ndarray)
        )
        assert total_bytes / len(columns) < 200


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import memory, sys; print([m for m in ('numpy', 'sqlalchemy', 'retro', 'playbook') if m in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_every_public_name_is_there_and_functions_are_not_hidden_by_modules() -> None:
    for name in memory.__all__:
        assert not isinstance(getattr(memory, name), type(memory)), name
    assert sorted(memory._WHERE) == sorted(memory.__all__)
    with pytest.raises(AttributeError):
        memory.nonsense  # noqa: B018
