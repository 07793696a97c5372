"""The life of what was proposed for a playbook, and of the pull requests it stands in.

A proposal is `proposed`, then `open` (in a request), then `merged` or `rejected`; later citations make a merged one
`validated` or `refuted`. It is known by its content, so that a no stays a no. A request is `planned` before anything
leaves the house, with the commit that is about to be pushed; then `open`, or `blocked` by a person's commit, and in the
end `merged` or `closed`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    Select,
    Table,
    Text,
    and_,
    delete,
    or_,
    select,
    update,
)

from retro.store.facts.agents import key_query, known_key
from retro.store.schema import agents, insert_into, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

__all__ = [
    "LIVE",
    "Proposal",
    "RequestRecord",
    "adopted",
    "begin",
    "claim_comment",
    "commented",
    "judged",
    "note_request",
    "plan",
    "proposals",
    "pull_requests",
    "requests",
    "settle_request",
    "stored",
    "suggest",
    "withdraw",
]

LIVE: Final = ("planned", "open", "blocked")
"""The states of a request that may still change."""

proposals: Final = Table(
    "proposals",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("agent", BigInteger, ForeignKey("agents.key"), nullable=False),
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
    Column("agent", BigInteger, ForeignKey("agents.key"), nullable=False),
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
    """One proposal and where it stands; `url` and `number` are its request's."""

    agent: str
    id: str
    state: str
    body: str
    resolved: int
    told_until: int
    branch: str | None
    url: str | None

    @property
    def document(self) -> dict[str, Any]:
        """The proposal as the contract shows it."""
        document: dict[str, Any] = json.loads(self.body)
        return document


class RequestRecord(NamedTuple):
    """One pull request, or patch."""

    agent: str
    branch: str
    channel: str
    state: str
    head: str | None
    number: int | None
    url: str | None
    commented: int
    reason: str | None


def stored(conn: Connection, agent: str | None = None, *, as_of: int | None = None) -> list[Proposal]:
    """Every proposal, or those of one agent, in the order they were first made; `as_of`: unless it changed later."""
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
    return [Proposal._make(row) for row in conn.execute(query)]


def requests(
    conn: Connection, agent: str | None = None, states: Sequence[str] | None = None
) -> list[RequestRecord]:
    """Every request, or those of one agent or in some states, oldest first."""
    own = pull_requests.c
    query: Select[Any] = (
        select(
            agents.c.name,
            own.branch,
            own.channel,
            own.state,
            own.head,
            own.number,
            own.url,
            own.commented,
            own.reason,
        )
        .join(agents, agents.c.key == own.agent)
        .order_by(own.key)
    )
    if agent is not None:
        query = query.where(own.agent == key_query(agent))
    if states is not None:
        query = query.where(own.state.in_(states))
    return [RequestRecord._make(row) for row in conn.execute(query)]


def begin(conn: Connection, agent: str, branch: str, channel: str, now: int) -> None:
    """A request on this branch is planned, unless one is known."""
    key = known_key(conn, agent)
    fresh = insert_into(conn, pull_requests).values(
        agent=key, branch=branch, channel=channel, state="planned", commented=0, changed_at=now
    )
    conn.execute(fresh.on_conflict_do_nothing())


def plan(
    conn: Connection,
    agent: str,
    branch: str,
    channel: str,
    amendments: Iterable[tuple[Mapping[str, Any], int]],
    told_until: int,
    now: int,
) -> None:
    """Note what is about to be proposed on a branch: (proposal, resolved citations) each.

    What stood on the branch and is proposed no more has no branch any more.
    """
    begin(conn, agent, branch, channel, now)
    key = known_key(conn, agent)
    rows = _rows(key, amendments, told_until, branch, now)
    waiting = and_(proposals.c.agent == key, proposals.c.branch == branch)
    dropped = and_(
        waiting,
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
    agent: int,
    amendments: Iterable[tuple[Mapping[str, Any], int]],
    told_until: int,
    branch: str | None,
    now: int,
) -> list[dict[str, Any]]:
    """What is proposed, (proposal, resolved citations) each, as rows."""
    return [
        {
            "agent": agent,
            "id": amendment["id"],
            "state": "proposed",
            "body": json.dumps(amendment, sort_keys=True),
            "resolved": resolved,
            "told_until": told_until,
            "branch": branch,
            "changed_at": now,
        }
        for amendment, resolved in amendments
    ]


