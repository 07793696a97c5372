"""The proposals to change a playbook, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.store import proposals as proposal_store

if TYPE_CHECKING:
    from retro.store.database import Store
    from retro.store.proposals import DamagedProposal, Proposal

__all__ = ["damaged_proposals", "proposal_document", "proposals"]


def proposals(store: Store, agent: str | None = None) -> list[Proposal]:
    """Every proposal of an agent, or of all."""
    with store.read() as conn:
        return proposal_store.stored(conn, agent)


def damaged_proposals(store: Store, agent: str | None = None) -> list[DamagedProposal]:
    """Those of an agent, or of all, that cannot be read and stand in no other answer."""
    with store.read() as conn:
        return proposal_store.damaged(conn, agent)


def proposal_document(proposal: Proposal) -> dict[str, Any]:
    """What `retro playbook status --json` prints of it."""
    return {"id": proposal.id, "state": proposal.state, "branch": proposal.branch, "url": proposal.url}
