"""The money of a period: attribution, daily returns and their risk, the equity curve."""

from __future__ import annotations

from itertools import chain, pairwise
from math import fsum, isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from playbook.citation import resolve
from retro.accounting.attribution import YIELD_KINDS, attribution, signed_sum
from retro.evaluate.actions import in_period
from retro.evaluate.position.costs import fees_between, slippage
from retro.evaluate.position.foresight import cites_of
from retro.invariant import invariant
from retro.kernels import effectiveness as kernel
from retro.kernels import returns as kernel_returns
from retro.periods import DAY, day_of, format_instant
from retro.report import EquityDay, PnlAttribution, Risk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.inputs import Inputs
    from retro.evaluate.position.costs import Slip

__all__ = ["DailyReturns", "equity_curve", "period_attribution", "returns", "risk_of", "yielding"]

_FIGURES: Final = (
    "sharpe",
    "sortino",
    "max_drawdown",
    "max_drawdown_marked",
    "calmar",
    "psr",
    "deflated_sharpe",
    "minimum_track_record",
    "volatility",
    "sharpe_standard_error",
    "sharpe_interval",
    "sortino_interval",
    "calmar_interval",
    "time_weighted_return",
    "money_weighted_return",
)
_NO_CAPITAL: Final = "the agent's capital is not known"
_WEEK_AT_LEAST: Final = 6 * DAY + DAY // 2
"""A week in which the clocks went forward is an hour or so short."""

_REASONS: Final = {
    "too_few_days": "fewer than 2 daily returns",
    "too_few_for_error": "fewer than 4 daily returns",
    "too_few_for_calmar": "fewer than 30 daily returns: a year made of a few days says nothing",
    "no_estimate": "lives resampled from these days have no drawdown or are unlike this one, or their errors are no number",
    "zero_volatility": "the daily returns do not vary",
    "no_downside": "no losing day",
    "no_drawdown": "no drawdown",
    "not_above_zero": "the Sharpe ratio is not above 0: no record of it is long enough",
    "not_finite": "beyond what a number holds",
}


def _unattributed(inputs: Inputs, boundary: int) -> float | None:
    """Stated less computed equity at the last statement at or before a boundary, less the first; None unstated."""
    gaps = [gap for at, gap in inputs.discrepancies if at <= boundary]
    if gaps:
        return gaps[-1]
    return 0.0 if inputs.discrepancies else None


def yielding(inputs: Inputs, start: int, end: int) -> bool:
    """Whether LP, lending or staking took place in [start, end)."""
    components = inputs.books.between(start, end)
    return any(
        components[name] for name in ("lp_fees_earned", "lending_interest_earned", "staking_rewards")
    ) or any(
        track.position.kind in YIELD_KINDS
        and track.opened_at < end
        and (track.closed_at is None or track.closed_at >= start)
        for track in inputs.tracks.values()
    )


def period_attribution(inputs: Inputs, slips: Mapping[str, Sequence[Slip]]) -> PnlAttribution:
    """Where the money of the period came from; total and unattributed are sums of its days.

    `slips` are those of the fills of its positions.
    """
    books, period = inputs.books, inputs.period
    i, j = books.index(period.start), books.index(period.end)
    levels = [_unattributed(inputs, boundary) for boundary in books.boundaries[i : j + 1]]
    stated = any(at <= period.end for at, _ in inputs.discrepancies)
    gaps = [(after or 0.0) - (before or 0.0) if stated else None for before, after in pairwise(levels)]
    total = fsum(signed_sum(day, gap) for day, gap in zip(books.days[i:j], gaps, strict=True))
    alive = [track for track in inputs.tracks.values() if in_period(track, period)]
    slipped = slippage(chain.from_iterable(slips.values()), period.start, period.end)
    pnl = attribution(
        books.between(period.start, period.end),
        total=total,
        start=books.unrealized[i],
        end=books.unrealized[j],
        yields=yielding(inputs, period.start, period.end),
        unattributed=fsum(gap or 0.0 for gap in gaps) if stated else None,
        trading_fees=fsum(fees_between(t, period.start, period.end) for t in alive if t.flagged_at is None),
        slippage=slipped.amount,
        slippage_mark_age_s=slipped.mark_age_s,
        unbelieved=books.unbelieved[j] - books.unbelieved[i],
    )
    ratio = (
        None
        if pnl.net_yield is None
        else kernel.risk_adjusted_return(pnl.net_yield, books.plausible_pnl[i:j])
    )
    # a copy with updates is not validated again, so the ratio is held to a number here
    invariant(ratio is None or isfinite(ratio), "every figure is a number or absent", "risk_adjusted_return")
    return pnl.model_copy(update={"risk_adjusted_return": ratio})