def suggest(
    conn: Connection,
    agent: str,
    amendments: Iterable[tuple[Mapping[str, Any], int]],
    told_until: int,
    now: int,
) -> None:
    """A review proposes (proposal, resolved citations) each; what anybody was asked about already stays as it is."""
    key = known_key(conn, agent)
    rows = _rows(key, amendments, told_until, None, now)
    if rows:
        insertion = insert_into(conn, proposals)
        updates = {
            name: insertion.excluded[name] for name in ("body", "resolved", "told_until", "changed_at")
        }
        unasked = and_(proposals.c.state == "proposed", proposals.c.branch.is_(None))
        conn.execute(
            insertion.on_conflict_do_update(index_elements=["agent", "id"], set_=updates, where=unasked), rows
        )


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


def note_request(conn: Connection, agent: str, branch: str, now: int, **values: object) -> None:
    """Keep what is known of a live request: its state, head, number, url, reason. `open` opens its proposals too."""
    mine = and_(pull_requests.c.agent == key_query(agent), pull_requests.c.branch == branch)
    live = pull_requests.c.state.in_(LIVE)
    conn.execute(update(pull_requests).where(mine, live).values(changed_at=now, **values))
    if values.get("state") in {"open", "blocked"}:
        waiting = and_(proposals.c.branch == branch, proposals.c.state == "proposed")
        statement = update(proposals).where(proposals.c.agent == key_query(agent), waiting)
        conn.execute(statement.values(state="open", changed_at=now))


def settle_request(
    conn: Connection,
    agent: str,
    branch: str,
    verdict: str,
    now: int,
    rested_on: Mapping[str, int] | None = None,
    **values: object,
) -> bool:
    """A request was `merged` or `closed`: its proposals are merged or rejected. False when that was known.

    `rested_on` says of proposals how many citations the request's own text counted, where that is known.
    """
    mine = and_(pull_requests.c.agent == key_query(agent), pull_requests.c.branch == branch)
    live = pull_requests.c.state.in_(LIVE)
    changed = update(pull_requests).where(mine, live).values(state=verdict, changed_at=now, **values)
    if not conn.execute(changed).rowcount:
        return False
    became = "merged" if verdict == "merged" else "rejected"
    on_it = and_(
        proposals.c.agent == key_query(agent),
        proposals.c.branch == branch,
        proposals.c.state.in_(("proposed", "open")),
    )
    if rested_on:
        named = proposals.c.id.in_(list(rested_on))
        conn.execute(update(proposals).where(on_it, ~named).values(branch=None, changed_at=now))
        for name, resolved in rested_on.items():
            counted = update(proposals).where(on_it, proposals.c.id == name)
            conn.execute(counted.values(resolved=resolved))
    conn.execute(update(proposals).where(on_it).values(state=became, changed_at=now))
    return True


def judged(conn: Connection, agent: str, proposal: str, verdict: str, now: int) -> None:
    """Later citations have spoken of a merged proposal: `validated` or `refuted`."""
    mine = and_(proposals.c.agent == key_query(agent), proposals.c.id == proposal)
    conn.execute(
        update(proposals).where(mine, proposals.c.state == "merged").values(state=verdict, changed_at=now)
    )


def claim_comment(conn: Connection, agent: str, branch: str, now: int, lease: int) -> bool:
    """Whether the one comment on a request is ours to write now: nobody has, and nobody is about to."""
    own = pull_requests.c
    mine = and_(own.agent == key_query(agent), own.branch == branch, own.commented == 0)
    free = or_(own.comment_at.is_(None), own.comment_at <= now - lease, own.comment_at > now)
    claimed = update(pull_requests).where(mine, free).values(comment_at=now)
    return conn.execute(claimed).rowcount == 1


def commented(conn: Connection, agent: str, branch: str) -> None:
    """The comment stands there."""
    mine = and_(pull_requests.c.agent == key_query(agent), pull_requests.c.branch == branch)
    conn.execute(update(pull_requests).where(mine).values(commented=1))
