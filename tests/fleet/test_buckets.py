"""Rows of an agent lie in the bucket of its name, whatever becomes of it, and a bucket is asked for what all are asked."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select, text

from retro.periods import DAY, HOUR, SECOND
from retro.store.database import Store, open_store
from retro.store.estate.rename import rename
from retro.store.jobs import claims, enrolments, outbox, reviews
from retro.store.jobs.backlog import rework_buckets, ripe_buckets
from retro.store.jobs.tables import enrolments as enrolment_table
from retro.store.jobs.tables import outbox as outbox_table
from retro.store.jobs.tables import reviews as review_table
from retro.store.locks import bucket_of
from retro.store.migrations.runner import COMPONENTS
from retro.store.rework import next_of_bucket
from retro.store.schema import agents
from tests.store.crowd import FIRST_KEY, enlist_crowd, grow, plans, watched
from tests.worlds.service_world import MONDAY, Recorder, World, life

NAMES = ("abc", "ten", "Zürich 9", "猫", "a" * 300)
NOW = MONDAY + 10 * DAY
CROWD = 700


def buckets_of_rows(store: Store) -> dict[str, set[tuple[str, int]]]:
    """Table -> (agent, bucket) of every row that has one."""
    with store.read() as conn:
        tables = {
            table.name: set(
                conn.execute(
                    select(agents.c.name, table.c.bucket).join(agents, agents.c.key == table.c.agent)
                )
            )
            for table in (review_table, enrolment_table, outbox_table)
        }
        tables["agents"] = set(conn.execute(select(agents.c.name, agents.c.bucket)))
    return {name: {(row[0], row[1]) for row in rows} for name, rows in tables.items()}


def test_agents_of_before_there_were_buckets_get_those_of_their_names(new_database_url: str) -> None:
    steps = COMPONENTS["retro"]
    before = next(n for n, step in enumerate(steps) if step.__name__ == "0028_buckets")
    store = open_store(new_database_url, components={**COMPONENTS, "retro": steps[:before]})
    with store.write() as conn:
        for name in NAMES:
            conn.exec_driver_sql(
                f"INSERT INTO agents (name, events) VALUES ({'%s' if store.dialect == 'postgresql' else '?'}, 0)",
                (name,),
            )
    store.close()
    store = open_store(new_database_url)
    assert buckets_of_rows(store)["agents"] == {(name, bucket_of(name)) for name in NAMES}
    store.close()


def test_every_row_has_the_bucket_of_its_agents_name_also_when_that_changes(
    store: Store, tmp_path: Path
) -> None:
    world = World(store, tmp_path, at=MONDAY + HOUR, mail=Recorder())
    for name in ("bot", "cat"):
        world.tell(life(1, name))
    world.clock.set(MONDAY + 2 * DAY)
    world.knock()

    def whole(*names: str) -> bool:
        rows = buckets_of_rows(store)
        expected = {(name, bucket_of(name)) for name in names}
        return rows == dict.fromkeys(("reviews", "enrolments", "outbox", "agents"), expected)

    assert whole("bot", "cat")
    with store.write() as conn:
        rename(conn, "bot", "harbor", world.clock())
    assert whole("harbor", "cat")


def test_what_nobody_waits_for_is_in_no_bucket(store: Store) -> None:
    grow(store, 60, NOW)
    with store.read() as conn:
        assert ripe_buckets(conn, NOW) == []
        assert set(ripe_buckets(conn, NOW + 2 * DAY)) == {
            bucket_of(f"crowd-{FIRST_KEY + n}") for n in range(60)
        }


def test_f9_a_bucket_is_asked_for_its_part_of_what_all_are_asked_and_reads_nothing_from_end_to_end(
    store: Store,
) -> None:
    """Of every question that a knock asks: the answers of all buckets together are the answer without one."""
    grow(store, CROWD, NOW, due=True)
    enlist_crowd(store)
    with store.write() as conn:
        conn.execute(text("UPDATE enrolments SET next_at = 5 WHERE agent % 30 = 0"))
        conn.execute(text("UPDATE enrolments SET losses_from = 5 WHERE agent % 70 = 0"))
        conn.execute(text("UPDATE book SET dirty_from = 5 WHERE agent % 50 = 0"))
        conn.execute(text("UPDATE agents SET watched = 0 WHERE key % 110 = 0"))
        conn.execute(text("UPDATE reviews SET late = 1 WHERE state = 'done' AND agent % 130 = 0"))
    with watched(store) as statements, store.write() as conn:
        buckets = ripe_buckets(conn, NOW)
        few = [bucket for bucket in buckets if bucket % 7 == 0]
        mine = {name for bucket in few for name in enrolments.unsettled(conn, NOW, bucket)}
        claimed, letters, again = list[str](), list[str](), list[str]()
        assert rework_buckets(conn) == buckets
        for bucket in few:
            assert enrolments.anything_to_do(conn, NOW, bucket)
            reviews.mark_due(conn, NOW, bucket=bucket)
            claimed += [x.agent for x in claims.claim(conn, "a", NOW, SECOND, limit=99, bucket=bucket)]
            if outbox.ripe_channels(conn, NOW, ["mail"], digest=outbox.ALONE, bucket=bucket):
                some = outbox.claim(
                    conn, "a", NOW, SECOND, "mail", digest=outbox.ALONE, limit=99, bucket=bucket
                )
                letters += [letter.agent for letter in some]
            unit = next_of_bucket(conn, bucket)
            assert unit is not None
            again += unit.agents
        conn.rollback()
    with store.write() as conn:
        everybody = enrolments.unsettled(conn, NOW)
        all_claimed = [x.agent for x in claims.claim(conn, "a", NOW, SECOND, limit=9999)]
        all_letters = outbox.claim(conn, "a", NOW, SECOND, "mail", digest=outbox.ALONE, limit=9999)
        conn.rollback()
    assert set(buckets) == {bucket_of(f"crowd-{FIRST_KEY + n}") for n in range(CROWD)}
    assert mine == {name for name in everybody if bucket_of(name) in few} != set()
    assert sorted(claimed) == sorted(name for name in all_claimed if bucket_of(name) in few) != []
    assert sorted(letters) == sorted(x.agent for x in all_letters if bucket_of(x.agent) in few) != []
    assert [bucket_of(name) for name in again] == few
    assert plans(store, statements[:120]) == {}
