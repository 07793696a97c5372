"""One rule over its weeks, read off what their reviews said of it; nothing is audited anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.settings import base_currency_of
from retro.errors import UnknownError
from retro.periods import format_instant
from retro.report import RetrospectiveReport
from retro.report.document import read
from retro.report.heuristic import RuleBiography, RuleChapter, ToldWeek
from retro.store.jobs import results
from retro.store.jobs.grids import calendar_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.questions.screens.ripening import RuleReading
    from retro.config import Config
    from retro.report import HeuristicReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["rule_biography"]

_PUT_AWAY = "the text of its newest week was put away"


def rule_biography(
    store: Store, config: Config, agent: Agent, rule: str, as_of: int | None = None
) -> RuleBiography:
    """What every reviewed week of an agent says of one rule; `UnknownError` where none does.

    At `as_of` it is what weeks said whose newest revision was finished by then.
    """
    with store.read() as conn:
        readings = [
            reading
            for reading in results.weeks_of_rule(conn, agent.name, rule)
            if as_of is None or (reading[0].done_at or 0) <= as_of
        ]
        if not readings:
            raise UnknownError(
                f"no reviewed week of {agent.name} tells of a rule {rule!r}; `retro playbook audit` lists its rules"
            )
        newest = readings[-1][0]
        text = results.texts_of(conn, [newest]).get(newest.key)
    document = None if text is None else read(text, newest.kind)
    rows = document.heuristic_performance if isinstance(document, RetrospectiveReport) else []
    own: dict[str, HeuristicReport] = {row.role: row for row in rows if row.heuristic_id == rule}
    wording = next((row.heuristic_text for row in own.values()), None)
    why = _PUT_AWAY if text is None else "the playbook has no such rule: it is a tag, or was taken out"
    return RuleBiography(
        agent=agent.name,
        rule=rule,
        text=wording,
        base_currency=base_currency_of(config, agent),
        review=newest.id,
        period_end=format_instant(newest.period_end),
        chapters=[_chapter(role, readings, own.get(role)) for role in sorted({r.role for _, r in readings})],
        reasons={} if wording is not None else {"text": why},
    )


def _chapter(role: str, readings: Sequence[RuleReading], newest: HeuristicReport | None) -> RuleChapter:
    weeks = [_week(reading) for reading in readings if reading[1].role == role]
    why = "its newest week tells of it in another role alone, or was put away"
    return RuleChapter(
        role=role, newest=newest, weeks=weeks, reasons={} if newest is not None else {"newest": why}
    )


def _week(reading: RuleReading) -> ToldWeek:
    review, rule = reading
    absent = {} if rule.mean is not None else {"mean": "no outcome of a complete week is known"}
    return ToldWeek(
        review=review.id,
        week=calendar_key(review.period_key),
        n=rule.n,
        mean=rule.mean,
        low=rule.low,
        high=rule.high,
        unit=rule.unit,
        verdict=rule.verdict,
        evidence=rule.evidence,
        e_against=rule.e_against,
        e_for=rule.e_for,
        reasons=absent,
    )
