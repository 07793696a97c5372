"""Return and risk of a period, and whether acting beat doing nothing.

Returns are daily simple returns (n,), oldest first. Money is in base currency. What cannot be computed is None,
and the holder says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retro.kernels import ratio_errors
from retro.kernels.sharpe import sharpe, track_record, varies
from retro.kernels.special import binomial_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from retro.kernels.ratio_errors import Interval

Floats = NDArray[np.float64]
Reason = Literal[
    "too_few_days",
    "too_few_for_error",
    "too_few_for_calmar",
    "zero_volatility",
    "no_downside",
    "no_drawdown",
    "not_above_zero",
    "not_finite",
    "no_estimate",
]

SHOWN_FROM, NOISY_BELOW = 5, 30  # days
ALARM_ABOVE = 0.70  # share of closed positions that inaction beat
ALARM_POSITIONS = 3  # closed positions a week needs to count towards the alarm
WEEKS_OF_A_YEAR = 52
SCORE_CAP = 0.30
_MEASURES = (
    "volatility",
    "sharpe",
    "sortino",
    "max_drawdown",
    "calmar",
    "psr",
    "deflated_sharpe",
    "minimum_track_record",
)
_INTERVALS = ("sharpe_interval", "sortino_interval", "calmar_interval")
_SCORE_WEIGHTS = (("vs_inaction", 0.4), ("psr", 0.3), ("components", 0.3))


@dataclass(frozen=True, slots=True)
class ReturnMetrics:
    """Return and risk of `days` daily returns; a None has its reason in `reasons`.

    `volatility`, `sharpe`, `sortino` are annualised, `max_drawdown` is a fraction <= 0, `psr` the probability that
    the true Sharpe ratio is above 0, `deflated_sharpe` that it is above the best of so many worthless ones,
    `minimum_track_record` days. Intervals are 95 %, annualised like their ratios. Under 5 days not `reportable`, under
    30 `noisy` and without a Calmar ratio.
    """

    days: int
    volatility: float | None
    sharpe: float | None
    sortino: float | None
    max_drawdown: float | None
    calmar: float | None
    psr: float | None
    deflated_sharpe: float | None
    minimum_track_record: float | None
    sharpe_standard_error: float | None
    sharpe_interval: Interval | None
    sortino_interval: Interval | None
    calmar_interval: Interval | None
    reportable: bool
    noisy: bool
    reasons: Mapping[str, Reason]


@dataclass(frozen=True, slots=True)
class Score:
    """The effectiveness score in [0, 1] and its parts; None below two parts. `capped` says that the cap lowered it."""

    value: float | None
    parts: Mapping[str, float]
    capped: bool


@dataclass(frozen=True, slots=True)
class InactionWeek:
    """A week's closed positions: how many, how many did worse than inaction, and the sum of vs_inaction."""

    closed: int
    inferior: int
    vs_inaction: float


@dataclass(frozen=True, slots=True)
class InactionAlarm:
    """Whether two weeks in a row raise the alarm, whether they cap the score, and how often luck does that.

    `luck` is the chance of two such weeks, and `luck_in_a_year` of such a pair among 52 of them, when each position
    loses to inaction as often as the agent's do, independently and whatever it earns.
    """

    alarmed: bool
    caps_score: bool
    luck: float
    luck_in_a_year: float


def return_metrics(
    returns: ArrayLike, annualisation_days: float = 365.0, *, seed: int = 0, trials: int = 1
) -> ReturnMetrics:
    """Measure daily returns (n,); days without one (NaN) are left out.

    `seed` is that of the Calmar ratio's interval, `trials` how many strategies were tried on these days.
    Everything is absent below 2 days or when the returns do not vary (standard deviation below 1e-12).
    """
    daily = np.asarray(returns, dtype=np.float64)
    daily = daily[np.isfinite(daily)]
    reason: Reason | None = "too_few_days" if len(daily) < 2 else None
    with np.errstate(all="ignore"):  # absurd returns overflow and are not finite
        if reason is None and not math.isfinite(float(daily.std())):
            reason = "not_finite"
        elif reason is None and not varies(daily):
            reason = "zero_volatility"
        values = _measures(daily, annualisation_days, trials) if reason is None else dict.fromkeys(_MEASURES)
        errors = _errors(daily, values, annualisation_days, seed)
    figures: dict[str, object] = {**values, **errors.intervals, "sharpe_standard_error": errors.sharpe}
    missing = [name for name, value in figures.items() if value is None]
    reasons = dict.fromkeys(missing, reason) if reason else _why_absent(values, missing, len(daily))
    return ReturnMetrics(
        days=len(daily),
        reportable=len(daily) >= SHOWN_FROM,
        noisy=len(daily) < NOISY_BELOW,
        sharpe_standard_error=errors.sharpe,
        reasons=reasons,
        sharpe_interval=errors.intervals["sharpe_interval"],
        sortino_interval=errors.intervals["sortino_interval"],
        calmar_interval=errors.intervals["calmar_interval"],
        **values,
    )


