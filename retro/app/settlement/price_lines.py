"""The prices that facts need are read here: marks, and of what has none yet fills, and what flows were said to be worth.

Which of them prices what, and in which order, `Prices.quote` says, and nobody else. What has no mark is priced alike in
every horizon, so that days add up to their week: each reads what the longest would know of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.currencies import DOLLARS
from retro.accounting.order import natural_key
from retro.accounting.prices import Prices, base_and_quote, related_symbols
from retro.model import Cost, Equity, External, Fill, Flow, Position, Snapshot
from retro.periods import DAY, FOREVER
from retro.store.books.trades import traded
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from retro.app.settlement.settings import AgentSettings
    from retro.model import Fact
    from retro.store.life import LifeReader

__all__ = ["MarkReach", "PriceDemand", "exchange_symbols", "load_marks", "load_prices", "symbols_of"]


class MarkReach(NamedTuple):
    """Marks with start <= t <= end; those up to `known_until` may price what came before the first of them."""

    start: int
    end: int
    known_until: int


@dataclass(frozen=True, slots=True)
class PriceDemand:
    """What asks for prices: `facts`, and from `since` on the `assets` that a wallet has or gets; before `until` all of it.

    `since` None: there is no wallet to value. `never_told`: assets of which the settled book knows neither mark nor fill
    nor word, so that nobody has to look for one through a whole life.
    """

    facts: Sequence[Fact] = ()
    assets: Collection[str] = ()
    since: int | None = None
    until: int = FOREVER
    never_told: Collection[str] = ()

    def first_asked(self) -> dict[str, int]:
        """Every instrument and asset that may need a price, and when it is first asked for."""
        asked = dict.fromkeys(self.assets, self.until if self.since is None else self.since)
        began: dict[str | None, int] = {}
        for fact in self.facts:  # a position needs prices from its first fact on, whenever it was declared
            name = getattr(fact, "position", None)
            if fact.at < began.get(name, FOREVER):
                began[name] = fact.at
        for fact in self.facts:
            at = began[fact.position] if isinstance(fact, Position) else fact.at
            for symbol in symbols_of(fact):
                if at < asked.get(symbol, FOREVER):
                    asked[symbol] = at
        return asked


def exchange_symbols(base_currency: str) -> list[tuple[str, bool]]:
    """The series that say what a dollar is worth in a base, real dollars before tokens; True: the base in dollars.

    None where the base is a dollar itself.
    """
    if base_currency.upper() in DOLLARS:
        return []
    dollars = sorted(DOLLARS, key=lambda name: (len(name), name))
    return [
        name
        for dollar in dollars
        for name in (
            (f"{dollar}/{base_currency}", False),
            (dollar, False),
            (f"{base_currency}/{dollar}", True),
        )
    ]


def symbols_of(fact: Fact) -> Iterable[str]:
    """Every instrument and asset that a fact names and that may need a price."""
    match fact:
        case Fill():
            return [name for name in (fact.instrument, fact.fee_asset) if name]
        case Flow():
            return [fact.asset]
        case Position():
            tokens = [token for token in (fact.token0, fact.token1) if token]
            return [fact.instrument, *(fact.funded_with or ()), *tokens]
        case Snapshot():
            return [*fact.holdings, *(fact.claimable or ()), *(fact.debt or ())]
        case Cost() | External():
            return [fact.asset] if fact.asset else []
        case Equity():
            return fact.balances or ()
        case _:
            return ()


def load_marks(life: LifeReader, settings: AgentSettings, symbols: Iterable[str], reach: MarkReach) -> Prices:
    """The marks of these symbols that lie in `reach`, the agent's own and the shared ones.

    As-of look-ups need what stood before: where a series starts later, its last mark before the reach is brought along,
    and where there is none, its first mark after it, so that a short reach prices as a long one does.
    """
    wanted = {name for symbol in symbols for name in related_symbols(symbol, settings.base_currency)}
    series = [read(wanted, reach.start, reach.end) for read in (life.market.owned, life.market.shared)]
    known_until, looked_up = reach.known_until, frozenset(wanted)
    return Prices(settings.base_currency, *series, known_until=known_until, looked_up=looked_up)


def load_prices(life: LifeReader, settings: AgentSettings, demand: PriceDemand, reach: MarkReach) -> Prices:
    """All that may price what is demanded: marks, and of what has none when it is first asked for fills known by K.

    What those were quoted in has to be priced, too, and by then. What was never traded is worth what was said of it.
    """
    asked = demand.first_asked()
    prices = load_marks(life, settings, asked, reach)
    unmarked = _unmarked(prices, asked)
    if not unmarked:
        return prices
    trades = _Trades(life, demand, reach.known_until)
    while trades.read(unmarked):
        earlier = {name: at for name, at in trades.quotes().items() if at < asked.get(name, FOREVER)}
        earlier.pop(prices.base_currency, None)
        if earlier:
            asked |= earlier
            start = min(reach.start, min(earlier.values()) - 2 * DAY)  # a mark counts for a day
            prices = load_marks(life, settings, asked, reach._replace(start=start))
            unmarked = _unmarked(prices, asked)
    rows = trades.in_order()
    with_a_fill = {base_and_quote(symbol)[0] for symbol, _ in rows}
    silent = {asset for asset in unmarked.keys() - with_a_fill if not prices.marked(asset)}
    if not silent <= {*demand.never_told}:
        _note_words(life, prices, silent, reach.known_until)
    for symbol, fill in rows:
        prices.note_fill(symbol, fill.at, float(fill.price))
    return prices


def _unmarked(prices: Prices, asked: Mapping[str, int]) -> dict[str, int]:
    """The assets that have no mark yet when they are first asked for, by themselves or as a quote, and when that is."""
    first: dict[str, int] = {}
    for symbol, at in asked.items():
        base, quote = base_and_quote(symbol)
        for name, asset in ((symbol, base), (quote, quote)):
            if name and asset and name != prices.base_currency and prices.line(name).index(at) < 0:
                first[asset] = min(at, first.get(asset, at))
    return first


class _Trades:
    """Fills that tell a price: those known by K in the instrument of their position, which has been declared by then.

    Those of the demand are there from the start.
    """

    def __init__(self, life: LifeReader, demand: PriceDemand, known_until: int) -> None:
        self._conn = life.conn
        self._agent = life.agent
        self._known_until = known_until
        self._until = demand.until
        self._since: dict[str, int] = {}
        self._declared: dict[str, Position] = {}
        self._fills: dict[str, Fill] = {}
        self._take(demand.facts)
        self._given = {*self._declared}
        self._whole: set[str] = set()

    def read(self, assets: Mapping[str, int]) -> bool:
        """Read the fills in these assets since an instant each, and the last before it; whether that was anything new."""
        wanted = {asset: at for asset, at in assets.items() if at < self._since.get(asset, FOREVER)}
        self._since |= wanted
        names = traded(self._conn, self._agent, wanted) - self._whole if wanted else set()
        self._whole |= names
        later, whole = sorted(names & self._given), sorted(names - self._given)
        if whole:
            self._take(events.of_positions(self._conn, self._agent, whole, until=self._known_until))
        if later:  # what came before is there
            self._take(events.of_positions(self._conn, self._agent, later, since=self._until))
        return bool(wanted)

    def _take(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, Fill) and fact.at <= self._known_until:
                self._fills[fact.id] = fact
            elif isinstance(fact, Position) and fact.at <= self._known_until:
                other = self._declared.setdefault(fact.position, fact)
                first = min(fact, other, key=lambda told: (told.at, natural_key(told.id)))
                self._declared[fact.position] = first

    def _priced(self) -> list[tuple[str, Fill]]:
        """What was traded, and the fill."""
        named = [(self._declared.get(fill.position), fill) for fill in self._fills.values()]
        return [
            (position.instrument, fill)
            for position, fill in named
            if position is not None and fill.instrument in {None, position.instrument}
        ]

    def quotes(self) -> dict[str, int]:
        """What they were quoted in, and since when."""
        quotes: dict[str, int] = {}
        for symbol, fill in self._priced():
            quote = base_and_quote(symbol)[1]
            if quote is not None:
                quotes[quote] = min(fill.at, quotes.get(quote, fill.at))
        return quotes

    def in_order(self) -> list[tuple[str, Fill]]:
        """The fills by instant, and before all of them those in what others were quoted in."""
        rows = self._priced()
        quoted_in: dict[str, set[str]] = {}
        for symbol, _ in rows:
            base, quote = base_and_quote(symbol)
            quoted_in.setdefault(base, set()).update([quote] if quote else [])

        def depth(asset: str, above: tuple[str, ...] = ()) -> int:
            quotes = quoted_in.get(asset, set()) - {*above, asset}
            return max((1 + depth(quote, (*above, asset)) for quote in quotes), default=0)

        depths = {asset: depth(asset) for asset in quoted_in}
        return sorted(
            rows, key=lambda row: (depths[base_and_quote(row[0])[0]], row[1].at, natural_key(row[1].id))
        )


def _note_words(life: LifeReader, prices: Prices, assets: Collection[str], known_until: int) -> None:
    """Note what flows known by K said that assets were worth."""
    facts: list[Flow | External]
    facts = life.between(-FOREVER, known_until + 1, types=(Flow, External))
    for fact in sorted(facts, key=lambda fact: (fact.at, natural_key(fact.id))):
        if fact.asset in assets and fact.value and fact.quantity:
            prices.note_word(str(fact.asset), fact.at, abs(float(fact.value / fact.quantity)))
