"""What the evidence justifies changing in a playbook: rows in, amendments out, by one road for whoever asks.

A review proposes it, `retro playbook propose` prints it, a request brings it to the owner. They differ in the evidence
they gather (`evidence`) and in what they may put before the owner (`selection`), never in what follows from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import playbook
from playbook.proposal import BLANK
from retro.app.proposals.evidence import evidence_of_life, evidence_of_review
from retro.app.proposals.selection import allowed
from retro.evaluate.audit.history import RECORD
from retro.kinds import KINDS
from retro.periods import parse_instant
from retro.store import proposals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from playbook import Amendment, AuditRow, Playbook
    from retro.app.proposals.evidence import CitationEvidence
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.history import History
    from retro.report import RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.proposals import Proposal

__all__ = ["justified", "propose", "proposed_by", "with_adopted"]

_ACCEPTED: Final = frozenset({"merged", "validated", "refuted"})
_NOTHING: Final = np.empty(0, RECORD)


def justified(book: Playbook, evidence: CitationEvidence, standing: Sequence[Proposal]) -> list[Amendment]:
    """The amendments of a playbook that the evidence justifies, in the order to apply them.

    `standing` are the agent's proposals as the document shows them (`with_adopted`): what was merged has moved
    confidences already, and the same citations must not move them twice.
    """
    return playbook.propose(book, _with_history(evidence.rows, standing, evidence.outcomes))


def propose(store: Store, agent: Agent, settings: AgentSettings) -> tuple[Playbook, list[Amendment]]:
    """The agent's playbook (a blank one when it has none) and what its whole life justifies changing."""
    book = _book(settings)
    evidence = evidence_of_life(store, agent, settings, book)
    with store.read() as conn:
        standing = with_adopted(proposals.stored(conn, agent.name), book)
        return book, proposals.unless_damaged(conn, agent.name, justified(book, evidence, standing))


def proposed_by(
    conn: Connection, report: RetrospectiveReport, settings: AgentSettings, outcomes: History
) -> list[Amendment]:
    """What a review proposes; of the ledger it knows what was decided before it was made.

    Without a playbook only what the evidence supports: a first one is `retro playbook propose`'s to offer.
    """
    if not KINDS[report.horizon].proposes:
        return []
    evidence = evidence_of_review(conn, report, settings, outcomes)
    if settings.playbook is None:
        evidence = evidence._replace(rows=[row for row in evidence.rows if row.grade == "supported"])
    book = _book(settings)
    made_at = parse_instant(report.generated_at)
    standing = with_adopted(proposals.stored(conn, report.agent, as_of=made_at), book)
    return proposals.unless_damaged(
        conn, report.agent, allowed(justified(book, evidence, standing), standing)
    )


def with_adopted(ledger: Iterable[Proposal], book: Playbook) -> list[Proposal]:
    """The proposals as the document shows them: what it says already was accepted, whatever the ledger has heard."""
    return [
        proposal._replace(state="merged")
        if proposal.state in {"proposed", "open"} and playbook.is_applied(book, proposal.amendment)
        else proposal
        for proposal in ledger
    ]


def _book(settings: AgentSettings) -> Playbook:
    return settings.playbook if settings.playbook is not None else playbook.parse(BLANK)


def _with_history(
    rows: Sequence[AuditRow], standing: Sequence[Proposal], outcomes: History
) -> Sequence[AuditRow]:
    """The rows with what merged amendments have made of them: the confidence from before, and what came since."""
    accepted: dict[str, list[Proposal]] = {}
    for proposal in sorted(standing, key=lambda proposal: proposal.known_until):
        if proposal.state in _ACCEPTED:
            for name in proposal.amendment.touched:
                accepted.setdefault(name, []).append(proposal)
    if not accepted:
        return rows
    ever = outcomes.by_heuristic({})
    return [
        _amended(row, accepted[row.heuristic_id], ever.get((row.heuristic_id, row.role), _NOTHING))
        if row.heuristic_id in accepted
        else row
        for row in rows
    ]


def _amended(row: AuditRow, accepted: Sequence[Proposal], ever: NDArray[Any]) -> AuditRow:
    """A row whose heuristic was amended by these, oldest first.

    The prior is the confidence from before the first of them that rests on the same evidence (`since`): the citations
    in the row moved it from there.
    """
    since = None if row.since is None else row.since.isoformat()
    figures = [proposal.amendment.grounds.evidence for proposal in accepted]
    priors = [
        evidence["prior"]
        for evidence in figures
        if evidence.get("since") == since and isinstance(evidence.get("prior"), float | int)
    ]
    count = int((ever["told_at"] > accepted[-1].known_until).sum())
    return replace(row, prior=priors[0] if priors else row.prior, resolved_since=count)
