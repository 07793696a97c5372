"""What is owed: from the facts and the clock to rows of the ledger. It remembers nothing and heals everything.

Run at any moment, after any outage, any change of the clock or a restored backup, `materialise` brings the ledger to
the same rows: every period since the agent's first event but for those it slept through, every closed position, every
great loss, every death.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.engine.alarms import outdated_alarms
from retro.app.engine.calendar import Lifespan, next_end, owed_by_calendar
from retro.app.engine.losses import losses
from retro.app.settlement.grid import fix_grid
from retro.app.settlement.settle import settled_book
from retro.app.settlement.silence import dormant_from
from retro.errors import WithheldError
from retro.kinds import DEATH, LOSS, POSITION
from retro.model import Death
from retro.periods import DAY, SECOND, WEEK, day_of, midnight
from retro.store.books import shared_marks
from retro.store.facts import agents, events
from retro.store.jobs import enrolments, obligations, reviews
from retro.store.jobs.obligations import Obligation
from retro.store.jobs.reviews import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from retro.app.context import ReviewPolicy
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["enqueue_due"]

_FILLED: Final = frozenset({"spot", "perp"})


def enqueue_due(
    store: Store,
    settings_for: Callable[[Agent], AgentSettings],
    terms: ReviewPolicy,
    now: int,
    *,
    all_agents: bool = False,
    bucket: int | None = None,
) -> list[str]:
    """Bring the ledger up to date with facts and clock; the agents that were looked at.

    Only agents (of a bucket) for which something may have changed are, unless `all_agents`. `WithheldError` after all others where
    an agent's periods have a gap or overlap, or a row of it cannot be read.
    """
    with store.read() as conn:
        chosen = (
            [agent for agent in agents.agents(conn) if agent.first_at is not None]
            if all_agents
            else [agents.existing_agent(conn, name) for name in enrolments.unsettled(conn, now, bucket)]
        )
    broken: list[WithheldError] = []
    for agent in chosen:
        try:
            settings = settings_for(_on_its_grid(store, agent, settings_for))
            _bring_up_to_date(store, agent.name, settings, terms, now, bucket)
        except WithheldError as error:  # nothing was written for this agent; the others must not wait for it
            broken.append(error)
    with store.read() as conn:
        ripe = reviews.any_waited(conn, now, bucket)
        spent = bucket is None and shared_marks.has_spent_tellings(conn)
    if ripe or spent:
        with store.write() as conn:
            reviews.mark_due(conn, now, bucket=bucket)
            if spent:
                shared_marks.forget_tellings(conn)
    if broken:
        raise broken[0]
    return [agent.name for agent in chosen]


def _bring_up_to_date(
    store: Store,
    name: str,
    settings: AgentSettings,
    terms: ReviewPolicy,
    now: int,
    bucket: int | None,
) -> None:
    _watch(store, name, now)
    with settled_book(store, name, settings) as book:
        conn, life = book.conn, _life_of(book.conn, book.agent)
        # only now: settling with shared marks that are new says since when losses are to be looked for
        enrolment = enrolments.existing_enrolment(conn, name)
        owed = [
            *owed_by_calendar(book, terms, life, now, enrolment.enrolled_at),
            *_losses(book, terms, enrolment, now),
        ]
        of_events = _death(life, terms, settings, enrolment.enrolled_at)
        if terms.positions:
            of_events += [
                _position(row, terms, enrolment.enrolled_at)
                for row in obligations.unreviewed_positions(conn, name)
            ]
        kinds = {obligation.kind for obligation in of_events}
        subjects = {kind: obligations.subjects(conn, name, kind) for kind in kinds}
        outdated = outdated_alarms(book, terms, enrolment.losses_from)
        rest = dormant_from(book.agent.last_at or life.birth, settings.zone, terms.dormant_weeks)
    with store.write() as conn:
        fresh = [each for each in of_events if each.subject not in subjects[each.kind]]
        obligations.insert(conn, name, [*owed, *fresh])
        for obligation in of_events:
            if obligation.subject in subjects[obligation.kind]:
                obligations.reschedule(conn, name, obligation)
        reviews.look_again(conn, outdated)
        reviews.mark_due(conn, now, bucket=bucket)
        if terms.catch_up == "latest":
            obligations.skip_superseded(conn, name, now, "passed over: catch_up = latest")
        enrolments.looked(conn, name, enrolment, next_end(settings, terms, life, now, rest=rest))


def _on_its_grid(store: Store, agent: Agent, settings_for: Callable[[Agent], AgentSettings]) -> Agent:
    """The agent with the grid its reviews keep: the first look at it fixes that."""
    if agent.grid is not None:
        return agent
    with store.write() as conn:
        fix_grid(conn, agents.existing_agent(conn, agent.name), settings_for(agent))
        return agents.existing_agent(conn, agent.name)


def _watch(store: Store, agent: str, now: int) -> None:
    with store.read() as conn:
        enrolment = enrolments.enrolment(conn, agent)
    if enrolment is None or enrolment.enrolled_at > now:
        with store.write() as conn:
            enrolments.enrol(conn, agent, now)


# events


def _position(row: tuple[str, str, int, int], terms: ReviewPolicy, enrolled_at: int) -> Obligation:
    """A closed position: once at its close, and once more when what came after it can be judged."""
    name, kind, opened_at, closed_at = row
    holding_time = min(closed_at - opened_at, WEEK)
    return Obligation(
        kind=POSITION.name,
        subject=name,
        key=name,
        start=opened_at,
        end=closed_at,
        due_at=closed_at,
        again_at=closed_at + holding_time + terms.lag if kind in _FILLED and holding_time > 0 else None,
        backfill=closed_at < enrolled_at,
    )


def _losses(
    book: SettledBook, terms: ReviewPolicy, enrolment: enrolments.Enrolment, now: int
) -> Iterator[Obligation]:
    """A review of the day up to and with the action."""
    if enrolment.losses_from is None:
        return
    zone = book.settings.zone
    reviewed = obligations.subjects(book.conn, book.name, LOSS.name)  # whatever grid its day was cut on
    for loss in losses(book, enrolment.losses_from, now + DAY, terms.loss_pct):
        if loss.name in reviewed:
            continue
        end = (loss.end // SECOND + 1) * SECOND
        yield Obligation(
            kind=LOSS.name,
            subject=loss.name,
            key=loss.name,
            start=midnight(day_of(loss.start, zone), zone),
            end=end,
            due_at=end,
            backfill=end <= enrolment.enrolled_at,
        )


def _life_of(conn: Connection, agent: Agent) -> Lifespan:
    birth = agent.first_at or 0
    death = events.first_of(conn, agent.name, Death)
    if death is None:
        return Lifespan(birth)
    still_open, last_closed = obligations.lifespan(conn, agent.name)
    last = max(death.at, last_closed or 0)
    return Lifespan(birth, death.at, None if still_open else (last // SECOND + 1) * SECOND, still_open)


def _death(
    life: Lifespan, terms: ReviewPolicy, settings: AgentSettings, enrolled_at: int
) -> list[Obligation]:
    """A review of the whole life, as soon as nothing of it is open any more."""
    if life.died_at is None:
        return []
    start = midnight(day_of(life.birth, settings.zone), settings.zone)
    end = life.ended_at if life.ended_at is not None else (life.died_at // SECOND + 1) * SECOND
    count = life.open_positions
    return [
        Obligation(
            kind=DEATH.name,
            subject="",
            key="",
            start=start,
            end=end,
            due_at=NEVER if life.ended_at is None else end + terms.lag,
            backfill=end <= enrolled_at,
            reason=f"waits until {count} open position{'s are' if count > 1 else ' is'} settled"
            if count
            else None,
        ),
    ]
