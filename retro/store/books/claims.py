"""Every resolved claim of a life, in blocks of days, each beside what all earlier ones come to: written when a book settles.

Who judges a stretch reads its blocks and how things stood before them, however long the life was until then.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, delete, func, insert, select

from retro.evaluate.claims.record import CLAIM, ClaimHistory, joined
from retro.evaluate.claims.totals import ClaimTotals, totals_of
from retro.periods import DAY
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference

if TYPE_CHECKING:
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


class ClaimStretch(NamedTuple):
    """The claims that resolved from `start` on, in the order in which they did, and how things stood before then."""

    start: int
    before: ClaimTotals
    claims: ClaimHistory

    def at(self, instant: int, ring: int) -> ClaimTotals:
        """How things stood before an instant that is no earlier than the stretch."""
        return self.after(self.start, self.before, instant, ring)

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
    c, own = book_claims.c, book_claims.c.agent == key_query(agent)
    newest = select(func.max(c.block)).where(own, c.block <= _block(start)).scalar_subquery()
    query = select(c.names, c.records, c.totals).where(
        own, c.block >= func.coalesce(newest, _block(start)), c.block <= _block(end)
    )
    rows = conn.execute(query.order_by(c.block)).all()
    begins = _block(start) * _DAYS * DAY
    if not rows:
        return ClaimStretch(begins, ClaimTotals(), ClaimHistory())
    history = joined(_history(row.names, row.records) for row in rows)
    begins = min(begins, int(history.records["resolved_at"][0]))
    return ClaimStretch(begins, ClaimTotals.from_json(json.loads(rows[0].totals)), history.before(end))


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
