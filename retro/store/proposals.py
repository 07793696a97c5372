"""What was proposed for a playbook, and where it stands.

A proposal is `proposed`, then `open` (in a request), then `merged` or `rejected`; later citations make a merged one
`validated` or `refuted`. It is known by its content, so that a no stays a no. The requests that carry proposals to
their owner are `retro.store.pull_requests`, which moves the proposals along with them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    Select,
    Table,
    Text,
    and_,
    delete,
    select,
    update,
)

from playbook.amendment import from_json, to_json
from playbook.errors import ProposalError
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import agents, insert_into, metadata, reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from playbook import Amendment

__all__ = [
    "UNANSWERED",
    "DamagedProposal",
    "Proposal",
    "adopted",
    "answer",
    "damaged",
    "on_branch",
    "proposals",
    "pull_requests",
    "record_verdict",
    "reword",
    "stored",
    "suggest",
    "unless_damaged",
    "withdraw",
]

UNANSWERED: Final = ("proposed", "open")
"""The states in which the owner may still say yes or no."""
proposals: Final = Table(
    "proposals",
    metadata,
    Column("key", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("resolved", BigInteger, nullable=False),
    Column("told_until", BigInteger, nullable=False),
    Column("branch", Text),
    Column("changed_at", BigInteger, nullable=False),
)
"""One row a proposal: `body` as JSON, `resolved` the citations it rests on, `told_until` the agent's newest fact then."""

