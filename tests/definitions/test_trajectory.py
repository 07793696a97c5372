"""A position's life against the definitions: trajectory, extremes, regret, and what came after the exit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.oracle import Life, clock, hours_of, life, luck

__all__ = ["life"]


NEAR: dict[str, Any] = {"abs": 1e-9, "rel": 1e-12}


def approx(value: Any) -> Any:
    return pytest.approx(value, **NEAR)


def fees(life: Life) -> None:
    """2 ETH bought at 101 (fee 0.5), sold at 105 (fee 0.7), a mark an hour."""
    life.marks("ETH", [100, 101, 102.5, 103, 99, 100.5, 104, 107, 109, 96, 90, 111, 104])
    life.open(1, "p", risk=8)
    life.fill(1, "p", "buy", 2, 101, fee=0.5)
    life.fill(6, "p", "sell", 2, 105, fee=0.7)
    life.until(20)


def test_a_long_trade_with_fees_by_hand(life: Life) -> None:
    fees(life)
    p = life.position("p")
    assert p.final_pnl == approx(2 * (105 - 101) - 0.5 - 0.7)
    assert p.pnl_r == approx(6.8 / 8)
    assert (p.entry_price, p.exit_price, p.quantity, p.notional) == (101, 105, 2, 202)
    # the path before exit costs: at 2, 3, 4, 5 o'clock, then the exit's fill
    gross = [2.5, 3.5, -4.5, -1.5, 7.5]
    assert (p.mfe, p.mae) == (approx(7.5), approx(-4.5))
    assert (p.mfe_price, p.mae_price) == (105, 99)
    assert (p.mfe_r, p.mae_r) == (approx(7.5 / 8), approx(-4.5 / 8))
    assert (p.regret, p.optimal_exit_at, p.optimal_exit_pnl) == (approx(0), clock(6), approx(6.8))
    assert p.regret_ratio == approx(0)
    assert [(c.offset, c.pnl, c.mark_age_s, c.stale) for c in p.pnl_trajectory] == [
        ("1h", approx(2.5), 0, False),
        ("4h", approx(-1.5), 0, False),
        ("exit", approx(6.8), 0, False),
    ]
    # h = 5 h: (6, 11]; the exit's fee stays what it was
    after = [2 * (m - 101) - 1.2 for m in (107, 109, 96, 90, 111)]
    assert p.left_on_table == approx(max(after) - 6.8)
    assert p.hold_on == approx(after[-1] - 6.8)
    # gross at 9 o'clock: 2 x (96 - 101) - 0.5 = -10.5 < -max(8, 4.5): nobody holds through that
    assert p.left_on_table_capped == approx(2 * (109 - 105))
    assert [(c.offset, c.pnl) for c in p.post_exit_trajectory] == [
        ("1h", approx(2 * 6 - 1.2)),
        ("4h", approx(2 * -11 - 1.2)),
    ] + [("1d", approx(2 * 3 - 1.2))] * (len(p.post_exit_trajectory) > 2)
    assert p.mfe == approx(max(gross))


def test_regret_and_its_ratio_by_hand(life: Life) -> None:
    """Sold below the best mark: the exit's costs are charged on every candidate."""
    life.marks("ETH", [100, 101, 104, 108, 103, 102, 99])
    life.open(0.5, "p")
    life.fill(0.5, "p", "buy", 3, 100, fee=0.9)
    life.fill(5.5, "p", "sell", 3, 101, fee=0.6)
    life.until(7)
    p = life.position("p")
    assert p.final_pnl == approx(3 - 1.5)
    gross = [3 * (m - 100) - 0.9 for m in (101, 104, 108, 103, 102, 101)]
    assert p.optimal_exit_pnl == approx(24 - 1.5)
    assert p.optimal_exit_at == clock(3)
    assert p.regret == approx(21)
    steps = [b - a for a, b in zip([-0.9, *gross], gross, strict=False)]
    assert p.regret_ratio == approx(21 / luck(steps))
    assert (p.mfe, p.mfe_price, p.mae, p.mae_price) == (approx(23.1), 108, 0, 100)


