"""The money of a period: attribution, daily returns and their risk, the equity curve."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, isfinite
from typing import TYPE_CHECKING, Final

from retro.accounting.books import YIELD_KINDS, attribution, signed_sum
from retro.evaluate.actions import in_period
from retro.evaluate.position.costs import fees_between, slippage
from retro.invariant import invariant
from retro.kernels import effectiveness as kernel
from retro.periods import format_instant
from retro.report import EquityDay, PnlAttribution, Risk
from retro.report.lines import IMPLAUSIBLE

if TYPE_CHECKING:
    from retro.evaluate.inputs import Inputs

__all__ = ["equity_curve", "period_attribution", "returns", "risk_of", "yielding"]

_REASONS: Final = {
    "too_few_days": "fewer than 2 daily returns",
    "zero_volatility": "the daily returns do not vary",
    "no_downside": "no losing day",
    "no_drawdown": "no drawdown",
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


def period_attribution(inputs: Inputs) -> PnlAttribution:
    """Where the money of the period came from; total and unattributed are sums of its days."""
    books, period = inputs.books, inputs.period
    i, j = books.index(period.start), books.index(period.end)
    levels = [_unattributed(inputs, boundary) for boundary in books.boundaries[i : j + 1]]
    stated = any(at <= period.end for at, _ in inputs.discrepancies)
    gaps = [(after or 0.0) - (before or 0.0) if stated else None for before, after in pairwise(levels)]
    total = fsum(signed_sum(day, gap) for day, gap in zip(books.days[i:j], gaps, strict=True))
    alive = [track for track in inputs.tracks.values() if in_period(track, period)]
    pnl = attribution(
        books.between(period.start, period.end),
        total=total,
        start=books.unrealized[i],
        end=books.unrealized[j],
        yields=yielding(inputs, period.start, period.end),
        unattributed=fsum(gap or 0.0 for gap in gaps) if stated else None,
        trading_fees=fsum(fees_between(t, period.start, period.end) for t in alive if t.flagged_at is None),
        slippage=slippage(alive, inputs.prices, period.start, period.end),
    )
    ratio = (
        None
        if pnl.net_yield is None
        else kernel.risk_adjusted_return(pnl.net_yield, books.plausible_pnl[i:j])
    )
    # a copy with updates is not validated again, so the ratio is held to a number here
    invariant(ratio is None or isfinite(ratio), "every figure is a number or absent", "risk_adjusted_return")
    return pnl.model_copy(update={"risk_adjusted_return": ratio})


def returns(inputs: Inputs, start: int, end: int) -> list[float]:
    """Plausible daily returns of [start, end): money that was not believed is left out of pnl and of equity."""
    books = inputs.books
    i, j = books.index(start), books.index(end)
    gone = fsum([*inputs.implausible_before, *(day[IMPLAUSIBLE] for day in books.days[:i])])
    out = []
    for day in range(i, j):
        base = books.equity[day] - gone
        gone += books.days[day][IMPLAUSIBLE]
        out.append(books.plausible_pnl[day] / base if base > 0 else float("nan"))
    return out


def risk_of(inputs: Inputs) -> Risk:
    """Measures of the period's daily returns; all absent where no capital is known."""
    if not inputs.capital_known:
        names = ("sharpe", "sortino", "max_drawdown", "calmar", "psr", "volatility")
        reasons = dict.fromkeys(names, "the agent's capital is not known")
        return Risk(days=0, noisy=True, reasons=reasons, **dict.fromkeys(names))
    metrics = kernel.return_metrics(
        returns(inputs, inputs.period.start, inputs.period.end), inputs.options.annualisation_days
    )
    return Risk(
        days=metrics.days,
        sharpe=metrics.sharpe,
        sortino=metrics.sortino,
        max_drawdown=metrics.max_drawdown,
        calmar=metrics.calmar,
        psr=metrics.psr,
        volatility=metrics.volatility,
        noisy=metrics.noisy,
        reasons={name: _REASONS[reason] for name, reason in metrics.reasons.items()},
    )


def equity_curve(inputs: Inputs) -> list[EquityDay]:
    """Equity at every day boundary of the period, with the day's pnl and the owner's money."""
    books, period = inputs.books, inputs.period
    i, j = books.index(period.start), books.index(period.end)
    days = []
    for k in range(i, j + 1):
        worth = books.equity[k] if inputs.capital_known else None
        pnl = books.plausible_pnl[k - 1] if k > i else None
        days.append(
            EquityDay(
                at=format_instant(books.boundaries[k]),
                equity=worth,
                pnl=pnl,
                flow=books.flows[k - 1] if k > i else 0.0,
            )
        )
    return days
