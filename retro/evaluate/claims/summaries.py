"""What an epoch's claims came to, key by key, as statistics that add up: those of two stretches are those of both.

A summary outlives the ring that corrections are drawn from, and what it holds of a closed epoch is never folded again
unless a fact of that epoch is told late.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.evaluate.claims.fold import is_sample
from retro.kernels.evaluators import calibration
from retro.report.evaluators.summaries import BinCount, EvaluationStatistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory
    from retro.kernels.uncertainty import Floats

__all__ = ["CALIBRATION", "PREDICTIONS", "KeySummary", "merged", "summaries_of"]

PREDICTIONS: Final = "predictions"
CALIBRATION: Final = "calibration"


@dataclass(frozen=True, slots=True)
class KeySummary:
    """Of one evaluator and key (category, regime) the `n` claims of a stretch of time, and what they came to."""

    evaluator: str
    key: tuple[str, str]
    n: int
    statistics: EvaluationStatistics


def summaries_of(claims: ClaimHistory, ring: int) -> list[KeySummary]:
    """The fold of the claims of a stretch, by evaluator and key; `ring` of the newest residuals are kept as they are."""
    rows = []
    for key, records in claims.by_key():
        name = (key.category, key.regime)
        rows.append(KeySummary(PREDICTIONS, name, len(records), _of_forecasts(records, ring)))
        samples = records[is_sample(records)]
        if len(samples):
            rows.append(KeySummary(CALIBRATION, name, len(samples), _of_confidences(samples)))
    return sorted(rows, key=lambda row: (row.evaluator != PREDICTIONS, row.evaluator))


def merged(first: KeySummary, later: KeySummary, ring: int) -> KeySummary:
    """Both stretches as one, `later` the one that follows."""
    return KeySummary(
        first.evaluator, first.key, first.n + later.n, _together(first.statistics, later.statistics, ring)
    )


def _of_forecasts(records: NDArray[Any], ring: int) -> EvaluationStatistics:
    """Statistics of the residuals, and of how many claims were right."""
    residual = records["actual"] - records["predicted"]
    residual = residual[~np.isnan(residual)]
    verdict = records["verdict"][~np.isnan(records["verdict"])]
    return _moments(residual).model_copy(
        update={
            "judged": len(verdict),
            "right": int(verdict.sum()),
            "tail": residual[-ring:].tolist() if ring else [],
        }
    )


def _of_confidences(samples: NDArray[Any]) -> EvaluationStatistics:
    """Statistics of the squared distance of confidence from outcome (its mean is the Brier score), and its bins."""
    stated, right = samples["confidence"], samples["verdict"]
    bins = calibration.reliability(stated, right)
    counts = [
        BinCount(bin=k, n=n, stated=mean, right=hits)
        for k, n, mean, hits in zip(
            bins.index.tolist(), bins.n.tolist(), bins.stated.tolist(), bins.right.tolist(), strict=True
        )
    ]
    return _moments((stated - right) ** 2).model_copy(
        update={"judged": len(samples), "right": int(right.sum()), "bins": counts}
    )


def _moments(values: Floats) -> EvaluationStatistics:
    """Count, mean, sum of squared distances from it, least and greatest of values (n,)."""
    listed: list[float] = values.tolist()
    if not listed:
        return EvaluationStatistics(count=0, mean=None, m2=None, min=None, max=None, judged=0, right=0)
    mean = fsum(listed) / len(listed)
    return EvaluationStatistics(
        count=len(listed),
        mean=mean,
        m2=fsum((value - mean) ** 2 for value in listed),
        min=min(listed),
        max=max(listed),
        judged=0,
        right=0,
    )


def _together(a: EvaluationStatistics, b: EvaluationStatistics, ring: int) -> EvaluationStatistics:
    """Chan, Golub and LeVeque 1979, for the two moments."""
    count = a.count + b.count
    mean, m2 = (a.mean, a.m2) if b.mean is None else (b.mean, b.m2)
    if a.mean is not None and b.mean is not None and a.m2 is not None and b.m2 is not None:
        apart = b.mean - a.mean
        mean = a.mean + apart * b.count / count
        m2 = a.m2 + b.m2 + apart * apart * a.count * b.count / count
    return EvaluationStatistics(
        count=count,
        mean=mean,
        m2=m2,
        min=min(_present(a.min, b.min), default=None),
        max=max(_present(a.max, b.max), default=None),
        judged=a.judged + b.judged,
        right=a.right + b.right,
        bins=_binned([*a.bins, *b.bins]),
        tail=[*a.tail, *b.tail][-ring:] if ring else [],
    )


def _binned(counts: Iterable[BinCount]) -> list[BinCount]:
    """Counts of the same bin as one."""
    by_bin: dict[int, list[BinCount]] = {}
    for count in counts:
        by_bin.setdefault(count.bin, []).append(count)
    return [
        BinCount(
            bin=k, n=n, stated=fsum(c.n * c.stated for c in parts) / n, right=sum(c.right for c in parts)
        )
        for k, parts in sorted(by_bin.items())
        if (n := sum(c.n for c in parts))
    ]


def _present(*values: float | None) -> Sequence[float]:
    return [value for value in values if value is not None]
