"""What a list needs of a position is in the book: what its retrospective says, the same however the book came about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from retro.app.settlement.settle import settled_book
from retro.store.books import positions
from retro.store.books.positions import book, book_positions
from retro.store.database import Store
from tests.worlds.lives import agent_of, live, position, settings_for
from tests.worlds.oracle import Life

FIGURES = ("mfe", "mae", "regret", "regret_ratio")


@pytest.fixture
def world(tmp_path: Path) -> Life:
    """One unit bought at 100 and sold at 104 after eight hours; marks each hour, between 97 and 110."""
    life = Life(tmp_path)
    life.marks("ETH/USDC", {0: 100, 2: 100, 3: 97, 4: 101, 5: 104, 6: 110, 7: 108, 8: 106, 9: 104})
    life.trade("p", (1, 100), (9, 104))
    life.until(24)
    return life


def rows(store: Store) -> list[dict[str, Any]]:
    with settled_book(store, "a", settings_for()(agent_of(store, "a"))) as opened:
        return [dict(row._mapping) for row in positions.positions(opened.conn, "a")]


def test_the_book_holds_how_good_and_how_bad_it_was_and_what_leaving_cost(world: Life, store: Store) -> None:
    """On both databases; three of 24 parts are an hour, and the last mark before the end of each counts."""
    assert live(store, world.lines()).clean
    (row,) = rows(store)
    assert {name: row[name] for name in ("mfe", "mae", "regret")} == {"mfe": 10.0, "mae": -3.0, "regret": 6.0}
    document = position(store, "a", "p")
    assert {name: row[name] for name in FIGURES} == {name: getattr(document, name) for name in FIGURES}
    hours = [0, -3, 1, 4, 10, 8, 6]
    path = [0, 0, *(worth for worth in hours for _ in range(3)), 4]
    assert list(row["spark"]) == [round((worth + 3) / 13 * 255) for worth in path]


def test_made_anew_the_book_is_the_same(world: Life, store: Store) -> None:
    assert live(store, world.lines()).clean
    before = rows(store)
    with store.write() as conn:
        conn.execute(delete(book))
        conn.execute(delete(book_positions))
    assert rows(store) == before


def test_a_mark_that_comes_late_reaches_the_book(world: Life, store: Store) -> None:
    assert live(store, world.lines()).clean
    before = rows(store)
    world.events.clear()
    world.marks("ETH/USDC", {4.5: 120})
    lines = world.lines().replace(b'"e1"', b'"late"')
    assert live(store, lines).clean
    (after,) = rows(store)
    assert (before[0]["mfe"], after["mfe"], after["regret"]) == (10.0, 20.0, 16.0)


def test_while_it_is_open_nothing_is_said_of_its_end(tmp_path: Path, store: Store) -> None:
    life = Life(tmp_path)
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.until(24)
    assert live(store, life.lines()).clean
    (row,) = rows(store)
    assert [row[name] for name in (*FIGURES, "spark", "exit_reason")] == [None] * 6
