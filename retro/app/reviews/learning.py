"""Whether an agent still learns, as its weekly and epoch reviews say it: what a period changed of it, and what alarms.

Read from the weeks that are compared, however long the life is. Rules live here as the playbook and merged proposals tell:
a review waits for no repository and asks of no predecessor, as `retro learning` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.app.reviews.decisions import weighed
from retro.evaluate.audit.bets import since_of
from retro.evaluate.audit.history import identity
from retro.evaluate.claims.confidence import ALARM_FROM, error_in_use
from retro.evaluate.claims.record import ClaimHistory
from retro.evaluate.claims.signals import signals_of
from retro.evaluate.meta.earnings import RuleEarnings
from retro.evaluate.meta.learning import absent_groups, time_of
from retro.evaluate.meta.progress import Progress, WeekStanding, week_errors, week_standing
from retro.evaluate.meta.rule_lives import Birthdays, RuleLives, first_citations, lives_by_proposals
from retro.evaluate.position.foresight import cites_of
from retro.model import Decision, Prediction, Resolution
from retro.periods import WEEK, period_at, period_before
from retro.report import LearningChange
from retro.report.evaluators.claims import ANY
from retro.store import proposals
from retro.store.books.claims import claims_since
from retro.store.books.competence import competence_of_life
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.reviews.window import Window
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.claims.signals import DecisionSignal
    from retro.evaluate.claims.totals import ClaimTotals
    from retro.evaluate.inputs import Inputs
    from retro.evaluate.position.summary import PositionSummary
    from retro.periods import Period
    from retro.store.books.claims import ClaimStretch

__all__ = ["BookWeeks", "WindowClaims", "learning_change", "merged_lives"]

_MERGED: Final = frozenset({"merged", "validated", "refuted", "undecided"})
_NO_DESCENT: Final = {"groups.generations": "`retro learning` says it: a review asks of no predecessor"}
_MOST_WEEKS: Final = 52
"""A run of negative weeks is followed back so far: what it costs has an end."""


def learning_change(
    book: SettledBook, window: Window, inputs: Inputs, claims: WindowClaims
) -> LearningChange | None:
    """What the last week of a window's period says against the one before; None where nothing can be said."""
    terms, zone, until, start = book.settings.ageing, book.settings.zone, window.until, window.period.start
    if not terms.enabled or not (claims.totals[until].keys or book.settings.playbook):
        return None
    lives = _lives(book, until - 1)
    half_life, before = (lives.survival(at - 1).half_life for at in (until, start))
    competence = competence_of_life(book.conn, book.name)
    is_new = competence is not None and start <= competence.at < until
    week = period_before(period_at("weekly", window.period.end, zone), zone)
    earnings = RuleEarnings.of(inputs.history, since_of(book.settings.options.rules))
    weeks = BookWeeks(book, until, inputs, lives, claims, earnings)
    progress = Progress(weeks, zone, book.agent.first_at or 0)
    score = progress.score(week)
    if score is None and not is_new and half_life == before:
        return None
    run, groups = progress.negative_weeks(week, _MOST_WEEKS), progress.groups(week)
    reasons = absent_groups(groups) | _NO_DESCENT
    if score is None:
        reasons["score"] = "insufficient: fewer than 3 groups known in both weeks"
    if half_life is None:
        reasons["half_life_days"] = "more than half of the rules live on, or nobody knows since when any does"
    return LearningChange(
        week=week.key,
        score=score,
        groups=groups,
        negative_weeks=run,
        ageing_multiplier=terms.multiplier(run),
        alarm=run >= terms.negative_weeks,
        competence=time_of(competence) if is_new else None,
        half_life_days=half_life,
        half_life_before=before,
        reasons=reasons,
    )


def _lives(book: SettledBook, now: int) -> RuleLives:
    """The lives of the playbook's rules; citations are read only for rules that do not say since when they stand."""
    playbook, settings = book.settings.playbook, book.settings
    if playbook is None:
        return RuleLives()
    cited = {}
    if any(rule.since is None and rule.status != "candidate" for rule in playbook.heuristics):
        cited = first_citations(book.positions_known(now), settings.options.rules.claims)
    birthdays = Birthdays(settings.zone, {rule: at for rule, at in cited.items() if at <= now})
    return merged_lives(book, birthdays, now)


def merged_lives(book: SettledBook, birthdays: Birthdays, now: int) -> RuleLives:
    """What the playbook and the proposals merged by an instant say of its rules."""
    merged = [
        (proposal.known_until, proposal.amendment)
        for proposal in proposals.stored(book.conn, book.name)
        if proposal.state in _MERGED and proposal.known_until <= now
    ]
    return lives_by_proposals(book.settings.playbook, merged, birthdays)


@dataclass(slots=True)
class WindowClaims:
    """The claims that resolved before a window's end, and how all stood at some instants."""

    stretch: ClaimStretch
    totals: dict[int, ClaimTotals]


