"""A fill's trade_fee: a part of its value, and flat sums in tokens; JSON in the database, a Python literal in the CSV.

Source: hummingbot/core/data_type/trade_fee.py: AddedToCost is paid on top in the quote, DeductedFromReturns is taken of
what is received.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from decimal import Decimal

from retro.ingest.amounts import figure_of

__all__ = ["charges"]

ZERO = Decimal(0)
_LONGEST = 10_000


def charges(
    text: str, *, price: Decimal, quantity: Decimal, base: str, quote: str, is_buy: bool
) -> list[tuple[Decimal, str]]:
    """What was paid (> 0) or given back, by asset, the dearest by quantity first; `ValueError` of what is no fee."""
    fee = _mapping(text)
    paid: dict[str, Decimal] = defaultdict(lambda: ZERO)
    if percent := _number(fee.get("percent", 0)):
        taken_in_base = fee.get("fee_type") == "DeductedFromReturns" and is_buy
        paid[base if taken_in_base else quote] += percent * quantity * (1 if taken_in_base else price)
    flat = fee.get("flat_fees") or []
    for entry in flat if isinstance(flat, list) else []:
        if isinstance(entry, dict):
            token, amount = entry.get("token"), entry.get("amount", 0)
        else:
            token, amount = (*entry, None, 0)[:2] if isinstance(entry, list | tuple) else (None, 0)
        if number := _number(amount):
            paid[str(token or quote)] += number
    return sorted(
        ((amount, asset) for asset, amount in paid.items() if amount), key=lambda part: -abs(part[0])
    )


def _mapping(text: str) -> dict[str, object]:
    if not text:
        return {}
    if len(text) > _LONGEST:
        raise ValueError("trade_fee: is longer than any fee")
    try:
        fee = json.loads(text, parse_float=Decimal)
    except ValueError:
        try:
            fee = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise ValueError("trade_fee: is neither JSON nor a Python literal") from None
    except RecursionError:
        raise ValueError("trade_fee: nests too deep") from None
    if not isinstance(fee, dict):
        raise ValueError("trade_fee: is no mapping")  # noqa: TRY004 - a row's fault, not a caller's
    return fee


def _number(value: object) -> Decimal:
    try:
        return figure_of(value)
    except ValueError as error:
        raise ValueError(f"trade_fee: {error}") from None
