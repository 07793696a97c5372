"""Sums that are right to the last digit, wherever a list of amounts is cut."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["exact_parts", "running_sums"]


def running_sums(amounts: Iterable[float]) -> list[float]:
    """`fsum` of the first k of n finite amounts, for k = 0 .. n: (n + 1,), in one pass.

    Source: J. R. Shewchuk, Adaptive precision floating-point arithmetic, 1997: the sum so far is kept exactly, in parts
    that do not overlap, of which there are a few.
    """
    sums, parts = [0.0], list[float]()
    for amount in amounts:
        carry, exact = amount, []
        for part in parts:
            total = carry + part
            share = total - part
            error = (carry - share) + (part - (total - share))  # what rounding took, exactly (Knuth)
            if error:
                exact.append(error)
            carry = total
        parts = [*exact, carry]
        sums.append(fsum(parts))
    return sums


def exact_parts(amounts: Iterable[float]) -> tuple[float, ...]:
    """The exact sum of finite amounts as a few floats, largest first: each is what is left of it, rounded.

    The first is `fsum` of the amounts. Parts of several lists are amounts again: their parts are those of all. None of 0.
    """
    remainder, parts = list(amounts), list[float]()
    while part := fsum(remainder):
        parts.append(part)
        remainder.append(-part)
    return tuple(parts)
