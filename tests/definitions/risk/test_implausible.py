"""Implausible input against the definitions: flagged, shown apart, in no rate, and the sums still close."""

from __future__ import annotations

import pytest

from tests.worlds.oracle import Life, approx, closes, components, life, life_of

__all__ = ["life"]


FLAT = dict.fromkeys(range(60), 100.0)


def ranges(low: float = 98.0, high: float = 102.0) -> dict[float, tuple[float, float]]:
    return dict.fromkeys(FLAT, (low, high))


@pytest.mark.parametrize(
    ("price", "flagged"),
    [(102 * 1.2, False), (102 * 1.2 + 0.01, True), (98 / 1.2, False), (98 / 1.2 - 0.01, True), (100, False)],
)
def test_the_band_of_candles_with_ranges(life: Life, price: float, flagged: bool) -> None:
    """Within [low / 1.2, high x 1.2] of its candle and its neighbours (98..102)."""
    life.market("ETH/USDC", FLAT, ranges())
    life.trade("p", (5.5, 100), (10.5, price))
    life.until(20)
    assert ("implausible" in life.position("p").flags) is flagged


@pytest.mark.parametrize(("spike", "flagged"), [(9, True), (10, False), (11, False), (12, False), (13, True)])
def test_a_neighbouring_candle_excuses_a_fill(life: Life, spike: int, flagged: bool) -> None:
    """Sold at 200 at 10:30: the candle of that moment closes at 11; 10 and 12 are its neighbours."""
    bands = ranges()
    bands[spike] = (98.0, 190.0)
    life.market("ETH/USDC", FLAT, bands)
    life.trade("p", (5.5, 100), (10.5, 200))
    life.until(20)
    assert ("implausible" in life.position("p").flags) is flagged


@pytest.mark.parametrize(
    ("price", "flagged"), [(10, False), (9.99, True), (1000, False), (1000.1, True), (300, False)]
)
def test_without_marks_the_ratio_of_exit_to_entry_decides(life: Life, price: float, flagged: bool) -> None:
    life.trade("p", (5, 100), (10, price))
    life.until(20)
    assert ("implausible" in life.position("p").flags) is flagged


def test_a_flagged_position_leaves_every_rate_and_component_and_the_sum_still_closes(life: Life) -> None:
    """Bought at 100 on Monday, sold at 500 on Tuesday while the market says 101."""
    life.market("ETH/USDC", {h: 100 + h / 24 for h in range(60)}, dict.fromkeys(range(60), (98.0, 103.0)))
    life.tell(0, "equity", balances={"USDC": 10000}, value=10000)
    life.trade("bad", (5, 100), (30, 500), 2, cites=["H-1"], exit_cites=["H-15"])
    life.trade("good", (6, 100), (31, 101), 1, cites=["H-1"])
    life.until(59)
    monday, tuesday, week = life.day(0), life.day(1), life.week()
    # Monday stands as it was: both bought, both marked at 101
    assert components(monday.pnl) == approx({"unrealized_pnl": 2 * 1 + 1})
    assert life_of(monday, "bad").period_pnl == approx(2)
    # from the day of the fill that flags it, its pnl is one line
    assert components(tuesday.pnl) == approx(
        {"implausible_pnl": 800 - 2, "trading_gains": 1, "unrealized_pnl": -1}
    )
    assert tuesday.pnl.total == approx(798)
    assert week.pnl.total == approx(801)
    for document in (monday, tuesday, week):
        assert closes(document.pnl) < 1e-9
    bad = life_of(week, "bad")
    assert "implausible" in bad.flags
    assert bad.final_pnl == approx(800)
    assert [i.position_id for i in week.data_quality.implausible] == ["bad"]
    assert week.data_quality.implausible[0].pnl == approx(800)
    assert week.effectiveness.closed_positions == 1
    assert week.effectiveness.inaction_superiority_rate == 0
    rows = {(r.heuristic_id, r.role): r for r in week.heuristic_performance}
    assert rows["H-1", "entry"].evaluated_count == 1
    assert rows["H-1", "entry"].associated_pnl == approx(1)
    assert ("H-15", "exit") not in rows or rows["H-15", "exit"].evaluated_count == 0
    assert [b.n for b in week.breakdowns.by_instrument] == [1]
    assert week.breakdowns.fee_drag == 0
    assert week.breakdowns.longest_losing_streak == 0


def test_the_gain_of_an_implausible_position_leaves_returns_and_drawdown(life: Life) -> None:
    """Equity would jump by nine tenths on Tuesday; without the implausible trade that day is flat."""
    life.market("ETH/USDC", dict.fromkeys(range(150), 100))
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.trade("bad", (25, 11), (26, 100), 1)
    life.trade("up", (49, 100), (50, 110), 1)
    life.trade("down", (73, 100), (74, 95), 1)
    life.until(7 * 24)
    week = life.week()
    assert week.pnl.implausible_pnl == approx(89)
    assert week.pnl.total == approx(89 + 10 - 5)
    equity = [e.equity for e in week.equity]
    assert equity[-1] == approx(1000 + 89 + 5)
    # the curve: 1000 (day 1 flat), +10 on day 3, -5 on day 4
    assert [day.growth for day in week.equity[1:]] == approx([0, 0, 0.01, -5 / 1010, 0, 0, 0])
    assert week.risk.max_drawdown == approx(-5 / 1010)


