"""The arrays of one position's life, made once and read by every figure of its retrospective."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.accounting.holdings import ACCRUALS
from retro.kernels.lots import unrounded
from retro.kernels.series import median_gap, union
from retro.periods import DAY, FOREVER
from retro.report.lines import SIGNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from retro.accounting.prices import PriceLine, Prices
    from retro.accounting.track import PositionHistory, StatePoint, Valuation

__all__ = ["UNBOUNDED", "HoldingTerms", "Lookahead", "PositionPath", "Sizes", "in_r", "sizes", "symbols_of"]

_ACCRUING: Final = frozenset({"funding", *ACCRUALS.values()})


@dataclass(frozen=True, slots=True)
class Lookahead:
    """How far one review sees, and how it measures. Instants in microseconds.

    `end` is the period's end, `known_until` K, `after_until` the last mark post-exit figures may read (None: all).
    """

    end: int
    known_until: int
    after_until: int | None
    offsets: tuple[tuple[str, int], ...]
    use_highs_lows: bool = False

    @property
    def now(self) -> int:
        """Where open positions are valued."""
        return min(self.end, self.known_until)


class HoldingTerms(NamedTuple):
    """What keeping a perp after its exit would have met, in base currency.

    `ruin` is what there was to lose at the exit: the agent's equity, else the position's margin; None where neither is
    known. `funding` was told for its instrument: instants (microseconds) and what each unit held long received.
    """

    ruin: float | None = None
    funding: tuple[tuple[int, float], ...] = ()


UNBOUNDED: Final = HoldingTerms()
"""Nothing is known that would end holding on, or that it would have paid."""


class Sizes(NamedTuple):
    """Size and prices of a position; None where its kind has none."""

    quantity: float | None
    entry_price: float | None
    exit_price: float | None
    notional: float | None


def sizes(track: PositionHistory, horizon: Lookahead, prices: Prices) -> Sizes:
    """Quantity and average prices over opening and closing fills; for deposits the pool's or asset's mark."""
    if track.is_fill_based:
        opened = fsum(o.quantity for o in track.openings)
        cost = fsum(o.quantity * o.price for o in track.openings)
        closed = fsum(c.quantity for c in track.closings)
        proceeds = fsum(c.quantity * c.price for c in track.closings)
        return Sizes(
            opened or None,
            cost / opened if opened else None,
            proceeds / closed if closed else None,
            cost if opened else None,
        )
    deposits = [flow for flow in track.flows if flow.kind == "deposit" and flow.at == track.opened_at]
    assets = {flow.asset for flow in deposits}
    quantity = fsum(float(flow.quantity) for flow in deposits) if len(assets) == 1 else None
    symbol = (
        track.position.instrument
        if track.position.kind == "lp"
        else next(iter(assets), track.position.instrument)
    )
    entry_price = _mark(symbol, track.opened_at, prices)
    exit_price = (
        _mark(symbol, track.closed_at, prices)
        if track.closed_at is not None and track.closed_at < horizon.end
        else None
    )
    return Sizes(quantity, entry_price, exit_price, track.cash_in or None)


def in_r(amount: float | None, risk: float | None) -> float | None:
    """An amount in units of the risk stated at entry; None where either is not known."""
    return amount / risk if amount is not None and risk else None


def _mark(symbol: str, at: int | None, prices: Prices) -> float | None:
    if at is None:
        return None
    quote = prices.quote(symbol, at)
    return None if quote is None or quote.provisional else quote.price


def symbols_of(knot: StatePoint) -> list[str]:
    """Everything whose price a valuation of these holdings needs."""
    if knot.pool is not None:
        return [knot.pool.token0, knot.pool.token1, *knot.claims]
    return [*knot.principal, *knot.claims]


class PositionPath:
    """The arrays of one position, made once and read by every figure."""

    def __init__(
        self, track: PositionHistory, horizon: Lookahead, prices: Prices, terms: HoldingTerms = UNBOUNDED
    ) -> None:
        self.track = track
        self.horizon = horizon
        self.terms = terms
        self.prices = prices
        self.closed = track.closed_at is not None and track.closed_at < horizon.end
        self.exit_at = (
            track.closed_at
            if self.closed and track.closed_at is not None
            else max(horizon.now, track.opened_at)
        )
        with prices.watching() as unreliable:
            self.state: Valuation = track.state(horizon.end, horizon.known_until, prices)
        self.provisional = bool(track.unreliable or unreliable)
        self.sizes = sizes(track, horizon, prices)
        self.final = unrounded(self.state.pnl, self.sizes.notional or 0.0)
        self.risk = track.risk
        self.reasons: dict[str, str] = {}
        self.line: PriceLine = prices.line(track.position.instrument)

    @property
    def marks_after(self) -> int:
        """The last instant of marks that figures of the time after the exit may read."""
        return FOREVER if self.horizon.after_until is None else self.horizon.after_until

    @cached_property
    def gap(self) -> float | None:
        """Median microseconds between its marks, from a day before the entry to the exit."""
        return median_gap(self.marks, self.track.opened_at - DAY, self.exit_at)

    @cached_property
    def marks(self) -> NDArray[np.int64]:
        """Instants at which the position has a mark: its snapshots, else the marks of what it holds."""
        if self.track.snapshots:
            return np.array(sorted({snap.at for snap in self.track.snapshots}), dtype=np.int64)
        if self.track.is_fill_based:
            return self.line.t
        symbols = {symbol for knot in self.track.knots for symbol in symbols_of(knot)} - {
            self.prices.base_currency
        }
        lines = [self.prices.line(symbol).t for symbol in sorted(symbols)]
        return union(*lines) if lines else np.empty(0, dtype=np.int64)

    @cached_property
    def exit_costs(self) -> float:
        """Fees and gas at the closing instant."""
        if not self.closed:
            return 0.0
        at = self.exit_at
        fees = [c.fee for c in self.track.closings if c.at == at]
        return fsum(
            [*fees, *(b.amount for b in self.track.bookings if b.at == at and b.component == "gas_costs")]
        )

    @cached_property
    def closing_price(self) -> float | None:
        """Average price of the fills at the closing instant."""
        last = [c for c in self.track.closings if c.at == self.exit_at and c.quantity]
        size = fsum(c.quantity for c in last)
        return fsum(c.quantity * c.price for c in last) / size if size else self.sizes.exit_price

    @property
    def entry_fees(self) -> float:
        """Fees of the entry instant."""
        return fsum(o.fee for o in self.track.openings if o.at == self.track.opened_at)

    def inside(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Marks strictly inside (entry, exit) and the gross pnl at each."""
        lo, hi = self._inside()
        times = self.marks[lo:hi]
        path = self.gross_at(times)
        if (
            self.horizon.use_highs_lows
            and self.track.is_fill_based
            and len(times)
            and not self.track.snapshots
        ):
            return self._with_extremes(times, path, lo, hi)
        return times, path

    @property
    def marks_inside(self) -> NDArray[np.int64]:
        """The instants of the marks strictly inside (entry, exit)."""
        lo, hi = self._inside()
        return self.marks[lo:hi]

    def _inside(self) -> tuple[int, int]:
        lo = int(np.searchsorted(self.marks, self.track.opened_at, side="right"))
        return lo, int(np.searchsorted(self.marks, self.exit_at, side="left"))

    def gross_at(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """The gross pnl at marks inside its life, in ascending order."""
        if self.track.snapshots:
            out = self._taken_out()
            return np.array([self._at_snapshot(int(t), out) for t in times])
        return self.track.pnl_path(times, self.prices)

    def closes(self, gross: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Of the gross pnl at the marks `inside`, those at closes, where lows and highs are among them; else None."""
        mixed = self.horizon.use_highs_lows and self.track.is_fill_based and not self.track.snapshots
        return gross[2::3] if mixed else None

    def _with_extremes(
        self, times: NDArray[np.int64], path: NDArray[np.float64], lo: int, hi: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        quantity = np.array([self._quantity_at(int(t)) for t in times])
        close = self.line.price[lo:hi]
        whole = np.array([self.holds_candle(i) for i in range(lo, hi)])
        low = path + quantity * np.where(whole, self.line.low[lo:hi] - close, 0.0)
        high = path + quantity * np.where(whole, self.line.high[lo:hi] - close, 0.0)
        both = np.stack([np.minimum(low, high), np.maximum(low, high), path], axis=1).ravel()
        return np.repeat(times, 3), both

    def holds_candle(self, index: int) -> bool:
        """Whether the candle that a mark closes began no earlier than the entry: at the mark before it."""
        return index > 0 and int(self.line.t[index - 1]) >= self.track.opened_at

    def _quantity_at(self, at: int) -> float:
        knot = self.track.knot_before(at)
        return knot.principal.get(self.track.position.instrument, 0.0) if knot else 0.0

    def _taken_out(self) -> dict[int, list[float]]:
        """What the wallet got at each instant."""
        received: dict[int, list[float]] = {}
        for effect in self.track.effects:
            if effect.value > 0:
                received.setdefault(effect.at, []).append(effect.value)
        return received

    def _at_snapshot(self, at: int, received: Mapping[int, list[float]]) -> float:
        snap, knot = self.track.snapshot_of(at), self.track.knot_before(at + 1)
        if knot is None:
            return 0.0
        # a snapshot tells the state before what was withdrawn at the same instant; the knot after it has that cash
        # already, so it is taken off again
        if snap is not None and snap.value is not None:
            return float(snap.value) + knot.cash - fsum(received.get(at, ())) - knot.gas
        return self.track.state(at + 1, at, self.prices).pnl

    def gross_if_held(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """Gross pnl had the last close not happened: what was held just before it, kept.

        Funding and interest that settled at the exit, or were posted after it, would have come all the same.
        """
        knot = self.track.knot_before(self.exit_at)
        if knot is None:
            return np.zeros(len(times))
        total = np.full(len(times), knot.cash - knot.gas + self.settled_since)
        for symbol, quantity in (*knot.principal.items(), *knot.claims.items()):
            total += quantity * self.prices.at_many(symbol, times)
        later = [payment for payment in self.terms.funding if payment[0] > self.exit_at]
        if later:
            paid = np.cumsum([0.0, *(amount for _, amount in later)])
            settled_by = np.searchsorted([at for at, _ in later], times, side="left")
            total += knot.principal.get(self.track.position.instrument, 0.0) * paid[settled_by]
        return total

    @property
    def settled_since(self) -> float:
        """Funding and interest that settled at the exit or were posted after it."""
        return fsum(
            SIGNS[booking.component] * booking.amount
            for booking in self.track.bookings
            if self.exit_at <= booking.at < self.horizon.end and booking.component in _ACCRUING
        )

    def mark_age(self, at: int) -> int | None:
        """Age of the oldest mark a valuation at `at` rests on; None when one of them has none."""
        knot = self.track.knot_before(at)
        if knot is None:
            return None
        age = 0
        for symbol in symbols_of(knot):
            if self.prices.at_par(symbol):
                continue
            line = self.prices.line(symbol)
            i = line.index(at)
            if i < 0:
                return None
            age = max(age, at - int(line.t[i]))
        return age