@dataclass(slots=True)
class BookWeeks:
    """The weeks of a life as they were known before `until`: those of the window's inputs, and earlier ones one by one."""

    book: SettledBook
    until: int
    inputs: Inputs
    lives: RuleLives
    claims: WindowClaims
    earnings: RuleEarnings
    decisions: tuple[int, dict[int, Decision]] | None = None
    """What was decided from an instant on, by the `identity` of the id."""
    earlier_rows: tuple[int, list[PositionSummary]] | None = None
    """Positions that were open or resolved since an instant before those of the window."""

    @property
    def possible(self) -> int:
        """How many groups there can be anything of: all but what a predecessor makes."""
        return 4

    def generations(self, at: int) -> float | None:  # noqa: ARG002  a week of any instant
        """None: a review says nothing that rests on another agent's facts."""
        return None

    def standing(self, week: Period) -> WeekStanding:
        """What a week and all before it say."""
        book, end = self.book, min(week.end, self.until)
        claims = self._claims_from(week.start)
        totals = self.claims.totals.get(end)
        if totals is None:
            totals = claims.at(end, book.settings.claims.ring.size)
        errors, calibration = dict[str, float](), dict[str, float]()
        for category, records in claims.claims.by_category():
            errors |= week_errors(category, records, week)
        for key, row in totals.ordered():
            if key.regime == ANY:
                error = error_in_use(row.stated, row.worth)
                if error.ece is not None and error.n >= ALARM_FROM:
                    calibration[key.category] = error.ece
        signals = [each for each in self._signals(week, end) if week.start <= each.resolved_at < week.end]
        earning = self.earnings.share(self.lives.living(week.end), week.end)
        half_life = self.lives.survival(week.end).half_life
        return week_standing(errors, calibration, weighed(book, signals), earning, half_life)

    def _signals(self, week: Period, end: int) -> list[DecisionSignal]:
        """How decisions turned out of which some word came in a week, as known before `until`.

        Those that cited nothing and had nothing in front of them are left out: no group counts them.
        """
        book, stretch = self.book, self._claims_from(week.start).claims
        judged = stretch.records[~np.isnan(stretch.records["verdict"]) & (stretch.records["decision"] != 0)]
        judged = judged[(judged["resolved_at"] >= week.start) & (judged["resolved_at"] < end)]
        rows = {
            row.position: row
            for row in self._rows_from(week.start)
            if any(at is not None and week.start <= at < end for at in (row.closed_at, row.exit_resolved_at))
        }
        first = min(week.start, int(judged["at"].min(initial=week.start)))
        # what was entered a little earlier is read with the rest
        first = min([first, *(row.opened_at for row in rows.values() if row.opened_at >= first - WEEK)])
        named = {*judged["decision"].tolist()}
        decided = self._decided_from(first)
        decisions = [
            decision for number, decision in decided.items() if number in named or decision.position in rows
        ]
        if not named <= decided.keys():
            decisions += self._named_by_predictions(week.start, end)
        entered = sorted(row.position for row in rows.values() if row.opened_at < first)
        if entered:
            facts = book.life.of_positions(entered, until=self.until - 1)
            decisions += [fact for fact in facts if isinstance(fact, Decision)]
        decisions = [each for each in decisions if cites_of(each) or each.context_items]
        if not decisions:
            return []
        reach = min(decision.at for decision in decisions)
        if reach < self.claims.stretch.start:
            stretch = self._claims_from(reach).claims
        outcome = book.settings.options.rules.entry_outcome
        distinct = {identity(d.id): d for d in decisions if d.at < self.until}
        about = stretch.records[np.isin(stretch.records["decision"], [*distinct])]
        spoke = ClaimHistory(stretch.names, about)
        return signals_of(distinct.values(), spoke, rows, outcome, self.until)

    def _reach(self, start: int) -> int:
        """From when on is read what a week calls for: half as far back again, so that a run of weeks takes a few readings."""
        return start - (self.inputs.period.end - start) // 2

    def _claims_from(self, start: int) -> ClaimStretch:
        if start < self.claims.stretch.start:
            stretch = claims_since(self.book.conn, self.book.name, self._reach(start), self.until)
            self.claims = WindowClaims(stretch, self.claims.totals)
        return self.claims.stretch

    def _rows_from(self, start: int) -> list[PositionSummary]:
        """Positions that were open or resolved since; the window's own reach back to the week before its own."""
        before = self.inputs.week_before
        if before is not None and before[0] <= start:
            return [*self.inputs.rows]
        if self.earlier_rows is None or start < self.earlier_rows[0]:
            end, first = self.inputs.period.end, self._reach(start)
            rows = self.book.positions_known(self.until - 1, opened_before=end, since=first)
            self.earlier_rows = first, rows
        return self.earlier_rows[1]

    def _decided_from(self, first: int) -> dict[int, Decision]:
        if self.decisions is None:
            own = self.inputs.period.start  # what the window's own period decided, it has read
            earlier = self.book.life.between(first, min(own, self.until), types=[Decision])
            later = [] if first < own else self.book.life.between(own, self.until, types=[Decision])
            decisions = [*earlier, *(self.inputs.decisions if first < own else later)]
            self.decisions = first, {identity(decision.id): decision for decision in decisions}
        elif first < self.decisions[0]:
            first, (end, known) = self._reach(first), self.decisions
            earlier = self.book.life.between(first, end, types=[Decision])
            self.decisions = first, {identity(decision.id): decision for decision in earlier} | known
        return self.decisions[1]

    def _named_by_predictions(self, start: int, end: int) -> list[Decision]:
        """The decisions of the predictions that resolved in [start, end), whenever they were made."""
        book = self.book
        resolved = {word.prediction for word in book.life.between(start, end, types=[Resolution])}
        predictions = events.by_ids(book.conn, book.name, Prediction, sorted(resolved))
        named = {prediction.decision for prediction in predictions if prediction.decision is not None}
        return events.by_ids(book.conn, book.name, Decision, sorted(named))
