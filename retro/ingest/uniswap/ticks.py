"""Prices and ranges of a pool out of its ticks and whole amounts, with as many digits as they have."""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

__all__ = ["human", "human_liquidity", "is_full_range", "pool_price", "tick_price"]

_WIDE: Final = Context(prec=60)
_BASE: Final = Decimal("1.0001")
_FULL_FROM: Final = 887_200 - 200
_LEAST: Final = 1_000_000
"""Whole units below which an amount says too little of a price."""


def human(units: int, decimals: int) -> Decimal:
    """A quantity as people write it, exact."""
    return Decimal(units).scaleb(-decimals, _WIDE)


def human_liquidity(liquidity: int, decimals: tuple[int, int]) -> Decimal:
    """A pool's liquidity for quantities as people write them: it is the root of a product of both, for people: 16 digits."""
    halves = sum(decimals)
    scaled = Decimal(liquidity).scaleb(-(halves // 2), _WIDE)
    return Context(prec=16).plus(_WIDE.divide(scaled, _WIDE.sqrt(Decimal(10))) if halves % 2 else scaled)


def is_full_range(lower: int, upper: int) -> bool:
    """Whether a range is all there is, cut to the spacing of its pool."""
    return lower <= -_FULL_FROM and upper >= _FULL_FROM


def tick_price(tick: int, decimals: tuple[int, int]) -> Decimal:
    """The price of token0 in token1 at a tick, for people: 16 digits."""
    price = _WIDE.multiply(_root(tick), _root(tick)).scaleb(decimals[0] - decimals[1], _WIDE)
    return Context(prec=16).plus(price)


def pool_price(
    liquidity: int, amounts: tuple[int, int], ticks: tuple[int, int], decimals: tuple[int, int]
) -> Decimal | None:
    """The pool's price of token0 in token1 when liquidity came or went; None where it was outside of the range.

    amount1 = L (sqrt P - sqrt P_lower) and amount0 = L (1 / sqrt P - 1 / sqrt P_upper), both above 0 inside alone.
    """  # fmt: skip
    if liquidity <= 0 or min(amounts) < _LEAST:
        return None
    root = _WIDE.add(_WIDE.divide(Decimal(amounts[1]), Decimal(liquidity)), _root(ticks[0]))
    if not _root(ticks[0]) < root < _root(ticks[1]):
        return None
    return Context(prec=16).plus(_WIDE.multiply(root, root).scaleb(decimals[0] - decimals[1], _WIDE))


@lru_cache(maxsize=4096)
def _root(tick: int) -> Decimal:
    return _WIDE.sqrt(_WIDE.power(_BASE, tick))
