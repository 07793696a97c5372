"""Every resolved claim of a life, in blocks of days, each beside what all earlier ones come to: written when a book settles.

Who judges a stretch reads its blocks and how things stood before them, however long the life was until then.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, bindparam, delete, func, insert, select

from retro.evaluate.claims.record import CLAIM, ClaimHistory, joined
from retro.evaluate.claims.totals import ClaimTotals, totals_of
from retro.periods import DAY
from retro.store.facts.agents import KEY_OF_NAMED, key_query, known_key
from retro.store.schema import metadata, name_of, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = [
    "ClaimStretch",
    "claims_of",
    "claims_since",
    "claims_with_judged_before",
    "forget_claims",
    "replace_claims",
]

_DAYS: Final = 32
"""Days of resolutions that a block holds: what resolves now rewrites one block."""

book_claims: Final = Table(
    "book_claims",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("names", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
    Column("totals", Text),
)


_OWN = book_claims.c.agent == KEY_OF_NAMED
_FIRST, _LAST = bindparam("first", type_=BigInteger), bindparam("last", type_=BigInteger)
_NEWEST = select(func.max(book_claims.c.block)).where(_OWN, book_claims.c.block <= _FIRST).scalar_subquery()
_BLOCKS: Final = (
    select(book_claims.c.block, book_claims.c.names, book_claims.c.records, book_claims.c.totals)
    .where(_OWN, book_claims.c.block >= func.coalesce(_NEWEST, _FIRST), book_claims.c.block <= _LAST)
    .order_by(book_claims.c.block)
)
"""The block that holds the start of a stretch, or the newest before it, and all after it: made once, most reviews read it."""


class ClaimStretch(NamedTuple):
    """The claims that resolved from `start` on, in the order in which they did, and how things stood before them.

    `stands`: from instant to instant, ascending, what all that had resolved before it came to, as it is stored.
    """

    start: int
    stands: Sequence[tuple[int, str]]
    claims: ClaimHistory

    def at(self, instant: int, ring: int) -> ClaimTotals:
        """How things stood before an instant that is no earlier than the stretch."""
        if not self.stands:
            return ClaimTotals()
        place = bisect_right(self.stands, instant, key=lambda stand: stand[0])
        start, totals = self.stands[max(0, place - 1)]
        return self.after(start, ClaimTotals.from_json(msgspec.json.decode(totals)), instant, ring)

    def after(self, instant: int, totals: ClaimTotals, later: int, ring: int) -> ClaimTotals:
        """How things stood before a later instant, from how they stood before an earlier one of the stretch."""
        resolved = self.claims.records["resolved_at"]
        chosen = self.claims.records[(resolved >= instant) & (resolved < later)]
        return totals.plus(totals_of(ClaimHistory(self.claims.names, chosen), ring), ring)


def claims_of(conn: Connection, agent: str) -> ClaimHistory:
    """The claims of a life, in the order in which they resolved."""
    c = book_claims.c
    query = select(c.names, c.records).where(c.agent == key_query(agent)).order_by(c.block)
    return joined(_history(names, records) for names, records in conn.execute(query))


def claims_since(conn: Connection, agent: str, start: int, end: int) -> ClaimStretch:
    """What resolved before `end`, from some instant on that is no later than `start`; all of it is in a few blocks."""
    asked = {"its_name": name_of(agent), "first": _block(start), "last": _block(end)}
    rows = conn.execute(_BLOCKS, asked).all()
    begins = _start(_block(start))
    if not rows:
        return ClaimStretch(begins, (), ClaimHistory())
    history = joined(_history(row.names, row.records) for row in rows)
    begins = min(begins, int(history.records["resolved_at"][0]))
    stands = [(_start(row.block), row.totals) for row in rows]
    return ClaimStretch(begins, stands, history.before(end))


def claims_with_judged_before(conn: Connection, agent: str, since: int, least: int) -> ClaimHistory:
    """What resolved from some instant on, in the order in which it did: so early that so many judged ones came before `since`.

    All of a life that has fewer.
    """
    c = book_claims.c
    query = select(c.names, c.records).where(c.agent == key_query(agent)).order_by(c.block.desc())
    parts, judged = list[ClaimHistory](), 0
    with conn.execute(query.execution_options(yield_per=1)) as rows:
        for names, records in rows:
            parts.append(_history(names, records))
            earlier = parts[-1].before(since).records["verdict"]
            judged += int(np.count_nonzero(~np.isnan(earlier)))
            if judged >= least:
                break
    return joined(reversed(parts))


def replace_claims(conn: Connection, agent: str, history: ClaimHistory, since: int, ring: int) -> None:
    """Put what has resolved from `since` on in the place of what stood there; earlier claims stay as they are.

    `ring`: how many of the newest residuals the totals of a key keep.
    """
    c, key = book_claims.c, known_key(conn, agent)
    first = _block(since)
    conn.execute(delete(book_claims).where(c.agent == key, c.block >= first))
    earlier = claims_since(conn, agent, since, since)
    totals = earlier.at(since, ring)
    blocks = history.records["resolved_at"] // DAY // _DAYS
    for block in np.unique(blocks[blocks >= first]).tolist():
        part = joined([ClaimHistory(history.names, history.records[blocks == block])])
        row = {
            "names": json.dumps(list(part.names)),
            "records": part.records.tobytes(),
            "totals": json.dumps(totals.to_json(), separators=(",", ":")),
        }
        conn.execute(insert(book_claims), {"agent": key, "block": block, **row})
        totals = totals.plus(totals_of(part, ring), ring)


def forget_claims(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_claims).where(book_claims.c.agent == key_query(agent)))


def _history(names: str, records: bytes) -> ClaimHistory:
    return ClaimHistory(json.loads(names), np.frombuffer(records, CLAIM))


def _block(at: int) -> int:
    return at // DAY // _DAYS


def _start(block: int) -> int:
    return block * _DAYS * DAY
