"""What the rules of shadows made of each position, in blocks of entry days: written when positions settle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, bindparam, delete, insert, select

from retro.evaluate.whatif.shadows import SHADOW_EXIT, ShadowExits
from retro.periods import DAY
from retro.store.facts.agents import KEY_OF_NAMED, key_query, known_key
from retro.store.schema import metadata, name_of, reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

__all__ = ["forget_shadow_exits", "replace_shadow_exits", "shadow_exits_since"]

_DAYS: Final = 128
"""Entry days a block holds, as of outcomes."""

book_shadow_exits: Final = Table(
    "book_shadow_exits",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("rule", Text, primary_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("names", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
)

_OF_RULE: Final = (
    select(book_shadow_exits.c.names, book_shadow_exits.c.records)
    .where(
        book_shadow_exits.c.agent == KEY_OF_NAMED,
        book_shadow_exits.c.rule == bindparam("its_rule"),
        book_shadow_exits.c.block >= bindparam("first", type_=BigInteger),
    )
    .order_by(book_shadow_exits.c.block)
)


def shadow_exits_since(conn: Connection, agent: str, rule: str, since: int) -> ShadowExits:
    """The positions entered from an instant on beside what a rule made of each, oldest first."""
    asked = {"its_name": name_of(agent), "its_rule": name_of(rule), "first": since // DAY // _DAYS}
    exits = _joined([_exits(*row) for row in conn.execute(_OF_RULE, asked)])
    return exits.where(exits.records["opened_at"] >= since)


def replace_shadow_exits(
    conn: Connection,
    agent: str,
    rule: str,
    positions: Iterable[str],
    entries: Iterable[int],
    parts: Sequence[ShadowExits],
) -> None:
    """Put what a rule made of these positions in the place of what was kept of them, which were entered at `entries`."""
    c, key, gone = book_shadow_exits.c, known_key(conn, agent), {*positions}
    rule, new = name_of(rule), _joined(parts)
    blocks = new.records["opened_at"] // DAY // _DAYS
    for block in sorted({*(at // DAY // _DAYS for at in entries), *np.unique(blocks).tolist()}):
        in_block = (c.agent == key) & (c.rule == rule) & (c.block == block)
        stored = [_exits(*row) for row in conn.execute(select(c.names, c.records).where(in_block))]
        stood = [
            old.where(np.array([name not in gone for name in old.names], dtype=np.bool_)) for old in stored
        ]
        exits = _joined([*stood, new.where(blocks == block)])
        conn.execute(delete(book_shadow_exits).where(in_block))
        if exits.names:
            order = sorted(
                range(len(exits.names)), key=lambda i: (int(exits.records["opened_at"][i]), exits.names[i])
            )
            row: dict[str, Any] = {
                "names": json.dumps([exits.names[i] for i in order]),
                "records": exits.records[order].tobytes(),
            }
            conn.execute(insert(book_shadow_exits), {"agent": key, "rule": rule, "block": block, **row})


def forget_shadow_exits(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_shadow_exits).where(book_shadow_exits.c.agent == key_query(agent)))


def _exits(names: str, records: bytes) -> ShadowExits:
    return ShadowExits(json.loads(names), np.frombuffer(records, SHADOW_EXIT))


def _joined(parts: Sequence[ShadowExits]) -> ShadowExits:
    """Several as one, each after the one before."""
    if not parts:
        return ShadowExits()
    return ShadowExits(
        [name for part in parts for name in part.names], np.concatenate([part.records for part in parts])
    )
