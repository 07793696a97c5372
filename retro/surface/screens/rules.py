"""What rules are worth, and what is proposed of them. Nothing here computes, settles or writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from retro.app.proposals.answers import is_asked_elsewhere
from retro.app.questions import positions as position_questions
from retro.app.questions import proposals as proposal_questions
from retro.app.questions import reviews as review_questions
from retro.app.questions.bounds import ListBounds
from retro.app.questions.lists.filters import RULES
from retro.app.questions.lists.rules import rule_places
from retro.app.questions.screens.biography import rule_biography
from retro.errors import UnknownError
from retro.kinds import EPOCH, WEEKLY
from retro.present.json_parts import data_as_json
from retro.present.links import address_of, command_of
from retro.present.page.screens.biography import page_of_biography, unjudged_page
from retro.present.page.screens.pages import rules_page
from retro.present.page.screens.proposals import ProposalLine, proposal_page, proposals_page
from retro.present.references import (
    AgentReference,
    ProposalReference,
    RuleReference,
    RulesReference,
    ScreenReference,
)
from retro.present.screen import ScreenPlace, ScreenStep
from retro.report import RetrospectiveReport, dump
from retro.safe import clean
from retro.store.conditions import ColumnCondition, Selection
from retro.store.proposals import UNANSWERED
from retro.surface.screens.answer import Answer
from retro.surface.screens.lens import as_of_request, command_of_list, filter_form, selection_of_request

if TYPE_CHECKING:
    from retro.store.jobs.reviews import Review
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["proposal", "proposals", "rule", "rules"]

_AUDITS: Final = 200
_NOT_REVIEWED: Final = "No reviewed week tells of it yet"
_ANSWERS: Final = (("Accept", "accept"), ("Decline", "decline"))
"""Reviews looked through for the newest week: between two of them stand days and positions."""


class _StoredAudit(NamedTuple):
    """A review that audits rules, and its newest revision."""

    review: Review
    document: RetrospectiveReport


def rules(house: House, request: Request) -> Answer:
    """What the newest review of a week or epoch that came to something says of every rule."""
    (name,) = request.names
    audit = _newest_audit(house, name, as_of_request(house, request))
    crumbs = (
        ScreenPlace(name, AgentReference(name)),
        ScreenPlace("Rules", RulesReference(name), current=True),
    )
    everything = audit.document.heuristic_performance
    rows = [
        everything[place] for place in rule_places(everything, selection_of_request(house, request, RULES))
    ]
    narrowed = audit.document.model_copy(update={"heuristic_performance": rows})
    documents = [row.model_dump(mode="json") for row in rows]
    return Answer(
        rules_page(clean(narrowed), audit.review.id, len(everything)),
        data_as_json(documents),
        crumbs,
        command_of_list(request, "playbook", "audit", "--agent", name),
        filters=filter_form(request, RULES),
        rows=documents,
    )


def rule(house: House, request: Request) -> Answer:
    """One rule over its weeks."""
    name, wanted = request.names
    as_of = as_of_request(house, request)
    crumbs = (
        ScreenPlace(name, AgentReference(name)),
        ScreenPlace("Rules", RulesReference(name)),
        ScreenPlace(wanted, RuleReference(name, wanted), current=True),
    )
    steps = _citing(name, wanted)
    try:
        life = clean(rule_biography(house.store, house.config, house.agent(name), wanted, as_of))
    except UnknownError:
        cited = Selection((ColumnCondition("rule", "=", wanted),), as_of=as_of)
        if not position_questions.count_positions(house.store, house.agent(name), cited):
            raise
        document = {"agent": name, "rule": wanted, "chapters": [], "reasons": {"chapters": _NOT_REVIEWED}}
        return Answer(
            unjudged_page(name, wanted, f"{_NOT_REVIEWED}."), data_as_json(document), crumbs, steps=steps
        )
    command = command_of(RuleReference(name, wanted))
    return Answer(page_of_biography(life), dump(life), crumbs, command, steps=steps)


def _citing(agent: str, rule: str) -> tuple[ScreenStep, ...]:
    """The way to the lives that cite a rule; none where no filter can name it."""
    if '"' in rule:
        return ()
    word = f'rule:"{rule}"' if " " in rule else f"rule:{rule}"
    lives = ScreenReference("positions", (("agent", agent), ("q", word)))
    return (ScreenStep("p", "Positions that cite it", address_of(lives)),)


def _newest_audit(house: House, name: str, as_of: int | None) -> _StoredAudit:
    """The newest review that audits the agent's rules; `UnknownError` before the first.

    One that came to something goes before: of a silent agent the last say nothing of its rules.
    """
    house.agent(name)
    bounds = ListBounds(_AUDITS, newest=True)
    question = review_questions.ReviewsQuestion(name, "done", bounds, Selection(as_of=as_of))
    entries = review_questions.reviews(house.store, question).rows
    audits = [entry for entry in entries if entry.kind in {WEEKLY.name, EPOCH.name}]
    for entry in sorted(audits, key=lambda audit: not audit.result):
        stored = review_questions.stored(house.store, entry.id, name, as_of=as_of)
        if isinstance(stored.document, RetrospectiveReport):
            return _StoredAudit(entry, stored.document)
    raise UnknownError("no week of it is reviewed yet")


def proposals(house: House, request: Request) -> Answer:
    """Every proposed change of a playbook."""
    agent = request.query.get("agent")
    rows = proposal_questions.proposals(house.store, agent, as_of=as_of_request(house, request))
    lines = [
        ProposalLine(row.agent, row.id, row.state, row.url or row.branch or "", row.amendment) for row in rows
    ]
    page = proposals_page(lines, agent)
    documents = [proposal_questions.proposal_document(row) for row in rows]
    return Answer(page, data_as_json(documents), command="retro playbook status", rows=documents)


def proposal(house: House, request: Request) -> Answer:
    """One proposed change whole."""
    row = proposal_questions.proposal(house.store, request.names[0], request.query.get("agent"))
    currency = house.currency(row.agent)
    page = proposal_page(row.agent, row.state, row.url or row.branch or "", row.amendment, currency)
    reference = ProposalReference(row.agent, row.id)
    crumbs = (
        ScreenPlace("Proposals", ScreenReference("proposals")),
        ScreenPlace(row.id, reference, current=True),
    )
    document = data_as_json(proposal_questions.whole_document(row))
    acts = _ANSWERS if row.state in UNANSWERED and not is_asked_elsewhere(row) else ()
    which = f"{row.id} {row.agent}"
    return Answer(
        page,
        document,
        crumbs,
        command_of(reference),
        acts=tuple((title, verb, which) for title, verb in acts),
    )
