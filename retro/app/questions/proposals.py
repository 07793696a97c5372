"""The proposals to change a playbook, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playbook.amendment import to_json
from retro.errors import UnknownError, UsageError
from retro.store import proposals as proposal_store

if TYPE_CHECKING:
    from retro.store.database import Store
    from retro.store.proposals import DamagedProposal, Proposal

__all__ = ["damaged_proposals", "proposal", "proposal_document", "proposals", "whole_document"]


def proposals(store: Store, agent: str | None = None, *, as_of: int | None = None) -> list[Proposal]:
    """Every proposal of an agent, or of all; `as_of`: of those that have not changed since."""
    with store.read() as conn:
        return proposal_store.stored(conn, agent, as_of=as_of)


def proposal(store: Store, name: str, agent: str | None = None) -> Proposal:
    """One proposal by its id; `UnknownError` where there is none, `UsageError` where several agents have it."""
    with store.read() as conn:
        rows = [row for row in proposal_store.stored(conn, agent) if row.id == name]
    if not rows:
        raise UnknownError(f"there is no proposal {name!r}; `retro playbook status` lists them")
    if len(rows) > 1:
        raise UsageError(
            f"{name} is proposed to {', '.join(row.agent for row in rows)}: say which with --agent"
        )
    return rows[0]


def whole_document(proposal: Proposal) -> dict[str, Any]:
    """What `retro playbook proposal --json` prints of it: where it stands, and the change with its grounds."""
    return {"agent": proposal.agent, **proposal_document(proposal), "change": to_json(proposal.amendment)}


def damaged_proposals(store: Store, agent: str | None = None) -> list[DamagedProposal]:
    """Those of an agent, or of all, that cannot be read and stand in no other answer."""
    with store.read() as conn:
        return proposal_store.damaged(conn, agent)


def proposal_document(proposal: Proposal) -> dict[str, Any]:
    """What `retro playbook status --json` prints of it."""
    return {"id": proposal.id, "state": proposal.state, "branch": proposal.branch, "url": proposal.url}
