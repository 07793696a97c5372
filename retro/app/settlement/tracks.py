"""From the store to what `assemble` takes: facts by position, and the price lines they need."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.order import natural_key
from retro.accounting.prices import Prices, related_symbols
from retro.accounting.replay import replay
from retro.evaluate.position.foresight import retold_of
from retro.evaluate.position.summary import flag_implausible
from retro.model import Cost, Equity, External, Fill, Flow, Position, Snapshot
from retro.periods import DAY, FOREVER, day_of, format_instant, midnight
from retro.store.books import positions
from retro.store.facts import events, marks, rulings
from retro.store.facts.tellings import retellings
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from retro.accounting.track import PositionHistory
    from retro.app.settlement.settings import AgentSettings
    from retro.kernels.lots import LotBook
    from retro.model import Fact, MarkSeries
    from retro.store.facts.rulings import RulingRecord

__all__ = [
    "Extent",
    "Loaded",
    "MarkReach",
    "PriceDemand",
    "by_position",
    "load_prices",
    "load_tracks",
    "price_by_fills",
    "symbols_of",
]


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
    conn: Connection, agent: str, settings: AgentSettings, symbols: Iterable[str], reach: MarkReach
) -> Prices:
    """The marks of these symbols that lie in `reach`, the agent's own and the shared ones.

    As-of look-ups need what stood before: where a series starts later, its last mark before the reach is brought along,
    and where there is none, its first mark after it, so that a short reach prices as a long one does.
    """
    wanted = {name for symbol in symbols for name in related_symbols(symbol, settings.base_currency)}
    series: list[dict[str, MarkSeries]] = []
    for owner in (agent, None):
        instruments = wanted & marks.instruments(conn, owner).keys()
        loaded = {}
        for name in sorted(instruments):
            before = marks.last_at_or_before(conn, owner, name, reach.start)
            start = reach.start if before is None else before[0]
            mark_series = marks.load(conn, owner, name, start, reach.end)
            if mark_series is None and (first := marks.first_after(conn, owner, name, reach.end)) is not None:
                mark_series = marks.load(conn, owner, name, first[0], first[0])
            if mark_series is not None:
                loaded[name] = mark_series
        series.append(loaded)
    return Prices(settings.base_currency, *series, known_until=reach.known_until)


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

    `orphans` are facts of positions that no `position` event opened, or that opened later, by the name they use.
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


class MarkReach(NamedTuple):
    """Marks with start <= t <= end; those up to `known_until` may price what came before the first of them."""

    start: int
    end: int
    known_until: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How far positions are replayed: facts before `until`, of those known by `known_until`; marks to `marks_until`.

    What had no mark yet is priced by the first one up to `first_mark_until`.
    """

    first_mark_until: int
    until: int = FOREVER
    known_until: int = FOREVER
    marks_until: int = FOREVER


@dataclass(frozen=True, slots=True)
class PriceDemand:
    """What besides positions asks for prices: `facts` outside them, and a wallet's `assets`, valued from `since` on.

    `since` None: there is no wallet to value. `received` are assets that positions hand to it.
    """

    facts: Sequence[Fact] = ()
    assets: Mapping[str, LotBook] = field(default_factory=dict)
    since: int | None = None
    received: Collection[str] = ()


def load_tracks(
    conn: Connection,
    agent: str,
    settings: AgentSettings,
    names: Sequence[str],
    extent: Extent,
    demand: PriceDemand | None = None,
) -> Loaded:
    """Replay positions from their facts; a snapshot at exactly `extent.until` tells the principal there.

    Their prices are loaded with them, and those that the `demand` asks for.
    """
    demand, until = demand or PriceDemand(), extent.until
    facts = events.of_positions(conn, agent, names, until=min(until, extent.known_until)) if names else []
    # a snapshot at the boundary is of the state that the facts before it left: read, but not replayed
    boundary = by_position(fact for fact in facts if fact.at == until)
    facts = [fact for fact in facts if fact.at < until]
    facts += _declared_later(conn, agent, facts, extent)
    every = [*facts, *demand.facts]
    needed = [fact.at for fact in every] + ([] if demand.since is None else [demand.since])
    # a mark counts for a day (MAX_AGE), and as-of look-ups reach behind the first fact: two days are enough
    start = min(needed, default=until) - 2 * DAY
    symbols = {
        *symbols_of(every),
        *demand.assets,
        *symbols_of(fact for group in boundary.values() for fact in group),
    }
    reach = MarkReach(start, extent.marks_until, extent.first_mark_until)
    prices = load_prices(conn, agent, settings, symbols, reach)
    # with a wallet, fills of other positions matter from its valuation on; a position's own facts are there anyway
    instants = needed if demand.since is None else [demand.since, *(fact.at for fact in demand.facts)]
    first = min(instants, default=until)
    demand = PriceDemand(every, demand.assets, first)
    price_by_fills(conn, agent, settings, prices, symbols, demand, reach, until)
    retold = retellings(conn, agent, names, facts) if names else []
    given = rulings.rulings(conn, agent)
    tracks: dict[str, PositionHistory] = {}
    orphans: dict[str, list[Fact]] = {}
    for name, group in sorted(by_position(facts).items()):
        with prices.watching() as unreliable:
            track = replay(group, prices, settings.lot_method)
        if track is None or track.opened_at >= until:  # what was paid or decided for it came first
            orphans[name] = group
            continue
        track.unreliable = unreliable
        track.retold = retold_of(track, retold)
        track.note_boundary(boundary.get(name, ()))
        _flag(track, prices, given.get(name_of(name)))
        if track.flagged_at is not None:
            track.flagged_day = midnight(day_of(track.flagged_at, settings.zone), settings.zone)
        tracks[name] = track
    return Loaded(tracks, prices, facts, orphans)