def test_a_short_gains_when_the_price_falls(life: Life) -> None:
    life.marks("ETH", [100, 98, 95, 103, 97, 99])
    life.open(0, "p", "perp", side="short", risk=10)
    life.fill(0, "p", "sell", 2, 100, fee=0.2)
    life.fill(4.5, "p", "buy", 2, 98, fee=0.2)
    life.until(6)
    p = life.position("p")
    assert p.side == "short"
    assert p.final_pnl == approx(4 - 0.4)
    assert (p.mfe, p.mfe_price) == (approx(2 * 5 - 0.2), 95)
    assert (p.mae, p.mae_price) == (approx(2 * -3 - 0.2), 103)
    assert (p.optimal_exit_at, p.optimal_exit_pnl) == (clock(2), approx(10 - 0.4))
    assert p.regret == approx(6)
    assert [(c.offset, c.pnl) for c in p.pnl_trajectory] == [
        ("1h", approx(4 - 0.2)),
        ("4h", approx(6 - 0.2)),
        ("exit", approx(3.6)),
    ]


def test_the_entry_is_no_candidate_and_a_mark_at_the_exit_is_not_the_exit(life: Life) -> None:
    """Marks at exactly entry and exit are outside (entry, exit): only the fill speaks for the exit."""
    life.marks("ETH", {0: 500, 1: 90, 2: 95, 3: 800})
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.fill(3, "p", "sell", 1, 92)
    life.until(4)
    p = life.position("p")
    assert (p.final_pnl, p.optimal_exit_pnl, p.regret) == (-8, -5, 3)
    assert p.optimal_exit_at == clock(2)
    assert (p.mfe, p.mae) == (0, -10)


@pytest.mark.parametrize(("second", "at"), [(110, 1), (110 + 4e-8, 1), (110 + 4e-7, 3)])
def test_ties_go_to_the_earliest(life: Life, second: float, at: int) -> None:
    """Equal within 1e-9 of the notional (100)."""
    life.marks("ETH", {0: 100, 1: 110, 2: 101, 3: second, 4: 104})
    life.trade("p", (0, 100), (4, 104))
    life.until(5)
    assert life.position("p").optimal_exit_at == clock(at)


def test_an_exit_that_ties_with_an_earlier_mark_has_no_regret_and_an_earlier_optimum(life: Life) -> None:
    life.marks("ETH", {0: 100, 1: 110, 2: 101, 3: 100, 4: 104})
    life.trade("p", (0, 100), (4, 110))
    life.until(5)
    p = life.position("p")
    assert (p.regret, p.optimal_exit_at) == (approx(0), clock(1))


def test_checkpoints_lie_before_the_exit_and_the_exit_always_follows(life: Life) -> None:
    """An exit at exactly 4 h has no 4h point; at 31 d it has all seven."""
    life.marks("ETH", {h: 100 + h / 100 for h in range(0, 32 * 24, 6)} | {1: 100.01})
    life.trade("short", (0, 100), (4, 101))
    life.trade("long", (0, 100), (31 * 24, 107))
    life.trade("month", (0, 100), (30 * 24, 107))
    life.until(31 * 24)
    assert [c.offset for c in life.position("short").pnl_trajectory] == ["1h", "exit"]
    offsets = ["1h", "4h", "1d", "3d", "7d", "14d", "30d"]
    assert [c.offset for c in life.position("long").pnl_trajectory] == [*offsets, "exit"]
    assert [c.offset for c in life.position("month").pnl_trajectory] == [*offsets[:-1], "exit"]
    last = life.position("long").pnl_trajectory[-1]
    assert (last.at, last.pnl) == (clock(31 * 24), 7)


def test_as_of_takes_the_last_mark_and_says_how_old_it_is(life: Life) -> None:
    """Gaps of 1 h in the day before: stale above max(3 h, a tenth of the offset)."""
    hours = [*range(-10, 2), 21, 66.5]
    life.marks("ETH", {h: 100 + h for h in hours})
    life.trade("p", (0, 100), (100, 150))
    life.until(101)
    points = {c.offset: (c.pnl, c.mark_age_s, c.stale) for c in life.position("p").pnl_trajectory}
    assert points == {
        "1h": (1, 0, False),
        "4h": (1, 3 * 3600, False),
        "1d": (21, 3 * 3600, False),
        "3d": (66.5, 5.5 * 3600, False),
        "exit": (50, points["exit"][1], points["exit"][2]),
    }


