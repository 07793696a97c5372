"""Whether the dearer tier of inference is worth its price: the most that it may gain in accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["extra_accuracy_bound"]

_RESAMPLES: Final = 1_000
_LEVEL: Final = 0.95


def extra_accuracy_bound(dear: tuple[int, int], cheap: tuple[int, int], rng: Generator) -> float:
    """The upper 95 % bootstrap bound of the accuracy that the dear tier has beyond the cheap one, in [-1, 1].

    Each is (right, judged) with judged > 0; verdicts are drawn again with replacement, 1,000 times.
    """
    drawn = [rng.binomial(judged, right / judged, _RESAMPLES) / judged for right, judged in (dear, cheap)]
    return float(np.quantile(drawn[0] - drawn[1], _LEVEL))
