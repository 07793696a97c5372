"""A bot that trades once a day, and a month in which its live run was not its backtest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.worlds.freqtrade_databases import Order, Trade, result, write, zipped


def at(day: int, minutes: int = 0, seconds: int = 0) -> str:
    return f"2026-01-{day:02d} {minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}.000000"


def bought(day: int, gain: float, *, number: int, pair: str = "ETH/USDT", **changes: Any) -> Trade:
    """Ten units at 100, sold four hours later at 100 + `gain`; 0.1 % a side."""
    orders = [Order(True, 10.0, 100.0, at(day)), Order(False, 10.0, 100.0 + gain, at(day, 240))]
    return Trade(orders, id=number, pair=pair, enter_tag="dip", **changes)


def month(*days: int) -> list[Trade]:
    return [bought(day, 1.0 if day % 2 else -1.0, number=day) for day in days or range(1, 29)]


def differing(place: Path) -> None:
    """`tradesv3.sqlite` and `backtest-result.zip`: bad fills, an early stop, doubled fees, an order that was not filled."""
    live = month()
    for trade in live[::3]:
        trade.orders[0] = replace(
            trade.orders[0], price=100.2, at=trade.orders[0].at.replace(":00.0", ":07.0")
        )
    live[4].orders[1] = replace(live[4].orders[1], price=97.0)
    live[4].exit_reason = "stop_loss"
    for trade in live[20:]:
        trade.fee = 0.002
    sent = Order(True, 10.0, 99.5, at(9), filled=0.0, status="canceled")
    live[8] = Trade([sent], id=9, enter_tag="dip", open=True)
    backtest = month()
    live.append(bought(15, -2.0, number=40, pair="BTC/USDT"))
    write(place / "tradesv3.sqlite", live)
    zipped(place / "backtest-result.zip", {"backtest-result-1.json": result(backtest)})