@pytest.mark.parametrize(("hours", "stale"), [(3.0, False), (3.001, True)])
def test_staleness_begins_strictly_above_its_limit(life: Life, hours: float, stale: bool) -> None:
    life.marks("ETH", dict.fromkeys(range(-10, 1), 100) | {4 - hours: 105})
    life.trade("p", (0, 100), (5, 100))
    life.until(6)
    point = life.position("p").pnl_trajectory[1]
    assert (point.offset, point.pnl, point.stale) == ("4h", 5, stale)


def test_the_median_gap_looks_back_a_day_and_no_further(life: Life) -> None:
    """Minutes apart two days ago, 4 h apart since: three gaps are 12 h."""
    life.marks("ETH", {-50 + i / 60: 90 for i in range(60)} | dict.fromkeys((-24, -20, -16, -12, -8), 100))
    life.trade("p", (0, 100), (5, 100))
    life.until(6)
    points = {c.offset: (c.mark_age_s, c.stale) for c in life.position("p").pnl_trajectory}
    assert points["1h"] == (9 * 3600, False)
    assert points["4h"] == (12 * 3600, False)


@pytest.mark.parametrize(("age", "usable"), [(24, True), (24.01, False)])
def test_a_mark_older_than_a_day_is_no_mark(life: Life, age: float, usable: bool) -> None:
    life.marks("ETH", {1 - age: 104, 4: 103})
    life.trade("p", (0, 100), (5, 102))
    life.until(6)
    p = life.position("p")
    first = p.pnl_trajectory[0]
    assert first.pnl == (4 if usable else None)
    if not usable:
        assert any("1h" in name or "trajectory" in name for name in p.reasons)


def test_without_any_mark_the_points_are_absent_and_the_exit_is_still_known(life: Life) -> None:
    life.trade("p", (0, 100), (5, 102))
    life.until(6)
    p = life.position("p")
    assert [(c.offset, c.pnl) for c in p.pnl_trajectory] == [("1h", None), ("4h", None), ("exit", 2)]
    assert (p.regret, p.regret_ratio, p.optimal_exit_at, p.optimal_exit_pnl) == (None, None, None, None)
    assert "insufficient_marks" in p.flags
    assert {"regret", "optimal_exit_at", "optimal_exit_pnl", "regret_ratio"} <= p.reasons.keys()


@pytest.mark.parametrize(("late", "covered"), [(9.0, True), (9.05, False)])
def test_coverage_of_exactly_half_suffices(life: Life, late: float, covered: bool) -> None:
    """Gaps of 1 h: a mark is fresh for 3 h. Fresh in [0, 4] and [late, 10] of ten hours."""
    life.marks("ETH", {-2: 100, -1: 100, 0: 100, 1: 101, late: 104})
    life.trade("p", (0, 100), (10, 103))
    life.until(11)
    p = life.position("p")
    assert p.regret == (approx(1) if covered else None)
    assert ("insufficient_marks" in p.flags) is not covered


def test_a_mark_from_before_the_entry_keeps_the_first_hours_fresh_but_is_no_candidate(life: Life) -> None:
    """Hourly until 0 (fresh for 3 h), then one at 5: no mark inside before it. [0, 3] and [5, 6]: 4 of 6 hours."""
    life.marks("ETH", dict.fromkeys(range(-5, 1), 150) | {5: 101})
    life.trade("p", (0, 100), (6, 99))
    life.until(7)
    p = life.position("p")
    assert (p.regret, p.optimal_exit_at) == (2, clock(5))


def test_no_mark_inside_means_no_regret_however_fresh_the_marks(life: Life) -> None:
    life.marks("ETH", dict.fromkeys(range(-5, 1), 100) | {2: 100, 3: 100})
    life.trade("p", (0, 100), (2, 99))
    life.until(7)
    p = life.position("p")
    assert p.regret is None
    assert "insufficient_marks" in p.flags


