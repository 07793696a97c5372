"""What the market did meanwhile: a basket of pairs, equally weighted at its beginning and left alone.

Source: freqtrade's market change (`calculate_market_change`): the mean over the pairs of last close / first close - 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["market_change", "over_holding"]


def market_change(first: Sequence[float], last: Sequence[float]) -> float | None:
    """Share gained (> 0) or lost by a basket of pairs; `first` and `last` (n,) are their prices at both ends, above 0.

    None without a pair.
    """
    gains = [end / start - 1.0 for start, end in zip(first, last, strict=True)]
    return math.fsum(gains) / len(gains) if gains else None


def over_holding(made: float, put_in: Sequence[float], prices: Sequence[float], end: float) -> float:
    """What a position made (base currency) beyond its pair, bought with each amount `put_in` (n,) at its price (n,) and kept.

    > 0: better than the pair. `prices` and `end` in base currency per unit, above 0; holding costs no fee.
    """
    held = (amount * (end / price - 1.0) for amount, price in zip(put_in, prices, strict=True))
    return made - math.fsum(held)
