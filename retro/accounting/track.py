"""One position after its facts were replayed: what was booked when, and what was held between events.

A `PositionHistory` answers two questions at any instant: what is the position worth, and how much of that is unrealised price
move or impermanent loss. Everything else (attribution, trajectories, regret) is differences of those.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from retro.accounting.order import natural_key
from retro.accounting.prices import MAX_AGE
from retro.kernels.liquidity import amounts
from retro.model import Position, Snapshot
from retro.periods import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from retro.accounting.movements import Booking, Closing, Effect, OpeningFill, Retelling, SignedFill
    from retro.accounting.prices import Prices
    from retro.kernels.average_lots import Match
    from retro.model import Decision, Fact, Fill, Flow

__all__ = [
    "Pool",
    "PositionHistory",
    "StatePoint",
    "Valuation",
    "has_holdings",
]


@dataclass(frozen=True, slots=True)
class Pool:
    """Liquidity in a price range, token0 in token1; the full range is 0 to infinity."""

    liquidity: float
    lower: float
    upper: float
    token0: str
    token1: str

    def holdings(self, price: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Quantities of token0 and token1 at each price."""
        return amounts(self.liquidity, price, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class StatePoint:
    """What was held from the events of one instant until the next event. Money in base currency.

    `principal` is what is held (a spot or perp quantity, lent or staked assets less debt, LP tokens when no pool
    formula is known), `claims` accrued and not withdrawn, `bundle` the LP's deposited tokens (the hold baseline),
    `basis` the cost of bundle (or principal) and claims, `cash` the net cash given to the wallet so far, `gas` the
    gas paid so far.
    """

    at: int
    principal: dict[str, float]
    claims: dict[str, float]
    bundle: dict[str, float] | None
    pool: Pool | None
    basis: float
    cash: float
    gas: float

    @property
    def holds_anything(self) -> bool:
        """Whether anything is inside."""
        return bool(self.principal or self.claims or self.bundle or self.pool)

    @property
    def assets(self) -> list[str]:
        """The names of everything held."""
        pool = [] if self.pool is None else [self.pool.token0, self.pool.token1]
        parts = (self.principal, self.claims)
        return [*pool, *(asset for part in parts for asset, quantity in part.items() if quantity)]

    def priced_from(self, prices: Prices, since: int) -> int:
        """From when on everything held has a mark of `since` or later; what has none is noted."""
        begins = {asset: prices.priced_from(asset, since) for asset in self.assets}
        for asset in sorted(asset for asset, at in begins.items() if at == FOREVER):
            prices.miss(asset)
        return max(begins.values(), default=-FOREVER)


class Valuation(NamedTuple):
    """A valuation: worth of everything held, unrealised price move against basis, impermanent loss.

    `is_priced` False: something held has no mark since a day before the entry. It then stands at what it cost, so that
    it moves no sum.
    """

    value: float
    unrealized: float
    il: float
    pnl: float
    is_priced: bool = True


@dataclass(slots=True)
class PositionHistory:
    """A replayed position.

    `retold` is what its own event and its decisions said before corrections, oldest first. `is_quoted` False: nothing
    said what its quote was worth in the base currency when it was bought or sold, so nobody knows what it made.
    """

    position: Position
    opened_at: int
    closed_at: int | None = None
    flagged_at: int | None = None
    flagged_why: str = ""
    flagged_day: int | None = None
    ruling: Literal["confirmed", "rejected"] | None = None
    is_quoted: bool = True
    bookings: list[Booking] = field(default_factory=list)
    portfolio: list[Booking] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    knots: list[StatePoint] = field(default_factory=list)
    openings: list[OpeningFill] = field(default_factory=list)
    closings: list[Closing] = field(default_factory=list)
    matches: list[tuple[int, Sequence[Match]]] = field(default_factory=list)
    """When which piece of an opening fill was closed; its tag is the fill's."""
    fills: list[Fill] = field(default_factory=list)
    trades: list[SignedFill] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    deposits: set[int] = field(default_factory=set)
    decisions: list[Decision] = field(default_factory=list)
    retold: list[Retelling] = field(default_factory=list)
    exit_reason: str | None = None
    extremes: tuple[float, float] | None = None
    """The lowest and highest price, in the instrument's quote, that the agent saw while it was open."""
    cash_in: float = 0.0
    warnings: list[str] = field(default_factory=list)
    unreliable: frozenset[str] = frozenset()
    undecided: bool = False
    _starts: list[int] = field(default_factory=list)
    _states: dict[int, Snapshot] = field(default_factory=dict)
    _told_states: int = 0

    @property
    def is_fill_based(self) -> bool:
        """Whether the position lives by fills of one instrument (spot, perp) and not by deposits."""
        return self.position.kind in {"spot", "perp"}

    @property
    def risk(self) -> float | None:
        """The risk as it was stated by the entry: not one stated or corrected after it, which knows more."""
        before = (
            retelling.fact
            for retelling in self.retold
            if isinstance(retelling.fact, Position) and retelling.told_at >= self.opened_at
        )
        stated = next(before, self.position)
        return float(stated.risk) if stated.risk and stated.at <= self.opened_at else None

    @property
    def symbols(self) -> set[str]:
        """Everything it ever held."""
        symbols: set[str] = set()
        for knot in self.knots:
            symbols.update(knot.principal, knot.claims)
            if knot.pool is not None:
                symbols |= {knot.pool.token0, knot.pool.token1}
        return symbols

    @property
    def sign(self) -> float:
        """+1 long, -1 short."""
        return -1.0 if self.position.side == "short" else 1.0

    def note_boundary(self, facts: Iterable[Fact]) -> None:
        """Facts at the instant a replay ended: of these only a snapshot speaks, of the principal at that boundary.

        Not where it is to decide what a deposit was (`undecided`), nor where it is the first word of what was put in,
        whatever was earned or lost before: that belongs to its own side of the boundary.
        """
        facts = list(facts)
        if self.undecided or any(getattr(fact, "kind", "") == "deposit" for fact in facts):
            return
        snapshots = [fact for fact in facts if isinstance(fact, Snapshot)]
        opens = not self.is_fill_based and not self.deposits and any(map(has_holdings, snapshots))
        if not opens:  # of several of one instant the last counts, as where they are replayed
            self.snapshots += sorted(snapshots, key=lambda snapshot: natural_key(snapshot.id))

    @property
    def emptied_at(self) -> int | None:
        """The instant from which on it holds nothing any more; None where its last event left something inside."""
        return self.knots[-1].at if self.knots and not self.knots[-1].holds_anything else None

    def knot_before(self, boundary: int) -> StatePoint | None:
        """What was held just before the events at `boundary`."""
        i = bisect_left(self._instants(), boundary) - 1
        return self.knots[i] if i >= 0 else None

    def _instants(self) -> list[int]:
        """When each knot begins."""
        if len(self._starts) != len(self.knots):
            self._starts[:] = [knot.at for knot in self.knots]
        return self._starts

    def states(self, boundaries: Sequence[int], marks_until: int, prices: Prices) -> list[Valuation]:
        """The `state` at each of ascending boundaries; where nothing is held from one to the next, both are one value."""
        out: list[Valuation] = []
        starts, before = self._instants(), -1
        for boundary in boundaries:
            knots = bisect_left(starts, boundary)
            is_same = knots == before and (not knots or not self.knots[knots - 1].holds_anything)
            out.append(out[-1] if is_same else self.state(boundary, marks_until, prices))
            before = knots
        return out

    def state(self, boundary: int, marks_until: int, prices: Prices) -> Valuation:
        """Value at a boundary: events before it, marks at or before `marks_until`."""
        knot = self.knot_before(boundary)
        if knot is None:
            return Valuation(0.0, 0.0, 0.0, 0.0)
        if not knot.holds_anything:  # most positions of a period are closed at most of its boundaries
            return Valuation(0.0, -knot.basis + 0.0, 0.0, knot.cash - knot.gas)
        at = min(boundary, marks_until)
        if at < knot.priced_from(prices, self.opened_at - MAX_AGE):
            return Valuation(knot.basis, 0.0, 0.0, knot.basis + knot.cash - knot.gas, is_priced=False)
        principal = self._principal(knot, boundary, at, prices)
        claims = _worth(knot.claims, at, prices)
        value = principal + claims
        il = 0.0
        if knot.bundle is not None:
            hold = _worth(knot.bundle, at, prices)
            il = hold - principal
            unrealized = hold + claims - knot.basis
        else:
            unrealized = value - knot.basis
        return Valuation(value, unrealized, il, value + knot.cash - knot.gas)

    def principal_at(self, knot: StatePoint, boundary: int, prices: Prices) -> dict[str, float]:
        """Principal by asset just before the events at `boundary`, `knot` being what was inside then; debts below 0.

        Of a pool by its formula; the deposited tokens where no price says how they are mixed now.
        """
        snapshot = self._snapshot_at(knot, boundary)
        if snapshot is not None:
            return snapshot
        if knot.pool is None:
            return knot.principal
        pool, at = knot.pool, np.array([boundary], dtype=np.int64)
        if boundary >= knot.priced_from(prices, self.opened_at - MAX_AGE):
            x, y = (float(quantity[0]) for quantity in pool.holdings(_pool_price(pool, at, prices)))
            if np.isfinite(x) and np.isfinite(y):
                return {pool.token0: x, pool.token1: y}
        return knot.bundle or {}

    def snapshot_of(self, at: int) -> Snapshot | None:
        """What the agent told of the state at an instant, last of all; None where it told nothing."""
        if self._told_states != len(self.snapshots):
            self._states = {snapshot.at: snapshot for snapshot in self.snapshots}
            self._told_states = len(self.snapshots)
        return self._states.get(at)

    def _snapshot_at(self, knot: StatePoint, boundary: int) -> dict[str, float] | None:
        """The principal that a snapshot of exactly this boundary tells; None where none speaks of it."""
        # where nothing was inside, a snapshot at the boundary opens the position, and does so after the boundary
        if not self.snapshots or boundary in self.deposits or not knot.holds_anything:
            return None
        exact = self.snapshot_of(boundary)
        if exact is None or (self.closed_at is not None and boundary > self.closed_at):
            return None
        holdings = {asset: float(quantity) for asset, quantity in exact.holdings.items()}
        for asset, quantity in (exact.debt or {}).items():
            holdings[asset] = holdings.get(asset, 0.0) - float(quantity)
        return holdings

    def _principal(self, knot: StatePoint, boundary: int, at: int, prices: Prices) -> float:
        snapshot = self._snapshot_at(knot, boundary)
        if snapshot is not None:
            return _worth(snapshot, at, prices)
        if knot.pool is None:
            return _worth(knot.principal, at, prices)
        values = _pool_worth(knot.pool, np.array([at], dtype=np.int64), prices)
        return float(values[0])

    def unbelieved(self, boundary: int, marks_until: int, prices: Prices) -> float:
        """What it is said to have gained since the day that flagged it, and nobody believes; 0 for one that lost.

        Of one that its owner has rejected, losses are not believed either.
        """
        if self.flagged_day is None or boundary <= self.flagged_day:
            return 0.0
        gained = (
            self.state(boundary, marks_until, prices).pnl
            - self.state(self.flagged_day, marks_until, prices).pnl
        )
        return gained if self.ruling == "rejected" else max(0.0, gained)

    def pnl_path(self, times: NDArray[np.int64], prices: Prices) -> NDArray[np.float64]:
        """Pnl (value + cash - gas) at each instant of `times` (us, ascending), events strictly before each."""
        return self._path(times, prices, with_cash=True)

    def worth_path(self, times: NDArray[np.int64], prices: Prices) -> NDArray[np.float64]:
        """Worth of what is held at each instant of `times` (us, ascending), events strictly before each."""
        return self._path(times, prices, with_cash=False)

    def _path(self, times: NDArray[np.int64], prices: Prices, *, with_cash: bool) -> NDArray[np.float64]:
        out = np.zeros(len(times))
        for i, chosen in _stretches(self._instants(), times):
            if i < 0:
                continue
            knot, at = self.knots[i], times[chosen]
            total = np.full(len(at), knot.cash - knot.gas if with_cash else 0.0)
            if not knot.holds_anything:
                out[chosen] = total
                continue
            begins = knot.priced_from(prices, self.opened_at - MAX_AGE)
            if begins == FOREVER:
                out[chosen] = total + knot.basis
                continue
            at_cost = total + knot.basis
            quantities = dict(knot.claims)
            if knot.pool is not None:
                total += _pool_worth(knot.pool, at, prices)
            else:
                for asset, quantity in knot.principal.items():
                    quantities[asset] = quantities.get(asset, 0.0) + quantity
            for asset, quantity in quantities.items():
                if quantity:
                    total += quantity * prices.at_many(asset, at)
            out[chosen] = total if begins <= at[0] else np.where(at < begins, at_cost, total)
        return out


def _stretches(starts: Sequence[int], times: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """Of ascending instants those between one start and the next: which start was the last before them (-1: none)."""
    if not len(times):
        return
    first = bisect_left(starts, int(times[0])) - 1
    if first == bisect_left(starts, int(times[-1])) - 1:  # most marks lie between two events of a position
        yield first, slice(0, len(times))
        return
    which = np.searchsorted(np.array(starts, dtype=np.int64), times, side="left") - 1
    edges = np.flatnonzero(np.diff(which, prepend=-2, append=-2)).tolist()
    for start, end in pairwise(edges):
        yield int(which[start]), slice(start, end)


def has_holdings(snapshot: Snapshot) -> bool:
    """Whether a state shows anything inside besides what is claimable: the first such was put in by somebody."""
    return any(quantity > 0 for quantity in snapshot.holdings.values())


def _worth(quantities: dict[str, float], at: int, prices: Prices) -> float:
    return sum(quantity * prices.price(asset, at) for asset, quantity in quantities.items() if quantity)


def _pool_price(pool: Pool, at: NDArray[np.int64], prices: Prices) -> NDArray[np.float64]:
    """token0 in token1; NaN where nothing prices token1."""
    m0, m1 = prices.at_many(pool.token0, at), prices.at_many(pool.token1, at)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: NDArray[np.float64] = np.where(m1 > 0, m0 / m1, np.nan)
    return ratio


def _pool_worth(pool: Pool, at: NDArray[np.int64], prices: Prices) -> NDArray[np.float64]:
    m0, m1 = prices.at_many(pool.token0, at), prices.at_many(pool.token1, at)
    x, y = pool.holdings(_pool_price(pool, at, prices))
    return np.nan_to_num(x * m0 + y * m1)  # an unpriced token is worth nothing here and named as unreliable
