"""What an agent states of shadows that it runs itself, by day, and what its positions made: written when a book settles.

Blocks of plain arrays, so that a review reads a few rows of each, and no word of the agent's and no position of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, bindparam, delete, exists, insert, select

from retro.evaluate.whatif.shadow_days import RESULT, SHADOW_DAY, ShadowDays, joined, shadow_days
from retro.model import Shadow
from retro.periods import DAY, FOREVER
from retro.store.books.positions import results_opened
from retro.store.facts import events
from retro.store.facts.agents import KEY_OF_NAMED, key_query, known_key
from retro.store.schema import metadata, name_of, reference

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray
    from sqlalchemy import Connection

__all__ = [
    "closed_results",
    "forget_shadow_days",
    "settle_results",
    "settle_shadow_days",
    "stated_shadow_days",
]

_DAYS: Final = 128
"""Days a block holds: those that a shadow's words speak of, and on which positions were entered."""

book_shadow_days: Final = Table(
    "book_shadow_days",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("told_until", BigInteger, nullable=False),
    Column("names", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
)
"""Days of `SHADOW_DAY`; `told_until` is the newest instant at which one of the block was told."""

book_results: Final = Table(
    "book_results",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("records", LargeBinary, nullable=False),
)
"""Closed positions of `RESULT` by (opened_at, name): of agents that state shadows, and of nobody else."""

_STATED: Final = (
    select(book_shadow_days.c.names, book_shadow_days.c.records)
    .where(book_shadow_days.c.agent == KEY_OF_NAMED)
    .order_by(book_shadow_days.c.block)
)
_CLOSED: Final = (
    select(book_results.c.records)
    .where(book_results.c.agent == KEY_OF_NAMED, book_results.c.block <= bindparam("last", type_=BigInteger))
    .order_by(book_results.c.block)
)


def stated_shadow_days(conn: Connection, agent: str, before: int) -> ShadowDays:
    """What was stated of shadows before an instant."""
    parts = [_days(*row) for row in conn.execute(_STATED, {"its_name": name_of(agent)})]
    return joined(part.before(before) for part in parts)


def settle_shadow_days(conn: Connection, agent: str, since: int, zone: ZoneInfo) -> None:
    """Put the words told from `since` on in the place of what stood there; what was told earlier stands."""
    c, own = book_shadow_days.c, book_shadow_days.c.agent == key_query(agent)
    new = shadow_days(events.between(conn, agent, since, FOREVER, types=[Shadow]), zone)
    stale = {*conn.execute(select(c.block).where(own, c.told_until >= since)).scalars()}
    blocks = new.records["day"] // _DAYS
    for block in sorted({*stale, *blocks.tolist()}):
        row = conn.execute(select(c.names, c.records).where(own, c.block == block)).one_or_none()
        stood = [] if row is None else [_days(*row).before(since)]
        days = joined([*stood, new.where(blocks == block)])
        conn.execute(delete(book_shadow_days).where(own, c.block == block))
        if len(days):
            values = {
                "told_until": int(days.records["told_at"].max()),
                "names": json.dumps(list(days.names)),
                "records": days.records.tobytes(),
            }
            key = known_key(conn, agent)
            conn.execute(insert(book_shadow_days), {"agent": key, "block": block, **values})


def closed_results(conn: Connection, agent: str, start: int, end: int) -> NDArray[Any]:
    """What positions made that closed at start <= at <= end, oldest entry first, (n,) of `RESULT`."""
    asked = {"its_name": name_of(agent), "last": _block(end)}
    parts = [np.frombuffer(records, RESULT) for records in conn.execute(_CLOSED, asked).scalars()]
    rows = np.concatenate([np.empty(0, RESULT), *parts])
    chosen: NDArray[Any] = rows[(rows["closed_at"] >= start) & (rows["closed_at"] <= end)]
    return chosen


def settle_results(conn: Connection, agent: str, entries: Iterable[int]) -> None:
    """Take over what closed positions made from their rows, of the blocks in which these entries lie.

    Only shadows that the agent states are held against it: all is taken over with the first word of one.
    """
    key = known_key(conn, agent)
    c, own = book_results.c, book_results.c.agent == key
    stated = select(exists().where(book_shadow_days.c.agent == key))
    if not conn.execute(stated).scalar_one():
        conn.execute(delete(book_results).where(own))
        return
    if conn.execute(select(exists().where(own))).scalar_one():
        blocks = {_block(at) for at in entries}
        parts = [results_opened(conn, agent, _start(block), _start(block + 1)) for block in sorted(blocks)]
        conn.execute(delete(book_results).where(own, c.block.in_(blocks)))
    else:
        parts = [results_opened(conn, agent, -FOREVER, FOREVER)]
    for part in parts:
        in_block = part["opened_at"] // DAY // _DAYS
        for block in np.unique(in_block).tolist():
            records = part[in_block == block].tobytes()
            conn.execute(insert(book_results), {"agent": key, "block": block, "records": records})


def forget_shadow_days(conn: Connection, agent: str) -> None:
    """Drop everything."""
    for table in (book_shadow_days, book_results):
        conn.execute(delete(table).where(table.c.agent == key_query(agent)))


def _days(names: str, records: bytes) -> ShadowDays:
    return ShadowDays(json.loads(names), np.frombuffer(records, SHADOW_DAY))


def _block(at: int) -> int:
    return at // DAY // _DAYS


def _start(block: int) -> int:
    return block * _DAYS * DAY