def _measures(daily: Floats, annualisation_days: float, trials: int) -> dict[str, float | None]:
    record = track_record(daily, trials)
    values = {
        "volatility": float(daily.std(ddof=1)) * math.sqrt(annualisation_days),
        "sharpe": sharpe(daily, annualisation_days),
        "sortino": sortino(daily, annualisation_days),
        "max_drawdown": max_drawdown(daily),
        "calmar": calmar(daily, annualisation_days) if len(daily) >= NOISY_BELOW else None,
        "psr": record.psr,
        "deflated_sharpe": record.deflated_sharpe,
        "minimum_track_record": record.minimum_days,
    }
    return {name: v if v is not None and math.isfinite(v) else None for name, v in values.items()}


class _Errors(NamedTuple):
    """How sure the ratios are, annualised like them."""

    sharpe: float | None
    intervals: dict[str, Interval | None]


def _errors(
    daily: Floats, values: Mapping[str, float | None], annualisation_days: float, seed: int
) -> _Errors:
    year = math.sqrt(annualisation_days)

    def error(name: str, influence: Callable[[Floats], Floats]) -> float | None:
        daily_error = ratio_errors.standard_error(influence(daily)) if values[name] is not None else None
        return None if daily_error is None else daily_error * year

    of_sharpe = error("sharpe", ratio_errors.sharpe_influence)
    of_sortino = error("sortino", ratio_errors.sortino_influence)
    of_calmar = None
    if values["calmar"] is not None:
        of_calmar = ratio_errors.around(
            values["calmar"], ratio_errors.calmar_interval(daily, annualisation_days, seed)
        )
    found = (
        ratio_errors.interval(values["sharpe"], of_sharpe),
        ratio_errors.interval(values["sortino"], of_sortino),
        of_calmar,
    )
    return _Errors(of_sharpe, dict(zip(_INTERVALS, found, strict=True)))


def _why_absent(values: Mapping[str, float | None], missing: Sequence[str], days: int) -> dict[str, Reason]:
    """Why figures are null where the returns do vary: a ratio for itself, an interval for its ratio."""
    reasons: dict[str, Reason] = {name: "not_finite" for name in missing if name in values}
    if values["max_drawdown"] == 0:
        reasons["calmar"] = "no_drawdown"
        if "sortino" in reasons:
            reasons["sortino"] = "no_downside"
    if days < NOISY_BELOW:
        reasons["calmar"] = "too_few_for_calmar"
    few = days < ratio_errors.FEWEST
    if values["sharpe"] is not None and values["sharpe"] <= 0:
        reasons["minimum_track_record"] = "not_above_zero"
    if few:
        names = ("psr", "deflated_sharpe", "minimum_track_record")
        reasons |= dict.fromkeys(names, "too_few_for_error")
    for name in missing:
        if name not in values:
            ratio = name.partition("_")[0]
            reasons[name] = reasons.get(ratio, "too_few_for_error" if few else "no_estimate")
    return reasons


def sortino(returns: Floats, annualisation_days: float = 365.0) -> float | None:
    """Mean over downside deviation (target 0, over all days), annualised. None without a losing day."""
    downside = math.sqrt(float(np.mean(np.minimum(returns, 0.0) ** 2))) if len(returns) else 0.0
    return float(returns.mean()) / downside * math.sqrt(annualisation_days) if downside > 0 else None


def max_drawdown(returns: Floats) -> float:
    """Deepest fall of the compounded curve from its peak so far, a fraction <= 0; the curve starts at 1."""
    curve = np.concatenate(([1.0], np.cumprod(1.0 + returns)))
    return float(np.min(curve / np.maximum.accumulate(curve)) - 1.0)


def annual_return(returns: Floats, annualisation_days: float = 365.0) -> float | None:
    """Compounded return a year; -1 when everything was lost. None without days or beyond what a float holds."""
    if len(returns) == 0:
        return None
    if (returns <= -1).any():
        return -1.0
    exponent = float(np.log1p(returns).sum()) * annualisation_days / len(returns)
    return math.expm1(exponent) if exponent < 700 else None


