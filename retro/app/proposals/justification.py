"""What the evidence justifies changing in a playbook: rows in, amendments out, by one road for whoever asks.

A review proposes it, `retro playbook propose` prints it, a request brings it to the owner. They differ in the evidence
they gather (`evidence`) and in what they may put before the owner (`selection`), never in what follows from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import playbook
from playbook import SinceStated
from playbook.proposal import BLANK
from retro.app.proposals.evidence import evidence_of_life, evidence_of_review
from retro.app.proposals.selection import allowed
from retro.evaluate.audit.bets import since_of
from retro.evaluate.audit.history import RECORD
from retro.kernels.betting import bernoulli_e
from retro.kinds import KINDS
from retro.periods import parse_instant
from retro.store import confidences, proposals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from playbook import Amendment, AuditRow, Playbook
    from retro.app.proposals.evidence import CitationEvidence
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.bets import Bets
    from retro.evaluate.audit.history import History
    from retro.report import RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.proposals import Proposal

__all__ = ["justified", "propose", "proposed_by", "with_adopted"]

_ACCEPTED: Final = frozenset({"merged", "validated", "refuted", "undecided"})
_NOTHING: Final = np.empty(0, RECORD)


def justified(
    conn: Connection, agent: str, book: Playbook, evidence: CitationEvidence, standing: Sequence[Proposal]
) -> list[Amendment]:
    """The amendments of a playbook that the evidence justifies, in the order to apply them.

    `standing` are the agent's proposals as the document shows them (`with_adopted`): what was merged has moved
    confidences already, and the same citations must not move them twice.
    """
    readings = confidences.changed_at(conn, agent)
    amendments = playbook.propose(book, _with_history(book, evidence, standing, readings))
    return proposals.unless_damaged(conn, agent, amendments)


def propose(
    store: Store, agent: Agent, settings: AgentSettings, *, as_of: int | None = None
) -> tuple[Playbook, list[Amendment]]:
    """The agent's playbook (a blank one when it has none) and what its whole life justifies changing.

    `as_of` is now in place of K: what was known then.
    """
    book = _book(settings)
    evidence = evidence_of_life(store, agent, settings, book, as_of=as_of)
    with store.read() as conn:
        standing = with_adopted(proposals.stored(conn, agent.name, as_of=as_of), book)
        return book, justified(conn, agent.name, book, evidence, standing)


def proposed_by(
    conn: Connection,
    report: RetrospectiveReport,
    settings: AgentSettings,
    outcomes: History,
    bets: Bets,
) -> list[Amendment]:
    """What a review proposes; of the ledger it knows what was decided before it was made.

    Without a playbook only what the evidence supports: a first one is `retro playbook propose`'s to offer.
    """
    if not KINDS[report.horizon].proposes:
        return []
    evidence = evidence_of_review(report, settings, outcomes, bets)
    if settings.playbook is None:
        evidence = evidence._replace(rows=[row for row in evidence.rows if row.grade == "supported"])
    book = _book(settings)
    made_at = parse_instant(report.generated_at)
    standing = with_adopted(proposals.stored(conn, report.agent, as_of=made_at), book)
    return allowed(justified(conn, report.agent, book, evidence, standing), standing)


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
    book: Playbook, evidence: CitationEvidence, standing: Sequence[Proposal], readings: Mapping[str, int]
) -> list[AuditRow]:
    """The rows with what came since their confidence was stated, and since the last amendment of the heuristic.

    `readings` say when the mirror first read another number in the file than before, by heuristic.
    """
    accepted: dict[str, int] = {}
    for proposal in standing:
        if proposal.state in _ACCEPTED:
            for name in proposal.amendment.touched:
                accepted[name] = max(accepted.get(name, proposal.known_until), proposal.known_until)
    stated = {heuristic.id: heuristic.confidence for heuristic in book.heuristics}
    since, ever = since_of(evidence.rules), evidence.outcomes.by_heuristic({})
    rows = []
    for row in evidence.rows:
        name = row.heuristic_id
        cited = ever.get((name, row.role), _NOTHING)
        begins = [
            at for at in (since.get(name, 0) - 1, accepted.get(name), readings.get(name)) if at is not None
        ]
        amended, confidence = accepted.get(name), stated.get(name)
        later = cited[cited["told_at"] > max(begins)]
        rows.append(
            replace(
                row,
                resolved_since=None if amended is None else int((cited["told_at"] > amended).sum()),
                stated=None if confidence is None else _since_stated(later, confidence),
            )
        )
    return rows


def _since_stated(cited: NDArray[Any], confidence: float) -> SinceStated:
    wins = int((cited["value"] > 0).sum())
    losses = len(cited) - wins
    return SinceStated(wins, losses, bernoulli_e(wins, losses, confidence))
