"""Foreign data that could not be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.store.facts import faults as fault_store
from retro.store.facts.agents import existing_agent

if TYPE_CHECKING:
    from retro.model import Fault
    from retro.store.database import Store

__all__ = ["fault_document", "faults"]


def faults(store: Store, agent: str | None = None) -> list[Fault]:
    """Every fault, or one agent's, in order of arrival: where it stood, and why it could not be used."""
    with store.read() as conn:
        name = None if agent is None else existing_agent(conn, agent).name
        return fault_store.all(conn, agent=name)


def fault_document(fault: Fault) -> dict[str, Any]:
    """What `retro faults --json` prints of it."""
    return {"where": fault.where, "line": fault.line, "reason": fault.reason}
