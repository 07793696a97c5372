"""What is parts of a book without reading its rows: how many there are, and what they are in, part by part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, func, select

from retro.periods import FOREVER
from retro.store.books import pages
from retro.store.books.positions import book_positions, positions
from retro.store.books.totals import forget_totals
from retro.store.database import open_store
from tests.worlds.commands import reviewed_db

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

__all__ = ["reviewed_db"]

AGENT = "harbor-3"


@pytest.fixture
def conn(reviewed_db: Path) -> Iterator[Connection]:
    store = open_store(str(reviewed_db))
    with store.read() as conn:
        yield conn
    store.close()


@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_the_parts_of_a_book_hold_what_the_whole_holds(conn: Connection, limit: int) -> None:
    whole = {
        (row.kind, row.instrument, row.closed_at is None)
        for row in positions(conn, AGENT, opened_before=FOREVER)
    }
    parts: set[pages.PositionAsset] = set()
    part, place = pages.assets_after(conn, AGENT, None, limit)
    while place is not None:
        parts |= part
        assert 0 < len(part) <= limit
        part, place = pages.assets_after(conn, AGENT, place, limit)
    assert parts | part == whole
    assert len(whole) > 1


def test_lives_are_counted_by_the_sums_of_days_as_by_their_rows(reviewed_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(reviewed_db.read_bytes())
    store = open_store(str(path))
    with store.write() as conn:
        rows = conn.execute(select(func.count(), func.count(book_positions.c.closed_at))).one()
        counted = pages.count_lives(conn, AGENT)
        assert counted == (rows[0], rows[0] - rows[1])
        assert pages.count_positions(conn, AGENT) == counted[0]
        forget_totals(conn, AGENT)  # as in a book of a version that had none
        assert pages.count_lives(conn, AGENT) == counted
        conn.execute(delete(book_positions))
        assert pages.count_lives(conn, AGENT) == (0, 0)
    store.close()
