"""Signs of life: who acted last, how old marks and sources are, when the service knocked, and what books do not know yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.app.questions.metrics import changed_at
from retro.errors import InputError
from retro.periods import SECOND, format_instant
from retro.report.today import LifeSign, NextReview
from retro.store.books import shared_marks
from retro.store.books.positions import book_of
from retro.store.facts import counts
from retro.store.facts.series import newest_mark
from retro.store.jobs import backlog, cursors, enrolments, results
from retro.store.jobs.hosts import hosts_of_database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.report.fleet import AgentState
    from retro.store.facts.agents import Agent

__all__ = ["BookLag", "BookSigns", "book_lag", "book_signs", "life_signs", "next_review"]

_LATE: Final = 600 * SECOND
_AHEAD: Final = 3600 * SECOND
"""How far another clock may be ahead of ours before what it dates counts as later."""
_KNOCKS: Final = 5
"""Knocks that a service may miss before it is called late; ten minutes at least."""
_COUNTED: Final = 1000
_BOOKS: Final = 20
"""Books that are asked whether they are behind; beyond them the knock says it."""
_SOURCES: Final = 8


class BookLag(NamedTuple):
    """What a book does not know yet: so many facts, counted to a thousand; None: it follows other settings."""

    facts: int | None


def book_lag(conn: Connection, agent: str, settings: AgentSettings) -> BookLag | None:
    """What an agent's book does not know yet; None where it speaks for all facts."""
    if shared_marks.is_settled(conn, agent, settings.fingerprint):
        return None
    book = book_of(conn, agent)
    if book is None:
        return BookLag(counts.since(conn, agent, 0, _COUNTED))
    if book.dirty_from is None:
        return BookLag(None)
    return BookLag(counts.since(conn, agent, book.dirty_from, _COUNTED))


class BookSigns(NamedTuple):
    """Agent -> the facts that its book does not know yet, of those that are behind; and playbooks that cannot be read."""

    unsettled: dict[str, int | None]
    playbooks: list[LifeSign]


def book_signs(
    conn: Connection, agents: Sequence[Agent], settings_for: Callable[[Agent], AgentSettings]
) -> BookSigns:
    """How far books are behind; whether that of an agent without its playbook is, nobody can say."""
    signs = BookSigns({}, [])
    for agent in agents[:_BOOKS]:
        try:
            lag = book_lag(conn, agent.name, settings_for(agent))
        except InputError as error:
            signs.playbooks.append(_of_playbook(agent.name, error))
            continue
        if lag is not None:
            signs.unsettled[agent.name] = lag.facts
    return signs


def _of_playbook(agent: str, error: InputError) -> LifeSign:
    return LifeSign(
        kind="playbook",
        name=agent,
        at=None,
        state="broken",
        mend="put it there, or name another",
        reasons={"at": f"{error}; until then nothing of its agent is settled"},
    )


def life_signs(
    conn: Connection,
    config: Config,
    agents: Sequence[Agent],
    states: Mapping[str, AgentState],
    now: int,
    *,
    playbooks: Sequence[LifeSign] = (),
) -> list[LifeSign]:
    """What is broken first, then what is late, then what is well; `playbooks`: those that cannot be read."""
    signs = [_of_service(conn, config, now), *playbooks, *_of_sources(conn, config)]
    if agents:
        signs += [_of_agents(agents, states, now), _of_marks(conn, now)]
    order = ("broken", "late", "well")
    return sorted(signs, key=lambda sign: order.index(sign.state))


def _of_agents(agents: Sequence[Agent], states: Mapping[str, AgentState], now: int) -> LifeSign:
    """The newest event of all; late where every one of them is dormant. Who looks back from before it is told so."""
    newest = max(agents, key=lambda agent: (agent.last_at or 0, agent.name))
    lively = any(states[agent.name] in {"awake", "dead"} for agent in agents)
    return LifeSign(
        kind="agent",
        name=newest.name,
        **_told(newest.last_at, now, "nothing is told yet", "it acted after this"),
        state="well" if lively else "late",
        mend="" if lively else "look whether it still writes its journal, and whether its source is read",
    )


def _told(at: int | None, now: int, absent: str, after: str) -> dict[str, Any]:
    """When a sign was given, or why it has no age: it never was, or after the instant that is looked at."""
    if at is None or at > now + _AHEAD:
        return {"at": None, "reasons": {"at": absent if at is None else after}}
    return {"at": format_instant(at)}


def _of_marks(conn: Connection, now: int) -> LifeSign:
    newest = newest_mark(conn)
    return LifeSign(
        kind="marks",
        name="marks",
        **_told(newest, now, "no mark is told", "the newest came after this"),
        state="well",
    )


def _of_service(conn: Connection, config: Config, now: int) -> LifeSign:
    hosts = hosts_of_database(conn)
    if not hosts:
        return LifeSign(
            kind="service",
            name="service",
            at=None,
            state="broken",
            mend="retro run",
            reasons={"at": "it has never run"},
        )
    newest = max(hosts, key=lambda host: host.knocked_at)
    patience = max(_LATE, round(_KNOCKS * config.service.knock_seconds * SECOND))
    late = now - newest.knocked_at > patience
    return LifeSign(
        kind="service",
        name=newest.name,
        **_told(newest.knocked_at, now, "", "it knocked after this"),
        state="broken" if late else "well",
        mend="retro run" if late else "",
    )


def _of_sources(conn: Connection, config: Config) -> list[LifeSign]:
    """The files of each source by their age on this machine, and what stands in the way of any."""
    signs = [
        LifeSign(
            kind="source",
            name=reason,
            at=None,
            state="broken",
            mend="retro doctor",
            reasons={"at": "it cannot be read"},
        )
        for reason in sorted(cursors.alarms(conn).values())
    ]
    for source in config.source[:_SOURCES]:
        at = changed_at(source)
        signs.append(
            LifeSign(
                kind="source",
                name=str(source.path),
                at=None if at is None else format_instant(round(at * SECOND)),
                state="late" if at is None else "well",
                mend="" if at is not None else "look at [[source]] in the configuration",
                reasons={} if at is not None else {"at": "no file of it is on this machine"},
            )
        )
    return signs


def next_review(conn: Connection, now: int) -> NextReview:
    """When the next can be made, and how many can be already."""
    due = backlog.count_due(conn, now)
    instants = [at for at in (results.next_due(conn, now), enrolments.next_end(conn)) if at is not None]
    soonest = min((at for at in instants if at > now), default=None)
    return NextReview(
        at=None if soonest is None else format_instant(soonest),
        due=due,
        reasons={} if soonest is not None else {"at": "nothing ends for an agent that is awake"},
    )
