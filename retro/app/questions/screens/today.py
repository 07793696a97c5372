"""Today: one look at everything that is stored, in one transaction; and the owner's word to have looked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.app.questions.screens import signs
from retro.app.questions.screens.month import month_money
from retro.app.questions.screens.ripening import last_readings, ripening_rows
from retro.app.reviews.fleet import FleetQuestion, agent_states, fleet_report
from retro.app.settlement.lookup import named_agent
from retro.app.settlement.settings import base_currency_of
from retro.kinds import POSITION
from retro.periods import DAY, day_of, format_instant, midnight, zone
from retro.report.today import (
    Arrivals,
    ClosedMoney,
    MindChange,
    MonthMoney,
    OwnerWish,
    ReversedLife,
    TodayReport,
)
from retro.store.books import pages
from retro.store.books.totals import totals_of
from retro.store.facts import agents as agent_store
from retro.store.jobs import cursors, results
from retro.store.jobs.looks import OwnerLook, last_look, note_look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date

    from sqlalchemy import Connection

    from retro.app.questions.screens.ripening import RuleReading
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.report.fleet import AgentState, AgentWeek
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.jobs.reviews import Review

__all__ = ["TodayQuestion", "mark_seen", "today"]

_ROWS: Final = 20
_WISHES: Final = 12
_MINDS: Final = 8
_RIPENING: Final = 6
_WEEKS: Final = 50
"""Agents whose two newest weeks are held against each other."""
_ARRIVALS: Final = 2000
_NAMED: Final = 8
_REVERSED: Final = 500
_FORTNIGHT: Final = 14
_NEVER_LOOKED: Final = "you have not said yet that you looked: retro today --seen"


@dataclass(frozen=True, slots=True)
class TodayQuestion:
    """Today at `now` (microseconds), of one agent or (None) of all."""

    now: int
    agent: str | None = None


def today(
    store: Store, config: Config, settings_for: Callable[[Agent], AgentSettings], question: TodayQuestion
) -> TodayReport:
    """The page of the morning, from one state of the database; nothing is settled or written."""
    with store.read() as conn:
        return _Morning.of(conn, config, question).report(settings_for)


def mark_seen(store: Store, at: int, digest: str) -> None:
    """The owner has seen the page of `at` (microseconds) with that digest: what comes after it is new the next time."""
    with store.write() as conn:
        note_look(conn, OwnerLook(at, digest))


@dataclass(frozen=True, slots=True)
class _Morning:
    """What every part of the page is read from."""

    conn: Connection
    config: Config
    question: TodayQuestion
    agents: tuple[Agent, ...]
    states: Mapping[str, AgentState]
    look: OwnerLook | None

    @classmethod
    def of(cls, conn: Connection, config: Config, question: TodayQuestion) -> _Morning:
        every = agent_store.agents(conn) if question.agent is None else [named_agent(conn, question.agent)]
        states = agent_states(conn, config, every, question.now)
        return cls(conn, config, question, tuple(every), states, last_look(conn))

    def report(self, settings_for: Callable[[Agent], AgentSettings]) -> TodayReport:
        rows = self._rows()
        wishes = self._wishes(rows)
        listed = wishes[:_WISHES]
        digest = _digest(wishes)
        minds, readings = self._minds()
        newest = last_readings(readings)
        ripening = ripening_rows(self.conn, self.config, self.agents, newest, self.question.now)
        names = {row.agent for row in rows[:_ROWS]}
        listed_agents = [agent for agent in self.agents if agent.name in names]
        life = self._reversed_life()
        month = month_money(self.conn, self.config, self.agents, self.question.now)
        books = signs.book_signs(self.conn, listed_agents, settings_for)
        return TodayReport(
            generated_at=format_instant(self.question.now),
            time_zone=self.config.owner.time_zone,
            agent=self.question.agent,
            agents=len(self.agents),
            since=None if self.look is None else format_instant(self.look.at),
            signs=signs.life_signs(
                self.conn, self.config, self.agents, self.states, self.question.now, playbooks=books.playbooks
            ),
            unsettled=books.unsettled,
            arrivals=self._never_looked() if self.look is None else self._since(self.look.at),
            wishes=listed,
            wishes_omitted=len(wishes) - len(listed),
            unchanged=self.look is not None and self.look.digest == digest,
            reversed_life=life,
            minds=minds[:_MINDS],
            minds_omitted=max(0, len(minds) - _MINDS),
            ripening=ripening[:_RIPENING],
            ripening_omitted=max(0, len(ripening) - _RIPENING),
            month=month,
            rows=rows[:_ROWS],
            omitted=max(0, len(rows) - _ROWS),
            next_review=signs.next_review(self.conn, self.question.now),
            digest=digest,
            reasons=self._reasons(life, month),
        )

    def _reasons(self, life: ReversedLife | None, month: MonthMoney | None) -> dict[str, str]:
        absent = {}
        if self.look is None:
            absent["since"] = _NEVER_LOOKED
        if life is None:
            absent["reversed_life"] = "no closed position of its turn ended otherwise than it began"
        if month is None:
            absent["month"] = "nothing was closed this month, or its money is of several currencies"
        return absent

    def _rows(self) -> list[AgentWeek]:
        """How each agent stands, those that want a person first."""
        question = FleetQuestion(self.question.now, limit=1_000_000)
        rows = fleet_report(self.conn, self.config, question).rows
        return [row for row in rows if self.question.agent in (None, row.agent)]

    # what wants a person

    def _wishes(self, rows: Iterable[AgentWeek]) -> list[OwnerWish]:
        wishes = [
            OwnerWish(agent=None, kind="source", text=f"a source cannot be read: {reason}")
            for reason in sorted(cursors.alarms(self.conn).values())
        ]
        wishes += [OwnerWish(agent=name, kind="ended", text="it has ended") for name in self._deaths()]
        for row in rows:
            wishes += [
                OwnerWish(agent=row.agent, kind=wish.kind, text=wish.text, review=_place(row, wish.kind))
                for wish in row.wishes
            ]
        return wishes

    def _deaths(self) -> list[str]:
        """Whoever has ended since the owner looked last; of an owner who never has, in the last fortnight."""
        since = self.question.now - _FORTNIGHT * DAY if self.look is None else self.look.at
        return [
            agent.name
            for agent in self.agents
            if self.states[agent.name] == "dead" and (agent.last_at or 0) > since
        ]

    # what came in

    def _never_looked(self) -> Arrivals:
        """Without a look to count from: what all positions made that were closed by now, by the sums of days."""
        today = day_of(self.question.now, zone(self.config.owner.time_zone)).toordinal()
        by_currency: dict[str, list[tuple[int, int, float, float]]] = {}
        for agent in self.agents:
            rows = [
                (t.closed, t.counted, t.pnl, t.vs_inaction)
                for t in totals_of(self.conn, agent.name)
                if t.day <= today
            ]
            by_currency.setdefault(base_currency_of(self.config, agent), []).extend(rows)
        money = [
            ClosedMoney(
                currency=currency,
                closed=sum(row[0] for row in rows),
                counted=sum(row[1] for row in rows),
                pnl=fsum(row[2] for row in rows),
                against_nothing=fsum(row[3] for row in rows),
            )
            for currency, rows in sorted(by_currency.items())
            if rows
        ]
        why = {"reviews": _NEVER_LOOKED, "corrected": _NEVER_LOOKED}
        return Arrivals(
            reviews=None, corrected=None, closed=sum(row.closed for row in money), money=money, reasons=why
        )

    def _since(self, since: int) -> Arrivals:
        finished = results.finished_since(self.conn, since, _ARRIVALS + 1, self.question.agent)
        if len(finished) > _ARRIVALS:
            why = f"more than {_ARRIVALS:,} reviews came in: retro reviews lists them"
            return Arrivals(
                reviews=None,
                corrected=None,
                closed=0,
                money=[],
                reasons={"reviews": why, "corrected": why, "money": why},
            )
        lives = [review for review in finished if review.kind == POSITION.name]
        return Arrivals(
            reviews=len(finished),
            corrected=[review.id for review in finished if review.revision > 1][:_NAMED],
            closed=len(lives),
            money=self._money(lives),
        )

    def _money(self, lives: Iterable[Review]) -> list[ClosedMoney]:
        currencies = {agent.name: base_currency_of(self.config, agent) for agent in self.agents}
        by_currency: dict[str, list[Review]] = {}
        for review in lives:
            by_currency.setdefault(currencies[review.agent], []).append(review)
        rows = []
        for currency, members in sorted(by_currency.items()):
            made = [review.result for review in members if review.result is not None]
            against = [review.against_nothing for review in members if review.against_nothing is not None]
            absent = {"pnl": made, "against_nothing": against}
            rows.append(
                ClosedMoney(
                    currency=currency,
                    closed=len(members),
                    counted=len(made),
                    pnl=fsum(made) if made else None,
                    against_nothing=fsum(against) if against else None,
                    reasons={name: "none of them has one" for name, values in absent.items() if not values},
                )
            )
        return rows

    # what was learned

    def _minds(self) -> tuple[list[MindChange], list[RuleReading]]:
        """Rules of which the newest week says another thing than the one before; and both weeks of every rule."""
        chosen = [agent.name for agent in self.agents if agent.last_at is not None][:_WEEKS]
        readings = results.newest_weeks(self.conn, chosen)
        last = {review.key for review, _ in last_readings(readings)}
        since = -1 if self.look is None else self.look.at
        before: dict[tuple[str, str, str], RuleReading] = {}
        changes = []
        for review, rule in readings:
            key = (review.agent, rule.rule, rule.role)
            if review.key not in last:
                before[key] = (review, rule)
                continue
            earlier = before.get(key)
            if earlier is None or (review.done_at or 0) <= since:
                continue
            was = earlier[1]
            if (was.verdict, was.evidence) != (rule.verdict, rule.evidence):
                changes.append(
                    MindChange(
                        agent=review.agent,
                        rule=rule.rule,
                        role=rule.role,
                        review=review.id,
                        before_verdict=was.verdict,
                        before_evidence=was.evidence,
                        verdict=rule.verdict,
                        evidence=rule.evidence,
                        n=rule.n,
                    )
                )
        return changes, readings

    # one life

    def _reversed_life(self) -> ReversedLife | None:
        """The largest reversal of the day before; on a quiet day an older one, none twice in 14 days.

        Lives older than a fortnight take turns: each has one of 14 days by a digest of its name.
        """
        tz = zone(self.config.owner.time_zone)
        day = day_of(self.question.now, tz)
        starts = {back: midnight(_days_before(day, back), tz) for back in (0, 1, _FORTNIGHT + 1)}
        turned = results.reversals(self.conn, starts[0], _REVERSED, self.question.agent)
        names = {agent.name for agent in self.agents}
        lives = [review for review in turned if review.agent in names]
        fresh = [review for review in lives if review.period_end >= starts[1]]
        turn = day.toordinal() % _FORTNIGHT
        older = [
            review for review in lives if review.period_end < starts[_FORTNIGHT + 1] and _turn(review) == turn
        ]
        largest = min(
            fresh or older, key=lambda row: (-(row.reversal or 0.0), row.agent, row.subject), default=None
        )
        return None if largest is None else self._life_of(largest)

    def _life_of(self, review: Review) -> ReversedLife | None:
        agent = next(agent for agent in self.agents if agent.name == review.agent)
        place = pages.place_of(self.conn, review.agent, review.subject)
        row = None if place is None else pages.position_at(self.conn, review.agent, place)
        if review.result is None or review.reversal is None:
            return None
        path = None if row is None or row.spark is None else list(row.spark)
        return ReversedLife(
            agent=review.agent,
            position=review.subject,
            review=review.id,
            closed_at=format_instant(review.period_end),
            currency=base_currency_of(self.config, agent),
            result=review.result,
            against_nothing=review.against_nothing,
            reversal=review.reversal,
            path=path,
            reasons={} if path is not None else {"path": "the book does not know it now"},
        )


def _days_before(day: date, back: int) -> date:
    return type(day).fromordinal(day.toordinal() - back)


def _turn(review: Review) -> int:
    """The day of a fortnight that is a life's own, whoever asks and whatever else there is."""
    digest = hashlib.sha256(f"{review.agent}/{review.subject}".encode()).digest()
    return digest[0] % _FORTNIGHT


def _place(row: AgentWeek, kind: str) -> str | None:
    return row.review if kind == "alarm" and row.revision is not None else None


def _digest(wishes: Iterable[OwnerWish]) -> str:
    """Of all that wants a person but for deaths, which want nothing more once they were seen."""
    lines = sorted(f"{wish.agent}\t{wish.kind}\t{wish.text}" for wish in wishes if wish.kind != "ended")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20]
