"""When decisions were told first, and what agents said before they corrected themselves: hindsight proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from sqlalchemy import select

from retro.accounting.movements import Retelling
from retro.model import Decision, Position, decode
from retro.store.facts.agents import key_query
from retro.store.schema import corrections, events, name_of, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.model import Fact

__all__ = ["retellings", "told_first"]

_CORRECTED: Final = ("decision", "position")


def told_first(conn: Connection, agent: str, positions: Sequence[str]) -> dict[str, int]:
    """Id of a decision (as a key: `name_of`) -> the clock by which it was taken in first, where one was looked at."""
    c = events.c
    query = select(c.id, c.told_at).where(
        c.agent == key_query(agent),
        c.type == "decision",
        c.told_at.is_not(None),
        within(conn, c.position, positions),
    )
    return {row.id: row.told_at for row in conn.execute(query)}


def retellings(
    conn: Connection, agent: str, positions: Iterable[str], facts: Iterable[Fact]
) -> list[Retelling]:
    """What these positions, and the decisions among their facts, said before their agent corrected it; oldest first."""
    c = corrections.c
    query = select(c.id, c.at, c.position, c.body, c.told_at).where(
        c.agent == key_query(agent), c.type.in_(_CORRECTED), c.told_at.is_not(None)
    )
    rows = conn.execute(query.order_by(c.seq)).all()
    if not rows:  # nearly always
        return []
    names = {name_of(position) for position in positions}
    decided = {name_of(fact.id) for fact in facts if isinstance(fact, Decision)}
    return [
        Retelling(row.told_at, cast("Decision | Position", decode(row.body, row.at)))
        for row in rows
        if row.position in names or row.id in decided
    ]
