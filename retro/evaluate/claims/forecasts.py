"""How far off an agent's forecasts were, by category and regime, and what its past says of the next one."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from retro.evaluate.claims.fold import correction_at, key_of
from retro.kernels.evaluators.residuals import effective_size
from retro.kernels.uncertainty import jeffreys_interval
from retro.report.evaluators.claims import ANY, CorrectedForecast, ForecastRow

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory, ClaimKey
    from retro.evaluate.terms import ClaimTerms
    from retro.kernels.uncertainty import Floats
    from retro.model import Prediction

__all__ = ["corrected_forecast", "forecast_rows", "missing_residuals"]

_FOREVER = np.array([np.iinfo(np.int64).max])


@dataclass(frozen=True, slots=True)
class _Coverage:
    """How often what came lay within an interval, ends included."""

    share: float | None
    interval: tuple[float, float] | None


def forecast_rows(
    history: ClaimHistory, terms: ClaimTerms, foretold: Iterable[Prediction] = ()
) -> list[ForecastRow]:
    """One row a key that has a resolved prediction, the pooled one of a category first.

    `foretold` are those whose outcome was told only before they were made: each is counted beside n, and judged by nothing.
    """
    by_key, empty = dict(history.by_key()), history.records[:0]
    after = Counter(key for own in map(key_of, foretold) for key in dict.fromkeys((own, own.pooled)))
    keys = sorted(by_key.keys() | after.keys(), key=lambda key: (key.category, key.regime != ANY, key.regime))
    return [_row(key, by_key.get(key, empty), terms, after[key]) for key in keys]


def corrected_forecast(
    history: ClaimHistory, key: ClaimKey, predicted: float, terms: ClaimTerms
) -> CorrectedForecast:
    """What to make of a forecast by what the key's past ones missed by; its category's, where the key has too few."""
    reasons: dict[str, str] = {}
    own = correction_at(history.of(key), _FOREVER, terms.ring)
    used, correction = key, own
    if own.resolved[0] < terms.ring.minimum and key.regime != ANY:
        used, correction = key.pooled, correction_at(history.of(key.pooled), _FOREVER, terms.ring)
        if correction.resolved[0] >= terms.ring.minimum:
            reasons["key"] = (
                f"{missing_residuals(int(own.resolved[0]), terms)}; all regimes of the category speak"
            )
    if correction.resolved[0] < terms.ring.minimum:
        reasons["active"] = missing_residuals(int(own.resolved[0]), terms)
        return CorrectedForecast(
            centre=predicted,
            low=None,
            high=None,
            n=int(own.resolved[0]),
            bias=None,
            key=(key.category, key.regime),
            active=False,
            reasons=reasons | dict.fromkeys(("low", "high", "bias"), reasons["active"]),
        )
    bias = float(correction.bias[0])
    low, high = (_offset(predicted, float(side[0])) for side in (correction.low, correction.high))
    for name, end in (("low", low), ("high", high)):
        if end is None:
            reasons[name] = _OUTSIDE
    return CorrectedForecast(
        centre=predicted + bias,
        low=low,
        high=high,
        n=int(correction.resolved[0]),
        bias=bias,
        key=(used.category, used.regime),
        active=True,
        reasons=reasons,
    )


_OUTSIDE = "too few residuals for so sure an end: its rank lies outside them"


def _row(key: ClaimKey, records: NDArray[Any], terms: ClaimTerms, foretold: int) -> ForecastRow:
    late = foretold + int((records["at"] > records["ends_at"]).sum())
    residual = records["actual"] - records["predicted"]
    judged = records["verdict"][~np.isnan(records["verdict"])]
    ring = correction_at(records, _FOREVER, terms.ring)
    corrected = ~np.isnan(records["bias"]) & ~np.isnan(residual)
    stated = _coverage(records["low"], records["high"], records["actual"])
    low, high = (records["predicted"] + records[name] for name in ("low_offset", "high_offset"))
    own = _coverage(low, high, records["actual"])
    figures = {
        "accuracy": _mean(judged),
        "bias": _mean(residual[~np.isnan(residual)][-terms.ring.size :]),
        "mean_abs": _mean(np.abs(residual[~np.isnan(residual)])),
        "mean_abs_corrected": _mean(np.abs(residual[corrected] - records["bias"][corrected])),
    }
    unknown = {name for name, value in figures.items() if value is None}
    unknown |= set() if stated.share is not None else {"coverage", "coverage_interval"}
    unknown |= set() if own.share is not None else {"coverage_corrected", "coverage_corrected_interval"}
    reasons = {name: why for name, why in _WHY_NULL.items() if name in unknown}
    active = bool(ring.resolved[0] >= terms.ring.minimum)
    return ForecastRow(
        category=key.category,
        regime=key.regime,
        n=len(records),
        right=int(judged.sum()),
        judged=len(judged),
        after_the_fact=late,
        effective_n=effective_size(records["at"], records["ends_at"]),
        active=active,
        reasons=reasons if active else {"active": missing_residuals(int(ring.resolved[0]), terms), **reasons},
        coverage=stated.share,
        coverage_interval=stated.interval,
        coverage_corrected=own.share,
        coverage_corrected_interval=own.interval,
        **figures,
    )


_WHY_NULL = {
    "accuracy": "no resolved prediction that was made in time can be judged right or wrong",
    "bias": "no resolved prediction that was made in time has both a figure and an actual",
    "mean_abs": "no resolved prediction that was made in time has both a figure and an actual",
    "mean_abs_corrected": "no prediction was made when a correction was in force",
    "coverage": "no resolved prediction that was made in time has an interval",
    "coverage_interval": "no resolved prediction that was made in time has an interval",
    "coverage_corrected": "no prediction was made when a correction with both ends was in force",
    "coverage_corrected_interval": "no prediction was made when a correction with both ends was in force",
}


def _coverage(low: Floats, high: Floats, actual: Floats) -> _Coverage:
    complete = ~(np.isnan(low) | np.isnan(high) | np.isnan(actual))
    inside = int(((low <= actual) & (actual <= high))[complete].sum())
    n = int(complete.sum())
    return _Coverage(inside / n if n else None, jeffreys_interval(inside, n) if n else None)


def missing_residuals(count: int, terms: ClaimTerms) -> str:
    """Why no correction is in force yet."""
    return f"insufficient: {count} of {terms.ring.minimum} resolved predictions with a figure and an actual"


def _offset(predicted: float, offset: float) -> float | None:
    return None if math.isnan(offset) else predicted + offset


def _mean(values: Floats) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None
