"""Every resolved claim of a life, in blocks of days: written when a book settles, read whole by who judges claims."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, delete, insert, select

from retro.evaluate.claims.record import CLAIM, ClaimHistory, joined
from retro.periods import DAY
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["claims_of", "forget_claims", "replace_claims"]

_DAYS: Final = 32
"""Days of resolutions that a block holds: what resolves now rewrites one block."""

book_claims: Final = Table(
    "book_claims",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("names", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
)


def claims_of(conn: Connection, agent: str) -> ClaimHistory:
    """The claims of a life, in the order in which they resolved."""
    c = book_claims.c
    query = select(c.names, c.records).where(c.agent == key_query(agent)).order_by(c.block)
    return joined(
        ClaimHistory(json.loads(names), np.frombuffer(records, CLAIM))
        for names, records in conn.execute(query)
    )


def replace_claims(conn: Connection, agent: str, history: ClaimHistory, since: int) -> None:
    """Put what has resolved from `since` on in the place of what stood there; earlier claims stay as they are."""
    c, key = book_claims.c, known_key(conn, agent)
    first = since // DAY // _DAYS
    conn.execute(delete(book_claims).where(c.agent == key, c.block >= first))
    blocks = history.records["resolved_at"] // DAY // _DAYS
    for block in np.unique(blocks[blocks >= first]).tolist():
        part = joined([ClaimHistory(history.names, history.records[blocks == block])])
        row = {"names": json.dumps(list(part.names)), "records": part.records.tobytes()}
        conn.execute(insert(book_claims), {"agent": key, "block": block, **row})


def forget_claims(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_claims).where(book_claims.c.agent == key_query(agent)))
