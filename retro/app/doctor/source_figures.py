"""Do our figures agree with those that sources computed themselves, and do fees have the sign they should have."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from retro.app.doctor.agents import settings_for
from retro.app.doctor.check import Examination, note, ok
from retro.app.reviews.check_tallies import tallies
from retro.app.reviews.checks import compare
from retro.app.settlement.book import SettledBook, is_stale
from retro.errors import DamagedRowError
from retro.figures import count
from retro.model import Fill
from retro.store import checks as stored_checks
from retro.store.facts import agents as stored_agents
from retro.store.facts import events
from retro.store.life import LifeReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from retro.app.doctor.check import Check, Installation
    from retro.app.settlement.settings import AgentSettings
    from retro.store.facts.agents import Agent

__all__ = ["CHECKS", "source_figures"]

_NEWEST: Final = 2000
"""Figures and fills of an agent that are looked at."""
_FEW: Final = 5
"""Fees of which all may be rebates by chance."""


def source_figures(house: Installation) -> Iterator[Check]:
    """Every agent of which a source told figures of its own, and every venue whose fees all are rebates."""
    if house.store is None:
        return
    with house.store.read() as conn:
        for agent in stored_agents.agents(conn):
            try:
                yield from _figures(conn, agent, settings_for(house, agent))
                yield from _rebates(conn, agent.name)
            except DamagedRowError:  # told by the examination of agents
                continue


def _figures(conn: Connection, agent: Agent, settings: AgentSettings) -> Iterator[Check]:
    """One line: how much agrees; what the book is behind of is compared by `retro checks`, which settles it."""
    stated = stored_checks.after(conn, agent.name, None, _NEWEST, newest=True)
    if not stated or is_stale(conn, agent.name, settings):
        return
    rows = compare(SettledBook(LifeReader(conn, agent.name), agent, settings), stated)
    counted = tallies(rows, {agent.name: settings.base_currency})
    of_newest = f" (of the newest {_NEWEST:,})" if len(stated) == _NEWEST else ""
    detail = f"{agent.name}: {', '.join(tally.sentence for tally in counted)}{of_newest}"
    if any(tally.failing for tally in counted):
        yield note("checks", f"{detail}; `retro checks --agent {agent.name} --failing` lists what differs")
    else:
        yield ok("checks", detail)


def _rebates(conn: Connection, agent: str) -> Iterator[Check]:
    """Venues that seem to have paid for every trade: more often a sign that was read the wrong way round."""
    fills = events.newest_of(conn, agent, Fill, _NEWEST)
    venues = events.venues(conn, agent, {fill.position for fill in fills})
    fees = defaultdict(list)
    for fill in fills:
        if fill.fee:
            fees[venues.get(fill.position, "")].append(fill.fee)
    for venue, amounts in sorted(fees.items()):
        if len(amounts) >= _FEW and max(amounts) < 0:
            place = venue or "a venue without a name"
            yield note(
                "fees",
                f"{agent}: all {count(len(amounts), 'fee')} of {place} are below 0, which is a rebate;"
                " if they were paid, the source has the other sign: correct its mapping and ingest it with"
                " --on-conflict replace",
            )


CHECKS: Final = (Examination("checks", source_figures, reads_all=True),)
"""In the order in which they are told."""
