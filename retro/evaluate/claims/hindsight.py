"""Forecasts of a position's whole PnL against what it realised: how optimistic an agent is, by kind, regime and horizon.

A forecast is a prediction of the category `position_pnl` that names a position. When the position closes, its final PnL
is the actual: derived, no fact. Both are divided by entry notional. The best exit stands beside it and trains nothing:
nobody can forecast the peak.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.evaluate.audit.citations import entry_day
from retro.kernels.uncertainty import by_day, mean_estimate
from retro.report.evaluators.claims import ANY, HindsightForecast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Prediction

__all__ = ["POSITION_PNL", "HindsightTerms", "hindsight_forecasts"]

POSITION_PNL: Final = "position_pnl"
"""The category of a forecast of a position's PnL over its whole life."""

_FRACTION: Final = "fraction"
_RETROSPECTIVE: Final = "retrospective"
_ENOUGH: Final = 10


@dataclass(frozen=True, slots=True)
class HindsightTerms:
    """The currency of amounts, the checkpoints (label, microseconds) that name horizons, and whose days are counted."""

    currency: str
    offsets: Sequence[tuple[str, int]]
    rules: AuditRules


@dataclass(frozen=True, slots=True)
class _Pair:
    """A forecast and what came of it, as fractions of entry notional; `best` is the best exit's, None without marks."""

    day: int
    predicted: float
    realised: float
    best: float | None


_Group = tuple[str, str, int]
"""Kind of position, regime, and which horizon: 0 is before the first checkpoint."""


def hindsight_forecasts(
    predictions: Iterable[Prediction], positions: Mapping[str, PositionSummary], terms: HindsightTerms
) -> list[HindsightForecast]:
    """One row a kind, regime and horizon, regime `any` pooling all; `positions` by name are all that is known of."""
    offsets = sorted(terms.offsets, key=lambda offset: offset[1])
    groups: dict[_Group, list[_Pair]] = defaultdict(list)
    strange: dict[_Group, int] = defaultdict(int)
    for prediction in predictions:
        row = positions.get(prediction.position or "")
        if row is None or row.closed_at is None or prediction.at >= row.closed_at:
            continue
        if prediction.category != POSITION_PNL or prediction.source == _RETROSPECTIVE:
            continue
        if row.final_pnl is None or not row.counts(row.final_pnl) or prediction.predicted is None:
            continue
        horizon = sum(offset <= row.closed_at - row.opened_at for _, offset in offsets)
        pair = _pair(float(prediction.predicted), prediction.unit, row, terms)
        for regime in dict.fromkeys((ANY, prediction.regime or ANY)):
            if pair is None:
                strange[row.kind, regime, horizon] += 1
            else:
                groups[row.kind, regime, horizon].append(pair)
    labels = [f"<{offsets[0][0]}" if offsets else "life", *(label for label, _ in offsets)]
    return [_row(key, groups[key], labels[key[2]], strange[key]) for key in sorted(groups, key=_order)]


def _order(group: _Group) -> tuple[str, bool, str, int]:
    kind, regime, horizon = group
    return kind, regime != ANY, regime, horizon


def _pair(predicted: float, unit: str | None, row: PositionSummary, terms: HindsightTerms) -> _Pair | None:
    """None where the forecast is in another unit, or nobody knows what was put in."""
    if not row.notional or row.final_pnl is None or unit not in {None, "", terms.currency, _FRACTION}:
        return None
    return _Pair(
        day=entry_day(row.opened_at, terms.rules),
        predicted=predicted if unit == _FRACTION else predicted / row.notional,
        realised=row.final_pnl / row.notional,
        best=None if row.regret is None else (row.final_pnl + row.regret) / row.notional,
    )


def _row(group: _Group, pairs: Sequence[_Pair], horizon: str, strange: int) -> HindsightForecast:
    kind, regime, _ = group
    n = len(pairs)
    excess = [pair.predicted - pair.realised for pair in pairs]
    estimate = mean_estimate(by_day(excess, [pair.day for pair in pairs]))
    size = fsum(abs(pair.predicted) for pair in pairs)
    best = [pair.best for pair in pairs if pair.best is not None]
    reasons = dict(_reasons(n, estimate.reason, size, len(best)))
    if strange:
        reasons["n"] = (
            f"{strange} more in another unit than base currency or fraction, or of a position of unknown size"
        )
    return HindsightForecast(
        kind=kind,
        regime=regime,
        horizon=horizon,
        n=n,
        predicted=_mean([pair.predicted for pair in pairs]),
        realised=_mean([pair.realised for pair in pairs]),
        bias=_mean(excess),
        interval=estimate.interval,
        relative_bias=fsum(excess) / size if n >= _ENOUGH and size else None,
        best_exit=_mean(best) if best else None,
        reasons=reasons,
    )


def _reasons(n: int, no_interval: str | None, size: float, with_best: int) -> Iterator[tuple[str, str]]:
    if no_interval is not None:
        yield "interval", _NO_INTERVAL[no_interval]
    if n < _ENOUGH:
        yield "relative_bias", f"insufficient: {n} of {_ENOUGH} forecasts of closed positions"
    elif not size:
        yield "relative_bias", "every forecast was 0"
    if not with_best:
        yield "best_exit", "no position had marks enough to say which exit was best"


_NO_INTERVAL: Final = {
    "too_few_days": "all were entered on one day; an interval needs two",
    "no_spread": "all missed by the same; nothing says how they scatter",
}


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
