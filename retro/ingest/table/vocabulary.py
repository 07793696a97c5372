"""The names that columns go by in the files people have, and the words in them."""

from __future__ import annotations

from typing import Final

__all__ = ["ACTION_WORDS", "COLUMN_NAMES", "SIDE_WORDS"]

COLUMN_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "time": (
        "time", "timestamp", "datetime", "date", "ts", "created_at", "opened_at", "open_time", "entry_time", "exec_time",
        "transaction_time", "entry_timestamp", "trade_time", "date_utc", "time_utc", "utc_time", "executed_at",
    ),
    "id": ("trade_id", "tid", "fill_id", "exec_id", "txid", "id", "deal", "ticket", "execution_id"),
    "instrument": (
        "symbol", "pair", "instrument", "ticker", "market", "coin", "product", "contract", "asset", "currency_pair",
    ),
    "side": ("side", "direction", "buy_sell", "buysell", "order_side", "trade_type", "type", "dir"),
    "quantity": (
        "quantity", "qty", "size", "amount", "sz", "shares", "volume", "filled", "executed", "vol", "last_qty", "lots",
    ),
    "price": ("price", "px", "entry_price", "fill_price", "avg_price", "executed_price", "open_price", "trade_price", "last_px"),
    "fee": ("fee", "fees", "commission", "comm", "trade_fee", "fee_paid"),
    "fee_asset": ("fee_asset", "fee_currency", "fee_coin", "feetoken", "commission_asset"),
    "exit_price": ("exit_price", "close_price", "sell_price", "avg_exit_price"),
    "exit_time": ("exit_time", "closed_at", "close_time", "exit_timestamp", "exit_date"),
    "result": ("pnl", "realized_pnl", "realised_pnl", "closedpnl", "realized_profit", "profit", "net_pnl", "closed_pnl"),
    "action": ("action", "decision", "signal", "decision_parsed.decision"),
    "reasoning": ("reasoning", "reason", "rationale", "thesis", "explanation", "decision_parsed.reason", "notes", "why"),
    "confidence": ("confidence", "conviction"),
    "equity": ("equity", "total_equity", "account_value", "portfolio_value", "total_balance", "nav"),
    "strategy": ("strategy", "strategy_name", "tag"),
}  # fmt: skip
"""What a column may be -> names it goes by, the best first."""

SIDE_WORDS: Final = {
    "buy": "buy", "b": "buy", "long": "buy", "bid": "buy", "bought": "buy", "open long": "buy", "close short": "buy",
    "sell": "sell", "s": "sell", "short": "sell", "ask": "sell", "sold": "sell", "open short": "sell", "close long": "sell",
    "ss": "sell", "bc": "buy", "sell_short": "sell", "buy_to_cover": "buy",
}  # fmt: skip
ACTION_WORDS: Final = {
    "buy": "enter", "open": "enter", "enter": "enter", "open_long": "enter", "open_short": "enter", "long": "enter",
    "short": "enter", "sell": "exit", "close": "exit", "exit": "exit", "close_long": "exit", "close_short": "exit",
    "force_close": "exit", "increase": "increase", "add": "increase", "reduce": "reduce", "trim": "reduce",
    "close_half": "reduce", "partial_tp": "reduce", "partial_close": "reduce", "tighten_sl": "adjust", "adjust": "adjust",
    "update_stop_loss": "adjust", "hold": "hold", "wait": "skip", "skip": "skip", "no_trade": "skip", "pass": "skip",
    "rejected": "skip",
}  # fmt: skip
