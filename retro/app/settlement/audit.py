"""The audit of a whole life, as it is known now or was at an earlier instant."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.settlement.tracks import Extent, load_tracks, money_of_weeks
from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.bets import bets_of
from retro.evaluate.audit.citations import items_of
from retro.evaluate.audit.exits import with_results
from retro.evaluate.audit.history import history_from, joined
from retro.evaluate.report import citations_of
from retro.model import Decision
from retro.periods import FOREVER, Period
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.evaluate.audit.bets import Bets
    from retro.evaluate.audit.citations import CreditItem
    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.position.summary import PositionSummary
    from retro.report import HeuristicReport


__all__ = ["LifeCitations", "audit_life", "citations_of_life", "seed_of", "seed_of_life"]

_CHUNK = 4000  # positions replayed at once


def seed_of(agent: str, period: Period) -> int:
    """The seed of what is drawn by lot for a period: the same in every run, another for each agent and period."""
    return _seed(f"{agent}|{period.horizon}|{period.start}|{period.end}")


def seed_of_life(agent: str) -> int:
    """The seed of what is drawn for a whole life: an answer as of an instant is the same before and after it."""
    return _seed(agent)


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@dataclass(frozen=True, slots=True)
class LifeCitations:
    """Everything that was cited in a life under some rules, as known at `known_until`: positions, outcomes, weeks."""

    rules: AuditRules
    known_until: int
    rows: Sequence[PositionSummary]
    items: Sequence[CreditItem]
    history: History
    bets: Bets


def citations_of_life(
    book: SettledBook, rules: AuditRules | None = None, *, as_of: int | None = None
) -> LifeCitations:
    """What was cited in a life; `rules` need not be those that the book was settled by, `as_of` is now in place of K."""
    settled = book.settings.options.rules
    rules = settled if rules is None else rules
    known_until = book.known_until if as_of is None else as_of
    rows = book.positions_known(known_until)
    if rules.claims != settled.claims:  # rare: what a tag stands for is resolved anew, and its weeks with it
        history = joined(
            [_replayed(book, rows[i : i + _CHUNK], rules, known_until) for i in range(0, len(rows), _CHUNK)]
        )
    elif known_until < book.known_until:
        history = joined([history_from(rows, rules), book.history().weeks_told_by(known_until)])
    else:
        history = book.history()
    items = [item for row in rows for item in items_of(row, rules, rules.claims)]
    return LifeCitations(rules, known_until, rows, items, history, bets_of(history, rules, known_until))


def _replayed(
    book: SettledBook, rows: Sequence[PositionSummary], rules: AuditRules, known_until: int
) -> History:
    names = [row.position for row in rows]
    loaded = load_tracks(book.life, book.settings, names, Extent(book.known_until))
    money = money_of_weeks(loaded, rows, book.known_until, rules)
    return history_from(rows, rules, money).told_by(known_until)


def audit_life(
    book: SettledBook, life: LifeCitations | None = None, *, as_of: int | None = None
) -> list[HeuristicReport]:
    """The citation audit over everything the agent did until `as_of`, or ever; `life` is its citations, if at hand."""
    life = citations_of_life(book, as_of=as_of) if life is None else life
    rules, birth = life.rules, book.agent.first_at or 0
    # marks may reach beyond the agent's last event: an exit they can judge is judged
    end = FOREVER if as_of is None else as_of + 1
    period = Period("custom", birth, max(life.known_until, birth) + 1, "life")
    decided = events.between(book.conn, book.name, period.start, period.end, types=[Decision])
    still = [row.position for row in life.rows if row.closed_at is None]
    rows = audit_period(
        life.items,
        life.history,
        life.bets,
        rules,
        period.start,
        end,
        seed_of(book.name, period),
        stray=citations_of(decided, rules.claims),
        standing=_standing(book, still, life.known_until),
    )
    # marks are read to their end here, so an exit without an outcome waits for none
    return with_results(rows, life.rows, rules.claims, period.start, end)


def _standing(book: SettledBook, names: list[str], known_until: int) -> dict[str, float | None]:
    """What the positions that are open then stand at; None of those whose price nobody knows."""
    if not names:
        return {}
    now = max(known_until, book.agent.first_at or 0)
    loaded = load_tracks(book.life, book.settings, names, Extent(now, marks_until=now))
    standing: dict[str, float | None] = {}
    for name, track in loaded.tracks.items():
        with loaded.prices.watching() as unreliable:
            pnl = track.state(now + 1, now, loaded.prices).pnl
        standing[name] = None if unreliable else pnl
    return standing