class _Levels(NamedTuple):
    """Believed equity at the boundaries of the days and before each of the owner's flows, in order of time.

    `at` microseconds, `level` and `flow` base currency, `edges` where the boundaries stand.
    """

    at: NDArray[np.int64]
    level: NDArray[np.float64]
    flow: NDArray[np.float64]
    edges: NDArray[np.int64]


def _levels(inputs: Inputs, start: int, end: int) -> _Levels:
    books = inputs.books
    i, j = books.index(start), books.index(end)
    by_instant: dict[int, list[float]] = {}
    for flow in books.external:
        if start <= flow.at < end:
            by_instant.setdefault(flow.at, []).append(flow.value)
    levels = {at: books.equity[k] - books.unbelieved[k] for k, at in enumerate(books.boundaries)}
    apart = np.array([at for at in by_instant if at not in levels], dtype=np.int64)
    worth = books.worth[np.searchsorted(books.instants, apart)]
    levels |= dict(zip(apart.tolist(), worth.tolist(), strict=True))
    at = np.array(sorted({*by_instant, *books.boundaries[i : j + 1]}), dtype=np.int64)
    return _Levels(
        at,
        np.array([levels[t] for t in at.tolist()]),
        np.array([fsum(by_instant.get(t, ())) for t in at.tolist()]),
        np.searchsorted(at, books.boundaries[i : j + 1]),
    )


class DailyReturns(NamedTuple):
    """Time-weighted returns `of_days` (d,), NaN where a day has none; why nothing can be made of them, else None."""

    of_days: NDArray[np.float64]
    absent: str | None


def returns(inputs: Inputs, start: int, end: int) -> DailyReturns:
    """Time-weighted return of each day of [start, end).

    They begin with the instant at which the capital is known: before it nothing is there. They end with the day on which
    equity falls to 0 or below. What only impossible fills gained is left out of equity, and a day on which nothing moved
    has none while something open has no price.
    """
    books = inputs.books
    i, j = books.index(start), books.index(end)
    if not inputs.capital_known:
        return DailyReturns(np.full(j - i, np.nan), _NO_CAPITAL)
    levels = _levels(inputs, start, end)
    parts = kernel_returns.stretches(levels.level, levels.flow)
    daily = kernel_returns.chained(parts, levels.edges)
    daily[[books.is_unpriced(day) for day in range(i, j)]] = np.nan
    ruin = kernel_returns.ruin(parts)
    if ruin is None:
        return DailyReturns(daily, None)
    daily[max(0, int(np.searchsorted(levels.edges, ruin)) - 1) :] = np.nan
    # the level at a boundary is that of the day which ends there
    day = day_of(int(levels.at[ruin]) - (ruin > 0), inputs.zone)
    verb = "fell to 0 or below on" if ruin else "was below 0 before"
    return DailyReturns(daily, f"equity {verb} {day}: is the capital right?")


def _marked_drawdown(inputs: Inputs) -> float | None:
    """The deepest fall of the period over every instant at which something held had a mark; None without a funded day."""
    books, levels = inputs.books, _levels(inputs, inputs.period.start, inputs.period.end)
    parts = kernel_returns.stretches(levels.level, levels.flow)
    if not parts.funded.any():
        return None
    inside = (books.instants > levels.at[0]) & (books.instants < levels.at[-1])
    inside &= ~np.isin(books.instants, levels.at)
    stretch = np.searchsorted(levels.at, books.instants[inside], side="right") - 1
    return kernel_returns.deepest_fall(parts, books.worth[inside], stretch)


def _money_weighted(inputs: Inputs) -> float | None:
    """Modified Dietz over the period, from the instant on at which the capital is known."""
    levels = _levels(inputs, inputs.period.start, inputs.period.end)
    funded = np.flatnonzero((levels.level != 0) | (levels.flow != 0))
    if not funded.size or funded[0] == len(levels.at) - 1:
        return None
    at, level, flow = (column[funded[0] :] for column in levels[:3])
    remainder = (at[-1] - at) / (at[-1] - at[0])
    return kernel_returns.modified_dietz(float(level[0]), float(level[-1]), flow, remainder)