def _declared_later(conn: Connection, agent: str, facts: Sequence[Fact], extent: Extent) -> list[Fact]:
    """Declarations, known by K, of positions that these facts name and none of them declares."""
    bare = {
        name for name, group in by_position(facts).items() if not any(isinstance(f, Position) for f in group)
    }
    if not bare:  # nearly always
        return []
    known_until = min(extent.known_until, extent.first_mark_until)
    return list(events.declarations(conn, agent, sorted(bare), known_until))


def _flag(track: PositionHistory, prices: Prices, given: RulingRecord | None) -> None:
    """Flag what cannot be believed, as far as its owner has not ruled otherwise."""
    track.ruling = None if given is None else given.ruling
    flag_implausible(track, prices)
    if given is not None and given.ruling == "rejected":
        why = f"rejected by {given.author} on {format_instant(given.at)}"
        track.flagged_why = f"{track.flagged_why}; {why}" if track.flagged_why else why
        track.flagged_at = track.opened_at if track.flagged_at is None else track.flagged_at


def price_by_fills(
    conn: Connection,
    agent: str,
    settings: AgentSettings,
    prices: Prices,
    symbols: Iterable[str],
    demand: PriceDemand,
    reach: MarkReach,
    until: int,
) -> None:
    """Let fills price what has no mark yet, whatever position they belong to; where no mark is known by K, flows' words.

    Fills of the demand's facts; for symbols without a mark when it is asked for also all others from `since` on (or from
    the first of these facts that asks for such a price), and the last before; and where there is nothing at all, what
    the units that the wallet last received came in at.
    """
    facts, since = demand.facts, until if demand.since is None else demand.since
    unmarked = _unmarked(prices, symbols, demand, until)
    if unmarked:
        since = min([since, *(fact.at for fact in facts if unmarked & _priced_by(fact))])
    dealt = positions.traded(conn, agent, sorted(unmarked), since) if unmarked else set()
    dealt -= {fact.position for fact in facts if isinstance(fact, Position)}
    other_facts = events.of_positions(conn, agent, sorted(dealt)) if dealt else []
    every = [*other_facts, *facts]
    instruments = {fact.position: fact.instrument for fact in every if isinstance(fact, Position)}
    fills = {fact.id: fact for fact in every if isinstance(fact, Fill) and fact.at < until}
    rates = prices
    if other_facts:  # what those were quoted in need not be what these ask for
        first = min(fact.at for fact in other_facts) - 2 * DAY
        rates = load_prices(conn, agent, settings, symbols_of(every), reach._replace(start=first))
    for fill in sorted(fills.values(), key=lambda fill: (fill.at, natural_key(fill.id))):
        symbol = fill.instrument or instruments.get(fill.position)
        if symbol is not None:
            prices.note_fill(symbol, fill.at, float(fill.price) * rates.rate(symbol, fill.at))
    # what a flow or the wallet says of an asset is less than its first mark, which every horizon knows alike
    never = {name for name in unmarked if not prices.dealt(name) and not prices.marked(name)}
    valued = [fact for fact in every if isinstance(fact, Flow | External) and fact.asset in never]
    for fact in sorted(valued, key=lambda fact: (fact.at, natural_key(fact.id))):
        if fact.value and fact.quantity and fact.at < until:
            prices.note_fill(str(fact.asset), fact.at, abs(float(fact.value / fact.quantity)))
    for asset in sorted(never & demand.assets.keys()):
        if (paid := demand.assets[asset].last_price) and not (prices.dealt(asset) or prices.at_par(asset)):
            prices.note_fill(asset, since, paid)


def _unmarked(prices: Prices, symbols: Iterable[str], demand: PriceDemand, until: int) -> set[str]:
    """The symbols that have no mark yet when they are first asked for: by a fact that names them, or by the wallet."""
    begins = {name: prices.line(name).t[:1] for name in symbols if name != prices.base_currency}
    never = {name for name, first in begins.items() if not len(first)}
    asked = [(until if demand.since is None else demand.since, {*demand.assets, *demand.received})]
    earliest = min((fact.at for fact in demand.facts), default=until)
    late = {name for name, first in begins.items() if len(first) and first[0] > min(earliest, asked[0][0])}
    asked += [(fact.at, symbols_of([fact])) for fact in demand.facts if late]
    return never | {name for at, names in asked for name in names & late if begins[name][0] > at}


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
