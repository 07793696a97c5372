"""All agents, and each of them; what works. Nothing here computes, settles or writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.questions import agents as agent_questions
from retro.app.questions import fleet as fleet_questions
from retro.app.questions import positions as position_questions
from retro.app.questions import reviews as review_questions
from retro.app.questions.bounds import ListBounds
from retro.kinds import DAILY, WEEKLY
from retro.present.formats import page_of, render
from retro.present.json_parts import data_as_json
from retro.present.links import command_of, segment
from retro.present.page.blocks import FIRST_COMMANDS, NOBODY, absence_page
from retro.present.page.screens.pages import agent_page, findings_page
from retro.present.page.screens.summaries import summary_section
from retro.present.references import AgentReference, ScreenReference
from retro.present.screen import ScreenPlace, ScreenStep
from retro.report import RetrospectiveReport
from retro.safe import clean
from retro.store.conditions import ColumnCondition, Selection
from retro.surface.screens.answer import Answer
from retro.surface.screens.lens import as_of_request, now_of_request
from retro.surface.screens.steps import list_steps

if TYPE_CHECKING:
    from retro.app.questions.reviews import Stored
    from retro.present.page.blocks import Section
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["agent", "fleet", "service"]

_LATEST: Final = 10
_LOOKED_THROUGH: Final = 40
"""Reviews of a kind among which one is looked for that came to something: five weeks of days."""


def fleet(house: House, request: Request) -> Answer:
    """Every agent, those that want a person first."""
    question = fleet_questions.FleetQuestion(now_of_request(house, request), week=request.query.get("week"))
    report = fleet_questions.fleet(house.store, house.config, question)
    if not report.agents:
        return Answer(absence_page("The agents", NOBODY, FIRST_COMMANDS), render(report, "json"))
    return Answer(page_of(clean(report)), render(report, "json"), command="retro fleet")


def agent(house: House, request: Request) -> Answer:
    """When an agent lived, and the newest of what there is of it."""
    (name,) = request.names
    record = house.agent(name)
    settings = house.settings_for(record)
    row = agent_questions.stored_agent(house.store, record, settings, house.config, house.clock())
    bounds = ListBounds(_LATEST, newest=True)
    selection = Selection(as_of=as_of_request(house, request))
    asked = review_questions.ReviewsQuestion(name, bounds=bounds, selection=selection)
    latest = review_questions.reviews(house.store, asked).rows
    part, _ = position_questions.stored_positions(house.store, record, settings, bounds, selection)
    newest = [_newest(house, name, kind.name, selection.as_of) for kind in (DAILY, WEEKLY)]
    page = agent_page(
        row,
        [review_questions.overview_of(entry) for entry in latest],
        part.rows,
        [section for stored in newest if stored is not None for section in _summary(stored)],
    )
    steps = (*_differences(house, newest[-1]), *list_steps(name)[:2])
    crumbs = (
        ScreenPlace("Today", ScreenReference("today")),
        ScreenPlace(name, AgentReference(name), current=True),
    )
    return Answer(page, data_as_json(row.document()), crumbs, command_of(AgentReference(name)), steps=steps)


def _newest(house: House, name: str, kind: str, as_of: int | None) -> Stored | None:
    """The newest review of a kind that came to something, or the newest of all: of a silent agent the last are empty."""
    selection = Selection((ColumnCondition("kind", "=", kind),), as_of=as_of)
    asked = review_questions.ReviewsQuestion(
        name, "done", ListBounds(_LOOKED_THROUGH, newest=True), selection
    )
    rows = review_questions.reviews(house.store, asked).rows
    chosen = next((row for row in rows if row.result), rows[0] if rows else None)
    return None if chosen is None else review_questions.stored(house.store, chosen.id, name, as_of=as_of)


def _summary(stored: Stored) -> tuple[Section, ...]:
    document = stored.document
    if not isinstance(document, RetrospectiveReport):
        return ()
    return (summary_section(clean(document), stored.review.id),)


def _differences(house: House, stored: Stored | None) -> tuple[ScreenStep, ...]:
    """The way to what differs from the week before, where there is one."""
    if stored is None or review_questions.neighbours(house.store, stored.review)[0] is None:
        return ()
    return (ScreenStep("d", "Diff from last review", f"/diff/{segment(stored.review.id)}"),)


def service(house: House, request: Request) -> Answer:  # noqa: ARG001  it has no filters
    """What works, and what does not."""
    findings = house.examine()
    document = [{"check": name, "state": state, "detail": detail} for state, name, detail in findings]
    return Answer(
        findings_page(findings), data_as_json(document), command="retro doctor --quick", rows=document
    )
