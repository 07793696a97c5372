"""Decision logs and databases as nofx writes them, with numbers that can be worked out by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
ZONE = timezone(timedelta(hours=8))
TRADER = "binance_0123abcd-0000-4000-8000-0123456789ab_deepseek_1767571200"
KEY = "sk-0123456789abcdef0123456789abcdef"


def time_of(minutes: float, nanoseconds: str = "") -> str:
    """As Go writes it: with the server's offset, up to nine digits of a second."""
    text = (BEGIN + timedelta(minutes=minutes)).astimezone(ZONE).isoformat()
    return text.replace("+08:00", f"{nanoseconds}+08:00")


def act(action: str, symbol: str, minutes: float, **fields: Any) -> dict[str, Any]:
    """One entry of `decisions`: ten seconds into its cycle."""
    plain = {"quantity": 0, "leverage": 0, "price": 0, "order_id": 0, "success": True, "error": ""}
    return {
        "action": action,
        "symbol": symbol,
        "timestamp": time_of(minutes + 1 / 6, ".123456789"),
        **plain,
        **fields,
    }


def holding(symbol: str, side: str, quantity: float, entry: float, mark: float) -> dict[str, Any]:
    gained = (mark - entry) * quantity * (1 if side == "long" else -1)
    return {
        "symbol": symbol, "side": side, "position_amt": quantity, "entry_price": entry, "mark_price": mark,
        "unrealized_profit": round(gained, 8), "leverage": 3, "liquidation_price": 1.5,
    }  # fmt: skip


def record(
    minutes: float, equity: float, available: float, holdings: list[dict[str, Any]],
    acts: list[dict[str, Any]] | None, wishes: list[dict[str, Any]] | str = "", **fields: Any,
) -> dict[str, Any]:  # fmt: skip
    """One cycle; the record is written a quarter of a minute after it began."""
    return {
        "timestamp": time_of(minutes + 0.25, ".987654321"),
        "cycle_number": 1,
        "system_prompt": f"You trade. The key is {KEY}.",
        "input_prompt": "prices",
        "cot_trace": "Momentum is up.",
        "decision_json": wishes if isinstance(wishes, str) else json.dumps(wishes),
        "account_state": {
            "total_balance": equity, "available_balance": available, "total_unrealized_profit": -835.0,
            "position_count": len(holdings), "margin_used_pct": 0,
        },
        "positions": holdings or None,
        "candidate_coins": ["BTCUSDT"],
        "decisions": acts,
        "execution_log": [],
        "success": True,
        "error_message": "",
        **fields,
    }  # fmt: skip


def wish(action: str, symbol: str, reasoning: str, **fields: Any) -> dict[str, Any]:
    return {"symbol": symbol, "action": action, "reasoning": reasoning, **fields}


def life() -> list[dict[str, Any]]:
    """Eight cycles of five minutes: a long closed by decision (+3.60), a short stopped out (-51.00), a withdrawal.

    Fees of 5 basis points, which no record holds: 0.50, 0.50, 1.25 and 1.275; so of 1000 there are 949.075 left, of
    which the owner takes 100.
    """
    btc = [holding("BTCUSDT", "long", 0.02, 50010, 50100)]
    later = [holding("BTCUSDT", "long", 0.02, 50010, 50200)]
    eth = [holding("ETHUSDT", "short", 1, 2499, 2510)]
    wants_btc = wish(
        "open_long",
        "BTCUSDT",
        "Per H-3 it breaks out.",
        stop_loss=49000,
        take_profit=52000,
        confidence=80,
        risk_usd=400,
    )
    wants_eth = wish(
        "open_short", "ETHUSDT", "It rolls over.", stop_loss=2550, take_profit=2400, confidence=70
    )
    wants_sol = wish("open_long", "SOLUSDT", "It bounces.", stop_loss=140, confidence=60)
    failure = f"calling the model failed: status 404 with key {KEY}"
    return [
        record(0, 1000, 1000, [], [act("open_long", "BTCUSDT", 0, quantity=0.0207, price=50000, order_id=77)], [wants_btc]),
        record(5, 1001.3, 600, btc, [act("hold", "BTCUSDT", 5)], [wish("hold", "BTCUSDT", "It runs.")]),
        record(10, 1003.3, 600, later, [act("close_long", "BTCUSDT", 10, price=50190)], [wish("close_long", "BTCUSDT", "Enough.")]),
        record(15, 1002.6, 1002.6, [], [act("open_short", "ETHUSDT", 15, quantity=1.04, price=2500)], [wants_eth]),
        record(20, 990.35, 500, eth, [act("hold", "ETHUSDT", 20)], '[{"symbol": "ETHUSDT", "acti'),
        record(25, 949.075, 949.075, [], None, success=False, error_message=failure),
        record(30, 849.075, 849.075, [], [act("wait", "ALL", 30)], [wish("wait", "ALL", "Nothing to do.")]),
        record(35, 849.075, 849.075, [], [act("open_long", "SOLUSDT", 35, success=False, error="margin is short")], [wants_sol]),
    ]  # fmt: skip


