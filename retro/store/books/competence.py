"""When an agent was first competent: written when a book settles, one row an agent at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import BigInteger, Column, Table, delete, insert, select

from retro.evaluate.meta.competence import TRAILING, Competence, competence_of
from retro.model import Decision
from retro.store.books.claims import claims_with_judged_before
from retro.store.facts import events
from retro.store.facts.agents import KEY_OF_NAMED, key_query, known_key
from retro.store.schema import metadata, name_of, reference

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["competence_of_life", "forget_competence", "settle_competence"]

book_competence: Final = Table(
    "book_competence",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("decisions", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)

_OF_AGENT: Final = select(book_competence.c.decisions, book_competence.c.at).where(
    book_competence.c.agent == KEY_OF_NAMED
)


def competence_of_life(conn: Connection, agent: str) -> Competence | None:
    """The first decision before which the trailing judged predictions were right often enough; None: never yet.

    What comes later changes it no more: an agent was competent before an instant if it was so at an earlier one.
    """
    row = conn.execute(_OF_AGENT, {"its_name": name_of(agent)}).one_or_none()
    return None if row is None else Competence(row.decisions, row.at)


def settle_competence(conn: Connection, agent: str, since: int) -> None:
    """Look for it again where it rests on facts from `since` on, or there was none; before then there was none."""
    before = competence_of_life(conn, agent)
    if before is not None and before.at < since:
        return
    forget_competence(conn, agent)
    claims = claims_with_judged_before(conn, agent, since, TRAILING)
    if not len(claims):
        return
    earlier, decided = events.instants_since(conn, agent, Decision, since)
    competence = competence_of(np.array(decided, dtype=np.int64), claims)
    if competence is not None:
        decisions = earlier + competence.decisions
        row = {"agent": known_key(conn, agent), "decisions": decisions, "at": competence.at}
        conn.execute(insert(book_competence), row)


def forget_competence(conn: Connection, agent: str) -> None:
    """Drop it."""
    conn.execute(delete(book_competence).where(book_competence.c.agent == key_query(agent)))