def test_a_single_mark_is_fresh_for_a_tenth_of_the_life(life: Life) -> None:
    """No gap is known: fresh in [5, 6] of ten hours only."""
    life.marks("ETH", {5: 110})
    life.trade("p", (0, 100), (10, 99))
    life.until(11)
    assert life.position("p").regret is None


def test_nine_tenths_of_a_long_life_from_the_tenth_of_its_length(life: Life) -> None:
    """Marks 9 h apart, most within minutes: the median gap is tiny, a tenth of 100 h carries them."""
    life.marks("ETH", {h: 100 + h for h in range(0, 100, 9)} | {-1 + i / 100: 100 for i in range(50)})
    life.trade("p", (0, 100), (100, 99))
    life.until(101)
    p = life.position("p")
    assert (p.optimal_exit_at, p.regret) == (clock(99), 100)


def test_a_partial_exit_leaves_cash_in_the_path(life: Life) -> None:
    """4 at 100; 1 sold at 110 (fee 0.1), 3 at 104 (fee 0.3)."""
    life.marks(
        "ETH", {0: 100, 1: 105, 2: 110, 3: 108, 4: 107, 5: 104, 6: 100, 7: 101, 8: 103, 9: 102, 10: 110}
    )
    life.open(0, "p")
    life.fill(0, "p", "buy", 4, 100, fee=0.4)
    life.fill(2.5, "p", "sell", 1, 110, fee=0.1)
    life.fill(5, "p", "sell", 3, 104, fee=0.3)
    life.until(11)
    p = life.position("p")
    out = 110 - 0.1
    path = [4 * 5 - 0.4, 4 * 10 - 0.4, out + 3 * 108 - 400.4, out + 3 * 107 - 400.4]
    assert p.final_pnl == approx(110 + 312 - 400 - 0.8)
    assert p.mfe == approx(max(path))
    # the fee held constant is that of the closing instant
    assert p.optimal_exit_pnl == approx(path[1] - 0.3)
    assert p.regret == approx(path[1] - 0.3 - 21.2)
    assert [c.pnl for c in p.pnl_trajectory] == [approx(path[0]), approx(path[3]), approx(21.2)]
    # 3 ETH held on, h = 5 h
    assert p.left_on_table == approx(3 * (110 - 104))
    assert p.hold_on == approx(3 * (110 - 104))


def test_adding_to_a_position_moves_its_path(life: Life) -> None:
    life.marks("ETH", {0: 100, 1: 90, 2: 95, 3: 110, 4: 105})
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.fill(1.5, "p", "buy", 1, 92)
    life.fill(4, "p", "sell", 2, 106)
    life.until(5)
    p = life.position("p")
    assert p.final_pnl == 20
    assert (p.mae, p.mae_price) == (-10, 90)
    assert (p.mfe, p.optimal_exit_at) == (28, clock(3))
    assert p.regret == 8


def test_fees_in_the_bought_coin_reduce_what_is_held(life: Life) -> None:
    """1 ETH bought with 0.01 ETH fee: 0.99 is held; all of it is sold at 110."""
    life.marks("ETH", {0: 100, 1: 105, 2: 120, 3: 110})
    life.open(0, "p")
    life.fill(0, "p", "buy", "1", 100, fee="0.01", fee_asset="ETH")
    life.fill(3, "p", "sell", "0.99", 110)
    life.until(4)
    p = life.position("p")
    assert p.exit_at == clock(3)
    assert p.final_pnl == approx(0.99 * 110 - 100)
    assert p.optimal_exit_pnl == approx(0.99 * 120 - 100)
    assert p.pnl_trajectory[0].pnl == approx(0.99 * 105 - 100)
    assert p.attribution.trading_fees == approx(1)
    assert life.day(0).pnl.trading_fees == approx(1)