def write_folder(place: Path, records: list[dict[str, Any]], trader: str = TRADER) -> Path:
    """A file a cycle below a folder of the trader's name; gives the folder above."""
    folder = place / "decision_logs" / trader
    folder.mkdir(parents=True)
    for line in records:
        stamp = line["timestamp"][:19].replace("-", "").replace(":", "").replace("T", "_")
        (folder / f"decision_{stamp}_cycle1.json").write_text(json.dumps(line, indent=2, ensure_ascii=False))
    return folder.parent


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in records), encoding="utf-8"
    )
    return path


def ms(minutes: float) -> int:
    return int((BEGIN + timedelta(minutes=minutes)).timestamp() * 1000)


def write_database(path: Path, trader: str = TRADER) -> Path:
    """The long of `life` in data.db: two fills in, one out, fees told; keys in a table that is nobody's business."""
    fills = [
        (1, trader, "binance", 1, "77", "t-1", "BTCUSDT", "BUY", 50000.0, 0.01, 0.25, "USDT", 0.0, ms(0.3)),
        (2, trader, "binance", 1, "77", "t-2", "BTCUSDT", "BUY", 50020.0, 0.01, 0.25, "USDT", 0.0, ms(0.4)),
        (3, trader, "binance", 2, "78", "t-3", "BTCUSDT", "SELL", 50190.0, 0.02, 0.5, "USDT", 3.6, ms(10.3)),
    ]  # fmt: skip
    orders = [
        (1, trader, "LONG", "MARKET", "open_long"),
        (2, trader, "LONG", "STOP_MARKET", "close_long"),
    ]
    wants = json.dumps([wish("open_long", "BTCUSDT", "Per H-3.", confidence=80)])
    decisions = [
        (
            number,
            trader,
            str(BEGIN + timedelta(minutes=minutes)),
            "Momentum.",
            wishes,
            json.dumps(acts),
            1,
            "",
        )
        for number, minutes, wishes, acts in (
            (1, 0.25, wants, [act("open_long", "BTCUSDT", 0, order_id=77)]),
            (2, 5.25, "", [act("hold", "BTCUSDT", 5)]),
        )
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE trader_fills (id INTEGER PRIMARY KEY, trader_id TEXT, exchange_type TEXT, order_id INTEGER,
              exchange_order_id TEXT, exchange_trade_id TEXT, symbol TEXT, side TEXT, price REAL, quantity REAL,
              commission REAL, commission_asset TEXT, realized_pnl REAL, created_at INTEGER);
            CREATE TABLE trader_orders (id INTEGER PRIMARY KEY, trader_id TEXT, position_side TEXT, type TEXT,
              order_action TEXT);
            CREATE TABLE decision_records (id INTEGER PRIMARY KEY, trader_id TEXT, timestamp DATETIME, cot_trace TEXT,
              decision_json TEXT, decisions TEXT, success NUMERIC, error_message TEXT);
            CREATE TABLE trader_equity_snapshots (id INTEGER PRIMARY KEY, trader_id TEXT, timestamp DATETIME,
              total_equity REAL);
            CREATE TABLE ai_charges (id INTEGER PRIMARY KEY, trader_id TEXT, model TEXT, cost_usd REAL, created_at DATETIME);
            CREATE TABLE exchanges (id TEXT, api_key TEXT, secret_key TEXT);
            """
        )
        for table, rows in (
            ("trader_fills", fills),
            ("trader_orders", orders),
            ("decision_records", decisions),
        ):
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.execute(
            "INSERT INTO trader_equity_snapshots VALUES (1, ?, '2026-01-05 00:00:05.5+00:00', 1000.0)",
            (trader,),
        )
        connection.execute(
            "INSERT INTO ai_charges VALUES (1, ?, 'deepseek', 0.003, '2026-01-05 00:00:06')", (trader,)
        )
        connection.execute("INSERT INTO exchanges VALUES ('binance', ?, ?)", (KEY, KEY))
    return path
