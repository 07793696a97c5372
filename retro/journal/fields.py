"""The fields of every event type, and the check each must pass (`journal.md` as a table)."""

from __future__ import annotations

from typing import Final, get_args

import msgspec

from retro.model import FACT_TYPES, Action, FlowKind, PositionKind

__all__ = ["FIELDS", "REQUIRED"]

_TIERS: Final = ("T0", "T1", "T2")
_Table = dict[str, dict[str, str | tuple[str, ...]]]
_COMMON: Final = {"type": "type", "id": "name", "agent": "agent", "at": "at", "tick": "integer"}

_OWN: Final[_Table] = {
    "position": {
        "position": "name",
        "kind": get_args(PositionKind),
        "instrument": "name",
        "venue": "text",
        "side": ("long", "short"),
        "strategy": "text",
        "risk": "amount",
        "funded_with": "amounts",
        "token0": "name",
        "token1": "name",
        "lower": "amount",
        "upper": "amount",
        "liquidity": "positive",
    },
    "fill": {
        "position": "name",
        "instrument": "name",
        "side": ("buy", "sell"),
        "quantity": "positive",
        "price": "amount",
        "fee": "number",
        "fee_asset": "name",
        "order": "reference",
        "requested": "positive",
    },
    "flow": {
        "position": "name",
        "kind": get_args(FlowKind),
        "asset": "name",
        "quantity": "positive",
        "value": "amount",
        "kept": "flag",
    },
    "snapshot": {
        "position": "name",
        "holdings": "amounts",
        "claimable": "amounts",
        "debt": "amounts",
        "value": "number",
    },
    "exit": {"position": "name", "reason": "text", "high": "positive", "low": "positive"},
    "mark": {"instrument": "name", "asset": "name", "price": "amount"},
    "decision": {
        "action": get_args(Action),
        "position": "name",
        "instrument": "text",
        "strategy": "text",
        "reasoning": "text",
        "cites": "texts",
        "confidence": "share",
        "context": "map",
        "tier": _TIERS,
        "valence": "valence",
        "trace": "reference",
        "context_items": "names",
        "difficulty": "name",
    },
    "prediction": {
        "decision": "name",
        "position": "name",
        "category": "text",
        "item": "text",
        "regime": "text",
        "target_at": "instant",
        "predicted": "number",
        "low": "number",
        "high": "number",
        "confidence": "share",
        "unit": "text",
        "source": "any",
    },
    "resolution": {"prediction": "name", "actual": "number", "correct": "flag"},
    "cost": {
        "kind": ("gas", "inference", "data"),
        "amount": "amount",
        "asset": "name",
        "quantity": "amount",
        "position": "name",
        "decision": "name",
        "tier": _TIERS,
        "model": "text",
        "tokens_in": "count",
        "tokens_out": "count",
    },
    "equity": {"value": "number", "balances": "amounts"},
    "external": {"quantity": "nonzero", "asset": "name", "value": "number"},
    "shadow": {"shadow": "name", "day": "day", "pnl": "number", "note": "text"},
    "death": {"cause": "text"},
}

FIELDS: Final[_Table] = {kind: {**_COMMON, **own} for kind, own in _OWN.items()}
"""Event type -> field -> the check it must pass (a name of `values.CHECKS`, or the words allowed)."""

REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    kind: (
        *("agent", "id", "at"),
        *(f.name for f in msgspec.structs.fields(fact) if f.required and f.name in _OWN[kind]),
    )
    for kind, fact in FACT_TYPES.items()
}
"""Event type -> the fields it cannot do without; a null counts as absent."""
