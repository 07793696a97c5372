"""Who waits for whom: tellings of other agents run side by side, and a claim waits for nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from retro.errors import StoreError
from retro.model import Fault
from retro.store.database import Store, open_store
from retro.store.facts import agents, faults
from retro.store.jobs import claims, obligations, reviews
from retro.store.jobs.obligations import Obligation
from retro.store.jobs.staleness import Staleness
from retro.store.locks import BUCKETS, bucket_of, lock_agents, lock_estate, lock_many

DAY = Obligation("daily", "", "2026-03-02", start=0, end=100, due_at=100)
TEN, ELEVEN = "ten", "eleven"
"""Two agents of two buckets."""


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Store]:
    store = open_store(postgres_url)
    yield store
    store.close()


@pytest.fixture
def hasty(postgres: Store, postgres_url: str) -> Iterator[Store]:
    """A second process on the same database, which says so after a twentieth of a second of waiting."""
    store = open_store(postgres_url, patience_s=0.05)
    yield store
    store.close()


@contextmanager
def telling(store: Store, *names: str) -> Iterator[Connection]:
    """A transaction under way that tells of these agents."""
    with store.write() as conn:
        lock_agents(conn, names)
        for name in names:
            agents.note_agent(conn, name, as_of=1)
        yield conn


def owe(store: Store, name: str) -> None:
    with store.write() as conn:
        agents.key_of(conn, name)
        obligations.insert(conn, name, [DAY])
        reviews.mark_due(conn, 100)


def claimed(store: Store) -> list[str]:
    with store.write() as conn:
        return [review.agent for review in claims.claim(conn, "somebody", 100, 1000, limit=9)]


def test_the_bucket_is_the_first_two_bytes_of_the_digest_modulo_1024() -> None:
    # sha256("abc") is ba7816bf...: 0xba78 is 47,736, and 46 times 1,024 are 47,104
    assert (BUCKETS, bucket_of("abc")) == (1024, 632)
    assert bucket_of(TEN) != bucket_of(ELEVEN)


@given(st.text(min_size=1, max_size=20))
def test_every_name_has_a_bucket(name: str) -> None:
    assert 0 <= bucket_of(name) < BUCKETS


def test_agents_of_two_buckets_are_told_of_at_once_and_one_agent_by_one_at_a_time(
    postgres: Store, hasty: Store
) -> None:
    with telling(postgres, TEN):
        with telling(hasty, ELEVEN):
            pass
        with pytest.raises(StoreError, match="held by another process"), telling(hasty, TEN):
            pass
    with telling(hasty, TEN):
        pass


def test_a_claim_waits_for_no_telling_and_passes_over_the_reviews_it_touches(
    postgres: Store, hasty: Store
) -> None:
    for name in (TEN, ELEVEN):
        owe(postgres, name)
    with postgres.write() as conn:
        lock_agents(conn, [TEN])
        reviews.mark_stale(conn, TEN, 50, 60, Staleness(facts=True))
        assert claimed(hasty) == [ELEVEN]
    assert claimed(hasty) == [TEN]  # it reads what was told, and so is not made twice
    with postgres.read() as conn:
        assert [review.late for review in reviews.listed(conn)] == [Staleness(), Staleness()]


def test_a_review_that_was_claimed_before_is_marked(postgres: Store) -> None:
    owe(postgres, TEN)
    assert claimed(postgres) == [TEN]
    with postgres.write() as conn:
        reviews.mark_stale(conn, TEN, 50, 60, Staleness(facts=True))
    with postgres.read() as conn:
        assert [review.late for review in reviews.listed(conn)] == [Staleness(facts=True)]


def test_nothing_is_owed_to_an_agent_while_it_is_told_of(postgres: Store, hasty: Store) -> None:
    """Else the review could be made without the facts of a telling that saw no review to mark."""
    with telling(postgres, TEN), pytest.raises(StoreError, match="held by another process"):
        owe(hasty, TEN)


def test_an_agent_comes_or_goes_while_nobody_tells_of_any(postgres: Store, hasty: Store) -> None:
    with telling(postgres, TEN), pytest.raises(StoreError), hasty.write() as conn:
        lock_estate(conn)
    with postgres.write() as conn:
        lock_estate(conn)
        with pytest.raises(StoreError), telling(hasty, TEN):
            pass


def test_very_many_agents_are_one_lock(postgres: Store) -> None:
    few, many = [f"a{n}" for n in range(20)], [f"a{n}" for n in range(2000)]
    counts = []
    for names in (few, many):
        with postgres.write() as conn:
            assert lock_many(conn, names) is (names is many)
            lock_agents(conn, names)
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            counts.append(conn.exec_driver_sql(held).scalar_one())
    assert counts == [1 + len({bucket_of(name) for name in few}), 1]


def test_tellings_of_the_same_agents_in_any_order_all_end(postgres: Store, postgres_url: str) -> None:
    """And their faults are numbered one after another, none twice."""
    names = [f"agent-{n}" for n in range(30)]

    def tell(number: int) -> None:
        store = open_store(postgres_url)
        for turn in range(4):
            with telling(store, *(names if (number + turn) % 2 else reversed(names))) as conn:
                faults.add(conn, f"source-{number}", [Fault("file", turn, "a row is bad")])
        store.close()

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    with postgres.read() as conn:
        numbers = [number for number, _ in faults.numbered(conn, None, after=None, limit=99)]
    assert len(numbers) == len(set(numbers)) == 16
