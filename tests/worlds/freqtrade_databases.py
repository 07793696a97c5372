"""Databases as freqtrade of several ages wrote them, made by us: every trade is told by its orders.

The bookkeeping below is freqtrade's, in floats and by average cost, written down apart from the adapter's, so that
`close_profit_abs` is an oracle for it.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_SPELT = """id exchange pair base_currency stake_currency is_open fee_open fee_open_cost fee_open_currency fee_close
fee_close_cost fee_close_currency open_rate open_rate_requested open_trade_value close_rate close_rate_requested
realized_profit close_profit close_profit_abs stake_amount max_stake_amount amount amount_requested open_date close_date
stop_loss stop_loss_pct initial_stop_loss initial_stop_loss_pct is_stop_loss_trailing max_rate min_rate exit_reason
exit_order_status strategy enter_tag timeframe trading_mode amount_precision price_precision precision_mode
precision_mode_price contract_size leverage is_short liquidation_price interest_rate funding_fees funding_fee_running
record_version"""
_OF_36 = """id exchange pair is_open fee_open fee_open_cost fee_open_currency fee_close fee_close_cost
fee_close_currency open_rate open_rate_requested open_trade_value close_rate close_rate_requested close_profit
close_profit_abs stake_amount amount amount_requested open_date close_date open_order_id stop_loss stop_loss_pct
initial_stop_loss initial_stop_loss_pct stoploss_order_id stoploss_last_update max_rate min_rate sell_reason
sell_order_status strategy buy_tag timeframe"""
_OF_23 = """id exchange pair is_open fee_open fee_close open_rate open_rate_requested close_rate close_rate_requested
close_profit stake_amount amount open_date close_date open_order_id stop_loss initial_stop_loss stoploss_order_id
max_rate sell_reason strategy ticker_interval"""
_ORDERS = """id ft_trade_id ft_order_side ft_pair ft_is_open ft_amount ft_price ft_cancel_reason order_id status symbol
order_type side price average amount filled remaining cost stop_price order_date order_filled_date order_update_date
funding_fee ft_fee_base ft_order_tag"""
_ORDERS_OF_36 = """id ft_trade_id ft_order_side ft_pair ft_is_open order_id status symbol order_type side price amount
filled remaining cost order_date order_filled_date order_update_date"""

TRADES = {
    51: _SPELT.split(),
    49: [name for name in _SPELT.split() if name not in {"precision_mode_price", "record_version"}],
    36: _OF_36.split(),
    23: _OF_23.split(),
}
"""Number of columns in the table of trades -> their names."""

ORDERS = {51: _ORDERS.split(), 49: _ORDERS.split(), 36: _ORDERS_OF_36.split(), 23: []}
_NOTES = ["id", "ft_trade_id", "cd_key", "cd_type", "cd_value", "created_at", "updated_at"]
_WALLET = [
    "id",
    "timestamp",
    "currency",
    "rate",
    "quote_currency",
    "balance",
    "total_quote",
    "total_position_value",
    "collateral",
    "leverage",
    "bot_managed",
]
_TEXTS = (
    "cd_",
    "pair",
    "currency",
    "date",
    "reason",
    "tag",
    "strategy",
    "exchange",
    "status",
    "mode",
    "order_id",
    "side",
)


D = "2026-01-{:02d} 00:00:00.000000"
"""A midnight of January 2026 as freqtrade writes it."""


@dataclass
class Order:
    """An order; `filled` None means all of `amount`. `fee_base` is the fee that was taken out of the coin.

    `requested` is the rate it was sent for; None: the one it got.
    """

    entry: bool
    amount: float
    price: float
    at: str
    fee_base: float | None = None
    funding: float | None = None
    tag: str | None = None
    filled: float | None = None
    status: str = "closed"
    open: bool = False
    requested: float | None = None
    kind: str = "limit"

    @property
    def got(self) -> float:
        return self.amount if self.filled is None else self.filled


@dataclass
class Trade:
    """A trade and its orders, in the order of their making. `row` overrides columns, as a person's edit would."""

    orders: list[Order]
    id: int = 1
    pair: str = "ETH/USDT"
    stake: str = "USDT"
    short: bool = False
    leverage: float = 1.0
    mode: str = "SPOT"
    fee: float = 0.001
    stop: float = 0.0
    strategy: str = "Sample"
    enter_tag: str | None = None
    exit_reason: str | None = "roi"
    timeframe: int = 5
    open: bool = False
    notes: list[tuple[str, str, str | None]] = field(default_factory=list)
    row: dict[str, Any] = field(default_factory=dict)

    def books(self) -> dict[str, float]:
        """What freqtrade keeps of the trade: what is held, at what average price, and what it has made."""
        holding = stake = average = realised = entered = funding = 0.0
        for order in self.orders:
            if order.open or not order.got:
                continue
            amount = order.got - (order.fee_base or 0.0)
            funding += order.funding or 0.0
            if order.entry:
                holding, stake = holding + amount, stake + amount * order.price
                average, entered = stake / holding, entered + amount
            else:
                holding, stake = holding - amount, stake - amount * average
                paid, earned = amount * average, amount * order.price
                if self.short:
                    realised += round(paid * (1 - self.fee) - earned * (1 + self.fee), 8)
                else:
                    realised += round(earned * (1 - self.fee) - paid * (1 + self.fee), 8)
        return {
            "holding": holding,
            "rate": average,
            "realised": realised + funding,
            "entered": entered,
            "funding": funding,
        }

    def as_row(self) -> dict[str, Any]:
        """The row of the table of trades, under today's names and yesterday's."""
        books = self.books()
        exits = [order for order in self.orders if not order.entry and order.got and not order.open]
        closed = not self.open and bool(exits)
        row = {
            "id": self.id, "exchange": "kraken", "pair": self.pair, "base_currency": self.pair.split("/")[0],
            "stake_currency": self.stake, "is_open": int(self.open), "fee_open": self.fee, "fee_close": self.fee,
            "open_rate": books["rate"], "close_rate": exits[-1].price if closed else None,
            "realized_profit": books["realised"], "close_profit_abs": books["realised"] if closed else None,
            "stake_amount": books["rate"] * books["entered"],
            "amount": exits[-1].got if closed else books["holding"],
            "open_date": self.orders[0].at if self.orders else "2026-01-01 00:00:00.000000",
            "close_date": exits[-1].at if closed else None,
            "stop_loss": self.stop, "initial_stop_loss": self.stop, "exit_reason": self.exit_reason if closed else None,
            "strategy": self.strategy, "enter_tag": self.enter_tag, "timeframe": self.timeframe,
            "trading_mode": self.mode, "leverage": self.leverage, "is_short": int(self.short),
            "interest_rate": 0.0, "funding_fees": books["funding"],
        }  # fmt: skip
        old = {"exit_reason": "sell_reason", "enter_tag": "buy_tag", "timeframe": "ticker_interval"}
        return row | {old[name]: row[name] for name in old} | self.row