pull_requests: Final = Table(
    "pull_requests",
    metadata,
    Column("key", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("branch", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("head", Text),
    Column("number", BigInteger),
    Column("url", Text),
    Column("comment_at", BigInteger),
    Column("commented", Integer, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("reason", Text),
)
"""One row a branch; `head` is the commit that was last about to be pushed."""


class Proposal(NamedTuple):
    """One proposal and where it stands; `url` is its request's.

    `resolved` are the citations its newest figures rest on, `known_until` the instant of the agent's newest fact then.
    """

    agent: str
    id: str
    state: str
    amendment: Amendment
    resolved: int
    known_until: int
    branch: str | None
    url: str | None


class DamagedProposal(NamedTuple):
    """A proposal whose row cannot be read: where it stands is known, what it would change is not."""

    agent: str
    id: str
    state: str
    reason: str


def stored(conn: Connection, agent: str | None = None, *, as_of: int | None = None) -> list[Proposal]:
    """Every proposal, or those of one agent, in the order they were first made; `as_of`: unless it changed later.

    One that cannot be read is not among them: `damaged` names it.
    """
    rows = _rows_of(conn, agent, as_of)
    return [entry for entry in map(_proposal, rows) if isinstance(entry, Proposal)]


def damaged(conn: Connection, agent: str | None = None) -> list[DamagedProposal]:
    """What `stored` passes over: every proposal, or those of one agent, that cannot be read."""
    rows = _rows_of(conn, agent, None)
    return [entry for entry in map(_proposal, rows) if isinstance(entry, DamagedProposal)]


def unless_damaged(conn: Connection, agent: str, amendments: Iterable[Amendment]) -> list[Amendment]:
    """Without those that somebody was asked about in a row that cannot be read now: a no stays a no."""
    asked = {proposal.id for proposal in damaged(conn, agent) if proposal.state != "proposed"}
    return [amendment for amendment in amendments if amendment.id not in asked]


def _rows_of(conn: Connection, agent: str | None, as_of: int | None) -> Iterable[Row[Any]]:
    own = proposals.c
    join_on = and_(pull_requests.c.agent == own.agent, pull_requests.c.branch == own.branch)
    query: Select[Any] = (
        select(
            agents.c.name,
            own.id,
            own.state,
            own.body,
            own.resolved,
            own.told_until,
            own.branch,
            pull_requests.c.url,
        )
        .join(agents, agents.c.key == own.agent)
        .outerjoin(pull_requests, join_on)
        .order_by(agents.c.name, own.key)
    )
    if agent is not None:
        query = query.where(own.agent == key_query(agent))
    if as_of is not None:
        query = query.where(own.changed_at <= as_of)
    return conn.execute(query)


def _proposal(row: Row[Any]) -> Proposal | DamagedProposal:
    try:
        amendment = from_json(json.loads(row.body))
    except (ValueError, ProposalError) as error:
        return DamagedProposal(row.name, row.id, row.state, str(error))
    return Proposal(row.name, row.id, row.state, amendment, row.resolved, row.told_until, row.branch, row.url)


def suggest(
    conn: Connection, agent: str, amendments: Iterable[Amendment], known_until: int, now: int
) -> None:
    """A review proposes these; what anybody was asked about already stays as it is."""
    rows = _rows(known_key(conn, agent), amendments, known_until, None, now)
    if rows:
        insertion = insert_into(conn, proposals)
        updates = {
            name: insertion.excluded[name] for name in ("body", "resolved", "told_until", "changed_at")
        }
        unasked = and_(proposals.c.state == "proposed", proposals.c.branch.is_(None))
        conn.execute(
            insertion.on_conflict_do_update(index_elements=["agent", "id"], set_=updates, where=unasked), rows
        )


def on_branch(
    conn: Connection, agent: str, branch: str, amendments: Iterable[Amendment], known_until: int, now: int
) -> None:
    """These are about to be proposed on a branch; what stood there and is not among them has no branch any more."""
    key = known_key(conn, agent)
    rows = _rows(key, amendments, known_until, branch, now)
    dropped = and_(
        proposals.c.agent == key,
        proposals.c.branch == branch,
        proposals.c.state.in_(("proposed", "open")),
        proposals.c.id.not_in([row["id"] for row in rows]),
    )
    conn.execute(update(proposals).where(dropped).values(state="proposed", branch=None, changed_at=now))
    if rows:
        insertion = insert_into(conn, proposals)
        updates = {
            name: insertion.excluded[name]
            for name in ("state", "body", "resolved", "told_until", "branch", "changed_at")
        }
        conn.execute(insertion.on_conflict_do_update(index_elements=["agent", "id"], set_=updates), rows)


def _rows(
    agent: int, amendments: Iterable[Amendment], known_until: int, branch: str | None, now: int
) -> list[dict[str, Any]]:
    """What is proposed, as rows of the table."""
    rows = []
    for amendment in amendments:
        document = to_json(amendment)
        rows.append(
            {
                "agent": agent,
                "id": document["id"],
                "state": "proposed",
                "body": json.dumps(document, sort_keys=True),
                "resolved": amendment.resolved,
                "told_until": known_until,
                "branch": branch,
                "changed_at": now,
            }
        )
    return rows


def reword(conn: Connection, agent: str, amendment: Amendment, now: int) -> None:
    """The same proposal on other evidence; where it stands, and what it rested on, stay."""
    own, body = proposals.c, json.dumps(to_json(amendment), sort_keys=True)
    mine = and_(own.agent == key_query(agent), own.id == amendment.id)
    conn.execute(update(proposals).where(mine).values(body=body, changed_at=now))


def withdraw(conn: Connection, agent: str, proposal: str) -> None:
    """Nothing speaks for a proposal any more that nobody was asked about."""
    own = proposals.c
    unasked = and_(own.state == "proposed", own.branch.is_(None))
    conn.execute(delete(proposals).where(own.agent == key_query(agent), own.id == proposal, unasked))


def adopted(conn: Connection, agent: str, proposal: str, now: int) -> None:
    """The owner carried out a proposal without a request: it counts as merged."""
    own = proposals.c
    mine = and_(own.agent == key_query(agent), own.id == proposal, own.state == "proposed")
    conn.execute(update(proposals).where(mine).values(state="merged", changed_at=now))


def answer(conn: Connection, agent: str, proposal: str, state: str, now: int) -> bool:
    """The owner's own answer to a proposal, `merged` or `rejected`; False where it had one."""
    own = proposals.c
    mine = and_(own.agent == key_query(agent), own.id == proposal, own.state.in_(UNANSWERED))
    return bool(conn.execute(update(proposals).where(mine).values(state=state, changed_at=now)).rowcount)


def record_verdict(conn: Connection, agent: str, proposal: str, verdict: str, now: int) -> None:
    """Later citations have spoken of a merged proposal: `validated` or `refuted`. Of any other nothing is recorded."""
    mine = and_(proposals.c.agent == key_query(agent), proposals.c.id == proposal)
    conn.execute(
        update(proposals).where(mine, proposals.c.state == "merged").values(state=verdict, changed_at=now)
    )
