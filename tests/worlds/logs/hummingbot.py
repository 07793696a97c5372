"""hummingbot's database and its CSV twin, with numbers that can be worked out by hand."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

BEGIN_MS = 1_767_571_200_000  # 2026-01-05T00:00:00Z
HEADER = (
    "exchange_trade_id", "config_file_path", "strategy", "market", "symbol", "base_asset", "quote_asset", "timestamp",
    "order_id", "trade_type", "order_type", "price", "amount", "leverage", "trade_fee", "position", "age",
)  # fmt: skip


class BotFill(NamedTuple):
    """A fill, `minutes` after the begin; `fee` as its row holds it."""

    trade: str
    minutes: int
    side: str
    price: str
    amount: str
    fee: object = {"fee_type": "AddedToCost", "percent": "0.001", "percent_token": None, "flat_fees": []}
    order: str = "o"
    symbol: str = "ETH-USDT"
    market: str = "binance"
    config: str = "conf_mm_1.yml"

    def cells(self) -> tuple[str | int, ...]:
        base, quote = self.symbol.split("-")
        return (
            self.trade, self.config, "pure_market_making", self.market, self.symbol, base, quote,
            BEGIN_MS + 60_000 * self.minutes, self.order, self.side, "LIMIT", self.price, self.amount, 1, repr(self.fee),
            "NIL", "00:00:01",
        )  # fmt: skip


LIFE = (
    BotFill("1", 0, "BUY", "2000.12345678", "0.03", order="o-1"),
    BotFill("2", 5, "SELL", "2010", "0.03", order="o-2"),
    BotFill("3", 9, "SELL", "2020", "0.01", order="o-3"),
    BotFill("4", 12, "BUY", "2015", "0.01", order="o-4"),
    BotFill("5", 13, "BUY", "2015", "1", order="paper//5"),
)
"""0.03 ETH bought at 2000.12345678 and sold at 2010, 0.01 sold at 2020 and bought back at 2015; one on paper."""


def write_csv(path: Path, fills: Sequence[BotFill] = LIFE) -> Path:
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADER)
        table.writerows(fill.cells() for fill in fills)
    return path


def cut(number: str) -> int:
    """As hummingbot's column type writes it: through a double, cut off after six decimals."""
    return int(float(number) * 10**6)


def write_database(path: Path, fills: Sequence[BotFill] = LIFE, version: str | None = "20220130") -> Path:
    """`version` None: an old one, which holds floats."""
    scaled = version is not None
    number = cut if scaled else float
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            f"""
            CREATE TABLE Metadata (key TEXT, value TEXT);
            CREATE TABLE MarketState (config_file_path TEXT, market TEXT, timestamp BIGINT, saved_state JSON);
            CREATE TABLE TradeFill (config_file_path TEXT, strategy TEXT, market TEXT, symbol TEXT, base_asset TEXT,
              quote_asset TEXT, timestamp BIGINT, order_id TEXT, trade_type TEXT, order_type TEXT,
              price {"BIGINT" if scaled else "FLOAT"}, amount {"BIGINT" if scaled else "FLOAT"}, leverage INTEGER,
              trade_fee JSON, exchange_trade_id TEXT, position TEXT);
            CREATE TABLE FundingPayment (timestamp BIGINT, config_file_path TEXT, market TEXT, rate FLOAT, symbol TEXT,
              amount FLOAT);
            CREATE TABLE Executors (id TEXT, timestamp FLOAT, type TEXT, close_type INTEGER, close_timestamp BIGINT,
              status INTEGER, config JSON, net_pnl_pct FLOAT, net_pnl_quote FLOAT, cum_fees_quote FLOAT,
              filled_amount_quote FLOAT, is_active BOOLEAN, is_trading BOOLEAN, custom_info JSON, controller_id TEXT);
            CREATE TABLE RangePositionUpdate (id INTEGER PRIMARY KEY, hb_id TEXT, timestamp BIGINT, tx_hash TEXT,
              token_id INTEGER, trade_fee JSON, config_file_path TEXT, market TEXT, order_action TEXT,
              trading_pair TEXT, position_address TEXT, lower_price FLOAT, upper_price FLOAT, mid_price FLOAT,
              base_amount FLOAT, quote_amount FLOAT, base_fee FLOAT, quote_fee FLOAT, position_rent FLOAT,
              position_rent_refunded FLOAT, trade_fee_in_quote FLOAT);
            """
        )
        if version:
            connection.execute("INSERT INTO Metadata VALUES ('local_db_version', ?)", (version,))
        for fill in fills:
            row: dict[str, object] = dict(zip(HEADER, fill.cells(), strict=True))
            row |= {
                "price": number(fill.price),
                "amount": number(fill.amount),
                "trade_fee": json.dumps(fill.fee),
            }
            names = [name for name in HEADER if name != "age"]
            connection.execute(
                f"INSERT INTO TradeFill ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                [row[name] for name in names],
            )
    return path


def add_rows(path: Path, table: str, rows: Sequence[dict[str, object]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in rows:
            connection.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                [*row.values()],
            )
