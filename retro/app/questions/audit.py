"""What citing each heuristic led to over a life, week by week, and when each can be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.questions.document import documents_of
from retro.app.questions.experience import MemoryQuestion, facts_and_settings
from retro.app.questions.lists.filters import RULES, owner_selection
from retro.app.questions.lists.rules import rule_places
from retro.app.settlement.audit import audit_life, citations_of_life
from retro.app.settlement.settle import settled_book
from retro.periods import day_of, parse_instant, week_name, week_of, week_start
from retro.report.heuristic import Ripeness
from retro.store.conditions import EVERY_ROW

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from retro.app.questions.experience import Experience
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.bets import WeekLook
    from retro.report import HeuristicReport
    from retro.store.conditions import Selection
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = [
    "AuditQuestion",
    "AuditedLife",
    "audit_document",
    "audited",
    "narrowed_audit_document",
    "ripening",
    "ripening_document",
    "row_document",
    "selected_life",
]


@dataclass(frozen=True, slots=True)
class AuditedLife:
    """The audit of a life, known until an instant: rows, and of each every complete week since its text stands.

    `weeks` are in the order of `rows`; none where they were not asked for.
    """

    rows: list[HeuristicReport]
    weeks: list[list[WeekLook]]
    known_until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuestion(MemoryQuestion):
    """The audit of one agent's life; `history`: with every complete week. `selection` narrows and orders its rows."""

    history: bool = False
    selection: Selection = EVERY_ROW


def audit_document(experience: Experience, question: AuditQuestion) -> list[dict[str, Any]]:
    """The rows as `retro playbook audit --json` prints them, by the playbook that the configuration names."""
    agent, settings = facts_and_settings(experience, question.agent)
    life = audited(experience.store, agent, settings, as_of=question.as_of, history=question.history)
    life = selected_life(life, question.selection)
    if not question.history:
        return [row_document(row) for row in life.rows]
    return [row_document(row, weeks) for row, weeks in zip(life.rows, life.weeks, strict=True)]


def narrowed_audit_document(
    experience: Experience, where: str, *, agent: str, as_of: int | None, history: bool
) -> list[dict[str, Any]]:
    """The same of the rules that a filter asks for; `FilterError` names the word of it that makes no sense."""
    selection = owner_selection(experience.config, where, RULES)
    question = AuditQuestion(agent=agent, as_of=as_of, history=history, selection=selection)
    return audit_document(experience, question)


def selected_life(life: AuditedLife, selection: Selection) -> AuditedLife:
    """The rows that a selection asks for, in its order, each with its weeks."""
    places = rule_places(life.rows, selection)
    weeks = [life.weeks[place] for place in places] if life.weeks else []
    return AuditedLife([life.rows[place] for place in places], weeks, life.known_until)


def ripening_document(experience: Experience, question: MemoryQuestion) -> list[dict[str, Any]]:
    """What `retro playbook ripening --json` prints."""
    agent, settings = facts_and_settings(experience, question.agent)
    return documents_of(ripening(experience.store, agent, settings, as_of=question.as_of))


def audited(
    store: Store, agent: Agent, settings: AgentSettings, *, as_of: int | None = None, history: bool = False
) -> AuditedLife:
    """The audit of a whole life, as it is known now or was at `as_of`; `history`: with every complete week."""
    with settled_book(store, agent.name, settings) as book:
        life = citations_of_life(book, as_of=as_of)
        rows = audit_life(book, life, as_of=as_of)
    weeks: list[list[WeekLook]] = []
    if history:
        weeks = [
            []
            if row.evidence_since is None
            else life.bets.looks(
                (row.heuristic_id, row.role), parse_instant(row.evidence_since), life.rules.thresholds
            )
            for row in rows
        ]
    return AuditedLife(rows, weeks, life.known_until)


def row_document(row: HeuristicReport, weeks: list[WeekLook] | None = None) -> dict[str, Any]:
    """A row as `retro playbook audit --json` prints it, with its weeks where they were asked for."""
    document = row.model_dump(mode="json")
    if weeks is not None:
        document["weeks"] = [
            {
                "week": week_name(week.week),
                "n": week.n,
                "x": week.x,
                "e_against": week.e_against,
                "e_for": week.e_for,
                "evidence": week.grade,
                "recommendation": week.kind,
            }
            for week in weeks
        ]
    return document


def ripening(
    store: Store, agent: Agent, settings: AgentSettings, *, as_of: int | None = None
) -> list[Ripeness]:
    """When each heuristic that is cited can be judged at the rate at which it holds something."""
    life = audited(store, agent, settings, as_of=as_of)
    return [_ripeness(row, life.known_until, settings.zone) for row in life.rows]


def _ripeness(row: HeuristicReport, known_until: int, zone: ZoneInfo) -> Ripeness:
    weeks, date = row.weeks_to_verdict, None
    reasons: dict[str, str] = {
        name: why for name, why in row.reasons.items() if name in {"weeks_to_verdict", "stopped_working"}
    }
    if weeks is None:
        reasons["date"] = reasons.get("weeks_to_verdict", "not known")
    else:
        over = week_start(week_of(known_until, zone) + weeks, zone)
        date = day_of(over, zone).isoformat()
    stopped = None if row.stopped_working is None else row.stopped_working.model_dump(mode="json")
    return Ripeness(row.heuristic_id, row.role, row.bets, weeks, date, stopped, reasons)
