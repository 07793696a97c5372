"""Lines of a journal to begin from, one of each sort, and a journal read whole."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

from retro.ingest.journal import reader as journal
from retro.model import Batch
from retro.periods import parse_instant

NOW = parse_instant("2026-11-21T12:00:00Z")
BASE = {"id": "e1", "agent": "alpha", "at": "2026-03-01T12:00:00Z"}
FILL = {"type": "fill", **BASE, "position": "p1", "side": "buy", "quantity": "1.50", "price": 3000.25}
LP = {
    "type": "position",
    **BASE,
    "position": "p1",
    "kind": "lp",
    "instrument": "WETH/USDC",
    "token0": "WETH",
    "token1": "USDC",
}
MARK = {"type": "mark", **BASE, "instrument": "ETH/USDC", "price": 3000}
COST = {"type": "cost", **BASE, "kind": "gas", "amount": "1.2"}
FLOW = {"type": "flow", **BASE, "position": "p1", "kind": "interest", "asset": "USDC", "quantity": 1}
DECISION = {"type": "decision", **BASE, "action": "hold"}
PREDICTION = {"type": "prediction", **BASE, "predicted": 1.5}
SNAPSHOT = {"type": "snapshot", **BASE, "position": "p1", "holdings": {"WETH": "1"}}
SHADOW = {"type": "shadow", **BASE, "shadow": "wide", "day": "2026-02-28", "pnl": "3.18", "note": "12 %"}
DEATH = {"type": "death", **BASE}


def read(data: bytes, size: int = 2000) -> Batch:
    """All batches of a journal as one."""
    whole = Batch()
    for batch in journal.read(io.BytesIO(data), "j.jsonl", now=NOW, size=size):
        whole.rows += batch.rows
        whole.lines += batch.lines
        whole.marks += batch.marks
        whole.faults += batch.faults
        whole.events += batch.events
        whole.unknown = dict(Counter(whole.unknown) + Counter(batch.unknown))
    return whole


def line(event: dict[str, Any], **changes: object) -> bytes:
    fields = {name: value for name, value in {**event, **changes}.items() if value is not ...}
    return json.dumps(fields).encode() + b"\n"
