"""When decisions were told first, and what agents said before they corrected themselves: hindsight proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from sqlalchemy import select

from retro.accounting.movements import Retelling
from retro.model import decode
from retro.store.facts.agents import key_query
from retro.store.schema import corrections, events, name_of, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.model import Decision, Position


__all__ = ["CorrectedLine", "corrected", "retellings", "told_first"]

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


class CorrectedLine(NamedTuple):
    """What a decision or a position said before it was corrected; `position` and `id` as keys (`name_of`)."""

    id: str
    at: int
    position: str | None
    body: str
    told_at: int


def corrected(conn: Connection, agent: str) -> list[CorrectedLine]:
    """The decisions and positions that an agent corrected, as they were; oldest first."""
    c = corrections.c
    query = select(c.id, c.at, c.position, c.body, c.told_at).where(
        c.agent == key_query(agent), c.type.in_(_CORRECTED), c.told_at.is_not(None)
    )
    return [CorrectedLine._make(row) for row in conn.execute(query.order_by(c.seq))]


def retellings(
    lines: Iterable[CorrectedLine], positions: Iterable[str], decisions: Iterable[str]
) -> list[Retelling]:
    """Of corrected lines those of these positions and decisions, in their order."""
    names, decided = {name_of(position) for position in positions}, {name_of(id_) for id_ in decisions}
    return [
        Retelling(line.told_at, cast("Decision | Position", decode(line.body, line.at)))
        for line in lines
        if line.position in names or line.id in decided
    ]
