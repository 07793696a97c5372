"""A position's whole life as the review tells it: trajectory, extremes, regret, counterfactuals, what came after."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.assemble.ledger import COMPONENTS, YIELD_KINDS, attribution
from retro.assemble.prices import MAX_AGE
from retro.kernels import regret as kernel
from retro.kernels.series import coverage, fresh_for, median_gap
from retro.periods import DAY, SECOND, format_instant
from retro.report import Checkpoint, Cites, PathPoint, PnlAttribution, PositionRetrospective, Prediction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retro.assemble.prices import Line, Prices
    from retro.assemble.track import Knot, State, Track

__all__ = ["Horizon", "Outcome", "Words", "inaction", "outcome_of", "position_attribution", "retrospect"]

_WEEK: Final = 7 * DAY
_DRAWN: Final = 160


@dataclass(frozen=True, slots=True)
class Horizon:
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


@dataclass(frozen=True, slots=True)
class Words:
    """What the agent wrote about a position, cites resolved by the playbook's claims."""

    entry: list[str]
    exit: list[str]
    reasoning: str | None
    exit_reasoning: str | None
    predictions: list[Prediction]


class Sizes(NamedTuple):
    """Size and prices of a position; None where its kind has none."""

    quantity: float | None
    entry_price: float | None
    exit_price: float | None
    notional: float | None


class Outcome(NamedTuple):
    """The result of a closed position in one go."""

    final_pnl: float
    vs_inaction: float | None
    notional: float | None


def sizes(track: Track, horizon: Horizon, prices: Prices) -> Sizes:
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
    entry = _mark(symbol, track.opened_at, prices)
    left = (
        _mark(symbol, track.closed_at, prices)
        if track.closed_at is not None and track.closed_at < horizon.end
        else None
    )
    return Sizes(quantity, entry, left, track.cash_in or None)


def _mark(symbol: str, at: int | None, prices: Prices) -> float | None:
    if at is None:
        return None
    found = prices.quote(symbol, at)
    return None if found is None or found.provisional else found.price


def _symbols(knot: Knot) -> list[str]:
    if knot.pool is not None:
        return [knot.pool.token0, knot.pool.token1, *knot.claims]
    return [*knot.held, *knot.claims]


