"""What the citations made since say of a merged proposal: its verdict, `validated` or `refuted`, once enough resolved."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, NamedTuple

import playbook
from retro.store.proposals import record_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.evaluate.audit.citations import CreditItem
    from retro.store.proposals import Proposal

__all__ = ["ProposalVerdict", "record_verdicts", "verdict_of", "verdicts"]


class ProposalVerdict(NamedTuple):
    """A proposal, by its id, of which later citations have spoken: `validated` or `refuted`."""

    proposal: str
    state: str


def verdicts(proposals: Iterable[Proposal], items: Sequence[CreditItem]) -> list[ProposalVerdict]:
    """The verdicts that are due: of merged proposals, whose later citations suffice. `items` are the agent's outcomes."""
    due = [
        ProposalVerdict(proposal.id, verdict_of(proposal, items))
        for proposal in proposals
        if proposal.state == "merged"
    ]
    return [verdict for verdict in due if verdict.state != "open"]


def verdict_of(proposal: Proposal, items: Sequence[CreditItem]) -> str:
    """What the citations made after a proposal say of it: `open`, `validated` or `refuted`."""
    amendment = proposal.amendment
    unit, role = amendment.grounds.evidence.get("unit"), amendment.grounds.evidence.get("role")
    if unit not in ("usd", "r", "bps"):
        return "open"
    names = amendment.touched
    sums: dict[str, list[float]] = {}
    for item in items:
        cited_at = min((decision.at for decision in item.decisions), default=0)
        value = item.in_unit(unit)
        if (
            item.role == role
            and names & set(item.cites)
            and cited_at > proposal.known_until
            and value is not None
        ):
            sums.setdefault(item.position, []).append(value)
    values = [fsum(parts) for parts in sums.values()]
    if not values:
        return "open"
    wins = sum(value > 0 for value in values)
    return playbook.judge(amendment, len(values), fsum(values) / len(values), wins)


def record_verdicts(conn: Connection, agent: str, due: Iterable[ProposalVerdict], now: int) -> None:
    """Enter verdicts into the ledger."""
    for verdict in due:
        record_verdict(conn, agent, verdict.proposal, verdict.state, now)
