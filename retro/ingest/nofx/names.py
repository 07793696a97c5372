"""What nofx calls things, in our words: symbols, actions, traders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from retro.model import Action

__all__ = ["ACTIONS", "agent_name", "instrument_of", "quote_of", "side_of", "venue_of"]

ACTIONS: Final[dict[str, Action]] = {
    "open_long": "enter",
    "open_short": "enter",
    "add_long": "increase",
    "add_short": "increase",
    "close_long": "exit",
    "close_short": "exit",
    "auto_close_long": "exit",
    "auto_close_short": "exit",
    "partial_close": "reduce",
    "partial_close_long": "reduce",
    "partial_close_short": "reduce",
    "update_stop_loss": "adjust",
    "update_take_profit": "adjust",
    "hold": "hold",
    "wait": "skip",
}
"""A word of its log -> ours; every other is counted and left out."""

_SYMBOL: Final = re.compile(r"([A-Z0-9]{1,24}?)[-_/]?(USDT|USDC|USD)", re.ASCII)
_USER: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[_-]?")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_VENUES: Final = frozenset(
    {
        "aster", "binance", "bitget", "bybit", "gate", "hyperliquid", "indodax", "kucoin", "lighter", "okx",
    }
)  # fmt: skip


def instrument_of(symbol: str) -> str:
    """`BTCUSDT` -> `BTC/USDT:USDT`, a perpetual; what is spelled otherwise stays as it is."""
    match = _SYMBOL.fullmatch(symbol)
    return f"{match[1]}/{match[2]}:{match[2]}" if match else symbol


def quote_of(symbol: str) -> str:
    """The currency a symbol is counted in; nofx counts everything in USDT where it does not say."""
    match = _SYMBOL.fullmatch(symbol)
    return match[2] if match else "USDT"


def side_of(action: str) -> str | None:
    """The side of the position that an action means; None where its word does not say."""
    word = action.rpartition("_")[2]
    return word if word in {"long", "short"} else None


def agent_name(log: str) -> str:
    """Whose life a log is: its folder's or file's name, without the user's id, as an agent may be called.

    `binance_111168e1-...-dc4a_deepseek_1762611457` -> `binance_deepseek_1762611457`.
    """
    return _UNFIT.sub("-", _USER.sub("", log)).strip("-_.")[:64] or "nofx"


def venue_of(log: str) -> str:
    """The exchange that a log's name begins with; "" where it names none we know."""
    word = re.split(r"[_-]", log, maxsplit=1)[0].lower()
    return word if word in _VENUES else ""