@pytest.mark.parametrize(("last", "judged"), [(7, True), (6.99, False)])
def test_after_the_exit_a_mark_within_three_gaps_of_the_horizon_is_needed(
    life: Life, last: float, judged: bool
) -> None:
    """Hourly marks, exit at 5, h = 5 h: judged at 10 by a mark from 7 on."""
    life.marks("ETH", dict.fromkeys(range(-5, 5), 100) | {6: 103, last: 102})
    life.trade("p", (0, 100), (5, 100))
    life.until(30)
    p = life.position("p")
    if judged:
        assert (p.left_on_table, p.hold_on) == (3, 2)
    else:
        assert (p.left_on_table, p.left_on_table_capped, p.hold_on) == (None, None, None)
        assert {"left_on_table", "left_on_table_capped", "hold_on"} <= p.reasons.keys()


def test_the_horizon_after_an_exit_is_at_most_seven_days(life: Life) -> None:
    life.marks("ETH", dict.fromkeys(range(0, 20 * 24, 6), 100) | {20 * 24 + 168: 105, 20 * 24 + 169: 900})
    life.marks("ETH", {20 * 24 + 6 * i: 101 for i in range(28)})
    life.trade("p", (0, 100), (20 * 24 - 1, 100))
    life.until(31 * 24)
    p = life.position("p")
    assert p.hold_on == 1  # exit + 7 d is an hour before the mark of 105
    assert p.left_on_table == 1


def test_the_cap_is_the_larger_of_risk_and_the_worst_seen(life: Life) -> None:
    """mae is -6; risk 4: a fall to -5.5 is held through, one to -7 is not."""
    for name, low in (("held", 94.5), ("stopped", 93)):
        variant = Life(life.path, name)
        variant.marks("ETH", {0: 100, 1: 94, 2: 100, 3: 101, 4: low, 5: 115, 6: 100})
        variant.trade("p", (0, 100), (3, 101), risk=4)
        variant.until(7)
        p = variant.position("p")
        assert (p.mae, p.left_on_table) == (-6, 14)
        assert p.left_on_table_capped == (14 if name == "held" else 0)


def test_a_fall_to_exactly_the_cap_is_held_through(life: Life) -> None:
    life.marks("ETH", {0: 100, 1: 94, 2: 100, 3: 101, 4: 94, 5: 115, 6: 100})
    life.trade("p", (0, 100), (3, 101))
    life.until(7)
    assert life.position("p").left_on_table_capped == 14


def test_a_forced_exit_at_the_end_of_the_data_has_no_afterwards(life: Life) -> None:
    """Within two candles of K; three candles before it, it is an exit like any other."""
    for hours in (8, 6.1, 6, 5.9, 4):
        variant = Life(life.path, f"k{hours}".replace(".", "-"))
        variant.market("ETH/USDC", {h: 100 + h for h in range(12)})
        variant.trade("p", (1, 101), (4, 104))
        variant.tell(4, "exit", position="p", reason="force_exit")
        variant.until(hours)
        p = variant.position("p")
        assert (p.hold_on is not None) is (hours > 6), hours


def test_a_zero_length_trade_has_no_inside_and_no_afterwards(life: Life) -> None:
    life.marks("ETH", {0: 100, 1: 101, 2: 102})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 101)
    life.fill(1, "p", "sell", 1, 103)
    life.until(3)
    p = life.position("p")
    assert (p.final_pnl, p.duration_s, p.open) == (2, 0, False)
    assert (p.regret, p.left_on_table, p.hold_on) == (None, None, None)
    assert p.post_exit_trajectory == [] or all(c.pnl is not None for c in p.post_exit_trajectory)
    assert [(c.offset, c.pnl) for c in p.pnl_trajectory] == [("exit", 2)]


def test_an_open_position_is_valued_at_now_and_flagged(life: Life) -> None:
    life.market("ETH/USDC", {h: 100 + h for h in range(10)} | {12: 200})
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100, fee=0.5)
    life.until(9.5)
    p = life.position("p")
    assert (p.open, p.exit_at, p.final_pnl) == (True, None, approx(8.5))
    assert "open" in p.flags
    assert [c.offset for c in p.pnl_trajectory][:2] == ["1h", "4h"]
    assert (p.left_on_table, p.hold_on) == (None, None)
    assert hours_of(p.entry_at) == 0
