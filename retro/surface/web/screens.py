"""The screens: each is a question to what is stored, and the page of its answer. Nothing here computes, settles or writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.app.questions import fleet, positions, proposals, reviews
from retro.app.questions.bounds import ListBounds
from retro.app.settlement.lookup import named_agent
from retro.errors import UnknownError, UsageError
from retro.present.formats import page_of, render
from retro.present.links import address_of
from retro.present.page.screens.pages import (
    absence_page,
    differences_page,
    findings_page,
    positions_page,
    proposals_page,
    reviews_page,
)
from retro.present.references import AgentReference, ReviewReference, ScreenReference
from retro.present.screen import Place
from retro.report.form import json_text
from retro.safe import clean, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.present.page.blocks import Page
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.surface.web.routes import Request

__all__ = ["SCREENS", "Answer", "House", "Screen", "answer"]

_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class House:
    """What screens are read from: the database, the configuration, a clock in microseconds, and the examination."""

    store: Store
    config: Config
    settings_for: Callable[[Agent], AgentSettings]
    clock: Callable[[], int]
    examine: Callable[[], list[tuple[str, str, str]]]


class Answer(NamedTuple):
    """A screen's page; the JSON its command prints; where a long list goes on; how one came here."""

    page: Page
    document: str
    crumbs: tuple[Place, ...] = ()
    command: str = ""
    later: str = ""
    earlier: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen: the first part of its address, its title and key, the question it answers, and who answers it."""

    name: str
    title: str
    key: str
    question: str
    ask: Callable[[House, Request], Answer]
    names: int = 0
    """How many names its address has."""
    listed: bool = True
    """Whether it stands among the ways that every screen shows."""


def answer(house: House, request: Request) -> Answer:
    """The answer to a request; `UnknownError` where there is no such screen, or nothing of that name."""
    screen = _BY_NAME.get(request.screen)
    if screen is None or len(request.names) != screen.names:
        raise UnknownError("there is no such screen")
    return screen.ask(house, request)


def _today(house: House, request: Request) -> Answer:
    question = fleet.FleetQuestion(house.clock(), week=request.query.get("week"))
    report = fleet.fleet(house.store, house.config, question)
    if not report.agents:
        why = "No agent has told anything yet."
        commands = ("retro ingest journal FILE", "retro ingest freqtrade DB")
        return Answer(absence_page("Today", why, commands), render(report, "json"))
    return Answer(page_of(clean(report)), render(report, "json"), command="retro fleet")


def _reviews(house: House, request: Request) -> Answer:
    agent, state = request.query.get("agent"), request.query.get("state")
    bounds = ListBounds(_ROWS, request.query.get("after"), newest=True)
    question = reviews.ReviewsQuestion(agent, state, bounds)
    part = reviews.reviews(house.store, question)
    rows = [reviews.overview_of(row) for row in part.rows]
    total = reviews.count_reviews(house.store, question)
    return Answer(
        reviews_page(rows, total, agent, state),
        _json([row.document() for row in rows]),
        command="retro reviews --newest",
        **_paging("reviews", request, part.next),
    )


def _review(house: House, request: Request) -> Answer:
    (name,) = request.names
    stored = reviews.stored(house.store, name)
    currency = _currency(house, stored.review.agent)
    crumbs = (
        Place("Reviews", ScreenReference("reviews", (("agent", stored.review.agent),))),
        Place(name, ReviewReference(name), current=True),
    )
    return Answer(page_of(clean(stored.document), currency), stored.text, crumbs, f"retro show {name}")


def _difference(house: House, request: Request) -> Answer:
    before, dots, after = request.names[0].partition("...")
    if not dots:
        raise UsageError("name two reviews, with three dots between them")
    earlier, later = reviews.stored(house.store, before), reviews.stored(house.store, after)
    changes = reviews.compare(earlier, later, _currency(house, later.review.agent))
    document = [{"what": c.label, "before": c.before, "after": c.after} for c in changes]
    return Answer(differences_page(before, after, changes), _json(document))


def _positions(house: House, request: Request) -> Answer:
    with house.store.read() as conn:
        agent = named_agent(conn, request.query.get("agent"))
    settings = house.settings_for(agent)
    bounds = ListBounds(_ROWS, request.query.get("after"), newest=True)
    part, behind = positions.stored_positions(house.store, agent, settings, bounds)
    total = positions.count_positions(house.store, agent)
    return Answer(
        positions_page(part.rows, total, agent.name, settings.base_currency, behind=behind),
        _json([row.document() for row in part.rows]),
        (
            Place(agent.name, AgentReference(agent.name)),
            Place("Positions", ScreenReference("positions"), current=True),
        ),
        f"retro positions --agent {agent.name} --newest",
        **_paging("positions", request, part.next),
    )


def _proposals(house: House, request: Request) -> Answer:
    agent = request.query.get("agent")
    rows = proposals.proposals(house.store, agent)
    page = proposals_page(
        [(row.agent, row.id, row.state, row.url or row.branch or "") for row in rows], agent
    )
    return Answer(
        page, _json([proposals.proposal_document(row) for row in rows]), command="retro playbook status"
    )


def _service(house: House, request: Request) -> Answer:  # noqa: ARG001  it has no filters
    findings = house.examine()
    broken = sum(state == "broken" for state, _, _ in findings)
    summary = f"{broken} broken" if broken else "Everything works"
    document = [{"check": name, "state": state, "detail": detail} for state, name, detail in findings]
    return Answer(findings_page(findings, summary), _json(document), command="retro doctor")


SCREENS: Final = (
    Screen("today", "Today", "t", "Is everybody alive, and does anything want me?", _today),
    Screen("reviews", "Reviews", "r", "What was made, and what is owed?", _reviews),
    Screen("r", "A review", "", "What did a period come to?", _review, names=1, listed=False),
    Screen(
        "diff", "Two reviews", "", "What differs between two reviews?", _difference, names=1, listed=False
    ),
    Screen("positions", "Positions", "p", "What did each position make?", _positions),
    Screen("proposals", "Proposals", "o", "What is proposed to a playbook?", _proposals),
    Screen("service", "Service", "s", "What works, and what does not?", _service),
)
"""Every screen there is: routes, ways and help are made of it."""
_BY_NAME: Final = {screen.name: screen for screen in SCREENS}


def _currency(house: House, name: str) -> str:
    """A position does not say its unit; its agent's settings do."""
    with house.store.read() as conn:
        agent = named_agent(conn, name)
    return house.settings_for(agent).base_currency


def _paging(screen: str, request: Request, following: str | None) -> dict[str, Any]:
    """Where a list goes on, and its beginning where this is not it."""
    others = tuple((key, value) for key, value in sorted(request.query.items()) if key != "after")
    later = "" if following is None else address_of(ScreenReference(screen, (*others, ("after", following))))
    earlier = address_of(ScreenReference(screen, others)) if "after" in request.query else ""
    return {"later": later, "earlier": earlier}


def _json(rows: list[Any]) -> str:
    """A list as `--json` prints it."""
    return visible(json_text(rows, 2))
