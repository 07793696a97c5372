"""Runs of AI-Trader with numbers that can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEY = "sk-fedcba9876543210fedcba9876543210"


def row(date: str, cash: float, positions: dict[str, float], *action: Any) -> dict[str, Any]:
    """A row as its tools write it: every symbol of the universe listed, the first row without an action."""
    state = {"BTC-USDT": 0.0, "ETH-USDT": 0.0, **positions, "CASH": cash}
    if not action:
        return {"date": date, "id": 0, "positions": state}
    word, symbol, amount = action
    return {
        "date": date,
        "id": 1,
        "this_action": {"action": word, "symbol": symbol, "amount": amount},
        "positions": state,
    }


def life() -> list[dict[str, Any]]:
    """Thursday to Wednesday: 1 BTC for 100 on Friday; half of it sold on Saturday, of which Monday knows nothing.

    Monday 10 ETH for 200, built on Friday; Tuesday the BTC for 120: 20 are made, 820 are left, with 10 ETH.
    """
    return [
        row("2026-01-01", 1000.0, {}),
        row("2026-01-02", 900.0, {"BTC-USDT": 1.0}, "buy_crypto", "BTC-USDT", 1.0),
        row("2026-01-03", 955.0, {"BTC-USDT": 0.5}, "sell_crypto", "BTC-USDT", 0.5),
        row("2026-01-05", 700.0, {"BTC-USDT": 1.0, "ETH-USDT": 10.0}, "buy_crypto", "ETH-USDT", 10.0),
        row("2026-01-06", 820.0, {"ETH-USDT": 10.0}, "sell_crypto", "BTC-USDT", 1.0),
        row("2026-01-07", 820.0, {"ETH-USDT": 10.0}, "no_trade", "", 0),
    ]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in rows))
    return path


def write_session(run: Path, date: str, text: str) -> None:
    """A log of two lines, one with a list of messages and one with a single one, as base_agent.py writes both."""
    question = {"role": "user", "content": f"Please analyze and update today's ({date}) positions."}
    answer = {"role": "assistant", "content": f"{text}\n<FINISH_SIGNAL>"}
    write_lines(
        run / "log" / date / "log.jsonl",
        [{"signature": "m", "new_messages": [question]}, {"signature": "m", "new_messages": answer}],
    )


def write_run(place: Path, rows: list[dict[str, Any]] | None = None, model: str = "deepseek-chat") -> Path:
    """`data/agent_data_crypto/<model>` with a log a date; gives `data`."""
    run = place / "data" / "agent_data_crypto" / model
    rows = life() if rows is None else rows
    write_lines(run / "position" / "position.jsonl", rows)
    for line in rows[1:]:
        write_session(run, line["date"], f"Momentum of {line['date']}. Per H-2. My key is {KEY}.")
    return place / "data"


def write_prices(place: Path) -> Path:
    """`data/crypto/crypto_merged.jsonl`: BTC opens at 100, 110, 115, 118, 120 and 125 and closes one above, ETH at 20."""
    opens = {"02": 100, "03": 110, "04": 115, "05": 118, "06": 120, "07": 125}
    bars = {
        "BTC-USDT": {f"2026-01-{day}": {"1. buy price": str(price), "4. sell price": str(price + 1)} for day, price in opens.items()},
        "ETH-USDT": {f"2026-01-{day}": {"1. buy price": "20", "4. sell price": "21"} for day in opens},
    }  # fmt: skip
    return write_lines(
        place / "data" / "crypto" / "crypto_merged.jsonl",
        [
            {"Meta Data": {"2. Symbol": symbol}, "Time Series (Daily)": series}
            for symbol, series in bars.items()
        ],
    )