def calmar(returns: Floats, annualisation_days: float = 365.0) -> float | None:
    """Annual return over the size of the maximum drawdown. None without a drawdown."""
    yearly, fall = annual_return(returns, annualisation_days), max_drawdown(returns)
    return yearly / abs(fall) if yearly is not None and fall < 0 else None


def risk_adjusted_return(net_yield: float, daily_pnl: ArrayLike) -> float | None:
    """Net yield over the standard deviation (ddof 1) of daily PnL in money. None below 2 days or without variation.

    It grows with the number of days: compare equal horizons only.
    """
    daily = np.asarray(daily_pnl, dtype=np.float64)
    if len(daily) < 2 or not varies(daily):
        return None
    return net_yield / float(daily.std(ddof=1))


def inaction_superiority_rate(vs_inaction: ArrayLike) -> float | None:
    """Share of closed positions (n,) that did worse than inaction; exactly 0 is not worse. None when none closed."""
    value = np.asarray(vs_inaction, dtype=np.float64)
    return float(np.mean(value < 0)) if len(value) else None


def effectiveness_score(
    vs_inaction: ArrayLike, psr_zero: float | None, components: ArrayLike, *, cap: bool = False
) -> Score:
    """Score a period: 0.4 W/(W+L) + 0.3 PSR(0) + 0.3 G/(G+B).

    W and L are the absolute sums of positive and negative `vs_inaction` of closed positions, G and B of the signed
    `components` of the total. A part without substance drops out and the weights rescale. `cap` holds it at 0.30.
    """
    measures = {
        "vs_inaction": _positive_share(vs_inaction),
        "psr": psr_zero,
        "components": _positive_share(components),
    }
    parts = {name: value for name, value in measures.items() if value is not None}
    if len(parts) < 2:
        return Score(None, parts, capped=False)
    weights = [(name, weight) for name, weight in _SCORE_WEIGHTS if name in parts]
    value = sum(weight * parts[name] for name, weight in weights) / sum(weight for _, weight in weights)
    return Score(min(value, SCORE_CAP) if cap else value, parts, capped=cap and value > SCORE_CAP)


def _positive_share(values: ArrayLike) -> float | None:
    signed = np.asarray(values, dtype=np.float64).tolist()
    gains, losses = math.fsum(v for v in signed if v > 0), -math.fsum(v for v in signed if v < 0)
    return gains / (gains + losses) if gains + losses > 0 else None


def inaction_alarm(earlier: InactionWeek, later: InactionWeek, inferior_rate: float = 0.5) -> InactionAlarm:
    """Judge two consecutive weeks: alarm when inaction beat more than 70 % of at least 3 positions in both.

    The score is capped when, besides, the sum of vs_inaction is negative in both. `inferior_rate` is the share of the
    agent's positions that lose to inaction, over its life.
    """
    first, second = (
        chance_of_inferior_week(week.closed, inferior_rate) if week.closed >= ALARM_POSITIONS else 0.0
        for week in (earlier, later)
    )
    alarmed = all(
        week.closed >= ALARM_POSITIONS and week.inferior / week.closed > ALARM_ABOVE
        for week in (earlier, later)
    )
    return InactionAlarm(
        alarmed=alarmed,
        caps_score=alarmed and earlier.vs_inaction < 0 and later.vs_inaction < 0,
        luck=first * second,
        luck_in_a_year=chance_of_two_in_a_row([first, second] * (WEEKS_OF_A_YEAR // 2)),
    )


def chance_of_inferior_week(closed: int, rate: float = 0.5, above: float = ALARM_ABOVE) -> float:
    """Chance that more than `above` of `closed` positions are inferior when each is so at a `rate`, independently.

    Of coins .3125 for 4 positions; 0 for none.
    """
    needed = next((k for k in range(int(above * closed), closed + 1) if closed and k / closed > above), None)
    return binomial_tail(needed, closed, rate) if needed is not None else 0.0


def chance_of_two_in_a_row(chances: Sequence[float]) -> float:
    """Chance that two weeks in a row come up among weeks that do so with these chances, independently."""
    quiet, last, done = (
        1.0,
        0.0,
        0.0,
    )  # no two in a row yet: the week before did not come up, or it did; two came
    for chance in chances:
        quiet, last, done = (quiet + last) * (1 - chance), quiet * chance, done + last * chance
    return done
