"""An attribution: the components of a stretch of time, what they come to, and what follows from them."""

from __future__ import annotations

from math import fsum, inf
from typing import TYPE_CHECKING, Final

from retro.invariant import invariant
from retro.report import PnlAttribution
from retro.report.lines import COMPONENTS, SIGNS
from retro.report.slotted import new

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["YIELD_KINDS", "agree", "attribution", "signed_sum"]

YIELD_KINDS: Final = frozenset({"lp", "lending", "staking"})

_ROUNDING: Final = 1e-9


def signed_sum(components: Mapping[str, float], unattributed: float | None = None) -> float:
    """Components with their signs, summed without rounding on the way."""
    parts = [SIGNS[name] * amount for name, amount in components.items()]
    return fsum([*parts, unattributed or 0.0])


def agree(first: float, second: float, size: float) -> bool:
    """Whether two sums of the same money differ by rounding at most: a billionth of `size`, what was added up in size.

    Never where one of them is no number, nor where the size is beyond one.
    """
    return abs(first - second) <= _ROUNDING * max(1.0, size) < inf


def attribution(
    components: Mapping[str, float],
    *,
    start: float,
    end: float,
    yields: bool,
    total: float | None = None,
    unattributed: float | None = None,
    trading_fees: float = 0.0,
    slippage: float | None = None,
    slippage_mark_age_s: float | None = None,
    unbelieved: float = 0.0,
) -> PnlAttribution:
    """The document of a set of components, with what is derived from them.

    `total` is what they must come to where it is known on its own, as the sum of a period's days.
    """
    parts = signed_sum(components, unattributed)
    if total is not None:
        size = fsum(map(abs, components.values())) + abs(unattributed or 0.0)
        if not agree(total, parts, size):
            invariant(
                holds=False,
                name="the components add up to the total",
                detail=f"{parts:.10g}, not {total:.10g}",
            )
    operational = fsum(components[name] for name in ("gas_costs", "inference_costs", "data_costs"))
    net_yield = (
        fsum(
            [
                components["lp_fees_earned"],
                components["lending_interest_earned"],
                components["staking_rewards"],
                -components["impermanent_loss"],
            ]
        )
        if yields
        else None
    )
    return new(
        PnlAttribution,
        total=parts if total is None else total,
        **{name: components[name] or 0.0 for name in COMPONENTS},  # never -0.0
        unbelieved_pnl=unbelieved,
        unrealized_pnl_start=start,
        unrealized_pnl_end=end,
        unattributed=unattributed,
        operational_cost=operational,
        net_yield=net_yield,
        net_yield_after_costs=None if net_yield is None else net_yield - operational,
        risk_adjusted_return=None,
        trading_fees=trading_fees,
        slippage=slippage,
        slippage_mark_age_s=slippage_mark_age_s,
    )
