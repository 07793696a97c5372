"""What the citations made since say of a merged proposal: its verdict, once one side has 10 to 1 or patience is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import playbook
from playbook import LaterCitations
from retro.evaluate.audit.bets import in_unit
from retro.evaluate.audit.later import later_bets
from retro.kernels.betting import bernoulli_e
from retro.store.proposals import record_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    from playbook import Amendment
    from retro.app.proposals.evidence import CitationEvidence
    from retro.evaluate.audit.citations import Role
    from retro.evaluate.audit.rules import Unit
    from retro.store.proposals import Proposal

__all__ = ["ProposalVerdict", "record_verdicts", "verdict_of", "verdicts"]


class ProposalVerdict(NamedTuple):
    """A proposal, by its id, of which later citations have spoken: `validated`, `refuted` or `undecided`."""

    proposal: str
    state: str


def verdicts(proposals: Iterable[Proposal], evidence: CitationEvidence) -> list[ProposalVerdict]:
    """The verdicts that are due, of merged proposals."""
    due = [
        ProposalVerdict(proposal.id, verdict_of(proposal, evidence))
        for proposal in proposals
        if proposal.state == "merged"
    ]
    return [verdict for verdict in due if verdict.state != "open"]


def verdict_of(proposal: Proposal, evidence: CitationEvidence) -> str:
    """What the citations made after a proposal say of it; the first week that decides it has the word."""
    amendment = proposal.amendment
    unit, role = (amendment.grounds.evidence.get(name) for name in ("unit", "role"))
    if unit not in ("usd", "r", "bps") or role not in ("entry", "exit"):
        return "open"
    for later in _looks(proposal, evidence, unit, role):
        verdict = playbook.judge(amendment, later)
        if verdict != "open":
            return verdict
    return "open"


def _looks(
    proposal: Proposal, evidence: CitationEvidence, unit: Unit, role: Role
) -> Iterator[LaterCitations]:
    """What later citations say at the end of each complete week; of a confidence, outcome by outcome."""
    amendment, since = proposal.amendment, proposal.known_until + 1
    names = amendment.touched
    if amendment.op == "set_confidence" and amendment.before and amendment.after:
        yield from _of_confidence(amendment, evidence, unit, role, since)
        return
    bound = amendment.grounds.evidence.get("bound")
    bound = float(bound) if isinstance(bound, int | float) else None
    for look in later_bets(
        evidence.outcomes, evidence.rules, evidence.until, names, role, since, unit, bound
    ):
        yield LaterCitations(look.resolved, look.e_against, look.e_for)


def _of_confidence(
    amendment: Amendment, evidence: CitationEvidence, unit: Unit, role: Role, since: int
) -> Iterator[LaterCitations]:
    old, new = amendment.before[0].confidence, amendment.after[0].confidence
    if old is None or new is None:
        return
    records = evidence.outcomes.citing(amendment.touched, role)
    records = records[records["told_at"] >= since]
    records = records[np.lexsort((records["position"], records["resolved_at"]))]
    values = in_unit(records, records["value"], unit)
    wins = 0
    for n, value in enumerate(values[~np.isnan(values)].tolist(), start=1):
        wins += value > 0
        e_old, e_new = (bernoulli_e(wins, n - wins, stated) for stated in (old, new))
        yield LaterCitations(n, e_old=e_old, e_new=e_new, won=wins / n)


def record_verdicts(conn: Connection, agent: str, due: Iterable[ProposalVerdict], now: int) -> None:
    """Enter verdicts into the ledger."""
    for verdict in due:
        record_verdict(conn, agent, verdict.proposal, verdict.state, now)
