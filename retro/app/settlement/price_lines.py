"""The prices that facts need: marks, and where there are none fills, and what flows were said to be worth.

What has no mark is priced alike in every horizon, so that days add up to their week: by its last fill before, else by its
first one known by K; where it was never traded, by what was said of it, in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.order import natural_key
from retro.accounting.prices import Prices, base_and_quote, related_symbols
from retro.model import Cost, Equity, External, Fill, Flow, Position, Snapshot
from retro.periods import DAY, FOREVER
from retro.store.books import positions
from retro.store.facts import events, marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.kernels.lots import LotBook
    from retro.model import Fact, MarkSeries

__all__ = ["MarkReach", "PriceDemand", "load_prices", "price_by_fills", "symbols_of"]


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


class MarkReach(NamedTuple):
    """Marks with start <= t <= end; those up to `known_until` may price what came before the first of them."""

    start: int
    end: int
    known_until: int


@dataclass(frozen=True, slots=True)
class PriceDemand:
    """What besides positions asks for prices: `facts` outside them, and a wallet's `assets`, valued from `since` on.

    `since` None: there is no wallet to value. `received` are assets that positions hand to it.
    """

    facts: Sequence[Fact] = ()
    assets: Mapping[str, LotBook] = field(default_factory=dict)
    since: int | None = None
    received: Collection[str] = ()


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
    """Let fills known by K price what has no mark yet, whatever position they belong to; where there are none, words.

    `demand.facts` are those before `until` that ask for prices. Of symbols without a mark when it is asked for all fills
    count from `since` on (or from the first of these facts that asks for such a price), and the last before; so do those
    of what they were quoted in. Where there is nothing at all: what the units that the wallet last received came in at.
    """
    since = until if demand.since is None else demand.since
    unmarked = wanted = _unmarked(prices, symbols, demand, until)
    if unmarked:
        since = min([since, *(fact.at for fact in demand.facts if unmarked & _priced_by(fact))])
    trades = _Trades(demand.facts, until, reach.known_until)
    rates, asked = prices, {prices.base_currency}
    earliest = since
    while True:
        asked |= wanted
        if wanted and trades.read(conn, agent, positions.traded(conn, agent, sorted(wanted), earliest)):
            # what those were quoted in need not be what these ask for
            start = min([reach.start, *(fill.at - 2 * DAY for _, fill in trades.fills)])
            named = {*symbols, *(symbol for symbol, _ in trades.fills)}
            rates = load_prices(conn, agent, settings, named, reach._replace(start=start))
        quoted = {quote: at for quote, at in trades.quotes().items() if quote not in asked}
        wanted = {quote for quote, at in quoted.items() if rates.line(quote).index(at) < 0}
        if not wanted:
            break
        earliest = min(quoted[quote] for quote in wanted)
    _note_fills(trades.fills, prices, rates)
    never = {name for name in unmarked if not prices.dealt(name) and not prices.marked(name)}
    if any("/" not in name for name in never):  # only of assets somebody says what they are worth
        _note_words(
            prices,
            never,
            events.between(conn, agent, -FOREVER, reach.known_until + 1, types=(Flow, External)),
        )
    for asset in sorted(never & demand.assets.keys()):
        if (paid := demand.assets[asset].last_price) and not (prices.dealt(asset) or prices.at_par(asset)):
            prices.note_word(asset, since, paid)


class _Trades:
    """Fills that tell a price: those known by K in the instrument of their position, which has been declared by then.

    Of positions among `facts` those before `until` are there from the start.
    """

    def __init__(self, facts: Sequence[Fact], until: int, known_until: int) -> None:
        self._until = until
        self._known_until = known_until
        self._facts = {(type(fact), fact.id): fact for fact in facts if isinstance(fact, Fill | Position)}
        self._given = {fact.position for fact in facts if isinstance(fact, Position)}
        self._read: set[str] = set()
        self.fills = self._priced()

    def read(self, conn: Connection, agent: str, names: Collection[str]) -> bool:
        """Read the fills of these positions; whether there was anything to read."""
        names = {*names} - self._read
        if not names:
            return False
        self._read |= names
        other, given = sorted(names - self._given), sorted(names & self._given)
        facts = events.of_positions(conn, agent, other) if other else []
        facts += events.of_positions(conn, agent, given, since=self._until) if given else []
        self._facts |= {(type(fact), fact.id): fact for fact in facts if isinstance(fact, Fill | Position)}
        self.fills = self._priced()
        return bool(facts)

    def quotes(self) -> dict[str, int]:
        """What they were quoted in, and since when."""
        quotes: dict[str, int] = {}
        for symbol, fill in self.fills:
            quote = base_and_quote(symbol)[1]
            if quote is not None:
                quotes[quote] = min(fill.at, quotes.get(quote, fill.at))
        return quotes

    def _priced(self) -> list[tuple[str, Fill]]:
        told = [fact for fact in self._facts.values() if fact.at <= self._known_until]
        declared = sorted(
            (fact for fact in told if isinstance(fact, Position)),
            key=lambda fact: (fact.at, natural_key(fact.id)),
            reverse=True,
        )
        instruments = {fact.position: fact.instrument for fact in declared}
        fills = [fact for fact in told if isinstance(fact, Fill) and fact.position in instruments]
        return [
            (instruments[fill.position], fill)
            for fill in fills
            if fill.instrument in {None, instruments[fill.position]}
        ]


def _note_fills(fills: Sequence[tuple[str, Fill]], prices: Prices, rates: Prices) -> None:
    """Note what was traded, what others were quoted in first; a fill in what nothing prices tells no price."""
    traded: dict[str, set[str]] = defaultdict(set)
    for symbol, _ in fills:
        traded[base_and_quote(symbol)[0]].add(symbol)

    def depth(symbol: str, above: tuple[str, ...] = ()) -> int:
        quote = base_and_quote(symbol)[1]
        if quote is None or quote == prices.base_currency or quote in above:
            return 0
        return 1 + max((depth(name, (*above, quote)) for name in traded.get(quote, ())), default=0)

    depths = {symbol: depth(symbol) for symbols in traded.values() for symbol in symbols}
    for symbol, fill in sorted(fills, key=lambda row: (depths[row[0]], row[1].at, natural_key(row[1].id))):
        rate = rates.rate(symbol, fill.at)
        for known in (prices, rates) if rates is not prices else (prices,):
            if rate:
                known.note_fill(symbol, fill.at, float(fill.price) * rate)
    if rates is not prices:
        for symbol, at in rates.unmarked.items():
            prices.unmarked[symbol] = min(at, prices.unmarked.get(symbol, at))


def _note_words(prices: Prices, assets: Collection[str], facts: Iterable[Flow | External]) -> None:
    """Note what flows said that assets were worth."""
    for fact in sorted(facts, key=lambda fact: (fact.at, natural_key(fact.id))):
        if fact.asset in assets and fact.value and fact.quantity:
            prices.note_word(str(fact.asset), fact.at, abs(float(fact.value / fact.quantity)))


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
