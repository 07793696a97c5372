"""You and the market: what a benchmark's move explains of what an agent's trades made, and what is left."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.accounting.prices import MAX_AGE, base_and_quote
from retro.evaluate.performance import returns
from retro.kernels.evaluators.regression import regress
from retro.kernels.special import t_quantile
from retro.periods import format_instant
from retro.report import BenchmarkSplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from retro.accounting.track import PositionHistory
    from retro.evaluate.inputs import Inputs
    from retro.kernels.evaluators.regression import LineFit

__all__ = ["LEAST_DAYS", "benchmark_of", "weighed_tracks"]

LEAST_DAYS: Final = 60
"""Days of returns below which nobody can tell an agent's alpha and beta."""

_LINE: Final = ("alpha", "alpha_interval", "beta", "beta_interval")


class _Benchmark:
    """The benchmark's marks as an agent could know them, each instant looked up once."""

    def __init__(self, inputs: Inputs, instrument: str) -> None:
        self.instrument = instrument
        self._prices = inputs.benchmark
        self._known_until = inputs.known_until
        self._quotes: dict[int, float | None] = {}

    def at(self, instant: int) -> float | None:
        """Its price at an instant, of a mark no older than a day; beyond K that at K. None where there is none."""
        instant = min(instant, self._known_until)
        if instant not in self._quotes:
            quote = None if self._prices is None else self._prices.quote(self.instrument, instant)
            fresh = quote is not None and not quote.provisional and quote.price > 0
            self._quotes[instant] = quote.price if quote is not None and fresh else None
        return self._quotes[instant]

    def move(self, start: int, end: int) -> float | None:
        """The share it gained from one instant to another; None where it has no mark at one of them."""
        before, after = self.at(start), self.at(end)
        return None if before is None or after is None else after / before - 1

    def first_gap(self, instants: Iterable[int]) -> int | None:
        """The first of some instants at which it has no mark."""
        return min((at for at in instants if self.at(at) is None), default=None)


def weighed_tracks(inputs: Inputs) -> list[PositionHistory]:
    """The positions whose results are held against the benchmark; none without one."""
    if inputs.options.benchmark is None:
        return []
    return [track for track in inputs.tracks.values() if track.is_fill_based and track.flagged_at is None]


def benchmark_of(inputs: Inputs, tracks: Sequence[PositionHistory]) -> BenchmarkSplit | None:
    """The split of a period; None where the owner names no benchmark.

    Exposure is what a spot or perp position is worth (a short one below 0) times its beta. A hold interval begins with a
    fill or with a day of the books, and ends with the next: so days add up to weeks.
    """
    terms, period, books = inputs.options.benchmark, inputs.period, inputs.books
    if terms is None:
        return None
    benchmark = _Benchmark(inputs, terms.instrument)
    days = books.boundaries[books.index(period.start) : books.index(period.end) + 1]
    traded = fsum(books.position_pnl(track.position.position, period.start, period.end) for track in tracks)
    intervals = [
        interval for track in tracks for interval in _hold_intervals(track, days, inputs, terms.betas)
    ]
    reasons: dict[str, str] = {}
    gap = benchmark.first_gap(at for start, end, _ in intervals for at in (start, end))
    market = None
    if gap is None:
        market = fsum(exposure * (benchmark.move(start, end) or 0.0) for start, end, exposure in intervals)
    else:
        why = (
            f"{terms.instrument} has no mark of the day before {format_instant(min(gap, inputs.known_until))}"
        )
        reasons |= dict.fromkeys(("market", "selection"), why)
    change = benchmark.move(max(period.start, inputs.born_at), period.end)
    if change is None:
        reasons["change"] = f"{terms.instrument} has no mark at both ends of the period"
    both, line = _line(inputs, benchmark, days)
    if line is None:
        few = f"{both} of {LEAST_DAYS} days have a return of both"
        reasons |= dict.fromkeys(_LINE, few if both < LEAST_DAYS else "the benchmark did not move")
    reach = t_quantile(0.975, both - 2) if line is not None else 0.0
    return BenchmarkSplit(
        instrument=terms.instrument,
        traded=traded,
        market=market,
        selection=None if market is None else traded - market,
        change=change,
        days=both,
        alpha=None if line is None else line.alpha,
        alpha_interval=None if line is None else _around(line.alpha, reach * line.alpha_error),
        beta=None if line is None else line.beta,
        beta_interval=None if line is None else _around(line.beta, reach * line.beta_error),
        reasons=reasons,
    )


def _hold_intervals(
    track: PositionHistory, days: Sequence[int], inputs: Inputs, betas: Mapping[str, float]
) -> Iterator[tuple[int, int, float]]:
    """When a position was held unchanged, from and to, and its exposure at the beginning, in base currency."""
    moments = [knot.at for knot in track.knots if days[0] < knot.at < days[-1]]
    for start, end in pairwise(sorted({*days, *moments})):
        knot = track.knot_before(start + 1)
        if knot is None or not knot.principal or start >= inputs.known_until:
            continue
        if start < knot.priced_from(inputs.prices, track.opened_at - MAX_AGE):
            continue  # what has no price yet stands at cost, and moves no result either
        worth = []
        for symbol, quantity in knot.principal.items():
            quote = inputs.prices.quote(symbol, start)
            beta = betas.get(symbol, betas.get(base_and_quote(symbol)[0], 1.0))
            worth.append(0.0 if quote is None else quantity * quote.price * beta)
        if exposure := fsum(worth):
            yield start, end, exposure


def _line(inputs: Inputs, benchmark: _Benchmark, days: Sequence[int]) -> tuple[int, LineFit | None]:
    """The agent's daily returns on the benchmark's: how many days have both, and the line from 60 on."""
    of_days, absent = returns(inputs, inputs.period.start, inputs.period.end)
    if absent is not None:
        return 0, None
    pairs = [
        (move, daily_return)
        for (start, end), daily_return in zip(pairwise(days), of_days.tolist(), strict=True)
        if isfinite(daily_return) and (move := benchmark.move(start, end)) is not None
    ]
    if len(pairs) < LEAST_DAYS:
        return len(pairs), None
    x, y = np.array(pairs).T
    return len(pairs), regress(x, y)


def _around(centre: float, reach: float) -> tuple[float, float]:
    return centre - reach, centre + reach