def write(
    path: Path, trades: list[Trade], columns: int = 51, wallet: list[dict[str, Any]] | None = None
) -> Path:
    """A database of the schema with that many columns; nothing is kept of what the schema has no place for."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    _table(connection, "trades", TRADES[columns])
    for trade in trades:
        _insert(connection, "trades", TRADES[columns], trade.as_row())
    if names := ORDERS[columns]:
        _table(connection, "orders", names)
        for trade in trades:
            for number, order in enumerate(trade.orders):
                _insert(connection, "orders", names, _order_row(trade, order, number))
    if columns >= 49:
        _table(connection, "trade_custom_data", _NOTES)
        for trade in trades:
            for kind, text, updated in trade.notes:
                note = {"ft_trade_id": trade.id, "cd_key": "why", "cd_type": kind, "cd_value": text}
                _insert(connection, "trade_custom_data", _NOTES, note | {"updated_at": updated})
    if wallet is not None:
        _table(connection, "wallet_history", _WALLET)
        for row in wallet:
            _insert(connection, "wallet_history", _WALLET, {"bot_managed": 1, "quote_currency": "USDT"} | row)
    connection.commit()
    connection.close()
    return path


def _order_row(trade: Trade, order: Order, number: int) -> dict[str, Any]:
    side = "buy" if order.entry != trade.short else "sell"
    return {
        "ft_trade_id": trade.id, "ft_order_side": side, "side": side, "ft_pair": trade.pair, "symbol": trade.pair,
        "ft_is_open": int(order.open), "order_id": f"x{trade.id}_{number}", "status": order.status,
        "order_type": order.kind, "price": order.price, "average": order.price, "amount": order.amount,
        "ft_amount": order.amount, "ft_price": order.price if order.requested is None else order.requested, "filled": order.got,
        "remaining": order.amount - order.got, "cost": order.got * order.price, "order_date": order.at,
        "order_filled_date": order.at if order.got else None, "order_update_date": order.at,
        "funding_fee": order.funding, "ft_fee_base": order.fee_base, "ft_order_tag": order.tag,
    }  # fmt: skip


def _table(connection: sqlite3.Connection, name: str, columns: list[str]) -> None:
    spelt = ["id INTEGER PRIMARY KEY", *(f"{column} {_kind(column)}" for column in columns if column != "id")]
    connection.execute(f"CREATE TABLE {name} ({', '.join(spelt)})")


def _kind(column: str) -> str:
    if column.startswith("is_") or column in {
        "ft_trade_id",
        "ft_is_open",
        "timeframe",
        "ticker_interval",
        "bot_managed",
    }:
        return "INTEGER"
    return "VARCHAR" if any(word in column for word in _TEXTS) else "FLOAT"


def _insert(connection: sqlite3.Connection, table: str, columns: list[str], row: dict[str, Any]) -> None:
    values = {name: row[name] for name in columns if name in row}
    names, places = ", ".join(values), ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", list(values.values()))


def result(trades: list[Trade]) -> dict[str, Any]:
    """freqtrade's result document of a backtest that made these (closed) trades."""
    rows = []
    for trade in trades:
        row = trade.as_row()
        orders = [
            {
                "amount": order.got, "safe_price": order.price, "ft_is_entry": order.entry, "ft_order_tag": order.tag,
                "ft_order_side": "buy" if order.entry != trade.short else "sell",
                "order_filled_timestamp": _milliseconds(order.at), "cost": order.got * order.price,
            }
            for order in trade.orders
        ]  # fmt: skip
        keep = ("pair", "amount", "open_rate", "close_rate", "fee_open", "fee_close", "exit_reason", "enter_tag",
                "leverage", "funding_fees", "stake_amount")  # fmt: skip
        rows.append(
            {name: row[name] for name in keep}
            | {
                "is_open": False,
                "is_short": trade.short,
                "profit_abs": row["close_profit_abs"],
                "orders": orders,
            }
            | {"initial_stop_loss_abs": trade.stop, "open_timestamp": _milliseconds(row["open_date"])}
            | {"close_timestamp": _milliseconds(row["close_date"])}
        )
    first = trades[0]
    about = {
        "stake_currency": first.stake,
        "trading_mode": first.mode.lower(),
        "timeframe": f"{first.timeframe}m",
    }
    return {"strategy": {first.strategy: {"trades": rows, "starting_balance": 1000.0, **about}}}