def _trials(inputs: Inputs) -> int:
    """How many ways to trade these days show side by side, at least one: strategies, and the rules and tags cited."""
    claims = inputs.options.rules.claims
    tracks = [track for track in inputs.tracks.values() if in_period(track, inputs.period)]
    strategies = {track.position.strategy for track in tracks if track.position.strategy}
    labels = {
        label
        for track in tracks
        for decision in track.decisions
        for label in resolve(cites_of(decision), claims)
    }
    return max(1, len(strategies) + len(labels))


def risk_of(inputs: Inputs) -> Risk:
    """Measures of the period's daily returns; all absent where no capital is known."""
    trials = _trials(inputs)
    daily, absent = returns(inputs, inputs.period.start, inputs.period.end)
    if absent is not None:
        named = (*_FIGURES, "days") if inputs.capital_known else _FIGURES
        reasons = dict.fromkeys(named, absent)
        return Risk(days=0, noisy=True, trials=trials, reasons=reasons, **dict.fromkeys(_FIGURES))
    metrics = kernel.return_metrics(daily, inputs.options.annualisation_days, seed=inputs.seed, trials=trials)
    whole = _whole_period(inputs, daily)
    return Risk(
        days=metrics.days,
        sharpe=metrics.sharpe,
        sortino=metrics.sortino,
        max_drawdown=metrics.max_drawdown,
        calmar=metrics.calmar,
        psr=metrics.psr,
        deflated_sharpe=metrics.deflated_sharpe,
        trials=trials,
        minimum_track_record=metrics.minimum_track_record,
        volatility=metrics.volatility,
        sharpe_standard_error=metrics.sharpe_standard_error,
        sharpe_interval=_bounds(metrics.sharpe_interval),
        sortino_interval=_bounds(metrics.sortino_interval),
        calmar_interval=_bounds(metrics.calmar_interval),
        noisy=metrics.noisy,
        **whole.figures,
        reasons={name: _REASONS[reason] for name, reason in metrics.reasons.items()} | whole.reasons,
    )


def _bounds(interval: tuple[float, float] | None) -> list[float] | None:
    """An interval as documents hold it."""
    return None if interval is None else list(interval)


class _Whole(NamedTuple):
    """Figures of the period as a whole by their field, and why those are null that are."""

    figures: dict[str, float | None]
    reasons: dict[str, str]


def _whole_period(inputs: Inputs, daily: NDArray[np.float64]) -> _Whole:
    """What the period returned, by time and by money, and its deepest fall at any mark."""
    returned = daily[np.isfinite(daily)]
    reasons: dict[str, str] = {}
    time_weighted = kernel_returns.compounded(returned) if len(returned) else None
    fall = _marked_drawdown(inputs)
    if fall is None or time_weighted is None:
        reasons |= dict.fromkeys(("time_weighted_return", "max_drawdown_marked"), "no day began with money")
    elif fall <= -1:
        fall, reasons["max_drawdown_marked"] = (
            None,
            "equity was at 0 or below within a day: is the capital right?",
        )
    by_money = None
    if inputs.period.end - inputs.period.start < _WEEK_AT_LEAST:
        reasons["money_weighted_return"] = "for weeks and longer"
    elif (by_money := _money_weighted(inputs)) is None:
        reasons["money_weighted_return"] = "on average no money was there"
    figures = {
        "time_weighted_return": time_weighted,
        "money_weighted_return": by_money,
        "max_drawdown_marked": None if time_weighted is None else fall,
    }
    missing = int(len(daily) - len(returned))
    if missing and len(returned):
        reasons["days"] = (
            f"{missing} of {len(daily)} days have no return: no money was there, a stretch between the owner's flows"
            " began at 0 or below, or nothing moved while an open position had no price"
        )
    return _Whole(figures, reasons)


def equity_curve(inputs: Inputs) -> list[EquityDay]:
    """Equity at every day boundary of the period, with the day's pnl and the owner's money."""
    books, period = inputs.books, inputs.period
    i, j = books.index(period.start), books.index(period.end)
    daily = returns(inputs, period.start, period.end).of_days
    days = []
    for k in range(i, j + 1):
        first = k == i
        growth = np.nan if first else float(daily[k - i - 1])
        days.append(
            EquityDay(
                at=format_instant(books.boundaries[k]),
                equity=books.equity[k] if inputs.capital_known else None,
                pnl=None if first or books.is_unpriced(k - 1) else books.plausible_pnl[k - 1],
                flow=0.0 if first else books.flows[k - 1],
                growth=growth if isfinite(growth) else None,
            )
        )
    return days
