"""An exit reason has its positions' own mean beside the loss avoided; without candles it is the only one there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.commands import Retro, retro
from tests.worlds.freqtrade_databases import Order, Trade, write

__all__ = ["retro"]

AT = "2026-01-{:02d} {:02d}:00:00.000000"
WEEK = ("review", "weekly", "--at", "2026-01-06")


def stopped(number: int, gain: float, reason: str = "stop_loss") -> Trade:
    """One unit from 100, held for an hour on Monday the 5th."""
    orders = [
        Order(True, 1.0, 100.0, AT.format(5, number)),
        Order(False, 1.0, 100.0 + gain, AT.format(5, number + 1)),
    ]
    return Trade(orders, id=number, fee=0.0, exit_reason=reason)


def told(retro: Retro, *words: str) -> None:
    write(Path("t.sqlite"), [stopped(1, -3), stopped(2, -5), stopped(3, 2), stopped(4, 9, "roi")])
    assert retro("ingest", "freqtrade", "t.sqlite", *words).code == 0


def test_without_candles_an_exit_has_its_own_mean_and_the_true_reason(retro: Retro) -> None:
    told(retro)
    rows = {row["heuristic_id"]: row for row in retro(*WEEK, "--json").data["heuristic_performance"]}
    stop = rows["stop_loss"]
    assert (stop["result_avg"], stop["result_count"]) == (-2, 3)
    assert stop["result_win_rate"] == pytest.approx(1 / 3)
    assert (stop["evaluated_count"], stop["avg_pnl_per_citation"]) == (0, None)
    assert stop["reasons"]["avg_pnl_per_citation"].startswith("no price after the exit")
    page = " ".join(retro(*WEEK).out.split())
    assert "no price after the exit" in page
    assert "no outcome resolved in the period" not in page
    assert "the positions it closed made -2.00 USDT on average; 33 % of 3 gained" in page


def test_with_candles_it_stands_beside_the_loss_avoided(retro: Retro) -> None:
    """The price fell on to 90 within the hour: each stop avoided what was left."""
    Path("data").mkdir()
    rows = "".join(
        f"2026-01-05 {h:02d}:{m:02d}:00,90,90,90,90,1\n" for h in range(9) for m in range(0, 60, 5)
    )
    Path("data/ETH_USDT-5m.csv").write_text("date,open,high,low,close,volume\n" + rows)
    told(retro, "--candles", "data")
    rows_ = {row["heuristic_id"]: row for row in retro(*WEEK, "--json").data["heuristic_performance"]}
    stop = rows_["stop_loss"]
    assert stop["avg_pnl_per_citation"] == pytest.approx((7 + 5 + 12) / 3)
    assert stop["result_avg"] == -2


def test_the_audit_of_a_life_says_the_same(retro: Retro) -> None:
    told(retro)
    rows = {row["heuristic_id"]: row for row in retro("playbook", "audit", "--json").data}
    assert rows["stop_loss"]["result_avg"] == -2
    assert rows["stop_loss"]["reasons"]["win_rate"].startswith("no price after the exit")


def test_an_exit_that_waits_or_was_held_for_no_time_hides_no_missing_price(retro: Retro) -> None:
    """Two stops are due and have no price, one was held for no time and never is, the last one still waits."""
    at_once = [Order(True, 1.0, 100.0, AT.format(5, 4)), Order(False, 1.0, 99.0, AT.format(5, 4))]
    write(
        Path("t.sqlite"),
        [
            stopped(1, -3),
            stopped(2, -5),
            Trade(at_once, id=4, fee=0.0, exit_reason="stop_loss"),
            stopped(7, -2),
        ],
    )
    assert retro("ingest", "freqtrade", "t.sqlite").code == 0

    def why(*words: str) -> str:
        rows = {row["heuristic_id"]: row for row in retro(*words, "--json").data["heuristic_performance"]}
        reason: str = rows["stop_loss"]["reasons"]["win_rate"]
        return reason

    assert why("review", "weekly", "--at", "2026-01-06", "--as-of", "2026-01-12T00:00:00Z").startswith(
        "no price after the exit"
    )
    # 1 more hour alone helps nobody: where no price is told it is judged then no more than the others
    waiting = "1 not due yet: judged only where marks of the time after them are told"
    assert why("review", "life") == f"no price after 2 of 3 exits; {waiting}"
