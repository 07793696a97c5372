"""Whether the memory is sound: counts, the columnar cache, rows that belong to nothing, rows that were changed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.episodic import cache
from memory.episodic.columns import layout_of
from memory.settings import STANDARD, Settings
from memory.store import intents, ledger
from memory.store.ledger import BLOCK

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Health:
    """What was found about one agent's memory; `problems` is empty when it is sound."""

    agent: str
    episodes: int
    retrospectives: int
    amendments: int
    beliefs_seeded: int
    plans: int
    blocks: int
    blocks_missing: int
    problems: tuple[str, ...] = field(default=())


def health(conn: Connection, *, settings: Settings = STANDARD, thorough: bool = False) -> tuple[Health, ...]:
    """One line per agent, in order of name; writes nothing.

    `thorough` also reads every row of both ledgers and compares the chain of digests with their content, so that a
    row changed behind the memory's back is named.
    """
    return tuple(_health(conn, agent, settings, thorough) for agent in ledger.names(conn))


def _health(conn: Connection, agent: str, settings: Settings, thorough: bool) -> Health:
    now = ledger.head(conn, agent)
    problems = []
    layout = settings.registry.layout
    damaged = _damaged(conn, agent, layout, now.episodes, layout_of(settings.registry).itemsize)
    damaged += _damaged(conn, agent, cache.JUDGED, now.retrospectives, cache.JUDGED_ROW.itemsize)
    if damaged:
        problems.append(f"{damaged} cached blocks are damaged; they are read from their rows instead")
    counts = ledger.counts(conn, agent)
    if counts["episodes"] != now.episodes:
        problems.append(f"the head counts {now.episodes} episodes, there are {counts['episodes']}")
    if counts["retrospectives"] != now.retrospectives:
        problems.append(
            f"the head counts {now.retrospectives} retrospectives, there are {counts['retrospectives']}"
        )
    orphans = ledger.orphans(conn, agent)
    if orphans:
        problems.append(f"{orphans} retrospectives or amendments belong to no episode")
    plan_count = len(intents.planned(conn, agent, None, alive=False))
    strays = sorted(set(intents.events(conn, agent)) - set(intents.plan_ids(conn, agent)))
    if strays:
        problems.append(f"{len(strays)} plans have events and no plan")
    if thorough:
        problems.extend(ledger.broken(conn, agent, now))
    return Health(
        agent=agent,
        episodes=counts["episodes"],
        retrospectives=counts["retrospectives"],
        amendments=counts["amendments"],
        beliefs_seeded=len(intents.seeded(conn, agent, None)),
        plans=plan_count,
        blocks=now.episodes // BLOCK - len(ledger.unsealed(conn, agent, layout, now.episodes)),
        blocks_missing=len(ledger.unsealed(conn, agent, layout, now.episodes)),
        problems=tuple(problems),
    )


def _damaged(conn: Connection, agent: str, layout: str, count: int, row: int) -> int:
    stored = ledger.sealed(conn, agent, layout, count).values()
    return sum(len(data) != BLOCK * row or zlib.crc32(data) != crc for crc, data in stored)
