"""Files such as Hyperliquid's website and API give them, and what spreadsheets make of those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEADER = "time,coin,dir,px,sz,ntl,fee,closedPnl"
FUNDING = "time,coin,sz,side,payment,rate"


def web(path: Path, *rows: str, header: str = HEADER, end: str = "\n") -> Path:
    path.write_text("\n".join((header, *rows)) + end, encoding="utf-8")
    return path


def api(**fields: Any) -> dict[str, Any]:
    """A fill as the API answers it, at 1 January 2026 unless told."""
    return {
        "coin": "ETH", "px": "2000", "sz": "1", "side": "B", "time": 1_767_225_600_000, "startPosition": "0.0",
        "dir": "Open Long", "closedPnl": "0.0", "hash": "0xab", "oid": 7, "crossed": True, "fee": "0.5",
        "tid": 1001, "feeToken": "USDC", "twapId": None,
    } | fields  # fmt: skip


def answer(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


ROUND = (
    "18/02/2026 10:00:00,ETH,Open Long,2000,0.5,1000,0.25,-0.25",
    "18/02/2026 11:00:00,ETH,Open Long (Price Improved),2010,0.5,1005,0.25,-0.25",
    "18/02/2026 12:00:00,ETH,Close Long,2025,1,2025,0.5,19.5",
)


SHEET = (
    "Account,Coin,Execution Price,Size Tokens,Size USD,Side,Timestamp IST,Start Position,Direction,Closed PnL,"
    "Transaction Hash,Order ID,Crossed,Fee,Trade ID,Timestamp"
)


def write_exports() -> None:
    """The two tables that the website exports, into the current folder."""
    web(Path("trade_history.csv"), *ROUND)
    web(Path("funding_history.csv"), "18/02/2026 11:00:00,ETH,1,Long,-0.02,0.00001", header=FUNDING)
