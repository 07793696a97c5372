"""The books of a stretch of time on the day grid: equity, owner's flows and every component, day by day.

Longer periods are sums of their days, exactly. Components are kept per position too, so that positions, wallet and
costs without a position add up to the total.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.accounting.track import Effect
from retro.report import PnlAttribution
from retro.report.lines import COMPONENTS, IMPLAUSIBLE, SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.track import Booking, PositionHistory, Valuation
    from retro.accounting.wallet import ExternalFlow, Wallet
    from retro.model import Fact

__all__ = [
    "YIELD_KINDS",
    "DailyBooks",
    "attribution",
    "keep_books",
    "signed_sum",
    "step",
    "steps",
]

YIELD_KINDS: Final = frozenset({"lp", "lending", "staking"})

Amounts = dict[str, float]


def signed_sum(components: Mapping[str, float], unattributed: float | None = None) -> float:
    """Components with their signs, summed without rounding on the way."""
    parts = [SIGNS[name] * amount for name, amount in components.items()]
    return fsum([*parts, unattributed or 0.0])


@dataclass(slots=True)
class DailyBooks:
    """What the day grid shows. Index i of a per-day list is the day [boundaries[i], boundaries[i + 1])."""

    boundaries: list[int]
    days: list[Amounts]
    wallet_days: list[Amounts]
    flows: list[float]
    equity: list[float]
    plausible_pnl: list[float]
    unrealized: list[float]
    states: dict[str, list[Valuation]]
    wallet: Wallet
    external: list[ExternalFlow] = field(default_factory=list)
    portfolio_costs: list[Booking] = field(default_factory=list)

    def index(self, boundary: int) -> int:
        """Position of a boundary on the grid."""
        return self.boundaries.index(boundary)

    def between(self, start: int, end: int) -> Amounts:
        """Components of [start, end): the sum of its days."""
        i, j = self.index(start), self.index(end)
        return {name: fsum(day.get(name, 0.0) for day in self.days[i:j]) for name in COMPONENTS}

    def position_pnl(self, position: str, start: int, end: int) -> float:
        """What one position made in [start, end)."""
        states = self.states[position]
        return states[self.index(end)].pnl - states[self.index(start)].pnl


def keep_books(
    tracks: Mapping[str, PositionHistory],
    wallet: Wallet,
    wallet_facts: Iterable[Fact],
    boundaries: Sequence[int],
    known_until: int,
    prices: Prices,
) -> DailyBooks:
    """Move the wallet from boundaries[0] on and value everything at each boundary.

    `wallet` is the state before the events at boundaries[0] (it is moved on), `wallet_facts` the facts without a
    position from there, the opening of the wallet among them.
    """
    grid = list(boundaries)
    states = {name: [track.state(b, known_until, prices) for b in grid] for name, track in tracks.items()}
    moved = _move_wallet(tracks, wallet, wallet_facts, grid, known_until, prices)
    portfolio = [booking for track in tracks.values() for booking in track.portfolio]
    of_wallet = _split([*moved.bookings, *portfolio], grid)
    of_position = {name: _split(track.bookings, grid) for name, track in tracks.items()}
    days, wallet_days, plausible = [], [], []
    for i in range(len(grid) - 1):
        own = _amounts(of_wallet[i])
        own["unrealized_pnl"].append(moved.unrealized[i + 1] - moved.unrealized[i])
        both: dict[str, list[float]] = defaultdict(list, {name: list(parts) for name, parts in own.items()})
        for name, track in tracks.items():
            believed = track.flagged_at is None or grid[i + 1] <= track.flagged_at
            _add_day(both, states[name][i], states[name][i + 1], of_position[name][i] if believed else None)
        wallet_days.append({name: fsum(own.get(name, ())) for name in COMPONENTS})
        days.append({name: fsum(both.get(name, ())) for name in COMPONENTS})
        plausible.append(signed_sum(days[i]) - days[i][IMPLAUSIBLE])
    return DailyBooks(
        boundaries=grid,
        days=days,
        wallet_days=wallet_days,
        flows=[
            fsum(flow.value for flow in moved.external if start <= flow.at < end)
            for start, end in pairwise(grid)
        ],
        equity=[
            fsum([moved.values[i], *(column[i].value for column in states.values())])
            for i in range(len(grid))
        ],
        plausible_pnl=plausible,
        unrealized=[
            fsum([moved.unrealized[i], *_levels(tracks, states, i, boundary)])
            for i, boundary in enumerate(grid)
        ],
        states=states,
        wallet=wallet,
        external=moved.external,
        portfolio_costs=portfolio,
    )


def _amounts(bookings: Iterable[Booking]) -> dict[str, list[float]]:
    parts: dict[str, list[float]] = defaultdict(list)
    for booking in bookings:
        parts[booking.component].append(booking.amount)
    return parts


def _add_day(
    parts: dict[str, list[float]], before: Valuation, after: Valuation, bookings: Iterable[Booking] | None
) -> None:
    """Add what a position did in a day; without bookings it is not believed and is one line."""
    if bookings is None:
        parts[IMPLAUSIBLE].append(after.pnl - before.pnl)
        return
    for booking in bookings:
        parts[booking.component].append(booking.amount)
    parts["unrealized_pnl"].append(after.unrealized - before.unrealized)
    parts["impermanent_loss"].append(after.il - before.il)


def _levels(
    tracks: Mapping[str, PositionHistory], states: Mapping[str, list[Valuation]], i: int, boundary: int
) -> Iterator[float]:
    """Unrealised pnl at a boundary of the positions that were believed until then."""
    for name, column in states.items():
        flagged = tracks[name].flagged_at
        if flagged is None or flagged >= boundary:
            yield column[i].unrealized


class _Moved(NamedTuple):
    """What moving the wallet gave: its bookings, the owner's money, and its worth at each boundary."""

    bookings: list[Booking]
    external: list[ExternalFlow]
    values: list[float]
    unrealized: list[float]