def _milliseconds(text: str) -> int:
    from datetime import UTC, datetime

    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def zipped(path: Path, documents: dict[str, Any]) -> Path:
    """An archive of documents: bytes as they are, everything else as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, document in documents.items():
            archive.writestr(name, document if isinstance(document, bytes) else json.dumps(document))
    return path


# Trades by chance

money = st.floats(0.01, 5000).map(lambda x: float(f"{x:.6g}"))
amounts = st.floats(0.01, 100).map(lambda x: float(f"{x:.5g}"))


@st.composite
def lives(draw: st.DrawFn, dust: bool = True) -> Trade:
    """A closed trade: entries and partial exits in any order, fees in the coin, dust, funding, either side."""
    futures = draw(st.booleans())
    short = futures and draw(st.booleans())
    orders, holding = [], 0.0
    for day in range(1, draw(st.integers(2, 7)) + 1):
        entry = not holding or draw(st.booleans())
        if entry:
            amount = draw(amounts)
            fee = round(amount * 0.001, 8) if dust and not futures and draw(st.booleans()) else None
            holding += amount - (fee or 0.0)
        else:
            fee, amount = None, round(holding * draw(st.floats(0.1, 0.9)), 6)
            holding -= amount
        if amount > 0:
            funding = draw(st.floats(-5, 5).map(lambda x: round(x, 8))) if futures else None
            orders.append(Order(entry, amount, draw(money), D.format(day), fee, funding))
    step = draw(st.sampled_from([0.0, 0.001])) if dust else 0.0
    last = math.floor(holding / step) * step if step else holding
    orders.append(Order(False, last or holding, draw(money), D.format(20)))
    pair, mode = ("ETH/USDT:USDT", "FUTURES") if futures else ("ETH/USDT", "SPOT")
    return Trade(orders, pair=pair, mode=mode, short=short, leverage=draw(st.sampled_from([1.0, 3.0])))
