"""Texts of reviews in the database: packed on SQLite, and whatever form they lie in, the text that was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from retro.errors import StoreError
from retro.store.database import Store
from retro.store.texts import PackedText

SHELF = Table("shelf", MetaData(), Column("key", Integer, primary_key=True), Column("text", PackedText))
LONG = json.dumps([{"position_id": f"p{n}", "final_pnl": None} for n in range(200)], indent=2)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=3000), st.booleans())
def test_a_text_comes_back_as_it_was_written(text: str, repeated: bool) -> None:
    written = text * 40 if repeated else text
    column = PackedText()
    for dialect in (sqlite.dialect(), postgresql.dialect()):  # type: ignore[no-untyped-call]
        stored = column.process_bind_param(written, dialect)
        assert column.process_result_value(stored, dialect) == written


def test_a_long_text_takes_a_fifth_of_its_room_in_a_sqlite_file(store: Store) -> None:
    with store.write() as conn:
        SHELF.create(conn)
        conn.execute(
            insert(SHELF), [{"key": 1, "text": LONG}, {"key": 2, "text": "{}"}, {"key": 3, "text": None}]
        )
        assert conn.execute(select(SHELF.c.text).order_by(SHELF.c.key)).scalars().all() == [LONG, "{}", None]
        stored = conn.exec_driver_sql("SELECT text FROM shelf ORDER BY key").scalars().all()
    if store.dialect == "sqlite":
        assert isinstance(stored[0], bytes)
        assert len(stored[0]) < len(LONG) / 5
        assert stored[1:] == ["{}", None]
    else:
        assert stored == [LONG, "{}", None]


def test_what_an_earlier_version_wrote_is_read_as_it_lies_there(store: Store) -> None:
    """Its texts are not packed, and nothing rewrites them."""
    with store.write() as conn:
        SHELF.create(conn)
        conn.exec_driver_sql(f"INSERT INTO shelf (key, text) VALUES (1, '{LONG}')")
        assert conn.execute(select(SHELF.c.text)).scalar_one() == LONG


@pytest.mark.parametrize("cut", [slice(None, -9), slice(2, None)])
def test_a_damaged_text_is_said_to_be_one(cut: slice) -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as conn:
        SHELF.create(conn)
        conn.execute(insert(SHELF), [{"key": 1, "text": LONG}])
        stored = conn.exec_driver_sql("SELECT text FROM shelf").scalar_one()
        conn.exec_driver_sql("UPDATE shelf SET text = ?", (stored[cut],))
        with pytest.raises(
            StoreError, match=r"stored text is damaged \(.*\); restore the database from a backup"
        ):
            conn.execute(select(SHELF.c.text)).scalar_one()
