"""The audit of a whole life."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.citations import items_of
from retro.evaluate.audit.exits import with_results
from retro.evaluate.report import citations_of
from retro.model import Decision
from retro.periods import FOREVER, Period
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.report import HeuristicReport


__all__ = ["audit_life", "seed_of"]


def seed_of(agent: str, period: Period) -> int:
    """The seed of what is drawn by lot for a period: the same in every run, another for each agent and period."""
    text = f"{agent}|{period.horizon}|{period.start}|{period.end}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def audit_life(book: SettledBook) -> list[HeuristicReport]:
    """The citation audit over everything the agent ever did."""
    birth = book.agent.first_at or 0
    period = Period("custom", birth, max(book.known_until, birth) + 1, "life")
    rules = book.settings.options.rules
    decided = events.between(book.conn, book.name, period.start, period.end, types=[Decision])
    summaries = book.positions()
    items = [item for row in summaries for item in items_of(row, rules, rules.claims)]
    # marks may reach beyond the agent's last event: an exit they can judge is judged
    rows = audit_period(
        items,
        book.history(),
        rules,
        period.start,
        FOREVER,
        seed_of(book.name, period),
        stray=citations_of(decided, rules.claims),
        standing=_standing(book, [row.position for row in summaries if row.closed_at is None]),
    )
    # marks are read to their end here, so an exit without an outcome waits for none
    return with_results(rows, summaries, rules.claims, period.start, FOREVER)


def _standing(book: SettledBook, names: list[str]) -> dict[str, float | None]:
    """What the positions that are open now stand at; None of those whose price nobody knows."""
    if not names:
        return {}
    now = max(book.known_until, book.agent.first_at or 0)
    loaded = load_tracks(book.conn, book.name, book.settings, names, Extent(now, marks_until=now))
    standing: dict[str, float | None] = {}
    for name, track in loaded.tracks.items():
        with loaded.prices.watching() as unreliable:
            pnl = track.state(now + 1, now, loaded.prices).pnl
        standing[name] = None if unreliable else pnl
    return standing
