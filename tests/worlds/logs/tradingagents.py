"""TradingAgents' memory log and state logs, as its agents write them."""

from __future__ import annotations

import json
from pathlib import Path

KEY = "sk-aaaabbbbccccddddeeeeffff00001111"
END = "\n\n<!-- ENTRY_END -->\n\n"
BUY = f"**Rating**: Buy\n\nMargins widen. My key is {KEY}."
PENDING = "[2026-01-05 | NVDA | Buy | pending]\n\nDECISION:\n" + BUY + END
RESOLVED = (
    "[2026-01-05 | NVDA | Buy | +2.9% | +2.8% | 5d | resolved:2026-01-13]\n\nDECISION:\n" + BUY
    + "\n\nREFLECTION:\nIt rose because margins widened." + END
)  # fmt: skip
SELL = (
    "[2026-01-06 | AAPL | Sell | +1.0% | -0.4% | 5d]\n\nDECISION:\nRating: Sell\n\nREFLECTION:\nWrong." + END
)
HOLD = "[2026-01-07 | MSFT | Hold | pending]\n\nDECISION:\nRating: Hold, REFLECTION: later." + END


def write_memory(path: Path, *entries: str) -> Path:
    path.write_text("".join(entries), encoding="utf-8")
    return path


def write_state(
    place: Path, decision: object = BUY, ticker: str = "NVDA", day: str = "2026-01-05", *, old: bool = False
) -> Path:
    """`results/<TICKER>/TradingAgentsStrategy_logs/full_states_log_<DATE>.json`; older ones are keyed by date."""
    folder = place / "results" / ticker / "TradingAgentsStrategy_logs"
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "company_of_interest": ticker, "trade_date": day, "market_report": "Up.",
        "investment_debate_state": {"history": "Bull: buy"}, "final_trade_decision": decision,
    }  # fmt: skip
    path = folder / f"full_states_log_{day}.json"
    path.write_text(json.dumps({day: state} if old else state))
    return path
