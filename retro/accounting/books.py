"""The books of a stretch of time on the day grid: equity, owner's flows and every component, day by day.

Longer periods are sums of their days, exactly. Components are kept per position too, so that positions, what
the wallet's coins made (`wallet_pnl`), and costs and income without a position add up to the total.

Two ways lead to a day's result: what was booked to its components, and what equity has changed by. `keep_books` goes
both and refuses a day on which they differ: no figure of a report can be wrong in silence that is a sum of these.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retro.accounting.attribution import agree, signed_sum
from retro.accounting.coins import coins_inside
from retro.accounting.movements import Effect
from retro.accounting.worth import (
    WalletPath,
    flow_instants,
    flows_by_day,
    mark_instants,
    positions_worth,
    unbelieved_levels,
)
from retro.invariant import invariant
from retro.kernels.series import union
from retro.model import Equity, External
from retro.periods import format_instant
from retro.report.lines import COMPONENTS, IMPLAUSIBLE, WALLET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.accounting.coins import CoinsInside
    from retro.accounting.movements import Booking
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory, Valuation
    from retro.accounting.wallet import ExternalFlow, Wallet
    from retro.model import Fact

__all__ = [
    "DailyBooks",
    "keep_books",
    "step",
    "steps",
    "worth_before",
]


Amounts = dict[str, float]


@dataclass(slots=True)
class DailyBooks:
    """What the day grid shows. Index i of a per-day list is the day [boundaries[i], boundaries[i + 1]).

    `unbelieved` are, at each boundary, the gains that only impossible fills made. `worth` is the equity without them at
    `instants` between the boundaries: before the owner's flows and, where it was asked for, at marks. `unquoted` are the
    days (their places on the grid) on which a position stood whose quote nobody can price.
    """

    boundaries: list[int]
    days: list[Amounts]
    wallet_days: list[Amounts]
    flows: list[float]
    equity: list[float]
    plausible_pnl: list[float]
    unrealized: list[float]
    states: dict[str, list[Valuation]]
    unbelieved: list[float] = field(default_factory=list)
    instants: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    worth: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    external: list[ExternalFlow] = field(default_factory=list)
    unquoted: frozenset[int] = frozenset()

    def index(self, boundary: int) -> int:
        """Position of a boundary on the grid."""
        return self.boundaries.index(boundary)

    def between(self, start: int, end: int) -> Amounts:
        """Components of [start, end): the sum of its days."""
        i, j = self.index(start), self.index(end)
        return {name: fsum(day.get(name, 0.0) for day in self.days[i:j]) for name in COMPONENTS}

    def is_unpriced(self, day: int) -> bool:
        """Whether nothing moved on a day (its place on the grid) on which a position had no price: not known, not 0."""
        if any(self.days[day].values()):
            return False
        return day in self.unquoted or any(
            not (column[day].is_priced and column[day + 1].is_priced) for column in self.states.values()
        )

    def equity_by(self, at: int | None) -> float | None:
        """Equity as last valued at or before an instant, with the owner's money that came since; None before the first."""
        if at is None or at < self.boundaries[0]:
            return None
        i = bisect_right(self.boundaries, at) - 1
        k = int(self.instants.searchsorted(at, side="right")) - 1
        since, equity = self.boundaries[i], self.equity[i] - (self.unbelieved[i] if self.unbelieved else 0.0)
        if k >= 0 and self.instants[k] >= since:
            since, equity = int(self.instants[k]), float(self.worth[k])
        return fsum([equity, *(flow.value for flow in self.external if since <= flow.at < at)])

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
    *,
    unbelieved_before: float = 0.0,
    at_marks: bool = False,
) -> DailyBooks:
    """Move the wallet from boundaries[0] on and value everything at each boundary.

    `wallet` is the state before the events at boundaries[0] (it is moved on), `wallet_facts` the facts without a
    position from there, its opening among them. `unbelieved_before`: gains that nobody believes, of positions that are
    not in `tracks` any more. `at_marks`: value it within the days too.
    """
    grid = list(boundaries)
    if not all(start < end for start, end in pairwise(grid)):
        invariant(
            holds=False,
            name="each day starts where the one before ends",
            detail=", ".join(map(format_instant, grid)),
        )
    states = {name: track.states(grid, known_until, prices) for name, track in tracks.items()}
    facts = list(wallet_facts)
    instants = flow_instants(facts, grid[0], grid[-1])
    if at_marks:
        marked = mark_instants(tracks, wallet, facts, prices, grid[0], min(grid[-1], known_until))
        instants = union(instants, marked)
    moved = _move_wallet(tracks, wallet, facts, grid, known_until, prices, instants)
    unbelieved = unbelieved_levels(tracks, grid, known_until, prices, unbelieved_before)
    portfolio = [booking for track in tracks.values() for booking in track.portfolio]
    days, wallet_days = _components(tracks, states, [*moved.bookings, *portfolio], moved.unrealized, grid)
    books = DailyBooks(
        boundaries=grid,
        days=days,
        wallet_days=wallet_days,
        flows=flows_by_day(moved.external, grid),
        equity=[
            fsum([moved.values[i], *(column[i].value for column in states.values())])
            for i in range(len(grid))
        ],
        plausible_pnl=_without(days, unbelieved),
        unrealized=[fsum(_levels(tracks, states, i, boundary)) for i, boundary in enumerate(grid)],
        states=states,
        unbelieved=unbelieved,
        instants=instants,
        worth=moved.worth + positions_worth(tracks, instants, known_until, prices) - unbelieved_before,
        external=moved.external,
        unquoted=frozenset(_unquoted(tracks.values(), grid)),
    )
    _check_closure(books, moved.turnover, moved.values)
    return books