class _Life:
    """The arrays of one position, made once and read by every figure."""

    def __init__(self, track: Track, horizon: Horizon, prices: Prices) -> None:
        self.track = track
        self.horizon = horizon
        self.prices = prices
        self.closed = track.closed_at is not None and track.closed_at < horizon.end
        self.exit_at = (
            track.closed_at
            if self.closed and track.closed_at is not None
            else max(horizon.now, track.opened_at)
        )
        self.state: State = track.state(horizon.end, horizon.known_until, prices)
        self.final = self.state.pnl
        self.sizes = sizes(track, horizon, prices)
        self.risk = float(track.position.risk) if track.position.risk else None
        self.reasons: dict[str, str] = {}
        self.line: Line = prices.line(track.position.instrument)
        self.marks = self._marks()
        self.gap = median_gap(self.marks, track.opened_at - DAY, self.exit_at)

    def _marks(self) -> NDArray[np.int64]:
        """Instants at which the position has a mark: its snapshots, else the marks of what it holds."""
        if self.track.snapshots:
            return np.array(sorted({snap.at for snap in self.track.snapshots}), dtype=np.int64)
        if self.track.is_fill_based:
            return self.line.t
        symbols = {symbol for knot in self.track.knots for symbol in _symbols(knot)} - {
            self.prices.base_currency
        }
        lines = [self.prices.line(symbol).t for symbol in sorted(symbols)]
        return np.unique(np.concatenate(lines)) if lines else np.empty(0, dtype=np.int64)

    @property
    def exit_costs(self) -> float:
        """Fees and gas at the closing instant."""
        if not self.closed:
            return 0.0
        at = self.exit_at
        fees = [c.fee for c in self.track.closings if c.at == at]
        return fsum(
            [*fees, *(b.amount for b in self.track.bookings if b.at == at and b.component == "gas_costs")]
        )

    @property
    def entry_fees(self) -> float:
        """Fees of the entry instant."""
        return fsum(o.fee for o in self.track.openings if o.at == self.track.opened_at)

    def inside(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Marks strictly inside (entry, exit) and the gross pnl at each."""
        lo = int(np.searchsorted(self.marks, self.track.opened_at, side="right"))
        hi = int(np.searchsorted(self.marks, self.exit_at, side="left"))
        times = self.marks[lo:hi]
        if self.track.snapshots:
            return times, np.array([self._at_snapshot(int(t)) for t in times])
        path = self.track.pnl_path(times, self.prices)
        if self.horizon.use_highs_lows and self.track.is_fill_based and len(times):
            return self._with_extremes(times, path, lo, hi)
        return times, path

    def _with_extremes(
        self, times: NDArray[np.int64], path: NDArray[np.float64], lo: int, hi: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        quantity = np.array([self._quantity_at(int(t)) for t in times])
        close = self.line.price[lo:hi]
        low = path + quantity * (self.line.low[lo:hi] - close)
        high = path + quantity * (self.line.high[lo:hi] - close)
        both = np.stack([np.minimum(low, high), np.maximum(low, high), path], axis=1).ravel()
        return np.repeat(times, 3), both

    def _quantity_at(self, at: int) -> float:
        knot = self.track.knot_before(at)
        return knot.held.get(self.track.position.instrument, 0.0) if knot else 0.0

    def _at_snapshot(self, at: int) -> float:
        snap = next(s for s in reversed(self.track.snapshots) if s.at == at)
        knot = self.track.knot_before(at + 1)
        if knot is None:
            return 0.0
        if snap.value is not None:
            return float(snap.value) + knot.cash - knot.gas
        return self.track.state(at + 1, at, self.prices).pnl

    def gross_if_held(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """Gross pnl had the last close not happened: what was held just before it, kept."""
        knot = self.track.knot_before(self.exit_at)
        if knot is None:
            return np.zeros(len(times))
        total = np.full(len(times), knot.cash - knot.gas)
        for symbol, quantity in {**knot.held, **knot.claims}.items():
            total += quantity * self.prices.at_many(symbol, times)
        return total

    def mark_age(self, at: int) -> int | None:
        """Age of the oldest mark a valuation at `at` rests on; None when one of them has none."""
        knot = self.track.knot_before(at)
        if knot is None:
            return None
        age = 0
        for symbol in _symbols(knot):
            if symbol == self.prices.base_currency:
                continue
            line = self.prices.line(symbol)
            i = line.index(at)
            if i < 0:
                return None
            age = max(age, at - int(line.t[i]))
        return age


def retrospect(
    track: Track, horizon: Horizon, prices: Prices, words: Words, *, period_pnl: float | None, agent: str
) -> PositionRetrospective:
    """One position's document; `period_pnl` None means the whole life is the period."""
    life = _Life(track, horizon, prices)
    times, gross = life.inside()
    share = coverage(life.marks, track.opened_at, life.exit_at, life.gap)
    found = kernel.regret(
        times,
        gross,
        exit_at=life.exit_at,
        final_pnl=life.final,
        notional=life.sizes.notional or 0.0,
        coverage=share,
        entry_costs=life.entry_fees,
        exit_costs=life.exit_costs,
    )
    life.reasons |= found.reasons
    flags = _flags(life, insufficient=found.regret is None)
    after = _after(life, found.mae)
    idle = inaction(track, life.final, life.exit_at, prices, life.reasons)
    position, size, risk = track.position, life.sizes, life.risk
    _size_reasons(life)
    return PositionRetrospective(
        position_id=position.position,
        agent=agent,
        kind=position.kind,
        instrument=position.instrument,
        venue=position.venue,
        strategy=position.strategy,
        side=position.side,
        entry_at=format_instant(track.opened_at),
        exit_at=format_instant(life.exit_at) if life.closed else None,
        open=not life.closed,
        duration_s=(life.exit_at - track.opened_at) / SECOND,
        entry_price=size.entry_price,
        exit_price=size.exit_price,
        quantity=size.quantity,
        notional=size.notional,
        final_pnl=life.final,
        period_pnl=life.final if period_pnl is None else period_pnl,
        pnl_r=life.final / risk if risk else None,
        pnl_trajectory=_trajectory(life),
        mfe=found.mfe,
        mae=found.mae,
        mfe_price=_price_at(life, found.mfe_at),
        mae_price=_price_at(life, found.mae_at),
        mfe_r=found.mfe / risk if risk else None,
        mae_r=found.mae / risk if risk else None,
        regret=found.regret,
        regret_ratio=found.regret_ratio,
        optimal_exit_at=None if found.optimal_exit_at is None else format_instant(found.optimal_exit_at),
        optimal_exit_pnl=found.optimal_exit_pnl,
        vs_inaction=idle,
        vs_hold=_vs_hold(life),
        vs_cash=life.final,
        left_on_table=after.left_on_table,
        left_on_table_capped=after.left_on_table_capped,
        hold_on=after.hold_on,
        post_exit_trajectory=_post_exit(life),
        attribution=position_attribution(track, life.state, horizon.end),
        entry_reasoning=words.reasoning,
        exit_reasoning=words.exit_reasoning,
        exit_reason=track.exit_reason,
        cites=Cites(entry=words.entry, exit=words.exit),
        entry_predictions=words.predictions,
        what_went_wrong=None,
        lesson=None,
        flags=flags,
        reasons=dict(sorted(life.reasons.items())),
        path=_drawn(track, times, gross, life),
    )


def position_attribution(track: Track, state: State, end: int) -> PnlAttribution:
    """The position's own life, component by component; totals its final pnl."""
    sums = {
        name: fsum(b.amount for b in track.bookings if b.component == name and b.at < end)
        for name in COMPONENTS
    }
    sums["impermanent_loss"] += state.il
    sums["unrealized_pnl"] += state.unrealized
    return attribution(
        sums,
        start=0.0,
        end=state.unrealized,
        yields=track.position.kind in YIELD_KINDS,
        trading_fees=track.trading_fees,
    )


def _flags(life: _Life, *, insufficient: bool) -> list[str]:
    flags = [] if life.closed else ["open"]
    if life.track.flagged_at is not None:
        flags.append("implausible")
    if insufficient:
        flags.append("insufficient_marks")
    symbols = {s for knot in life.track.knots for s in _symbols(knot)}
    if symbols & life.prices.unreliable.keys():
        flags.append("provisional")
    return flags


def _size_reasons(life: _Life) -> None:
    kind, size = life.track.position.kind, life.sizes
    if size.quantity is None:
        life.reasons["quantity"] = f"a {kind} position of several assets has no single quantity"
    if size.entry_price is None:
        life.reasons["entry_price"] = "no mark at the entry"
    if not life.closed:
        life.reasons["exit_at"] = life.reasons["exit_price"] = "the position is open"
    elif size.exit_price is None:
        life.reasons["exit_price"] = "no mark at the exit"
    if size.notional is None:
        life.reasons["notional"] = "nothing was put in"
    if life.risk is None:
        for name in ("pnl_r", "mfe_r", "mae_r"):
            life.reasons[name] = "the amount at risk (R) is not known"
    if life.track.is_fill_based:
        life.reasons["vs_hold"] = "for spot and perp, holding what was entered is the position itself"


def _price_at(life: _Life, at: int | None) -> float | None:
    if at is None:
        return life.sizes.entry_price
    if life.closed and at == life.exit_at and life.sizes.exit_price is not None:
        return life.sizes.exit_price
    i = life.line.index(at)
    return float(life.line.price[i]) if i >= 0 else None


def _trajectory(life: _Life) -> list[Checkpoint]:
    points = []
    for name, offset in life.horizon.offsets:
        at = life.track.opened_at + offset
        if at < life.exit_at:
            points.append(_checkpoint(life, name, at, offset))
    age = life.mark_age(life.exit_at)
    final_age = 0.0 if life.closed else None if age is None else age / SECOND
    held = life.exit_at - life.track.opened_at
    late = not life.closed and (
        age is None or age > float(fresh_for(np.nan if life.gap is None else life.gap, held))
    )
    points.append(
        Checkpoint(
            offset="exit", at=format_instant(life.exit_at), pnl=life.final, mark_age_s=final_age, stale=late
        )
    )
    if any(point.pnl is None for point in points):
        life.reasons["pnl_trajectory"] = "no mark, or none younger than 24 h, at the points without a pnl"
    return points


def _checkpoint(life: _Life, name: str, at: int, offset: int) -> Checkpoint:
    age = life.mark_age(at)
    if age is None or age > MAX_AGE:
        return Checkpoint(offset=name, at=format_instant(at), pnl=None, mark_age_s=None, stale=True)
    stale = age > float(fresh_for(np.nan if life.gap is None else life.gap, offset))
    pnl = life.track.state(at, at, life.prices).pnl
    return Checkpoint(offset=name, at=format_instant(at), pnl=pnl, mark_age_s=age / SECOND, stale=stale)


def inaction(
    track: Track, final: float, exit_at: int, prices: Prices, reasons: dict[str, str]
) -> float | None:
    """final_pnl less what the assets given up at entry would have made unchanged."""
    moved = 0.0
    for asset, quantity in sorted((track.position.funded_with or {}).items()):
        if asset == prices.base_currency:
            continue
        entry, left = prices.quote(asset, track.opened_at), prices.quote(asset, exit_at)
        if entry is None or left is None:
            reasons["vs_inaction"] = f"no mark of {asset}, which was given up at entry"
            return None
        moved += float(quantity) * (left.price - entry.price)
    return final - moved


def _vs_hold(life: _Life) -> float | None:
    if life.track.is_fill_based:
        return None
    knot = next((k for k in life.track.knots if k.at >= life.track.opened_at), None)
    if knot is None:
        life.reasons["vs_hold"] = "nothing was put in"
        return None
    moved = 0.0
    for asset, quantity in sorted((knot.bundle if knot.bundle is not None else knot.held).items()):
        entry, left = life.prices.quote(asset, life.track.opened_at), life.prices.quote(asset, life.exit_at)
        if entry is None or left is None:
            life.reasons["vs_hold"] = f"no mark of {asset}"
            return None
        moved += quantity * (left.price - entry.price)
    return life.final - moved


def _after(life: _Life, mae: float) -> kernel.AfterExit:
    """What holding on would have brought, within h = min(holding time, 7 d) after the exit."""
    held = life.exit_at - life.track.opened_at
    why = None
    if not life.closed:
        why = "the position is open"
    elif not life.track.is_fill_based:
        why = "not defined for LP, lending and staking"
    elif held <= 0:
        why = "it was held for no time"
    elif (
        life.track.exit_reason == "force_exit"
        and life.gap
        and life.exit_at >= life.horizon.known_until - 2 * life.gap
    ):
        why = "forced out where the data end"
    until = life.exit_at + min(held, _WEEK)
    if why is None and life.horizon.after_until is not None and until > life.horizon.after_until:
        why = "its time after the exit has not passed yet"
    found = kernel.AfterExit(None, None, None, why)
    if why is None:
        lo, hi = life.line.index(life.exit_at) + 1, life.line.index(until) + 1
        times = life.line.t[lo:hi]
        found = kernel.after_exit(
            times,
            life.gross_if_held(times),
            entry=life.track.opened_at,
            exit_at=life.exit_at,
            final_pnl=life.final,
            exit_costs=life.exit_costs,
            gap=life.gap,
            stop=max(life.risk or 0.0, abs(mae)),
            tolerance=kernel.tie_tolerance(life.sizes.notional or 0.0),
        )
    if found.reason is not None:
        life.reasons |= dict.fromkeys(("left_on_table", "left_on_table_capped", "hold_on"), found.reason)
    return found


def _post_exit(life: _Life) -> list[Checkpoint]:
    if not life.closed or not life.track.is_fill_based:
        return []
    points = []
    for name, offset in life.horizon.offsets:
        at = life.exit_at + offset
        if life.horizon.after_until is not None and at > life.horizon.after_until:
            break
        i = life.line.index(at)
        age = None if i < 0 else at - int(life.line.t[i])
        if age is None or age > MAX_AGE:
            continue
        held = life.gross_if_held(np.array([at], dtype=np.int64))
        pnl = float(held[0]) - life.exit_costs
        stale = age > float(fresh_for(np.nan if life.gap is None else life.gap, offset))
        points.append(
            Checkpoint(offset=name, at=format_instant(at), pnl=pnl, mark_age_s=age / SECOND, stale=stale)
        )
    return points


def _drawn(
    track: Track, times: NDArray[np.int64], gross: NDArray[np.float64], life: _Life
) -> list[PathPoint]:
    """The path thinned for drawing: of each stretch its lowest and highest point."""
    chosen: Sequence[int]
    if len(times) <= _DRAWN:
        chosen = range(len(times))
    else:
        edges = np.linspace(0, len(times), _DRAWN // 2 + 1).astype(int)
        picks = set()
        for a, b in pairwise(edges):
            picks |= {int(a + gross[a:b].argmin()), int(a + gross[a:b].argmax())}
        chosen = sorted(picks)
    start = PathPoint(at=format_instant(track.opened_at), pnl=-life.entry_fees)
    middle = [PathPoint(at=format_instant(int(times[i])), pnl=float(gross[i])) for i in chosen]
    return [start, *middle, PathPoint(at=format_instant(life.exit_at), pnl=life.final)]


def outcome_of(track: Track, prices: Prices, known_until: int) -> Outcome:
    """What a position made, for the book of closed positions."""
    state = track.state(known_until + 1, known_until, prices)
    exit_at = track.closed_at if track.closed_at is not None else known_until
    size = sizes(track, Horizon(known_until + 1, known_until, None, ()), prices)
    return Outcome(state.pnl, inaction(track, state.pnl, exit_at, prices, {}), size.notional)
