"""Every outcome of a life, in blocks of days: written when positions settle, read whole by the cumulative audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, delete, insert, select

from retro.evaluate.audit.history import RECORD, History, joined
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
)


def outcomes_until(conn: Connection, agent: str, day: int | None = None) -> History:
    """The outcomes of positions entered up to a day; None: of all."""
    c = book_outcomes.c
    query = select(c.names, c.records).where(c.agent == key_query(agent))
    if day is not None:
        query = query.where(c.block <= day // _DAYS)
    rows = conn.execute(query.order_by(c.block))
    return joined([History(json.loads(names), np.frombuffer(records, RECORD)) for names, records in rows])


def replace_outcomes(
    conn: Connection, agent: str, positions: Iterable[str], days: Iterable[int], new: History
) -> None:
    """Put the outcomes of these positions in the place of what was kept of them, which entered on `days`."""
    c, key = book_outcomes.c, known_key(conn, agent)
    touched = {day // _DAYS for day in days} | set(np.unique(new.records["day"] // _DAYS).tolist())
    positions = list(positions)
    for block in sorted(touched):
        in_block = (c.agent == key) & (c.block == block)
        parts = [History(new.names, new.records[new.records["day"] // _DAYS == block])]
        for names, records in conn.execute(select(c.names, c.records).where(in_block)):
            old = History(json.loads(names), np.frombuffer(records, RECORD))
            parts.append(old.without(positions))
        merged = joined(parts)
        conn.execute(delete(book_outcomes).where(in_block))
        if len(merged.records):
            row = {"names": json.dumps(list(merged.names)), "records": merged.records.tobytes()}
            conn.execute(insert(book_outcomes), {"agent": key, "block": block, **row})


def forget_outcomes(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_outcomes).where(book_outcomes.c.agent == key_query(agent)))
