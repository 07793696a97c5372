"""What stands open since before there were bets is judged anew, once, and its request says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from playbook.audit import evidence as figures_of
from retro.forge import request
from retro.present.page.amendments import describe_change, evidence_in_words
from retro.store import proposals, pull_requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from playbook import Amendment, AuditRow
    from retro.app.proposals.repository import ProposalRemote
    from retro.store.database import Store
    from retro.store.proposals import Proposal

__all__ = ["judge_anew"]


def judge_anew(
    store: Store,
    remote: ProposalRemote,
    agent: str,
    justified: Iterable[Amendment],
    rows: Sequence[AuditRow],
    now: int,
) -> None:
    """Give open proposals of the old rules the figures of today; the request's owner is told what they carry.

    Said first and written down after, so that nothing is lost when this is killed in between; a comment stands once.
    """
    carried = {amendment.id: amendment for amendment in justified}
    best = {row.heuristic_id: row for row in rows if row.role == "entry"}
    with store.read() as conn:
        numbers = {
            record.branch: record.number for record in pull_requests.stored(conn, agent, pull_requests.LIVE)
        }
        old = [proposal for proposal in proposals.stored(conn, agent) if _is_of_one_look(proposal)]
    for proposal in old:
        amendment = _with_figures(proposal, carried.get(proposal.id), best)
        number = numbers.get(proposal.branch or "")
        if remote.forge is not None and number is not None:
            words = evidence_in_words({"evidence": dict(amendment.grounds.evidence)}, "in money")
            text = request.comment_on_anew(
                " ".join(describe_change(amendment)), words, is_carried=proposal.id in carried
            )
            remote.forge.comment_once(number, request.anew(proposal.id), text)
        with store.write() as conn:
            proposals.reword(conn, agent, amendment, now)


def _is_of_one_look(proposal: Proposal) -> bool:
    figures = proposal.amendment.grounds.evidence
    return proposal.state == "open" and "q" in figures and "bets" not in figures


def _with_figures(proposal: Proposal, carried: Amendment | None, rows: dict[str, AuditRow]) -> Amendment:
    """The proposal on the evidence of today; on none where nothing is known of its heuristic any more."""
    if carried is not None:
        return carried
    row = rows.get(proposal.amendment.heuristic)
    figures = {"bets": 0} if row is None else figures_of(row)
    return replace(proposal.amendment, grounds=replace(proposal.amendment.grounds, evidence=figures))