def worth_before(
    tracks: Mapping[str, PositionHistory],
    wallet: Wallet,
    wallet_facts: Iterable[Fact],
    ends: tuple[int, int],
    instants: Sequence[int],
    prices: Prices,
) -> NDArray[np.float64]:
    """What an agent was worth just before the events at ascending instants within `ends`, believed or not; (n,).

    The wallet is its state before the events of the first end, and is moved on. In memory of the instants alone: the
    books of as many boundaries would hold a state of every position at each.
    """
    times = np.array(instants, dtype=np.int64)
    moved = _move_wallet(tracks, wallet, wallet_facts, ends, ends[1], prices, times)
    worth = moved.worth + positions_worth(tracks, times, ends[1], prices, believed=False)
    for track in tracks.values():  # a snapshot tells what is inside better than a path between events does
        for at in {snapshot.at for snapshot in track.snapshots}.intersection(instants):
            i = int(times.searchsorted(at))
            worth[i] += track.state(at, ends[1], prices).value - track.worth_path(times[i : i + 1], prices)[0]
    return worth


def _unquoted(tracks: Iterable[PositionHistory], grid: Sequence[int]) -> Iterator[int]:
    """The days on which a position stood whose quote nobody can price."""
    for track in tracks:
        if not track.is_quoted:
            closed_at = grid[-1] if track.closed_at is None else track.closed_at
            yield from (
                i
                for i, (start, end) in enumerate(pairwise(grid))
                if track.opened_at < end and closed_at >= start
            )


def _without(days: Sequence[Amounts], unbelieved: Sequence[float]) -> list[float]:
    """What each day made, less what of it nobody believes."""
    changes = [after - before for before, after in pairwise(unbelieved)]
    return [signed_sum(day) - change for day, change in zip(days, changes, strict=True)]


def _components(
    tracks: Mapping[str, PositionHistory],
    states: Mapping[str, list[Valuation]],
    wallet_bookings: Iterable[Booking],
    wallet_unrealized: Sequence[float],
    grid: Sequence[int],
) -> tuple[list[Amounts], list[Amounts]]:
    """The components of each day, and of these what the wallet and costs without a position booked."""
    of_wallet = _split(wallet_bookings, grid)
    of_position = {name: _split(track.bookings, grid) for name, track in tracks.items()}
    days, wallet_days = [], []
    for i in range(len(grid) - 1):
        own = _amounts(of_wallet[i])
        own[WALLET].append(wallet_unrealized[i + 1] - wallet_unrealized[i])
        both: dict[str, list[float]] = defaultdict(list, {name: list(parts) for name, parts in own.items()})
        for name, track in tracks.items():
            before, after, bookings = states[name][i], states[name][i + 1], of_position[name][i]
            if before == after and not bookings:  # it added exactly 0 to every line
                continue
            believed = track.flagged_at is None or grid[i + 1] <= track.flagged_at
            _add_day(both, before, after, bookings if believed else None)
        wallet_days.append({name: fsum(own.get(name, ())) for name in COMPONENTS})
        days.append({name: fsum(both.get(name, ())) for name in COMPONENTS})
    return days, wallet_days


