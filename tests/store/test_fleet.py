"""Many agents beside one another: no statement of a knock or of a review is asked of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retro.app.engine.worker import run_pass
from retro.app.intake.ingest import ingest
from retro.model import Batch, MarkSeries
from retro.periods import DAY, HOUR, SECOND
from retro.store.database import Store
from retro.store.facts import agents, faults
from retro.store.jobs import backlog, claims, enrolments, outbox
from tests.store.crowd import grow, plans, watched
from tests.worlds.service_world import MONDAY, Recorder, World, life

CROWD = 1500
NOW = MONDAY + 10 * DAY + 2 * HOUR


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path, at=MONDAY + HOUR, mail=Recorder())


def shared(at: int, price: float, instrument: str = "ETH/USDC") -> Batch:
    import numpy as np

    return Batch(
        events=1, marks=[MarkSeries(None, instrument, np.array([at]), np.array([price]), None, None)]
    )


def test_f9_nothing_that_a_knock_or_a_review_asks_is_read_from_end_to_end(world: World) -> None:
    """A bot lives ten days beside a crowd that has nothing to do, shared marks of its market come late, and a weekly is
    made and sent: every statement of all that, explained."""
    world.tell(life(3))
    world.knock()
    grow(world.store, CROWD, NOW)
    with watched(world.store) as statements:
        for day in (4, 8, 10):
            world.clock.set(MONDAY + day * DAY + 2 * HOUR)
            world.tell(life(day))
            run_pass(world.bench(alone=False))
        ingested = ingest(world.store, "candles", [shared(MONDAY + 5 * DAY, 2100.0)], world.settings_for)
        assert ingested.stored == 1
        tally = run_pass(world.bench(alone=False))
    assert tally.done
    assert world.review("bot.weekly.2026-W10").state == "done"
    assert plans(world.store, statements) == {}


def test_f9_neither_is_what_finds_work_where_everybody_has_some(world: World) -> None:
    grow(world.store, CROWD, NOW, due=True)
    now = NOW
    with watched(world.store) as statements, world.store.write() as conn:
        assert enrolments.anything_to_do(conn, now)
        assert not enrolments.any_unsettled(conn, now)
        assert backlog.count_due(conn, now) == 1000
        assert len(claims.claim(conn, "a", now, 90 * SECOND, limit=25)) == 25
        assert outbox.ripe(conn, now)
        assert outbox.ripe_channels(conn, now, ["mail"], digest=outbox.AGENT) == ["mail"]
        assert outbox.pending_recipients(conn) == [("mail", "ada")]
        assert len(outbox.claim(conn, "a", now, 90 * SECOND, "mail", digest=outbox.ALONE, limit=5)) == 5
        assert faults.count(conn, "crowd-10000001") == 1
        assert agents.agent(conn, "crowd-10000001") is not None
    assert plans(world.store, statements) == {}


def rows_written(store: Store, *batches: Batch) -> int:
    """How many rows a telling inserts, changes or deletes."""
    from sqlalchemy import event

    counts: list[int] = []

    def note(_conn: Any, cursor: Any, text: str, *_: Any) -> None:
        if not text.lstrip().startswith(("SELECT", "SET", "BEGIN", "PRAGMA")):
            counts.append(cursor.rowcount)

    event.listen(store.engine, "after_cursor_execute", note)
    try:
        with store.write() as conn:
            from retro.store.facts import marks

            for batch in batches:
                for series in batch.marks:
                    marks.add(conn, series, where="candles")
    finally:
        event.remove(store.engine, "after_cursor_execute", note)
    return sum(counts)


def test_f11_one_shared_mark_told_writes_three_rows_however_many_agents(world: World) -> None:
    """Its day, its series with a new version, and between which instants that changed it."""
    ingest(world.store, "candles", [shared(NOW, 2000.0)], world.settings_for)
    grow(world.store, CROWD, NOW)
    assert rows_written(world.store, shared(NOW + HOUR, 2001.0)) == 3
    assert rows_written(world.store, shared(NOW + HOUR, 2001.0)) == 0, "nothing new is no version"
    with world.store.read() as conn:
        assert len(enrolments.unsettled(conn, NOW)) == CROWD, "each is behind, and finds out at the knock"
