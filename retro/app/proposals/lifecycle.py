"""What a finished weekly review proposes enters the ledger, in the transaction that finishes it.

So every proposal has its life from the first day, whether or not a repository is named: it waits as `proposed` until it
is brought to the owner. Of those nobody was asked about yet, the newest review has the word: what it does not propose
any more is withdrawn, or counts as merged where the owner's file says it already. A model's candidate stays until
newer words for the same heuristic take its place. What was merged is judged by the citations since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import playbook
from playbook.errors import PlaybookError
from retro.app.proposals.evidence import is_applied
from retro.app.proposals.outcomes import verdicts
from retro.app.proposals.selection import allowed, prompt_of
from retro.app.settlement.book import known_until, read_rows
from retro.evaluate.audit.citations import items_of
from retro.kinds import KINDS
from retro.periods import FOREVER
from retro.report import RetrospectiveReport
from retro.store import proposals
from retro.store.facts import agents
from retro.store.jobs import reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from sqlalchemy import Connection

    from playbook import Amendment, Playbook
    from retro.app.context import Consequence
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
            _judge(conn, agent, settings, now)

    return draw


def suggest(
    conn: Connection, agent: Agent, drafts: Iterable[Mapping[str, Any]], book: Playbook | None, now: int
) -> None:
    """Bring the proposals nobody was asked about up to what the newest review says."""
    lives = proposals.stored(conn, agent.name)
    amendments = _unanswered(list(_readable(drafts)), lives)
    wanted = {amendment.id for amendment in amendments}
    prompts = {prompt for amendment in amendments if (prompt := prompt_of(amendment))}
    for life in lives:
        if life.state != "proposed" or life.branch is not None or life.id in wanted:
            continue
        if book is not None and is_applied(book, life):
            proposals.adopted(conn, agent.name, life.id, now)
        elif _is_over(life, prompts):
            proposals.withdraw(conn, agent.name, life.id)
    rows = [(playbook.to_json(amendment), amendment.resolved) for amendment in amendments]
    proposals.suggest(conn, agent.name, rows, known_until(agent), now)


def _judge(conn: Connection, agent: Agent, settings: AgentSettings, now: int) -> None:
    """What the citations since say of what the owner accepted, by whichever way."""
    lives = [life for life in proposals.stored(conn, agent.name) if life.state == "merged"]
    if not lives:
        return
    rules = settings.options.rules
    rows = read_rows(conn, agent.name, opened_before=FOREVER)
    items = [item for row in rows for item in items_of(row, rules, rules.claims)]
    for proposal, verdict in verdicts(lives, items):
        proposals.judged(conn, agent.name, proposal, verdict, now)


def _unanswered(amendments: Iterable[Amendment], lives: Sequence[Proposal]) -> list[Amendment]:
    """Without other words for what the owner is being asked, or has answered."""
    submitted = [life for life in lives if life.state != "proposed"]
    asked = {prompt_of(playbook.from_json(life.document)) for life in submitted if life.state == "open"} - {
        None
    }
    return [amendment for amendment in allowed(amendments, submitted) if prompt_of(amendment) not in asked]


def _is_over(life: Proposal, prompts: set[str]) -> bool:
    prompt = prompt_of(playbook.from_json(life.document))
    return prompt is None or prompt in prompts


def _readable(drafts: Iterable[Mapping[str, Any]]) -> Iterator[Amendment]:
    for draft in drafts:
        try:
            yield playbook.from_json(dict(draft))
        except PlaybookError:  # written by another version
            continue
