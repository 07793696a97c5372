"""What an agent's drawdown is measured on: the equity that its reviews print, however it was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.commands import Retro, event, retro, round_trip

__all__ = ["retro"]

BALANCES = {"USDC": 800, "BTC": "0.002"}


def lived(retro: Retro, *lines: str) -> None:
    Path("a.jsonl").write_text(
        "".join((*lines, round_trip("won", profit=10), round_trip("lost", "2026-03-03", -15)))
    )
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("run", "--once").code == 0


def test_a_journal_that_opens_with_balances_has_a_drawdown(retro: Retro) -> None:
    """800 USDC and 0.002 BTC at 100,000 are 1,000; +10, then -15: 995 of a peak of 1,010."""
    lived(
        retro,
        event("mark", "m", "2026-03-02T08:00:00Z", instrument="BTC/USDC", price="100000"),
        event("equity", "q", "2026-03-02T08:00:00Z", balances=BALANCES),
    )
    state = retro("state", "--json").data
    assert (state["peak_equity"], state["equity"]) == (1010.0, 995.0)
    assert state["drawdown"] == pytest.approx(15 / 1010)
    assert "drawdown" not in state["reasons"]


def test_balances_that_nothing_prices_leave_the_drawdown_unknown(retro: Retro) -> None:
    lived(retro, event("equity", "q", "2026-03-02T08:00:00Z", balances=BALANCES))
    state = retro("state", "--json").data
    assert state["drawdown"] is None
    assert state["reasons"]["drawdown"] == "no capital is known"
