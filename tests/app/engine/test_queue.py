"""The lease queue under reviews and deliveries, and the flags of what arrived while a review was looked at."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, update

from retro.errors import InvariantError, LostClaimError
from retro.periods import DAY, HOUR, SECOND
from retro.store.database import Store, open_store
from retro.store.jobs import claims, outbox, reviews
from retro.store.jobs.queue import LeaseQueue
from retro.store.jobs.staleness import Staleness, checked, checking, stale
from retro.store.jobs.tables import reviews as table
from tests.worlds.service_world import MONDAY, World, life, line

LEASE = 90 * SECOND


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 3 * DAY + 2 * HOUR)
    world.owe()
    return world


def claim(world: World, owner: str) -> reviews.Review:
    with world.store.write() as conn:
        (review,) = claims.claim(conn, owner, world.clock(), LEASE)
    return review


def take(world: World, owner: str, **how: Any) -> list[reviews.Review]:
    with world.store.write() as conn:
        return claims.claim(conn, owner, world.clock(), LEASE, **how)


def ids(claimed_reviews: list[reviews.Review]) -> list[str]:
    return [review.id for review in claimed_reviews]


def staleness_of(world: World, key: int) -> Staleness:
    with world.store.read() as conn:
        return reviews.by_key(conn, key).late


# flags


def test_every_combination_of_flags_survives_the_column() -> None:
    combinations = [Staleness(*flags) for flags in product([False, True], repeat=4)]
    assert [Staleness.decode(staleness.encode()) for staleness in combinations] == combinations
    assert sorted(staleness.encode() for staleness in combinations) == list(range(16))
    assert Staleness().encode() == 0, "the partial index of stale reviews asks for anything but 0"


def test_the_database_takes_the_steps_that_the_flags_name(world: World) -> None:
    review = claim(world, "a")

    def step(expression: object) -> Staleness:
        with world.store.write() as conn:
            conn.execute(update(table).where(table.c.key == review.key).values(late=expression))
        return staleness_of(world, review.key)

    assert step(stale(table.c.late, Staleness(facts=True))) == Staleness(facts=True)
    assert step(checking(table.c.late)) == Staleness(checking_facts=True)
    assert step(stale(table.c.late, Staleness(marks=True))) == Staleness(marks=True, checking_facts=True)
    assert step(checking(table.c.late)) == Staleness(checking_facts=True, checking_marks=True), (
        "what a worker was checking when it died is checked by the next"
    )
    assert step(stale(table.c.late, Staleness(facts=True))).facts
    assert step(checked(table.c.late)) == Staleness(facts=True), "what arrived meanwhile stays"


# several at once


def test_one_claim_takes_what_is_oldest_of_any_agents(world: World) -> None:
    """By the end of the period: no agent's years keep another's day waiting."""
    old = World(world.store, world.folder, at=MONDAY + 3 * DAY + 2 * HOUR)
    old.tell([line("equity", "e", MONDAY, "old", value=1)])
    old.owe()
    first, second = take(world, "a", limit=4), take(world, "b", limit=4)
    assert ids(first) == [f"{name}.daily.2026-03-0{day}" for day in (2, 3) for name in ("bot", "old")]
    assert ids(second) == [f"{name}.daily.2026-03-04" for name in ("bot", "old")]
    assert [review.backfill for review in first] == [False, True] * 2


def test_what_a_model_words_is_taken_by_itself_and_history_is_not(world: World) -> None:
    old = World(world.store, world.folder, at=MONDAY + 3 * DAY + 2 * HOUR)
    old.tell([line("equity", "e", MONDAY, "old", value=1)])
    old.owe()
    assert ids(take(world, "a", limit=10, singly={"daily"})) == ["bot.daily.2026-03-02"]
    assert ids(take(world, "b", limit=1)) == ["old.daily.2026-03-02"]
    assert ids(take(world, "c", limit=10, singly={"daily"})) == ["bot.daily.2026-03-03"]
    assert ids(take(world, "d", limit=10, singly={"daily"})) == [
        f"old.daily.2026-03-0{day}" for day in (3, 4)
    ]
    assert ids(take(world, "e", limit=10, singly={"weekly"})) == ["bot.daily.2026-03-04"]


def test_what_may_have_killed_its_process_cannot_take_others_with_it(world: World) -> None:
    """Three died with it the first time; then it is alone, and is parked alone."""
    assert len(take(world, "a", limit=10)) == 3
    parked: list[str] = []
    for _ in range(4):
        with world.store.write() as conn:
            claims.rescue(conn, world.clock(), 5, alone=True)
        poison, *innocent = take(world, "a", limit=10)
        assert innocent == []
        parked.append(poison.id)
    assert set(parked) == {"bot.daily.2026-03-02"}
    with world.store.write() as conn:
        claims.rescue(conn, world.clock(), 5, alone=True)
    assert {review.id: (review.state, review.attempts) for review in world.reviews()} == {
        "bot.daily.2026-03-02": ("parked", 5),
        "bot.daily.2026-03-03": ("due", 1),
        "bot.daily.2026-03-04": ("due", 1),
    }


# the fence


def test_no_fence_lets_through_what_nobody_leased(world: World) -> None:
    """SQL compares with NULL by IS NULL: such a fence would be true of rows that nobody holds."""
    review = claim(world, "a")
    with world.store.write() as conn, pytest.raises(InvariantError, match="a fenced row has an owner"):
        claims.finish(conn, review._replace(owner=None), world.clock())
    assert world.review(review.id).state == "running"


def test_of_two_attempts_under_one_name_only_the_newest_passes_the_fence(world: World) -> None:
    first = claim(world, "a")
    with world.store.write() as conn:
        claims.rescue(conn, world.clock(), 5, alone=True)
    second = claim(world, "a")
    assert (first.key, first.owner) == (second.key, second.owner)
    with world.store.write() as conn, pytest.raises(LostClaimError):
        claims.finish(conn, first, world.clock())
    with world.store.write() as conn:
        claims.finish(conn, second, world.clock())


# leases


@pytest.mark.parametrize("queue", [claims.QUEUE, outbox.QUEUE], ids=["reviews", "outbox"])
def test_the_statements_of_a_queue_ask_its_partial_index(world: World, queue: LeaseQueue) -> None:
    """A question asked every few seconds costs a look-up beside ten thousand finished rows."""
    if world.store.dialect != "sqlite":
        pytest.skip("PostgreSQL reads a small table whole")
    columns = queue.table.c
    free = select(columns.key).where(queue.is_free, columns.not_before <= 0)
    for query, index in ((queue.expired_keys(0, alone=False), queue.leased_state), (free, "delayed")):
        with world.store.read() as conn:
            text = str(query.compile(conn, compile_kwargs={"literal_binds": True}))
            plan = " ".join(row[-1] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}"))
        assert f"{queue.table.name}_{index}" in plan


def test_leases_of_a_clock_that_went_back_end_within_one_lease(world: World) -> None:
    review = claim(world, "a")
    now = world.clock() - 365 * DAY
    with world.store.write() as conn:
        assert claims.QUEUE.has_future_leases(conn, now, LEASE, HOUR)
        assert claims.QUEUE.clamp_leases(conn, now, LEASE, HOUR) == 1
        assert not claims.QUEUE.has_future_leases(conn, now, LEASE, HOUR)
        assert claims.QUEUE.leases_of_others(conn, "b") == {review.key: now + LEASE}


# what years of history cost


@pytest.mark.parametrize("days", [20, 60])
def test_a_back_filled_review_costs_few_statements_and_transactions_however_long_the_history(
    tmp_path: Path, days: int
) -> None:
    """Its figures are one transaction that reads, its file another; what is written is shared by a batch of 25."""
    world = World(open_store(str(tmp_path / "r.db")), tmp_path)
    world.clock.set(MONDAY + (days + 2) * DAY)
    world.tell(life(days))
    world.owe()
    counts: Counter[str] = Counter()

    def statement(_conn: Any, _cursor: Any, text: str, *_: Any) -> None:
        counts[text.split(maxsplit=1)[0]] += 1

    event.listen(world.store.engine, "before_cursor_execute", statement)
    done = world.knock().done
    assert done >= 2 * days
    assert sum(counts.values()) / done < 40
    assert counts["BEGIN"] / done < 2.7
    world.store.close()
