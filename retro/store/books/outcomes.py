"""Every outcome of a life and the weeks of its marked money, in blocks of days: written when positions settle, read whole by the cumulative audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, delete, insert, select

from retro.evaluate.audit.history import RECORD, WEEK, History, joined
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["forget_outcomes", "outcomes_until", "replace_outcomes"]

_DAYS: Final = 128
"""Entry days a block holds: a trade settled late rewrites one block, a life of years is some dozens to read."""

book_outcomes: Final = Table(
    "book_outcomes",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("names", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
    Column("weeks", LargeBinary),
)


def outcomes_until(conn: Connection, agent: str, day: int | None = None) -> History:
    """The outcomes of positions entered up to a day; None: of all."""
    c = book_outcomes.c
    query = select(c.names, c.records, c.weeks).where(c.agent == key_query(agent))
    if day is not None:
        query = query.where(c.block <= day // _DAYS)
    return joined([_history(*row) for row in conn.execute(query.order_by(c.block))])


def _history(names: str, records: bytes, weeks: bytes) -> History:
    return History(json.loads(names), np.frombuffer(records, RECORD), np.frombuffer(weeks, WEEK))


def replace_outcomes(
    conn: Connection, agent: str, positions: Iterable[str], days: Iterable[int], new: History
) -> None:
    """Put the outcomes of these positions in the place of what was kept of them, which entered on `days`."""
    c, key = book_outcomes.c, known_key(conn, agent)
    touched = {day // _DAYS for day in days}
    for rows in (new.records, new.weeks):
        touched |= set(np.unique(rows["day"] // _DAYS).tolist())
    positions = list(positions)
    for block in sorted(touched):
        in_block = (c.agent == key) & (c.block == block)
        old = conn.execute(select(c.names, c.records, c.weeks).where(in_block))
        parts = [new.entered_in(block, _DAYS), *(_history(*row).without(positions) for row in old)]
        merged = joined(parts)
        conn.execute(delete(book_outcomes).where(in_block))
        if len(merged.records) or len(merged.weeks):
            row = {
                "names": json.dumps(list(merged.names)),
                "records": merged.records.tobytes(),
                "weeks": merged.weeks.tobytes(),
            }
            conn.execute(insert(book_outcomes), {"agent": key, "block": block, **row})


def forget_outcomes(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_outcomes).where(book_outcomes.c.agent == key_query(agent)))
