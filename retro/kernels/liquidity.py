"""Liquidity positions by the pool's formula: amounts, value, impermanent loss, ticks.

Prices are human, token0 in token1; L is liquidity in human units; amounts x of token0 and y of token1; values in token1
(times the mark of token1 for base currency). `lower` 0 and `upper` inf is the full range. Every function takes scalars or
arrays that broadcast, 0 <= lower < upper, price > 0, and returns float64.

With c = clip(P, lower, upper) and s = sqrt c: x = L (sqrt upper - s)/(s sqrt upper), y = L (s - sqrt lower). Differences of
roots are written as differences of prices over sums of roots, which loses no digits where the two are close.
Sources: numbers.md section 1; Uniswap v3 core whitepaper, sections 6.2 and 6.3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from retro.kernels.series import FloatArray

MAX_TICK = 887272
Q128 = 1 << 128
Q256 = 1 << 256
_LOG_TICK = math.log1p(1e-4)  # 1.0001 itself is not a float, and its power 887272 would show it


class Amounts(NamedTuple):
    """Quantities of token0 and token1."""

    x: FloatArray
    y: FloatArray


def amounts(
    liquidity: npt.ArrayLike, price: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike
) -> Amounts:
    """What a position of this liquidity holds at this price; all x below its range, all y above."""
    size, p, pa, pb = _floats(liquidity, price, lower, upper)
    c = np.clip(p, pa, pb)
    s = np.sqrt(c)
    return Amounts(size * _gap(c, pb) / s, size * (c - pa) / (s + np.sqrt(pa)))


def value(
    liquidity: npt.ArrayLike, price: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike
) -> FloatArray:
    """Worth x P + y, in token1, without uncollected fees."""
    x, y = amounts(liquidity, price, lower, upper)
    return hold_value(x, y, price)


def hold_value(x: npt.ArrayLike, y: npt.ArrayLike, price: npt.ArrayLike) -> FloatArray:
    """The value of amounts kept as they are, in token1."""
    x, y, p = _floats(x, y, price)
    return x * p + y


def impermanent_loss(
    liquidity: npt.ArrayLike,
    entry_price: npt.ArrayLike,
    price: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
) -> FloatArray:
    """H(t) - V(t) of the bundle deposited at `entry_price`, in token1; a magnitude, >= 0 exactly.

    With s0, s1 the roots at both clipped prices it is L (s1 - s0)(P - s0 s1)/(s0 s1); both brackets carry one sign.
    """
    size, p0, p1, pa, pb = _floats(liquidity, entry_price, price, lower, upper)
    c0, c1 = np.clip(p0, pa, pb), np.clip(p1, pa, pb)
    s0, s1 = np.sqrt(c0), np.sqrt(c1)
    move = (c1 - c0) / (s1 + s0)
    loss: FloatArray = size * move * ((p1 - c1) / (s0 * s1) + move / s0)
    return loss


def impermanent_loss_from_bundle(
    x0: npt.ArrayLike,
    y0: npt.ArrayLike,
    liquidity: npt.ArrayLike,
    price: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
) -> FloatArray:
    """H(t) - V(t) against the amounts really deposited; for when these, not an entry price, are what is known."""
    return hold_value(x0, y0, price) - value(liquidity, price, lower, upper)


def full_range_loss(ratio: npt.ArrayLike) -> FloatArray:
    """IL/H of a full range position when the price is `ratio` times that of entry: 1 - 2 sqrt k/(1 + k), in [0, 1)."""
    (k,) = _floats(ratio)
    return (k - 1) ** 2 / ((1 + np.sqrt(k)) ** 2 * (1 + k))


def liquidity_from_amounts(
    x: npt.ArrayLike, y: npt.ArrayLike, price: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike
) -> FloatArray:
    """The most liquidity these amounts buy at this price; of two amounts the scarcer decides, the rest stays over."""
    x, y, p, pa, pb = _floats(x, y, price, lower, upper)
    c = np.clip(p, pa, pb)
    s = np.sqrt(c)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_x = np.where(c < pb, x * s / _gap(c, pb), np.inf)
        from_y = np.where(c > pa, y * (s + np.sqrt(pa)) / (c - pa), np.inf)
    return np.minimum(from_x, from_y)


def fees_owed(liquidity: int, growth_before: int, growth_after: int) -> int:
    """Fees of one token, raw units: L times the growth inside the range, a Q128 counter that wraps at 2^256."""
    return liquidity * ((growth_after - growth_before) % Q256) // Q128


def tick_price(tick: npt.ArrayLike, decimals0: int = 0, decimals1: int = 0) -> FloatArray:
    """Price of token0 in token1 at a tick: 1.0001^tick, scaled by 10^(decimals0 - decimals1) for human units."""
    return np.exp(np.asarray(tick, dtype=np.float64) * _LOG_TICK) * 10.0 ** (decimals0 - decimals1)


def price_tick(price: float, decimals0: int = 0, decimals1: int = 0) -> int:
    """The greatest tick whose price is at or below this one."""
    tick = round(math.log(price / 10.0 ** (decimals0 - decimals1)) / _LOG_TICK)
    return tick if tick_price(tick, decimals0, decimals1) <= price else tick - 1


# 2^128 / 1.0001^(2^i / 2), i = 0 .. 19, as the pool contracts round them
_ROOTS = (
    0xFFFCB933BD6FAD37AA2D162D1A594001,
    0xFFF97272373D413259A46990580E213A,
    0xFFF2E50F5F656932EF12357CF3C7FDCC,
    0xFFE5CACA7E10E4E61C3624EAA0941CD0,
    0xFFCB9843D60F6159C9DB58835C926644,
    0xFF973B41FA98C081472E6896DFB254C0,
    0xFF2EA16466C96A3843EC78B326B52861,
    0xFE5DEE046A99A2A811C461F1969C3053,
    0xFCBE86C7900A88AEDCFFC83B479AA3A4,
    0xF987A7253AC413176F2B074CF7815E54,
    0xF3392B0822B70005940C7A398E4B70F3,
    0xE7159475A2C29B7443B29C7FA6E889D9,
    0xD097F3BDFD2022B8845AD8F792AA5825,
    0xA9F746462D870FDF8A65DC1F90E061E5,
    0x70D869A156D2A1B890BB3DF62BAF32F7,
    0x31BE135F97D08FD981231505542FCFA6,
    0x9AA508B5B7A84E1C677DE54F3E99BC9,
    0x5D6AF8DEDB81196699C329225EE604,
    0x2216E584F5FA1EA926041BEDFE98,
    0x48A170391F7DC42444E8FA2,
)


def tick_sqrt_price_x96(tick: int) -> int:
    """sqrt(1.0001^tick) * 2^96 to the last bit as the pool contracts have it; ValueError beyond +-887272."""
    if abs(tick) > MAX_TICK:
        raise ValueError(f"tick {tick} is beyond +-{MAX_TICK}")
    ratio = Q128
    for bit, root in enumerate(_ROOTS):
        if abs(tick) >> bit & 1:
            ratio = ratio * root >> 128
    if tick > 0:
        ratio = (Q256 - 1) // ratio
    return -(-ratio >> 32)


def sqrt_price_x96_price(sqrt_price_x96: int, decimals0: int = 0, decimals1: int = 0) -> float:
    """Price of token0 in token1 from a pool's sqrtPriceX96."""
    return float((sqrt_price_x96 / (1 << 96)) ** 2 * 10.0 ** (decimals0 - decimals1))


def _floats(*values: npt.ArrayLike) -> list[FloatArray]:
    return [np.asarray(v, dtype=np.float64) for v in values]


def _gap(c: FloatArray, pb: FloatArray) -> FloatArray:
    """(sqrt pb - sqrt c) / sqrt pb, and 1 for a range without an upper end."""
    with np.errstate(invalid="ignore"):
        distance = np.where(np.isinf(pb), 1.0, (pb - c) / pb)
    gap: FloatArray = distance / (1 + np.sqrt(c / pb))
    return gap
