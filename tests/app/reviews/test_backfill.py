"""Years of history are made in shares: what their reviews have in common is asked, stored and sent once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from retro.app.engine import worker
from retro.app.narration.narrators import plain_words
from retro.periods import DAY, SECOND
from retro.store.books import positions as books
from tests.worlds.service_world import MONDAY, World, life
from tests.worlds.steps import statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from retro.store.database import Store

DAYS = 60


@contextmanager
def transactions(store: Store) -> Iterator[list[Any]]:
    begun: list[Any] = []

    def note(conn: Any) -> None:
        begun.append(conn)

    event.listen(store.engine, "begin", note)
    try:
        yield begun
    finally:
        event.remove(store.engine, "begin", note)


def history(store: Store, folder: Path, days: int = DAYS) -> World:
    """A trade a day, told when all of it is history."""
    world = World(store, folder, at=MONDAY + (days + 2) * DAY, files=True)
    world.tell(life(days))
    return world


def test_a_review_of_history_takes_few_statements_and_fewer_transactions(
    store: Store, tmp_path: Path
) -> None:
    """A third of what they were when each review was made by itself: 55.6 statements, 5.3 transactions."""
    world = history(store, tmp_path)
    done_counts: list[int] = []

    def knock() -> None:
        done_counts.append(world.knock().done)

    with transactions(store) as begun:
        statements = statements_of(store, knock)
    assert done_counts[0] > 2 * DAYS - 5
    assert statements / done_counts[0] < 14
    assert len(begun) / done_counts[0] < 0.6


def documents(world: World) -> dict[str, str]:
    return {review.id: world.text(review.id) for review in world.reviews() if review.state == "done"}


def test_history_made_together_is_what_each_review_says_by_itself(store: Store, tmp_path: Path) -> None:
    world = history(store, tmp_path, days=30)
    world.knock()
    together, files = documents(world), world.files()
    with store.write() as conn:
        conn.exec_driver_sql("DELETE FROM outbox")
        conn.exec_driver_sql("DELETE FROM review_documents")
        # what was tried before is made alone
        conn.exec_driver_sql("UPDATE reviews SET state = 'due', attempts = 1 WHERE state = 'done'")
        books.forget_book(conn, "bot")
    with transactions(store) as begun:
        world.knock()
    assert len(begun) > 2 * len(together)
    assert documents(world) == together
    assert world.files() == files


def test_documents_of_many_positions_do_not_wait_for_each_other_in_memory(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are stored as soon as they tell of so many, and say the same."""
    world = history(store, tmp_path, days=20)
    with transactions(store) as of_shares:
        world.knock()
    together = documents(world)
    with store.write() as conn:
        conn.exec_driver_sql("DELETE FROM outbox")
        conn.exec_driver_sql("DELETE FROM review_documents")
        conn.exec_driver_sql("UPDATE reviews SET state = 'due', attempts = 0 WHERE state = 'done'")
        books.forget_book(conn, "bot")
    monkeypatch.setattr(worker, "_MOST_POSITIONS", 3)
    with transactions(store) as of_few:
        world.knock()
    assert documents(world) == together
    assert len(of_few) > 1.5 * len(of_shares)


def test_who_reads_history_lets_others_write(store: Store, tmp_path: Path) -> None:
    """A book is not kept open for longer than two seconds, whatever is left to make of it."""
    world = history(store, tmp_path, days=20)
    worded: list[str] = []

    def slow(review: Any, document: Any, settings: Any) -> Any:
        worded.append(review.id)
        world.clock.set(world.clock() + SECOND)
        return plain_words(review, document, settings)

    with transactions(store) as begun:
        world.knock(words=slow)
    assert len(worded) >= 40
    assert len(begun) > len(worded) // 3
