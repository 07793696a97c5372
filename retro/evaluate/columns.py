"""Figures of which some are not known, as an array for the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["column"]


def column(values: Iterable[float | None]) -> NDArray[np.float64]:
    """One float64 a value, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
