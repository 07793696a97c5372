"""What each screen answers: a question to what is stored, and its page. Nothing here computes, settles or writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.app.questions import agents as agent_questions
from retro.app.questions import fleet as fleet_questions
from retro.app.questions import positions as position_questions
from retro.app.questions import proposals as proposal_questions
from retro.app.questions import reviews as review_questions
from retro.app.questions.bounds import ListBounds
from retro.app.settlement.lookup import named_agent
from retro.errors import UnknownError, UsageError
from retro.kinds import EPOCH, POSITION, WEEKLY
from retro.present.formats import page_of, render
from retro.present.json_parts import data_as_json
from retro.present.links import address_of, command_of
from retro.present.page.screens.pages import (
    absence_page,
    agent_page,
    choice_page,
    differences_page,
    findings_page,
    positions_page,
    proposals_page,
    reviews_page,
    rules_page,
    unreviewed_page,
)
from retro.present.references import (
    AgentReference,
    PositionReference,
    ReviewReference,
    RuleReference,
    RulesReference,
    ScreenReference,
)
from retro.present.screen import ScreenPlace
from retro.report import RetrospectiveReport
from retro.safe import clean
from retro.store.facts.agents import agents as known_agents

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.present.page.blocks import Page
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.jobs.reviews import Review
    from retro.surface.web.routes import Request

__all__ = [
    "Answer",
    "House",
    "agent",
    "difference",
    "position",
    "positions",
    "proposals",
    "review",
    "reviews",
    "rule",
    "rules",
    "service",
    "today",
]

_ROWS: Final = 100
_LATEST: Final = 10
_AUDITS: Final = 200
"""Reviews looked through for the newest week: between two of them stand days and positions."""


@dataclass(frozen=True, slots=True)
class House:
    """What screens are read from: the database, the configuration, a clock in microseconds, and the examination."""

    store: Store
    config: Config
    settings_for: Callable[[Agent], AgentSettings]
    clock: Callable[[], int]
    examine: Callable[[], list[tuple[str, str, str]]]


class Answer(NamedTuple):
    """A screen's page; the JSON its command prints; how one came here; where a long list goes on, or begins."""

    page: Page
    document: str
    crumbs: tuple[ScreenPlace, ...] = ()
    command: str = ""
    later: str = ""
    earlier: str = ""


class _StoredAudit(NamedTuple):
    """A review that audits rules, and its newest revision."""

    review: Review
    document: RetrospectiveReport


def today(house: House, request: Request) -> Answer:
    """Every agent, those that want a person first."""
    question = fleet_questions.FleetQuestion(house.clock(), week=request.query.get("week"))
    report = fleet_questions.fleet(house.store, house.config, question)
    if not report.agents:
        why = "No agent has told anything yet."
        commands = ("retro ingest journal FILE", "retro ingest freqtrade DB")
        return Answer(absence_page("Today", why, commands), render(report, "json"))
    return Answer(page_of(clean(report)), render(report, "json"), command="retro fleet")


def reviews(house: House, request: Request) -> Answer:
    """The ledger, the newest first."""
    agent, state = request.query.get("agent"), request.query.get("state")
    bounds = ListBounds(_ROWS, request.query.get("after"), newest=True)
    question = review_questions.ReviewsQuestion(agent, state, bounds)
    part = review_questions.reviews(house.store, question)
    rows = [review_questions.overview_of(row) for row in part.rows]
    total = review_questions.count_reviews(house.store, question)
    return Answer(
        reviews_page(rows, total, agent, state),
        data_as_json([row.document() for row in rows]),
        command="retro reviews --newest",
        **_paging("reviews", request, part.next),
    )


def review(house: House, request: Request) -> Answer:
    """A review exactly as it was written."""
    (name,) = request.names
    stored = review_questions.stored(house.store, name)
    currency = _currency(house, stored.review.agent)
    crumbs = (
        ScreenPlace("Reviews", ScreenReference("reviews", (("agent", stored.review.agent),))),
        ScreenPlace(name, ReviewReference(name), current=True),
    )
    return Answer(
        page_of(clean(stored.document), currency), stored.text, crumbs, command_of(ReviewReference(name))
    )


def difference(house: House, request: Request) -> Answer:
    """What differs between two reviews."""
    before, dots, after = request.names[0].partition("...")
    if not dots:
        raise UsageError("name two reviews, with three dots between them")
    earlier, later = review_questions.stored(house.store, before), review_questions.stored(house.store, after)
    changes = review_questions.compare(earlier, later, _currency(house, later.review.agent))
    document = [{"what": c.label, "before": c.before, "after": c.after} for c in changes]
    return Answer(differences_page(before, after, changes), data_as_json(document))


def positions(house: House, request: Request) -> Answer:
    """An agent's positions as the book has them now, the newest first."""
    name = request.query.get("agent")
    if name is None:
        with house.store.read() as conn:
            names = [known.name for known in known_agents(conn)]
        if len(names) != 1:
            return Answer(choice_page("Positions", "positions", names), data_as_json(names))
    record = _named(house, name)
    settings = house.settings_for(record)
    bounds = ListBounds(_ROWS, request.query.get("after"), newest=True)
    part, behind = position_questions.stored_positions(house.store, record, settings, bounds)
    total = position_questions.count_positions(house.store, record)
    return Answer(
        positions_page(part.rows, total, record.name, settings.base_currency, behind=behind),
        data_as_json([row.document() for row in part.rows]),
        (
            ScreenPlace(record.name, AgentReference(record.name)),
            ScreenPlace("Positions", ScreenReference("positions"), current=True),
        ),
        f"retro positions --agent {record.name} --newest",
        **_paging("positions", request, part.next),
    )


