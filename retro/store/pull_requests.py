"""The requests in which proposals stand, one a branch, and how the proposals move with them.

A request is `planned` before anything leaves the house, with the commit that is about to be pushed; then `open`, or
`blocked` by a person's commit, and in the end `merged` or `closed`. Whoever is killed in between finds the plan, and
goes on from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict, Unpack

from sqlalchemy import Select, and_, or_, select, update

from retro.store.facts.agents import key_query, known_key
from retro.store.proposals import on_branch, proposals, pull_requests
from retro.store.schema import agents, insert_into

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from playbook import Amendment

__all__ = [
    "LIVE",
    "RequestFields",
    "RequestRecord",
    "begin",
    "claim_comment",
    "commented",
    "note",
    "plan",
    "settle",
    "stored",
]

LIVE: Final = ("planned", "open", "blocked")
"""The states of a request that may still change."""


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


class RequestFields(TypedDict, total=False):
    """What may be learnt of a request, as columns; what is left out stays as it is."""

    state: str
    head: str | None
    number: int
    url: str
    reason: str | None


class _ForgeFields(TypedDict, total=False):
    """What only the forge knows of a request that the ledger had not heard of."""

    number: int
    url: str


def stored(
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
    amendments: Iterable[Amendment],
    known_until: int,
    now: int,
) -> None:
    """Note what is about to be proposed on a branch, before anything leaves the house.

    What stood on the branch and is proposed no more has no branch any more.
    """
    begin(conn, agent, branch, channel, now)
    on_branch(conn, agent, branch, amendments, known_until, now)


def note(conn: Connection, agent: str, branch: str, now: int, **fields: Unpack[RequestFields]) -> None:
    """Keep what is known of a live request; `open` and `blocked` open its proposals too."""
    live = pull_requests.c.state.in_(LIVE)
    statement = update(pull_requests).where(_on(agent, branch), live)
    conn.execute(statement.values(changed_at=now, **fields))
    if fields.get("state") in {"open", "blocked"}:
        waiting = and_(proposals.c.branch == branch, proposals.c.state == "proposed")
        opening = update(proposals).where(proposals.c.agent == key_query(agent), waiting)
        conn.execute(opening.values(state="open", changed_at=now))


def settle(
    conn: Connection,
    agent: str,
    branch: str,
    state: str,
    now: int,
    rested_on: Mapping[str, int] | None = None,
    **fields: Unpack[_ForgeFields],
) -> bool:
    """A request was `merged` or `closed`: its proposals are merged or rejected. False when that was known.

    `rested_on` says of proposals how many citations the request's own text counted, where that is known: the owner
    answered what the text said, which may be older or newer than the ledger.
    """
    live = pull_requests.c.state.in_(LIVE)
    changed = update(pull_requests).where(_on(agent, branch), live)
    if not conn.execute(changed.values(state=state, changed_at=now, **fields)).rowcount:
        return False
    became = "merged" if state == "merged" else "rejected"
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


def claim_comment(conn: Connection, agent: str, branch: str, now: int, lease: int) -> bool:
    """Whether the one comment on a request is ours to write now: nobody has, and nobody is about to.

    `lease` in microseconds: whoever claimed it longer ago has died. A claim from the future was made by a clock that
    has gone back since, and counts as none.
    """
    own = pull_requests.c
    free = or_(own.comment_at.is_(None), own.comment_at <= now - lease, own.comment_at > now)
    claimed = update(pull_requests).where(_on(agent, branch), own.commented == 0, free).values(comment_at=now)
    return conn.execute(claimed).rowcount == 1


def commented(conn: Connection, agent: str, branch: str) -> None:
    """The comment stands there."""
    conn.execute(update(pull_requests).where(_on(agent, branch)).values(commented=1))


def _on(agent: str, branch: str) -> ColumnElement[bool]:
    return and_(pull_requests.c.agent == key_query(agent), pull_requests.c.branch == branch)
