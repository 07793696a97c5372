"""Axes: round ticks for amounts and for time. Pure."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["amount_ticks", "time_ticks"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_TIME_STEPS: Final = (
    *((n, 1.0, "s") for n in (1.0, 5.0, 15.0, 30.0)),
    *((n * _MINUTE, _MINUTE, "m") for n in (1, 5, 15, 30)),
    *((n * _HOUR, _HOUR, "h") for n in (1, 2, 4, 6, 12)),
    *((n * _DAY, _DAY, "d") for n in (1, 2, 3, 7, 14, 30, 60, 90, 180, 365, 730, 1825, 3650)),
)


def amount_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values inside [low, high], 0 among them where it lies inside; at most about `most`."""
    width = high - low
    if not width > 0 or not math.isfinite(width):
        return [low]
    rough = width / max(1, most)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def time_ticks(end: float, most: int, start: float = 0.0) -> list[tuple[float, str]]:
    """Round offsets in [start, end] seconds with their labels: 0, 1d, 2d, ...; at most `most` beside the first."""
    width = end - start
    step, unit, letter = next(
        (time_step for time_step in _TIME_STEPS if width / time_step[0] <= most),
        (width / max(1, most), _DAY, "d"),
    )
    first, last = math.ceil(start / step - 1e-9), int(end / step + 1e-9)
    return [(k * step, f"{k * step / unit:g}{letter}" if k else "0") for k in range(first, last + 1)]