def proposals(house: House, request: Request) -> Answer:
    """Every proposed change of a playbook."""
    agent = request.query.get("agent")
    rows = proposal_questions.proposals(house.store, agent)
    page = proposals_page(
        [(row.agent, row.id, row.state, row.url or row.branch or "") for row in rows], agent
    )
    return Answer(
        page,
        data_as_json([proposal_questions.proposal_document(row) for row in rows]),
        command="retro playbook status",
    )


def service(house: House, request: Request) -> Answer:  # noqa: ARG001  it has no filters
    """What works, and what does not."""
    findings = house.examine()
    broken = sum(state == "broken" for state, _, _ in findings)
    summary = f"{broken} broken" if broken else "Everything works"
    document = [{"check": name, "state": state, "detail": detail} for state, name, detail in findings]
    return Answer(findings_page(findings, summary), data_as_json(document), command="retro doctor")


def position(house: House, request: Request) -> Answer:
    """The review of a position as it was made; before it is, what the book knows of it."""
    owner, name = request.names
    record = _named(house, owner)
    crumbs = (
        ScreenPlace(owner, AgentReference(owner)),
        ScreenPlace("Positions", ScreenReference("positions", (("agent", owner),))),
        ScreenPlace(name, PositionReference(owner, name), current=True),
    )
    command = command_of(PositionReference(owner, name))
    currency = house.settings_for(record).base_currency
    try:
        stored = review_questions.stored(house.store, f"{owner}.{POSITION.name}.{name}", owner)
    except UnknownError:
        row = position_questions.stored_position(house.store, record, name)
        return Answer(unreviewed_page(row, currency), data_as_json(row.document()), crumbs, command)
    return Answer(page_of(clean(stored.document), currency), stored.text, crumbs, command)


def agent(house: House, request: Request) -> Answer:
    """When an agent lived, and the newest of what there is of it."""
    (name,) = request.names
    record = _named(house, name)
    settings = house.settings_for(record)
    row = agent_questions.stored_agent(house.store, record, settings, house.config, house.clock())
    bounds = ListBounds(_LATEST, newest=True)
    latest = review_questions.reviews(house.store, review_questions.ReviewsQuestion(name, bounds=bounds)).rows
    part, _ = position_questions.stored_positions(house.store, record, settings, bounds)
    page = agent_page(row, [review_questions.overview_of(entry) for entry in latest], part.rows)
    crumbs = (
        ScreenPlace("Today", ScreenReference("today")),
        ScreenPlace(name, AgentReference(name), current=True),
    )
    return Answer(page, data_as_json(row.document()), crumbs, command_of(AgentReference(name)))


def rules(house: House, request: Request) -> Answer:
    """What the newest review of a week or epoch says of every rule."""
    (name,) = request.names
    audit = _newest_audit(house, name)
    crumbs = (
        ScreenPlace(name, AgentReference(name)),
        ScreenPlace("Rules", RulesReference(name), current=True),
    )
    rows = audit.document.heuristic_performance
    return Answer(
        rules_page(clean(audit.document), audit.review.id),
        data_as_json([row.model_dump(mode="json") for row in rows]),
        crumbs,
        command_of(RulesReference(name)),
    )


def rule(house: House, request: Request) -> Answer:
    """What it says of one."""
    name, wanted = request.names
    audit = _newest_audit(house, name)
    rows = [row for row in audit.document.heuristic_performance if row.heuristic_id == wanted]
    if not rows:
        raise UnknownError("its newest review knows no such rule")
    crumbs = (
        ScreenPlace(name, AgentReference(name)),
        ScreenPlace(wanted, RuleReference(name, wanted), current=True),
    )
    document = audit.document.model_copy(update={"heuristic_performance": rows})
    page = rules_page(clean(document), audit.review.id, wanted)
    return Answer(page, data_as_json([row.model_dump(mode="json") for row in rows]), crumbs)


def _newest_audit(house: House, name: str) -> _StoredAudit:
    """The newest review of the agent that audits its rules; `UnknownError` before the first."""
    _named(house, name)
    question = review_questions.ReviewsQuestion(name, "done", ListBounds(_AUDITS, newest=True))
    for entry in review_questions.reviews(house.store, question).rows:
        if entry.kind in {WEEKLY.name, EPOCH.name}:
            stored = review_questions.stored(house.store, entry.id, name)
            if isinstance(stored.document, RetrospectiveReport):
                return _StoredAudit(entry, stored.document)
    raise UnknownError("no week of it is reviewed yet")


def _named(house: House, name: str | None) -> Agent:
    with house.store.read() as conn:
        return named_agent(conn, name)


def _currency(house: House, name: str) -> str:
    """A position does not say its unit; its agent's settings do."""
    return house.settings_for(_named(house, name)).base_currency


def _paging(screen: str, request: Request, following: str | None) -> dict[str, Any]:
    """Where a list goes on, and its beginning where this is not it."""
    others = tuple((key, value) for key, value in sorted(request.query.items()) if key != "after")
    later = "" if following is None else address_of(ScreenReference(screen, (*others, ("after", following))))
    earlier = address_of(ScreenReference(screen, others)) if "after" in request.query else ""
    return {"later": later, "earlier": earlier}
