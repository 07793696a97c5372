"""The drawdown an agent is told is that of its equity at marks: losers kept open count, as in its reviews."""

from __future__ import annotations

from pathlib import Path

import pytest

from retro.app.experience.equity import _newest_first
from retro.store.jobs.calendar import ToldPeriod
from tests.worlds.commands import Retro, event, retro, round_trip

__all__ = ["retro"]

BAG = {"position": "bag", "instrument": "SOL/USDC"}


@pytest.fixture
def bags(retro: Retro) -> Retro:
    """1,000; +10 closed on the 2nd; 5 SOL bought at 100 on the 3rd, marked 90 that day and 80 on the next, kept."""
    lines = [
        event("equity", "q", "2026-03-02T08:00:00Z", value="1000"),
        round_trip("won", profit=10),
        event("position", "bag-p", "2026-03-03T09:00:00Z", kind="spot", side="long", **BAG),
        event("fill", "bag-b", "2026-03-03T09:00:00Z", side="buy", quantity="5", price="100", **BAG),
        event("mark", "m3", "2026-03-03T12:00:00Z", instrument="SOL/USDC", price="90"),
        event("mark", "m4", "2026-03-04T12:00:00Z", instrument="SOL/USDC", price="80"),
        event("decision", "end", "2026-03-05T09:00:00Z", action="hold", reasoning="still here"),
    ]
    Path("a.jsonl").write_text("".join(lines))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("run", "--once").code == 0
    return retro


def test_losers_that_are_kept_open_are_in_the_drawdown(bags: Retro) -> None:
    """Days end at 1,010, 960 and 910: 100 below a peak of 1,010. Closed trades alone know no loss at all."""
    state = bags("state", "--json").data
    assert state["drawdown"] == pytest.approx(100 / 1010, abs=1e-12)
    assert state["equity"] == pytest.approx(910)
    assert state["peak_equity"] == pytest.approx(1010)
    assert state["drawdown_state"] == pytest.approx(100 / 1010 / 0.2)
    assert state["risk_appetite"] == pytest.approx(1 - (100 / 1010 / 0.2) ** 2)
    assert (state["drawdown_basis"], state["drawdown_start_at"][:10]) == ("marked equity", "2026-03-02")
    assert "  Drawdown basis      marked equity" in bags("state").out


def test_whoever_lost_more_than_there_was_stands_at_a_drawdown_of_all(retro: Retro) -> None:
    """1,000, 1,010 on the 2nd and -490 after the 3rd; a return of no day says so, and nothing is below 100 %."""
    lines = [
        event("equity", "q", "2026-03-02T08:00:00Z", value="1000"),
        round_trip("won", profit=10),
        event("position", "bag-p", "2026-03-03T09:00:00Z", kind="perp", side="long", **BAG),
        event("fill", "bag-b", "2026-03-03T09:00:00Z", side="buy", quantity="20", price="100", **BAG),
        event("fill", "bag-s", "2026-03-03T15:00:00Z", side="sell", quantity="20", price="25", **BAG),
        event("decision", "end", "2026-03-05T09:00:00Z", action="hold", reasoning="still here"),
    ]
    Path("a.jsonl").write_text("".join(lines))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("run", "--once").code == 0
    state = retro("state", "--json").data
    assert (state["equity"], state["drawdown"]) == (pytest.approx(-490), 1.0)
    assert (state["drawdown_basis"], state["peak_equity"]) == ("marked equity", None)


def test_the_drawdown_of_an_earlier_instant_is_that_of_the_days_ended_by_then(bags: Retro) -> None:
    state = bags("state", "--as-of", "2026-03-04T09:00:00Z", "--json").data
    assert state["drawdown"] == pytest.approx(50 / 1010, abs=1e-12)
    assert (state["drawdown_at"], state["drawdown_basis"]) == ("2026-03-04T00:00:00Z", "marked equity")


def test_the_prompt_says_the_drawdown_of_the_marked_equity_with_its_date(bags: Retro) -> None:
    at = bags("state", "--json").data["drawdown_at"][:10]
    prompt = bags("experiments", "prompt").out
    assert f"Drawdown 9.9% of marked equity on {at}, " in prompt
    assert " days from 2026-03-02 (1 closed trade, noisy)" in prompt


def test_without_a_review_it_says_that_only_closed_trades_are_in_it(retro: Retro) -> None:
    Path("config.toml").write_text('[agent.ada]\ncapital = 100\n[memory]\ndirectory = "m"\n')
    Path("e.jsonl").write_text('{"id":"e1","agent":"ada","at":"2026-03-02T09:00:00Z","pnl":-10}\n')
    assert retro("remember", "e.jsonl").code == 0
    state = retro("state", "--json").data
    assert (state["drawdown"], state["drawdown_basis"]) == (0.1, "closed trades only")
    assert (state["drawdown_at"], state["drawdown_start_at"]) == ("2026-03-02T09:00:00Z", None)
    Path("m/experiments").mkdir(parents=True, exist_ok=True)
    Path("m/experiments/mine.yaml").write_text("id: mine\nagent: ada\nresults: {win_rate: 0.5}\n")
    prompt = retro("experiments", "prompt", "--agent", "ada").out
    assert "Drawdown 10.0% of closed trades only, 2026-03-02 (1 closed trade, noisy)" in prompt


@pytest.mark.parametrize(
    ("periods", "asked"),
    [
        ([], []),
        ([(0, 30), (0, 7), (28, 35), (30, 60), (56, 63), (62, 63)], [(56, 63), (30, 60), (0, 30)]),
        ([(0, 30), (35, 42), (42, 49)], [(42, 49), (35, 42)]),
    ],
)
def test_days_are_chained_back_to_the_first_gap_by_the_fewest_reviews(
    periods: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    told = [ToldPeriod(key, start, end) for key, (start, end) in enumerate(periods)]
    chosen = [(period.start, period.end) for period, _ in _newest_first(told)]
    assert chosen == asked
