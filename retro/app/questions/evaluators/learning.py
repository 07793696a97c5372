"""Is an agent still learning? Its last complete week against the one before, its rules' lives, its competence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from retro.app.questions.evaluators.context import signals_before
from retro.app.questions.evaluators.rule_lives import DatedRules, PlaybookPlace, dated_rules
from retro.app.reviews.build import review_period
from retro.app.reviews.decisions import weighed
from retro.app.settlement.settle import settled_book
from retro.evaluate.audit.bets import since_of
from retro.evaluate.meta.competence import competence_of
from retro.evaluate.meta.earnings import RuleEarnings
from retro.evaluate.meta.learning import generations, heritage_of, learning_report
from retro.evaluate.meta.progress import LearningFacts, Progress
from retro.evaluate.terms import AgeingTerms
from retro.model import Decision
from retro.periods import FOREVER, period_at, period_before
from retro.store.books.claims import claims_of
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.claims.record import ClaimHistory
    from retro.evaluate.meta.competence import Competence
    from retro.periods import Period
    from retro.report.evaluators.learning import Generations, LearningReport
    from retro.store.database import Store

__all__ = ["LearningQuestion", "Predecessor", "learning"]


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The agent that this one came after; `settings` None: the database does not know it."""

    name: str
    settings: AgentSettings | None
    place: PlaybookPlace


@dataclass(frozen=True, slots=True)
class LearningQuestion:
    """Whose learning, and what was told before when (microseconds; None: all)."""

    store: Store
    agent: str
    settings: AgentSettings
    place: PlaybookPlace
    terms: AgeingTerms = field(default_factory=AgeingTerms)
    predecessor: Predecessor | None = None
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class _Now:
    """`at` is K, or the `as_of` that stands in its place; what was told at `as_of` itself comes after `told_until`.

    Microseconds.
    """

    at: int
    told_until: int

    @classmethod
    def of(cls, book: SettledBook, as_of: int | None) -> _Now:
        """The now of an agent; a week that ends at it is over."""
        return cls(book.known_until, book.known_until) if as_of is None else cls(as_of, as_of - 1)


@dataclass(frozen=True, slots=True)
class _Schooling:
    """What is known of one agent: when it was first competent, and when its rules lived."""

    competence: Competence | None
    rules: DatedRules
    claims: ClaimHistory


def learning(question: LearningQuestion) -> LearningReport:
    """The report, as it was known before `as_of`."""
    settings, as_of = question.settings, question.as_of
    predecessor = question.predecessor
    other = None if predecessor is None else _of_predecessor(question.store, predecessor, as_of)
    with settled_book(question.store, question.agent, settings) as book:
        now = _Now.of(book, as_of)
        own = _schooling(book, question.place, as_of)
        facts = LearningFacts(
            claims=own.claims,
            earnings=RuleEarnings.of(book.history(_before(as_of)), since_of(settings.options.rules)),
            lives=own.rules.lives,
            decisions=weighed(book, signals_before(book, as_of)),
            competence=own.competence,
            predecessor=None if other is None else other.competence,
        )
        week = _last_week(book, now.at)
        score = None if week is None else review_period(book, week, as_of=now.told_until).effectiveness.score
        progress = Progress(facts, settings.zone, book.agent.first_at or 0)
    return learning_report(
        progress,
        facts,
        week,
        question.terms,
        now=now.at,
        effectiveness=score,
        descent=None if predecessor is None else _descent(predecessor, own, other),
        reasons={} if own.rules.reason is None else {"survival": own.rules.reason},
    )


def _before(as_of: int | None) -> int:
    """The first instant that is not known."""
    return FOREVER if as_of is None else as_of


def _of_predecessor(store: Store, predecessor: Predecessor, as_of: int | None) -> _Schooling | None:
    if predecessor.settings is None:
        return None
    with settled_book(store, predecessor.name, predecessor.settings, measured=False) as book:
        return _schooling(book, predecessor.place, as_of)


def _schooling(book: SettledBook, place: PlaybookPlace, as_of: int | None) -> _Schooling:
    before, until = _before(as_of), _Now.of(book, as_of).told_until
    claims = claims_of(book.conn, book.name).before(before)
    decided = sorted(at for at in events.instants(book.conn, book.name, Decision).values() if at < before)
    rules = dated_rules(book, place, book.positions_known(until), until)
    return _Schooling(competence_of(np.array(decided, dtype=np.int64), claims), rules, claims)


def _last_week(book: SettledBook, now: int) -> Period | None:
    """The last week that was over at an instant, if the agent had begun by its end."""
    week = period_before(period_at("weekly", now, book.settings.zone), book.settings.zone)
    return week if book.agent.first_at is not None and week.end > book.agent.first_at else None


def _descent(predecessor: Predecessor, own: _Schooling, other: _Schooling | None) -> Generations:
    inherited_from = heritage_of(*(() if other is None else other.rules.books))
    descent = generations(
        predecessor.name,
        own.competence,
        None if other is None else other.competence,
        heritage_of(*own.rules.books),
        inherited_from,
    )
    if other is None:
        reasons = descent.reasons | {"predecessor": f"the database knows no agent {predecessor.name}"}
        return descent.model_copy(update={"reasons": reasons})
    return descent
