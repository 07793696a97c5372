"""What a finished weekly review proposes enters the ledger, in the transaction that finishes it.

So every proposal has its life from the first day, whether or not a repository is named: it waits as `proposed` until it
is brought to the owner. Of those nobody was asked about yet, the newest review has the word: what it does not propose
any more is withdrawn, or counts as merged where the owner's file says it already. A model's candidate stays until
newer words for the same heuristic take its place. What was merged is judged by the citations since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbook import from_json, is_applied
from playbook.errors import PlaybookError
from retro.app.context import Consequence
from retro.app.proposals.evidence import CitationEvidence
from retro.app.proposals.selection import allowed, prompt_of
from retro.app.proposals.verdicts import record_verdicts, verdicts
from retro.app.settlement.book import history_of
from retro.kinds import KINDS
from retro.periods import FOREVER
from retro.report import RetrospectiveReport
from retro.store import confidences, proposals
from retro.store.facts import agents
from retro.store.jobs import reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from sqlalchemy import Connection

    from playbook import Amendment, Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.report.document import Document
    from retro.store.facts.agents import Agent
    from retro.store.jobs.reviews import Review
    from retro.store.proposals import Proposal

__all__ = ["suggest", "suggesting"]


def suggesting(settings_for: Callable[[Agent], AgentSettings], clock: Callable[[], int]) -> Consequence:
    """The consequence of a review, as the service draws it."""

    def draw(conn: Connection, review: Review, document: Document) -> None:
        now = clock()
        if not KINDS[review.kind].requests or not isinstance(document, RetrospectiveReport):
            return
        if not reviews.newer_than(conn, review, now):
            agent = agents.existing_agent(conn, review.agent)
            settings = settings_for(agent)
            suggest(conn, agent, document.playbook_proposals, settings.playbook, now)
            _record_verdicts(conn, agent, settings, now)
            _note_confidences(conn, agent, settings.playbook)

    return Consequence("proposals", draw)


def suggest(
    conn: Connection, agent: Agent, entries: Iterable[Mapping[str, Any]], book: Playbook | None, now: int
) -> None:
    """Bring the proposals nobody was asked about up to what the newest review says; `entries` as its report has them."""
    ledger = proposals.stored(conn, agent.name)
    amendments = proposals.unless_damaged(conn, agent.name, _unanswered(_readable(entries), ledger))
    wanted = {amendment.id for amendment in amendments}
    prompts = {prompt for amendment in amendments if (prompt := prompt_of(amendment))}
    for proposal in ledger:
        if proposal.state != "proposed" or proposal.branch is not None or proposal.id in wanted:
            continue
        if book is not None and is_applied(book, proposal.amendment):
            proposals.adopted(conn, agent.name, proposal.id, now)
        elif _is_over(proposal, prompts):
            proposals.withdraw(conn, agent.name, proposal.id)
    proposals.suggest(conn, agent.name, amendments, agent.known_until, now)


def _record_verdicts(conn: Connection, agent: Agent, settings: AgentSettings, now: int) -> None:
    """What the citations since say of what the owner accepted, by whichever way."""
    merged = [proposal for proposal in proposals.stored(conn, agent.name) if proposal.state == "merged"]
    if not merged:
        return
    rules, until = settings.options.rules, agent.known_until
    evidence = CitationEvidence((), history_of(conn, agent.name, settings, FOREVER), rules, until)
    record_verdicts(conn, agent.name, verdicts(merged, evidence), now)


def _note_confidences(conn: Connection, agent: Agent, book: Playbook | None) -> None:
    """What the owner's file says of each heuristic now: a number that changed is counted anew from here."""
    if book is not None:
        read = {heuristic.id: heuristic.confidence for heuristic in book.heuristics}
        confidences.note(conn, agent.name, read, agent.known_until)


def _unanswered(amendments: Iterable[Amendment], ledger: Sequence[Proposal]) -> list[Amendment]:
    """Without other words for what the owner is being asked, or has answered."""
    submitted = [proposal for proposal in ledger if proposal.state != "proposed"]
    asked = {prompt_of(proposal.amendment) for proposal in submitted if proposal.state == "open"} - {None}
    return [amendment for amendment in allowed(amendments, submitted) if prompt_of(amendment) not in asked]


def _is_over(proposal: Proposal, prompts: set[str]) -> bool:
    """Whether a proposal nobody was asked about is withdrawn: a model's waits for newer words on the same prompt."""
    prompt = prompt_of(proposal.amendment)
    return prompt is None or prompt in prompts


def _readable(entries: Iterable[Mapping[str, Any]]) -> Iterator[Amendment]:
    """A report's proposals as amendments."""
    for entry in entries:
        try:
            yield from_json(dict(entry))
        except PlaybookError:  # written by another version
            continue
