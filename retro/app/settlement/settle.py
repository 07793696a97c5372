"""Keep the book up to date: outcomes of positions, wallet by day, discrepancies, from what is new on."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import fields
from math import fsum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.accounting.books import step, steps
from retro.accounting.wallet import Wallet, statements
from retro.app.settlement.book import WALLET_TYPES, WalletOpening, is_stale, known_until
from retro.app.settlement.tracks import load_prices, load_tracks, price_by_fills, symbols_of
from retro.evaluate.audit.citations import entry_day
from retro.evaluate.audit.history import History, history_from, joined
from retro.evaluate.position.summary import PositionSummary, book_row
from retro.model import Equity, External, Flow
from retro.periods import DAY, FOREVER, day_of, midnight
from retro.store.books import positions
from retro.store.books.outcomes import forget_outcomes, replace_outcomes
from retro.store.facts import events
from retro.store.schema import ingest_alone, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.accounting.prices import Prices
    from retro.accounting.track import Effect
    from retro.app.settlement.settings import AgentSettings
    from retro.model import Fact
    from retro.store.database import Store
    from retro.store.facts.agents import Agent


__all__ = ["ensure_settled", "settle"]

_CHUNK: Final = 4000
_LOOK_BACK: Final = 8 * DAY
_COLUMNS: Final = [
    field.name for field in fields(PositionSummary) if field.name not in {"decisions", "increases"}
]


def settle(conn: Connection, agent: Agent, settings: AgentSettings) -> None:
    """Bring an agent's book up to date in the caller's transaction; costs what changed, not the history."""
    if agent.first_at is None:
        return
    name, now = agent.name, known_until(agent)
    book = positions.book_of(conn, name)
    fresh = book is None or book[1] != settings.fingerprint
    if book is not None and not fresh and book[0] is None:
        return
    since = agent.first_at if book is None or fresh or book[0] is None else max(book[0], agent.first_at)
    first = events.first_of(conn, name, "equity")
    before = (
        None
        if fresh or (first is not None and since <= first.at)
        else positions.days_before(conn, name, since)
    )
    if before is None:
        since, start = agent.first_at, agent.first_at // DAY * DAY
        wallet = Wallet(settings.base_currency, settings.lot_method)
        positions.forget_after(conn, name, -FOREVER)
        positions.forget_positions(conn, name)
        forget_outcomes(conn, name)
    else:
        start, wallet = before[0], Wallet.from_json(settings.base_currency, settings.lot_method, before[1])
        positions.forget_after(conn, name, start)
    wallet_facts = events.between(conn, name, start, FOREVER, types=WALLET_TYPES, wallet=True)
    stated = statements(wallet_facts)
    look_back = min(start, since - _LOOK_BACK)
    open_then = {row.position for row in positions.positions(conn, name, alive_at=since - _LOOK_BACK)}
    names = sorted({*events.positions_touched(conn, name, look_back, FOREVER), *open_then})
    effects, inside, orphaned = _settle_positions(conn, name, settings, names, now, start, wallet_facts)
    wallet_facts = [*wallet_facts, *orphaned]
    assets = {*symbols_of(wallet_facts), *wallet.assets, *(effect.asset for _, effect in effects)}
    prices = load_prices(conn, name, settings, assets, start, FOREVER)
    price_by_fills(conn, name, prices, assets, start, FOREVER, wallet_facts, wallet.assets)
    opening = (
        _begin(events.first_instant(conn, name) or since, wallet_facts, settings)
        if before is None or book is None
        else msgspec.convert(book[2], WalletOpening)
    )
    moves = steps(effects, [*opening.facts(name), *wallet_facts], start, FOREVER)
    days, sums = _walk(wallet, moves, [s.at for s in stated], start, prices)
    gaps = [s.value - fsum([inside[k], sums[k]]) for k, s in enumerate(stated)]
    if gaps and before is None:
        opening, days = _after_first_statement(opening, gaps[0], days, settings.base_currency)
        gaps = [gap - gaps[0] for gap in gaps]
    else:
        gaps = [gap - opening.baseline for gap in gaps]
    positions.save_days(
        conn, name, days, sorted({s.at: gap for s, gap in zip(stated, gaps, strict=True)}.items())
    )
    positions.state(conn, name, settings.fingerprint, msgspec.to_builtins(opening))


def _settle_positions(
    conn: Connection,
    agent: str,
    settings: AgentSettings,
    names: Sequence[str],
    now: int,
    start: int,
    wallet_facts: Sequence[Fact],
) -> tuple[list[tuple[str, Effect]], list[float], list[Fact]]:
    """Write the rows of these positions; gives what they did to the wallet, and their worth at each statement.

    And the costs of positions that never came into being, which the wallet paid.
    """
    effects: list[tuple[str, Effect]] = []
    orphaned: list[Fact] = []
    rules = settings.options.rules
    resolved: list[History] = []
    days = {entry_day(at, rules) for at in positions.opened(conn, agent, names)}
    times = [statement.at for statement in statements(wallet_facts)]
    valued = [fact for fact in wallet_facts if isinstance(fact, Flow | External) and fact.value is not None]
    inside = [0.0] * len(times)
    for i in range(0, len(names), _CHUNK):
        loaded = load_tracks(
            conn,
            agent,
            settings,
            names[i : i + _CHUNK],
            until=FOREVER,
            known_until=FOREVER,
            marks_until=FOREVER,
            extra_facts=valued,
        )
        prices, rows = loaded.prices, []
        orphaned += loaded.costs_of_orphans(start)
        for name, track in loaded.tracks.items():
            flagged = track.flagged_at
            day = None if flagged is None else midnight(day_of(flagged, settings.zone), settings.zone)
            rows.append(book_row(track, prices, now, day))
            effects += [(name, effect) for effect in track.effects if effect.at >= start]
            last = len(times) if track.closed_at is None else bisect_right(times, track.closed_at)
            for k in range(bisect_right(times, track.opened_at), last):
                inside[k] += track.state(times[k], times[k], prices).value
        positions.save_positions(conn, agent, [_plain(row) for row in rows])
        resolved.append(history_from(rows, rules))
    replace_outcomes(conn, agent, names, days, joined(resolved))
    return effects, inside, orphaned


def _begin(birth: int, wallet_facts: Iterable[Fact], settings: AgentSettings) -> WalletOpening:
    balances = [
        f.balances for f in wallet_facts if isinstance(f, Equity) and f.at == birth and f.balances is not None
    ]
    if balances:
        given = [(asset, str(quantity)) for asset, quantity in sorted(balances[0].items())]
        return WalletOpening(birth, capital_known=True, given=given, baseline=0.0)
    if settings.capital is not None:
        return WalletOpening(birth, True, [(settings.base_currency, str(settings.capital))], 0.0)
    return WalletOpening(birth, capital_known=False, given=[], baseline=0.0)


def _after_first_statement(
    opening: WalletOpening, gap: float, days: list[tuple[int, dict[str, Any]]], base_currency: str
) -> tuple[WalletOpening, list[tuple[int, dict[str, Any]]]]:
    """The first statement: a baseline where the opening is known, else it tells the opening capital."""
    if opening.capital_known:
        return msgspec.structs.replace(opening, baseline=gap), days
    opening = WalletOpening(
        opening.birth, capital_known=True, given=[(base_currency, repr(gap))], baseline=0.0
    )
    moved = [
        (at, {**wallet, "cash": wallet["cash"] + gap} if at > opening.birth else wallet)
        for at, wallet in days
    ]
    return opening, moved


def _walk(
    wallet: Wallet, ordered: Sequence[tuple[int, Any]], stops: Sequence[int], start: int, prices: Prices
) -> tuple[list[tuple[int, dict[str, Any]]], list[float]]:
    """Move the wallet through its steps: its state at each UTC day start that follows a change, its worth at stops."""
    days: list[tuple[int, dict[str, Any]]] = [(start, wallet.to_json())]
    values: list[float] = []
    pending: int | None = None
    i = 0
    marks = sorted({*stops})
    worth: dict[int, float] = {}
    for at, movement in ordered:
        while i < len(marks) and marks[i] <= at and not _opens(movement):
            worth[marks[i]] = wallet.value(marks[i], prices)
            i += 1
        day = at // DAY * DAY
        if pending is not None and day > pending:
            days.append((pending + DAY, wallet.to_json()))
        pending = day
        step(wallet, movement, prices)
    for at in marks[i:]:
        worth[at] = wallet.value(at, prices)
    if pending is not None:
        days.append((pending + DAY, wallet.to_json()))
    values = [worth[at] for at in stops]
    return days, values


def _opens(movement: Any) -> bool:
    """Whether a step is the opening of the wallet, which a statement of the same instant already counts."""
    return isinstance(movement, External) and not movement.id


def _plain(row: PositionSummary) -> dict[str, Any]:
    data = {name: getattr(row, name) for name in _COLUMNS}
    return {**data, "position": name_of(row.position), "told": json.dumps(row.to_json())}


def ensure_settled(store: Store, agent: Agent, settings: AgentSettings) -> None:
    """Make sure the agent's book speaks for its facts."""
    with store.read() as conn:
        if not is_stale(conn, agent.name, settings):
            return
    with store.write() as conn:
        ingest_alone(conn)  # two readers at once: the second finds it done
        settle(conn, agent, settings)
