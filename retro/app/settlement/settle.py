"""Keep the book up to date: outcomes of positions, wallet by day, discrepancies, from what is new on."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.accounting.books import step, steps
from retro.accounting.coins import note_coins, owed
from retro.accounting.prices import related_symbols
from retro.accounting.wallet import Statement, Wallet, statements
from retro.app.settlement.book import (
    WALLET_TYPES,
    SettledBook,
    WalletOpening,
    is_stale,
    measured_settings,
)
from retro.app.settlement.capital import (
    discrepancies,
    gaps_of,
    opening_told,
    with_baseline,
    with_capital,
)
from retro.app.settlement.evaluators import forget_evaluators, settle_evaluators
from retro.app.settlement.first_marks import FirstMarks
from retro.app.settlement.invalidation import invalidate_for_shared_marks
from retro.app.settlement.price_lines import MarkReach, PriceDemand, exchange_symbols, load_prices
from retro.app.settlement.shadows import exits_of_rules, replace_exits
from retro.app.settlement.tracks import Extent, load_tracks, money_of_weeks
from retro.evaluate.audit.citations import entry_day
from retro.evaluate.audit.history import History, history_from, joined
from retro.evaluate.position.summary import PositionSummary, book_rows
from retro.model import Decision, Equity, External, Flow
from retro.periods import DAY, FOREVER
from retro.store.books import positions, shared_marks
from retro.store.books.outcomes import forget_outcomes, replace_outcomes
from retro.store.books.positions import WalletDay
from retro.store.books.totals import closing_days, forget_totals, settle_totals
from retro.store.facts import agents, counts, events
from retro.store.facts.tellings import told_first
from retro.store.jobs import reviews
from retro.store.jobs.staleness import Staleness
from retro.store.life import LifeReader
from retro.store.locks import lock_agents
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from retro.accounting.coins import Coins, CoinsInside
    from retro.accounting.movements import Effect
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.evaluate.whatif.shadows import ShadowExits
    from retro.model import Fact
    from retro.store.books.positions import BookState
    from retro.store.database import Store
    from retro.store.facts.agents import Agent


__all__ = ["replays_more_than", "settle", "settled_book"]

_CHUNK: Final = 4000
_LOOK_BACK: Final = 8 * DAY
_COLUMNS: Final = [
    name for name in PositionSummary.__struct_fields__ if name not in {"decisions", "increases"}
]


@dataclass(frozen=True, slots=True)
class _Start:
    """Where settling begins: rows are stale from `since` on, the wallet is known before the events at `at`.

    `opening` None: the book is made from nothing, and how the wallet began is still to be found out.
    """

    since: int
    at: int
    wallet: Wallet
    opening: WalletOpening | None


@dataclass(slots=True)
class _Positions:
    """What settled positions did to the wallet since the start, and their worth at each equity statement.

    `coins`: what they hold where balances are stated; `owed`: what they have borrowed of what these count.
    `orphan_costs`: what the wallet paid for positions that never came into being. `prices` they were settled with.
    `entries`: when they were opened, by what the book said before and says now.
    """

    worth: dict[int, list[float]]
    coins: dict[int, Coins]
    owed: dict[int, list[float]]
    prices: list[Prices] = field(default_factory=list)
    effects: list[tuple[str, Effect]] = field(default_factory=list)
    orphan_costs: list[Fact] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)

    def inside(self, statement: Statement) -> list[float]:
        """What a statement is held against besides the wallet; balances cannot state a debt."""
        borrowed = self.owed[statement.at] if statement.by_balances else []
        return [*self.worth.get(statement.at, ()), *borrowed]


def settle(conn: Connection, agent: Agent, settings: AgentSettings) -> None:
    """Bring an agent's book up to date in the caller's transaction; costs what changed, not the history."""
    if agent.first_at is None:
        return
    name = agent.name
    # nobody tells shared marks between what is read of them and the version that is noted
    lock_agents(conn, [name], marks="read")
    invalidate_for_shared_marks(conn, name)
    book = positions.book_of(conn, name)
    if book is not None and book.speaks_for(settings.fingerprint):
        return
    first_marks = FirstMarks(conn, name, settings.base_currency, agent.known_until)
    start = _start(conn, agent, settings, book, first_marks)
    facts = events.between(conn, name, start.at, FOREVER, types=WALLET_TYPES, wallet=True)
    settled = _settle_positions(conn, agent, settings, start, facts)
    settle_evaluators(conn, agent, settings, start.since, settled.entries, whole=start.opening is None)
    facts = [*facts, *settled.orphan_costs]
    # only now is it known which assets positions left in the wallet, and so which prices its worth rests on
    prices = _wallet_prices(conn, agent, settings, start, facts, settled.effects)
    movements = [
        *(effect.at for _, effect in settled.effects),
        *(fact.at for fact in facts if not isinstance(fact, Equity)),
    ]
    birth = events.first_instant(conn, name) or start.since
    opening = start.opening or opening_told(birth, facts, movements, settings)
    stated = statements(facts, prices)
    inside = [settled.inside(statement) for statement in stated]

    def walked(opening: WalletOpening) -> tuple[list[WalletDay], list[float]]:
        """The wallet moved through everything since its start; its days, and the gap at each statement."""
        ordered = steps(settled.effects, [*opening.facts(name), *facts], start.at, FOREVER)
        stops = [statement.at for statement in stated]
        days, outside = _walk(start, ordered, stops, prices, settled.coins.__getitem__)
        return days, gaps_of(stated, inside, outside)

    days, gaps = walked(opening)
    if start.opening is None and stated:
        if not opening.capital_known:
            # walked again, not shifted: so the last digit is the same as when later facts are settled by themselves
            opening = with_capital(opening, gaps[0], settings.base_currency)
            days, gaps = walked(opening)
        opening = with_baseline(opening, stated[0], gaps[0])
    unmarked = first_marks.unmarked(opening.unmarked, start.since, [*settled.prices, prices])
    opening = msgspec.structs.replace(opening, unmarked=unmarked)
    positions.save_days(conn, name, days, discrepancies(opening, stated, gaps))
    positions.state(conn, name, settings.fingerprint, msgspec.to_builtins(opening))
    _note_names(conn, name, settings, start, [*settled.prices, prices], book)


def _note_names(
    conn: Connection,
    name: str,
    settings: AgentSettings,
    start: _Start,
    settled_with: Iterable[Prices],
    book: BookState | None,
) -> None:
    """Note the names of all series on which the book and reviews made from it rest."""
    names = {
        symbol for symbol, _ in exchange_symbols(settings.base_currency)
    }  # what reviewing cost is paid in dollars
    names = names.union(*(prices.looked_up for prices in settled_with))
    if (
        settings.options.benchmark is not None
    ):  # reviews are held against it, though nothing of it was ever held
        names |= related_symbols(settings.options.benchmark.instrument, settings.base_currency)
    for decision in events.between(conn, name, start.since, FOREVER, types=[Decision]):
        if decision.instrument:  # one that was passed by is watched, though nothing of it was ever held
            names |= related_symbols(decision.instrument, settings.base_currency)
    whole = start.opening is None
    if book is None or book.settings:
        shared_marks.note_names(conn, name, names, whole=whole)
        return
    # an older version of this program settled it and noted nothing: every telling since then is news
    shared_marks.note_names(conn, name, names, whole=whole, version=0)
    invalidate_for_shared_marks(conn, name, is_settled=True)


def _start(
    conn: Connection,
    agent: Agent,
    settings: AgentSettings,
    book: BookState | None,
    first_marks: FirstMarks,
) -> _Start:
    """Forget what is stale of the book, and where to go on from: the last wallet day before it, or the very beginning."""
    name, birth = agent.name, agent.first_at or 0
    wallet = Wallet(settings.base_currency, settings.lot_method)
    if book is not None and book.settings == settings.fingerprint:
        opening = msgspec.convert(book.opening, WalletOpening)
        since = birth if book.dirty_from is None else max(book.dirty_from, birth)
        unmarked_since = first_marks.stale_since(opening.unmarked, since)
        if unmarked_since < since:
            since = max(unmarked_since, birth)
            reviews.mark_stale(conn, name, since, FOREVER, Staleness(marks=True))
        first = events.first_of(conn, name, Equity)
        # the first statement tells the opening capital or the baseline of all later ones: what comes before it
        # changes every row of the wallet
        day = None if first is not None and since <= first.at else positions.day_before(conn, name, since)
        # the wallet opens at the first fact: a book that was settled by marks alone, or before an older fact came, knew
        # another
        began = events.first_instant(conn, name) or birth
        if day is not None and opening.birth == began:
            positions.forget_after(conn, name, day.at)
            wallet = Wallet.from_json(settings.base_currency, settings.lot_method, day.wallet)
            return _Start(since, day.at, wallet, opening)
    positions.forget_after(conn, name, -FOREVER)
    positions.forget_positions(conn, name)
    forget_outcomes(conn, name)
    forget_evaluators(conn, name)
    forget_totals(conn, name)
    return _Start(birth, birth // DAY * DAY, wallet, None)


def _settle_positions(
    conn: Connection, agent: Agent, settings: AgentSettings, start: _Start, facts: Sequence[Fact]
) -> _Positions:
    """Write the rows and outcomes of the positions that may have changed; what they meant for the wallet.

    `facts` are those of the wallet: its statements, and flows that say what an asset was worth.
    """
    name, rules = agent.name, settings.options.rules
    names = _names_to_settle(conn, name, start.since, start.at)
    times = sorted({fact.at for fact in facts if isinstance(fact, Equity)})
    # a flow with a stated value may price an asset that has neither mark nor fill
    valued = [fact for fact in facts if isinstance(fact, Flow | External) and fact.value is not None]
    # outcomes lie in blocks of entry days: the days before, too, as a corrected fact may have moved an entry
    entries = positions.opened(conn, name, names)
    entry_days = {entry_day(at, rules) for at in entries}
    days = closing_days(conn, name, settings.zone, names)
    resolved: list[History] = []
    exits: list[dict[WhatIfRule, ShadowExits]] = []
    counted = sorted({fact.at for fact in facts if isinstance(fact, Equity) and fact.balances is not None})
    settled = _Positions({at: [] for at in times}, {at: {} for at in counted}, {at: [] for at in counted})
    for i in range(0, len(names), _CHUNK):  # a life of many positions is not held in memory at once
        chunk = names[i : i + _CHUNK]
        until = agent.known_until
        loaded = load_tracks(LifeReader(conn, name), settings, chunk, Extent(until), PriceDemand(valued))
        told_at = told_first(conn, name, chunk)
        rows = book_rows(
            loaded.tracks.values(),
            loaded.prices,
            until,
            told_at,
            use_highs_lows=settings.options.use_highs_lows,
        )
        positions.save_positions(conn, name, [_plain(row) for row in rows])
        settled.entries += [row.opened_at for row in rows]
        resolved.append(history_from(rows, rules, money_of_weeks(loaded, rows, until, rules)))
        exits.append(exits_of_rules(loaded, settings, until, settings.shadow_rules))
        settled.prices.append(loaded.prices)
        settled.orphan_costs += loaded.costs_of_orphans(start.at)
        for position, track in loaded.tracks.items():
            settled.effects += [(position, effect) for effect in track.effects if effect.at >= start.at]
            _add_worth(settled.worth, track, times, loaded.prices)
            note_coins(settled.coins, counted, track, loaded.prices)
            for at in _times_open(track, counted):
                settled.owed[at].append(owed(track, at, loaded.prices))
    replace_outcomes(conn, name, names, entry_days, joined(resolved))
    replace_exits(conn, name, names, entries, exits)
    settled.entries += entries
    days |= closing_days(conn, name, settings.zone, names)
    settle_totals(conn, name, settings.zone, days)
    return settled


def _names_to_settle(conn: Connection, agent: str, since: int, at: int) -> list[str]:
    """Positions with a fact since the start, and those that were open then or resolved lately: marks move them too."""
    look_back = since - _LOOK_BACK
    touched = events.positions_touched(conn, agent, min(at, look_back), FOREVER)
    return sorted({*touched, *positions.alive(conn, agent, look_back, FOREVER)})


def replays_more_than(conn: Connection, agent: str, limit: int) -> bool:
    """Whether settling a book that is there already would replay more than so many facts; none of them is read."""
    book = positions.book_of(conn, agent)
    if book is None or book.dirty_from is None:
        return False
    since = book.dirty_from
    if counts.since(conn, agent, since - _LOOK_BACK, limit + 1) > limit:
        return True
    return counts.of_positions(conn, agent, _names_to_settle(conn, agent, since, since)) > limit


def _add_worth(
    worth: dict[int, list[float]], track: PositionHistory, times: Sequence[int], prices: Prices
) -> None:
    """Add what a position was worth to each statement made while it was open, after its opening and up to its close."""
    for at in _times_open(track, times):
        worth[at].append(track.state(at, at, prices).value)


def _times_open(track: PositionHistory, times: Sequence[int]) -> Sequence[int]:
    last = len(times) if track.closed_at is None else bisect_right(times, track.closed_at)
    return times[bisect_right(times, track.opened_at) : last]


def _wallet_prices(
    conn: Connection,
    agent: Agent,
    settings: AgentSettings,
    start: _Start,
    facts: Sequence[Fact],
    effects: Iterable[tuple[str, Effect]],
) -> Prices:
    """The prices of everything that was in the wallet at the start or came into it since."""
    assets = {*start.wallet.assets, *(effect.asset for _, effect in effects)}
    reach = MarkReach(start.at, FOREVER, agent.known_until)
    return load_prices(LifeReader(conn, agent.name), settings, PriceDemand(facts, assets, start.at), reach)


def _walk(
    start: _Start,
    moves: Sequence[tuple[int, Effect | Fact]],
    stops: Sequence[int],
    prices: Prices,
    inside: CoinsInside,
) -> tuple[list[WalletDay], list[float]]:
    """Move the wallet through its steps: its state at each UTC day start that follows a change, its worth at stops.

    A stop comes before the events of its own instant (a statement is of the state they found), but after the opening.
    """
    wallet = start.wallet.copy()
    days = [WalletDay(start.at, wallet.to_json())]
    changed: int | None = None  # the day of the last change: its end has yet to be stored
    worth: dict[int, float] = {}
    waiting = deque(sorted({*stops}))
    for at, movement in moves:
        while waiting and waiting[0] <= at and not _opens(movement):
            stop = waiting.popleft()
            worth[stop] = wallet.value(stop, prices)
        day = at // DAY * DAY
        if changed is not None and day > changed:
            days.append(WalletDay(changed + DAY, wallet.to_json()))
        changed = day
        step(wallet, movement, prices, inside)
    for at in waiting:
        worth[at] = wallet.value(at, prices)
    if changed is not None:
        days.append(WalletDay(changed + DAY, wallet.to_json()))
    return days, [worth[at] for at in stops]


def _opens(movement: Effect | Fact) -> bool:
    """Whether a step is the opening of the wallet, which a statement of the same instant already counts."""
    return isinstance(movement, External) and not movement.id


def _plain(row: PositionSummary) -> dict[str, Any]:
    data = {name: getattr(row, name) for name in _COLUMNS}
    return {**data, "position": name_of(row.position), "told": json.dumps(row.to_json())}


@contextmanager
def settled_book(
    store: Store, name: str, settings: AgentSettings, *, measured: bool = True
) -> Iterator[SettledBook]:
    """An agent's book, settled first where it is stale, in one read transaction; `UnknownError` without the agent.

    `measured` False: its settings as they were given, for a reader of rows who asks for no verdict; measuring counts all.
    """
    with store.read() as conn:
        book = SettledBook(LifeReader(conn, name), agents.existing_agent(conn, name), settings)
        if not is_stale(conn, name, settings):  # the usual case: one transaction in all
            yield _measured(book) if measured else book
            return
    with store.write() as conn:
        lock_agents(conn, [name], marks="read")  # two readers at once: the second finds it done
        # asked again: facts may have come since, and with them a later K
        settle(conn, agents.existing_agent(conn, name), settings)
    with store.read() as conn:
        book = SettledBook(LifeReader(conn, name), agents.existing_agent(conn, name), settings)
        yield _measured(book) if measured else book


def _measured(book: SettledBook) -> SettledBook:
    return replace(book, settings=measured_settings(book.conn, book.name, book.settings))