def _check_closure(books: DailyBooks, turnover: Sequence[float], wallet_values: Sequence[float]) -> None:
    """Each day's components must come to what equity changed by, less the owner's money (numbers.md section 1).

    Rounding grows with what passed through the day and with what is held at its ends, not with the result.
    """
    sizes = [
        abs(worth)
        + sum(abs(column[i].value) + abs(column[i].pnl - column[i].value) for column in books.states.values())
        for i, worth in enumerate(wallet_values)
    ]
    for i, day in enumerate(books.days):
        booked = signed_sum(day)
        moved = books.equity[i + 1] - books.equity[i] - books.flows[i]
        size = sizes[i] + sizes[i + 1] + turnover[i] + sum(abs(amount) for amount in day.values())
        if not agree(booked, moved, size):
            invariant(
                holds=False,
                name="a day's components come to its change of equity",
                detail=f"{booked:.10g} is booked from {format_instant(books.boundaries[i])} on, equity moved by {moved:.10g}",
            )


def _amounts(bookings: Iterable[Booking]) -> dict[str, list[float]]:
    parts: dict[str, list[float]] = defaultdict(list)
    for booking in bookings:
        parts[booking.component].append(booking.amount)
    return parts


def _add_day(
    parts: dict[str, list[float]], before: Valuation, after: Valuation, bookings: Iterable[Booking] | None
) -> None:
    """Add what a position did in a day; without bookings it is not believed and is one line.

    Days that ended before its first unbelievable fill keep their components: numbers.md, `implausible_pnl`.
    """
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
    """What moving the wallet gave: its bookings, the owner's money, its worth at each boundary.

    `turnover` is what passed through it from each boundary to the next, in size, `worth` what it was worth at `instants`.
    """

    bookings: list[Booking]
    external: list[ExternalFlow]
    values: list[float]
    unrealized: list[float]
    turnover: list[float]
    worth: NDArray[np.float64]


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
    instants: NDArray[np.int64],
) -> _Moved:
    """Effects and facts in time order; the wallet is valued at each boundary before the events there."""
    effects = [(name, effect) for name, track in tracks.items() for effect in track.effects]
    ordered = steps(effects, facts, grid[0], grid[-1])
    bookings: list[Booking] = []
    external: list[ExternalFlow] = []
    values: list[float] = []
    unrealized: list[float] = []
    turnover: list[float] = []
    path, inside = WalletPath(instants, prices), coins_inside(tracks, prices)
    i = 0
    for boundary in grid:
        passed = 0.0
        while i < len(ordered) and ordered[i][0] < boundary:
            path.reach(ordered[i][0], wallet)
            movement = ordered[i][1]
            booked, flow = step(wallet, movement, prices, inside)
            bookings += booked
            passed += abs(movement.value) if isinstance(movement, Effect) else 0.0
            if flow is not None:
                external.append(flow)
                passed += abs(flow.value)
            i += 1
        path.reach(boundary, wallet)
        wallet.check()
        turnover.append(passed)
        # beyond K there is no mark that the agent could have known: what is held keeps its worth at K
        at = min(boundary, known_until)
        values.append(wallet.value(at, prices))
        unrealized.append(wallet.unrealized(at, prices))
    return _Moved(bookings, external, values, unrealized, turnover[1:], path.worth)


def steps(
    effects: Iterable[tuple[str, Effect]], facts: Iterable[Fact], start: int, end: int
) -> list[tuple[int, Effect | Fact]]:
    """What moves the wallet in [start, end), in order: within an instant receipts before payments."""
    keyed: list[tuple[int, int, str, str, Effect | Fact]] = [
        (effect.at, int(effect.quantity < 0), effect.asset, name, effect)
        for name, effect in effects
        if start <= effect.at < end
    ]
    keyed += [(fact.at, *_rank(fact), fact) for fact in facts if start <= fact.at < end]
    # receipts first: what one position hands over at an instant pays for another's entry at the same instant, and the
    # wallet never buys what it is about to be given; asset and name make the order the same for any order of telling
    keyed.sort(key=lambda row: row[:4])
    return [(row[0], row[4]) for row in keyed]


def _rank(fact: Fact) -> tuple[int, str, str]:
    """The opening of the wallet (it has no id) comes first of its instant, then what is stated of the state before it."""
    opens = isinstance(fact, External) and not fact.id
    return (-1 if opens or isinstance(fact, Equity) else 0, "", fact.id)


def step(
    wallet: Wallet, event: Effect | Fact, prices: Prices, inside: CoinsInside
) -> tuple[list[Booking], ExternalFlow | None]:
    """Move the wallet by one event, positions holding the coins `inside`; gives what it booked and the owner's money."""
    if isinstance(event, Effect):
        return wallet.apply(event), None
    return wallet.tell(event, prices, inside)
