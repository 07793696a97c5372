"""What doing nothing would have made: the three baselines of a position.

A bundle is a list of quantities with the marks of its assets at two instants, base currency a unit, one after the other
in the same order; the base currency itself has mark 1. Quantities of debt are negative. Source: numbers.md section 2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def bundle_value(quantities: Sequence[float], marks: Sequence[float | None]) -> float | None:
    """Value of a bundle in base currency; None when an asset held has no mark."""
    held = [(q, mark) for q, mark in zip(quantities, marks, strict=True) if q != 0]
    if any(mark is None for _, mark in held):
        return None
    return math.fsum(q * mark for q, mark in held if mark is not None)


def bundle_pnl(
    quantities: Sequence[float], at_entry: Sequence[float | None], at_exit: Sequence[float | None]
) -> float | None:
    """What a bundle kept unchanged makes between two instants; None when an asset held has no mark at either."""
    before, after = bundle_value(quantities, at_entry), bundle_value(quantities, at_exit)
    return None if before is None or after is None else after - before


def vs_inaction(
    final_pnl: float,
    funded_with: Sequence[float],
    at_entry: Sequence[float | None],
    at_exit: Sequence[float | None],
) -> float | None:
    """PnL less what the assets given up at entry would have made unchanged; above 0: acting was better, exactly 0 is not inferior.

    None when one of those assets has no mark. Funded with the base currency alone it is `final_pnl`.
    """
    idle = bundle_pnl(funded_with, at_entry, at_exit)
    return None if idle is None else final_pnl - idle


def vs_hold(
    final_pnl: float,
    bundle: Sequence[float],
    at_entry: Sequence[float | None],
    at_exit: Sequence[float | None],
) -> float | None:
    """PnL less what the bundle held right after the entry would have made: for an LP fees - IL - gas, at exit marks."""
    return vs_inaction(final_pnl, bundle, at_entry, at_exit)


def vs_cash(final_pnl: float, base_yield: float = 0.0) -> float:
    """PnL less what cash would have made: nothing, or the `base_yield` (base currency) it earned meanwhile."""
    return final_pnl - base_yield
