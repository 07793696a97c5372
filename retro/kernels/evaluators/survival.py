"""How long rules live: the Kaplan-Meier curve of ages, those still alive censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retro.kernels.uncertainty import Floats


_ROUNDING = 1e-12  # of a product of shares


@dataclass(frozen=True, slots=True, eq=False)
class SurvivalCurve:
    """The ages (k,) at which somebody died, rising, and the share (k,) that outlives each."""

    age: Floats
    share: Floats

    @property
    def half_life(self) -> float | None:
        """The first age that at most half outlive; None while more do."""
        under = np.flatnonzero(self.share <= 0.5 + _ROUNDING)
        return float(self.age[under[0]]) if len(under) else None


def survival(age: Floats, died: NDArray[np.bool_]) -> SurvivalCurve:
    """The curve of ages (n,): at death where `died`, else as old as they are now.

    At equal age deaths come before censorings: who left at that age was there to die at it.
    """
    deaths, count = np.unique(age[died], return_counts=True)
    at_risk = len(age) - np.searchsorted(np.sort(age), deaths, "left")
    share = np.cumprod(1 - count / at_risk, dtype=np.float64)
    return SurvivalCurve(np.asarray(deaths, dtype=np.float64), share)