def test_the_loss_of_an_implausible_position_stays_in_returns_and_drawdown(life: Life) -> None:
    """Bought at 100, sold at 11 while the market says 100: 89 of 1,000 are gone."""
    life.market("ETH/USDC", dict.fromkeys(range(150), 100))
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.trade("bad", (25, 100), (26, 11), 1)
    life.until(7 * 24)
    week, later = life.week(), life.week(1)
    assert week.pnl.implausible_pnl == approx(-89)
    assert week.equity[2].pnl == approx(-89)
    assert week.breakdowns.calendar[1].pnl == approx(-89)
    assert week.equity[2].growth == approx(-0.089)
    assert week.risk.max_drawdown == approx(-0.089)
    assert week.risk.max_drawdown_marked == approx(-0.089)
    assert later.equity[-1].equity == approx(911)


def test_a_fill_at_the_entry_flags_from_the_entry(life: Life) -> None:
    life.market("ETH/USDC", FLAT, ranges())
    life.trade("p", (5.5, 10), (30, 100), 1)
    life.until(59)
    monday, tuesday = life.day(0), life.day(1)
    assert components(monday.pnl) == approx({"implausible_pnl": 90})
    assert components(tuesday.pnl) == {}
    assert monday.pnl.total == approx(90)


def test_gas_of_a_flagged_position_is_part_of_its_line(life: Life) -> None:
    life.market("ETH/USDC", FLAT, ranges())
    life.trade("p", (5.5, 10), (10, 100), 1)
    life.tell(6, "cost", kind="gas", amount=3, position="p")
    life.until(59)
    monday = life.day(0)
    assert monday.pnl.total == approx(87)
    assert closes(monday.pnl) < 1e-9
    assert life_of(monday, "p").final_pnl == approx(87)


def test_a_perp_and_a_short_are_judged_alike(life: Life) -> None:
    life.trade("p", (5, 100), (10, 9), 1, "short", cites=["H-1"])
    life.until(20)
    document = life.day(0)
    assert "implausible" in life_of(document, "p").flags
    assert document.pnl.implausible_pnl == approx(91)
    assert document.pnl.trading_gains == 0


@pytest.mark.parametrize("exit_hour", [None, 10 * 24])
def test_returns_of_later_weeks_leave_it_out_too(life: Life, exit_hour: int | None) -> None:
    """5 ETH bought at 10 where the market says 100: 450 that never were, held into the next week or for good."""
    life.market("ETH/USDC", dict.fromkeys(range(15 * 24), 100))
    life.tell(0, "equity", balances={"USDC": 1000})
    life.open(1, "bad")
    life.fill(1, "bad", "buy", 5, 10)
    if exit_hour is not None:
        life.fill(exit_hour, "bad", "sell", 5, 100)
    daily_pnl = [3, -1, 2, 3, 1, 2, -4]
    for day, pnl in enumerate(daily_pnl, 7):
        life.trade(f"t{day}", (day * 24 + 1, 100), (day * 24 + 2, 100 + pnl))
    life.until(15 * 24)
    week = life.week(1)
    equity, returns = 1000.0, []
    for pnl in daily_pnl:
        returns.append(pnl / equity)
        equity += pnl
    mean = sum(returns) / 7
    spread = (sum((r - mean) ** 2 for r in returns) / 6) ** 0.5
    assert week.risk.sharpe == approx(mean / spread * 365**0.5)
    assert week.risk.max_drawdown == approx(returns[-1])
    assert week.equity[-1].equity == approx(1450 + sum(daily_pnl))


def test_a_loss_stays_in_headline_rates_and_audit_and_only_the_gain_leaves_them(life: Life) -> None:
    """Sold at 11 and at 500 where the market says 100: -89 counts everywhere, +400 nowhere but in its own line."""
    life.market("ETH/USDC", dict.fromkeys(range(200), 100))
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.trade("loss", (5, 100), (26, 11), cites=["H-1"], exit_cites=["H-2"])
    life.trade("gain", (6, 100), (30, 500), cites=["H-1"], exit_cites=["H-2"])
    life.trade("fair", (7, 100), (31, 103), cites=["H-1"])
    life.until(200)
    week = life.week()
    assert closes(week.pnl) < 1e-9
    assert (week.pnl.implausible_pnl, week.pnl.unbelieved_pnl) == approx((400 - 89, 400))
    assert week.pnl.believed == approx(3 - 89)
    assert week.effectiveness.closed_positions == 2
    assert week.effectiveness.sum_vs_inaction == approx(3 - 89)
    assert week.effectiveness.inaction_superiority_rate == 0.5
    rows = {(r.heuristic_id, r.role): r for r in week.heuristic_performance}
    assert rows["H-1", "entry"].evaluated_count == 2
    assert rows["H-1", "entry"].associated_pnl == approx(3 - 89)
    # of the exits only the one at 11 can be judged, and it lost 89 against the 100 of later
    assert rows["H-2", "exit"].associated_pnl == approx(-89)
    assert week.risk.max_drawdown_marked == approx(-89 / 1000)
    assert [group.n for group in week.breakdowns.by_instrument] == [2]
    assert [i.position_id for i in week.data_quality.implausible] == ["gain", "loss"]


def test_a_fill_between_the_marks_of_five_minutes_is_believed(life: Life) -> None:
    """Hourly marks at 100, one of 60 four minutes before the fill at 62: outside a fifth of its neighbours' band."""
    near = dict.fromkeys(range(30), 100.0) | {10.45: 60, 10.46: 100, 10.47: 100, 10.48: 100, 10.49: 100}
    life.market("ETH/USDC", near)
    life.trade("p", (5, 100), (10.5, 62))
    life.trade("q", (5, 100), (10.6, 62))
    life.until(20)
    assert "implausible" not in life.position("p").flags
    assert "implausible" in life.position("q").flags
