"""Foreign data that could not be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.questions.bounds import number_of, part_of, rows_of
from retro.store.facts import faults as fault_store
from retro.store.facts.agents import existing_agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.questions.bounds import ListBounds, ListPart
    from retro.model import Fault
    from retro.store.database import Store
    from retro.store.facts.faults import NumberedFault

__all__ = ["count_faults", "every_fault", "fault_document", "faults"]


def faults(store: Store, bounds: ListBounds, agent: str | None = None) -> ListPart[NumberedFault]:
    """Faults, or one agent's, in order of arrival: where it stood, and why it could not be used; the cursor is a number."""
    after = number_of(bounds.after)
    with store.read() as conn:
        name = None if agent is None else existing_agent(conn, agent).name
        rows = fault_store.numbered(conn, name, after=after, limit=bounds.with_one_more, newest=bounds.newest)
    return part_of(rows, bounds, lambda row: str(row.number))


def every_fault(store: Store, bounds: ListBounds, agent: str | None = None) -> Iterator[NumberedFault]:
    """The same, all within the bounds, however many."""
    return rows_of(lambda part: faults(store, part, agent), bounds)


def count_faults(store: Store, agent: str | None = None) -> int:
    """How many there are, whatever the bounds."""
    with store.read() as conn:
        return fault_store.count(conn, agent)


def fault_document(fault: Fault) -> dict[str, Any]:
    """What `retro faults --json` prints of it."""
    return {"where": fault.where, "line": fault.line, "reason": fault.reason}