def _split(bookings: Iterable[Booking], grid: Sequence[int]) -> list[list[Booking]]:
    days: list[list[Booking]] = [[] for _ in range(len(grid) - 1)]
    for booking in bookings:
        i = bisect_right(grid, booking.at) - 1
        if 0 <= i < len(days):
            days[i].append(booking)
    return days


def _move_wallet(
    tracks: Mapping[str, PositionHistory],
    wallet: Wallet,
    facts: Iterable[Fact],
    grid: Sequence[int],
    known_until: int,
    prices: Prices,
) -> _Moved:
    """Effects and facts in time order; the wallet is valued at each boundary before the events there."""
    effects = [(name, effect) for name, track in tracks.items() for effect in track.effects]
    ordered = steps(effects, facts, grid[0], grid[-1])
    bookings: list[Booking] = []
    external: list[ExternalFlow] = []
    values: list[float] = []
    unrealized: list[float] = []
    i = 0
    for boundary in grid:
        while i < len(ordered) and ordered[i][0] < boundary:
            booked, flow = step(wallet, ordered[i][1], prices)
            bookings += booked
            if flow is not None:
                external.append(flow)
            i += 1
        at = min(boundary, known_until)
        values.append(wallet.value(at, prices))
        unrealized.append(wallet.unrealized(at, prices))
    return _Moved(bookings, external, values, unrealized)


def steps(
    effects: Iterable[tuple[str, Effect]], facts: Iterable[Fact], start: int, end: int
) -> list[tuple[int, Effect | Fact]]:
    """What moves the wallet in [start, end), in order: within an instant receipts before payments."""
    keyed: list[tuple[int, int, str, str, Effect | Fact]] = [
        (effect.at, int(effect.quantity < 0), effect.asset, name, effect)
        for name, effect in effects
        if start <= effect.at < end
    ]
    keyed += [(fact.at, 0, "", fact.id, fact) for fact in facts if start <= fact.at < end]
    keyed.sort(key=lambda row: row[:4])
    return [(row[0], row[4]) for row in keyed]


def step(wallet: Wallet, event: Effect | Fact, prices: Prices) -> tuple[list[Booking], ExternalFlow | None]:
    """Move the wallet by one event; gives what that booked and what came from the owner."""
    if isinstance(event, Effect):
        return wallet.apply(event), None
    return wallet.tell(event, prices)


def attribution(
    components: Mapping[str, float],
    *,
    start: float,
    end: float,
    yields: bool,
    unattributed: float | None = None,
    risk_adjusted: float | None = None,
    trading_fees: float = 0.0,
    slippage: float | None = None,
) -> PnlAttribution:
    """The document of a set of components, with what is derived from them."""
    operational = fsum(components[name] for name in ("gas_costs", "inference_costs", "data_costs"))
    net_yield = (
        fsum(
            [
                components["lp_fees_earned"],
                components["lending_interest_earned"],
                components["staking_rewards"],
                -components["impermanent_loss"],
            ]
        )
        if yields
        else None
    )
    return PnlAttribution(
        total=signed_sum(components, unattributed),
        **{name: components[name] + 0.0 for name in COMPONENTS},
        unrealized_pnl_start=start,
        unrealized_pnl_end=end,
        unattributed=unattributed,
        operational_cost=operational,
        net_yield=net_yield,
        net_yield_after_costs=None if net_yield is None else net_yield - operational,
        risk_adjusted_return=risk_adjusted,
        trading_fees=trading_fees,
        slippage=slippage,
    )
