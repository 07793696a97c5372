"""What the fields of one event must be together, and the remedy where they are not.

Each rule takes anything that has the event's fields as attributes; a field that was not given is None or
`msgspec.UNSET`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RULES"]


def _absent(*values: Any) -> bool:
    return all(value is None or value is UNSET for value in values)


def _position_rule(event: Any) -> str | None:
    if event.kind != "lp":
        return None
    if _absent(event.token0) or _absent(event.token1):
        return (
            f"{'token0' if _absent(event.token0) else 'token1'}: is missing; an lp position needs both tokens"
        )
    if event.token0 == event.token1:
        return "token1: is token0 again; an lp position needs two tokens"
    if _absent(event.lower) and _absent(event.upper):
        return None
    if _absent(event.lower) or _absent(event.upper):
        return "lower: needs upper and upper lower; give both, or neither for the full range"
    if Decimal(str(event.lower)) >= Decimal(str(event.upper)):
        return "lower: must be below upper; swap or correct them"
    return None


def _flow_rule(event: Any) -> str | None:
    if event.kind in {"deposit", "withdrawal"} and _absent(event.position):
        return f"position: is missing; a {event.kind} goes into or out of one (the owner's are external)"
    if event.kind != "withdrawal" and not _absent(event.kept):
        return f"kept: is said of a {event.kind}; only a withdrawal can be kept in the wallet"
    return None


def _mark_rule(event: Any) -> str | None:
    if _absent(event.instrument) == _absent(event.asset):
        return "instrument: give either instrument or asset"
    return None


def _cost_rule(event: Any) -> str | None:
    in_kind = not _absent(event.asset, event.quantity)
    if _absent(event.amount) != in_kind:
        return "amount: give either amount, or asset and quantity"
    if in_kind and (_absent(event.asset) or _absent(event.quantity)):
        return f"{'asset' if _absent(event.asset) else 'quantity'}: is missing; a cost in kind needs both"
    return None


def _prediction_rule(event: Any) -> str | None:
    if _absent(event.low) or _absent(event.high) or Decimal(str(event.low)) <= Decimal(str(event.high)):
        return None
    return "low: is above high; swap or correct them"


def _resolution_rule(event: Any) -> str | None:
    return "actual: is missing; give actual or correct" if _absent(event.actual, event.correct) else None


def _equity_rule(event: Any) -> str | None:
    return "value: is missing; give value, balances or both" if _absent(event.value, event.balances) else None


RULES: Final[dict[str, Callable[[Any], str | None]]] = {
    "position": _position_rule,
    "flow": _flow_rule,
    "mark": _mark_rule,
    "cost": _cost_rule,
    "prediction": _prediction_rule,
    "resolution": _resolution_rule,
    "equity": _equity_rule,
}
"""Event type -> its rule; the other types have none."""
