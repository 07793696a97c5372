"""Every agent on one page: who wants a person, and what the last complete week came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.reviews.fleet import FleetQuestion, fleet_report

if TYPE_CHECKING:
    from retro.config import Config
    from retro.report.fleet import FleetReport
    from retro.store.database import Store

__all__ = ["FleetQuestion", "fleet"]


def fleet(store: Store, config: Config, question: FleetQuestion) -> FleetReport:
    """The page of all agents, from one state of the database; nothing is settled or written."""
    with store.read() as conn:
        return fleet_report(conn, config, question)
