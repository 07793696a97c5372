"""From the store to what `assemble` takes: facts by position, and the price lines they need."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.accounting.order import natural_key
from retro.accounting.prices import Prices, related_symbols
from retro.accounting.replay import replay
from retro.evaluate.position.summary import flag_implausible
from retro.model import Cost, Equity, External, Fill, Flow, Position, Snapshot
from retro.periods import DAY
from retro.store.books import positions
from retro.store.facts import events, marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from retro.accounting.track import PositionHistory
    from retro.app.settlement.settings import AgentSettings
    from retro.kernels.lots import LotBook
    from retro.model import Fact, MarkSeries

__all__ = ["Loaded", "by_position", "load_prices", "load_tracks", "price_by_fills", "symbols_of"]


def symbols_of(facts: Iterable[Fact]) -> set[str]:
    """Every instrument and asset that facts name and that may need a price."""
    symbols: set[str] = set()
    for fact in facts:
        match fact:
            case Position():
                symbols |= {fact.instrument, *(fact.funded_with or ())}
                symbols |= {token for token in (fact.token0, fact.token1) if token}
            case Fill():
                symbols |= {name for name in (fact.instrument, fact.fee_asset) if name}
            case Flow():
                symbols.add(fact.asset)
            case Snapshot():
                symbols |= {*fact.holdings, *(fact.claimable or ()), *(fact.debt or ())}
            case Cost() | External():
                symbols |= {fact.asset} if fact.asset else set()
            case Equity():
                symbols |= set(fact.balances or ())
            case _:
                pass
    return symbols


def load_prices(
    conn: Connection, agent: str, settings: AgentSettings, symbols: Iterable[str], start: int, end: int
) -> Prices:
    """The marks of these symbols with start <= t <= end, the agent's own and the shared ones.

    Where a series starts later, the last mark before `start` is brought along, so that as-of look-ups have one.
    """
    wanted = {name for symbol in symbols for name in related_symbols(symbol, settings.base_currency)}
    series: list[dict[str, MarkSeries]] = []
    for owner in (agent, None):
        instruments = wanted & set(marks.instruments(conn, owner))
        loaded = {}
        for name in sorted(instruments):
            before = marks.last_at_or_before(conn, owner, name, start)
            mark_series = marks.load(conn, owner, name, start if before is None else before[0], end)
            if mark_series is not None:
                loaded[name] = mark_series
        series.append(loaded)
    return Prices(settings.base_currency, *series)


def by_position(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts grouped by the position they name."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        name = getattr(fact, "position", None)
        if name is not None:
            groups[name].append(fact)
    return groups


@dataclass(frozen=True, slots=True)
class Loaded:
    """Positions replayed from their facts: tracks by id (in order of id), the prices they rest on, and the facts.

    `orphans` are facts of positions that no `position` event opened, by the name they use.
    """

    tracks: dict[str, PositionHistory]
    prices: Prices
    facts: list[Fact]
    orphans: dict[str, list[Fact]]

    def costs_of_orphans(self, start: int) -> list[Fact]:
        """What was paid, from `start` on, for positions that never came into being: gas that failed is a cost too."""
        return [
            fact
            for group in self.orphans.values()
            for fact in group
            if isinstance(fact, Cost) and fact.at >= start
        ]


def load_tracks(
    conn: Connection,
    agent: str,
    settings: AgentSettings,
    names: Sequence[str],
    *,
    until: int,
    known_until: int,
    marks_until: int,
    extra_facts: Iterable[Fact] = (),
    assets: Mapping[str, LotBook] | None = None,
    since: int | None = None,
) -> Loaded:
    """Replay positions from their facts before `until`; a snapshot at exactly `until` tells the principal there.

    Prices are loaded up to `marks_until`, also for `extra_facts` and the `assets` of the wallet, which is valued from
    `since` on.
    """
    facts = events.of_positions(conn, agent, names, until=min(until, known_until)) if names else []
    boundary = by_position(fact for fact in facts if fact.at == until)
    facts = [fact for fact in facts if fact.at < until]
    extra_facts = list(extra_facts)
    needed = [fact.at for fact in (*facts, *extra_facts)] + ([] if since is None else [since])
    start = min(needed, default=until) - 2 * DAY
    symbols = {
        *symbols_of((*facts, *extra_facts)),
        *(assets or ()),
        *symbols_of(fact for g in boundary.values() for fact in g),
    }
    prices = load_prices(conn, agent, settings, symbols, start, marks_until)
    instants = needed if since is None else [since, *(fact.at for fact in extra_facts)]
    price_by_fills(
        conn,
        agent,
        prices,
        symbols,
        min(instants, default=until),
        until,
        [*facts, *extra_facts],
        assets or {},
    )
    tracks: dict[str, PositionHistory] = {}
    orphans: dict[str, list[Fact]] = {}
    for name, group in sorted(by_position(facts).items()):
        with prices.watching() as unreliable:
            track = replay(group, prices, settings.lot_method)
        if track is None:
            orphans[name] = group
            continue
        track.unreliable = unreliable
        track.note_boundary(boundary.get(name, ()))
        flag_implausible(track, prices)
        tracks[name] = track
    return Loaded(tracks, prices, facts, orphans)


def price_by_fills(
    conn: Connection,
    agent: str,
    prices: Prices,
    symbols: Iterable[str],
    since: int,
    until: int,
    facts: Collection[Fact],
    wallet: Mapping[str, LotBook],
) -> None:
    """Let fills price what has no mark, whatever position they belong to; without any fill, what flows were said to be worth.

    Those in `facts`; for symbols without any mark also all others from `since` on (or from the first fact of `facts` that
    asks for such a price), and the last before; and where there is nothing at all, what the units last received by the
    `wallet` came in at.
    """
    unmarked = {name for name in symbols if name != prices.base_currency and not len(prices.line(name).t)}
    if unmarked:
        since = min([since, *(fact.at for fact in facts if unmarked & _priced_by(fact))])
    dealt = positions.traded(conn, agent, sorted(unmarked), since) if unmarked else set()
    dealt -= {fact.position for fact in facts if isinstance(fact, Position)}
    other_facts = events.of_positions(conn, agent, sorted(dealt)) if dealt else []
    every = [*other_facts, *facts]
    instruments = {fact.position: fact.instrument for fact in every if isinstance(fact, Position)}
    fills = {fact.id: fact for fact in every if isinstance(fact, Fill) and fact.at < until}
    for fill in sorted(fills.values(), key=lambda fill: (fill.at, natural_key(fill.id))):
        symbol = fill.instrument or instruments.get(fill.position)
        if symbol is not None:
            prices.note_fill(symbol, fill.at, float(fill.price) * prices.rate(symbol, fill.at))
    never = {name for name in unmarked if not prices.dealt(name)}
    valued = [fact for fact in every if isinstance(fact, Flow | External) and fact.asset in never]
    for fact in sorted(valued, key=lambda fact: (fact.at, natural_key(fact.id))):
        if fact.value and fact.quantity and fact.at < until:
            prices.note_fill(str(fact.asset), fact.at, abs(float(fact.value / fact.quantity)))
    for asset in sorted(unmarked & wallet.keys()):
        if (paid := wallet[asset].last_price) and not (prices.dealt(asset) or prices.at_par(asset)):
            prices.note_fill(asset, since, paid)


def _priced_by(fact: Fact) -> set[str]:
    """The assets whose price decides what a fact of the past meant."""
    match fact:
        case Position():
            return set(fact.funded_with or ())
        case Flow():
            return {fact.asset}
        case Cost() if fact.asset is not None:
            return {fact.asset}
        case Snapshot():
            return {*fact.holdings, *(fact.claimable or ()), *(fact.debt or ())}
        case Fill() if fact.fee_asset is not None and not (fact.instrument or "").startswith(
            f"{fact.fee_asset}/"
        ):
            return {fact.fee_asset}
        case _:
            return set()
