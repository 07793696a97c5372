"""Breakdowns, effectiveness, predictions and confidence against the definitions."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb
from pathlib import Path
from typing import Any

import pytest

from retro.present.formats import render
from tests.worlds.oracle import DAY, WEEK, Life, approx, hours_of, life, life_of

__all__ = ["life"]


def week_of_trades(life: Life, week: int, results: Iterable[float], **fields: Any) -> None:
    for i, pnl in enumerate(results):
        at = week * WEEK + i * 12
        life.trade(f"w{week}-{i}", (at, 100), (at + 2, 100 + pnl), **fields)


def test_groups_by_hand(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    trades = [
        (1, 4, "s1", "long", "ETH/USDC", ["dip"], "roi", 2),
        (2, -2, "s1", "long", "ETH/USDC", ["dip"], "stop", 30),
        (3, 6, "s2", "short", "BTC/USDC", ["break"], "roi", 2),
        (26, -1, "s1", "long", "BTC/USDC", ["dip"], "roi", 1),
        (27, 0, "s2", "long", "BTC/USDC", [], "roi", 1),
    ]
    for i, (at, pnl, strategy, side, instrument, cites, reason, hold) in enumerate(trades):
        price = 100 + pnl * (1 if side == "long" else -1)
        life.trade(
            f"p{i}",
            (at, 100),
            (at + hold, price),
            1,
            side,
            cites,
            strategy=strategy,
            instrument=instrument,
            risk=2,
        )
        life.tell(at + hold, "exit", position=f"p{i}", reason=reason)
    life.until(WEEK)
    breakdowns = life.week().breakdowns
    by = {b.key: b for b in breakdowns.by_strategy}
    assert {k: (b.n, b.pnl, b.ranked) for k, b in by.items()} == {"s1": (3, 1, True), "s2": (2, 6, False)}
    assert by["s1"].win_rate == approx(1 / 3)
    assert by["s1"].expectancy == approx(1 / 3)
    assert by["s1"].expectancy_r == approx(1 / 6)
    assert by["s1"].mean_hold_s == approx((2 + 30 + 1) * 1200)
    assert {b.key: (b.n, b.pnl) for b in breakdowns.by_instrument} == {"ETH/USDC": (2, 2), "BTC/USDC": (3, 5)}
    assert {b.key: (b.n, b.pnl) for b in breakdowns.by_side} == {"long": (4, 1), "short": (1, 6)}
    assert {b.key: (b.n, b.pnl) for b in breakdowns.by_exit_reason} == {"roi": (4, 9), "stop": (1, -2)}
    tags = {b.key: (b.n, b.pnl) for b in breakdowns.by_entry_tag}
    assert (tags["dip"], tags["break"]) == ((3, 1), (1, 6))
    assert sum(b.n for b in breakdowns.by_hour) == sum(b.n for b in breakdowns.by_weekday) == 5
    assert {b.key[:3].lower(): b.n for b in breakdowns.by_weekday} == {"mon": 3, "tue": 2}
    assert sum(b.n for b in breakdowns.by_holding_time) == 5
    assert breakdowns.concentration == approx(6 / 7)
    assert breakdowns.fee_drag == 0
    # in order of exit: +4 (3 h), +6 (5 h), -1 (27 h), 0 (28 h), -2 (32 h)
    assert breakdowns.longest_losing_streak == 1
    # without marks what is open when Monday ends moves no day: it counts when it is left
    assert [d.pnl for d in breakdowns.calendar] == approx([4 + 6, -1 + 0 - 2, 0, 0, 0, 0, 0])
    assert breakdowns.calendar[0].date == "2026-01-05"


def test_fee_drag_is_fees_and_costs_over_gross_gains(life: Life) -> None:
    """Gains of 10 and 5, fees 1, gas 2."""
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100, fee="0.5")
    life.fill(1, "p", "sell", 1, 110, fee="0.5")
    life.trade("q", (2, 100), (3, 105))
    life.tell(4, "cost", kind="gas", amount=2)
    life.until(WEEK)
    life.tell(5, "cost", kind="inference", amount=0.5)
    assert life.week().breakdowns.fee_drag == approx(3.5 / 15)


def test_share_below_inaction_and_the_rate(life: Life) -> None:
    life.market("ETH/USDC", {0: 100, 2: 103, 100: 103})
    life.trade("up", (0, 100), (2, 104), funded_with={"ETH": 1})  # +4 against +3
    life.trade("same", (0, 100), (2, 103), funded_with={"ETH": 1})  # exactly 0
    life.trade("down", (0, 100), (2, 102), funded_with={"ETH": 1})  # +2 against +3
    life.until(WEEK)
    week = life.week()
    assert week.effectiveness.inaction_superiority_rate == approx(1 / 3)
    assert week.effectiveness.sum_vs_inaction == approx(0)
    assert week.effectiveness.closed_positions == 3
    assert week.breakdowns.by_side[0].share_below_inaction == approx(1 / 3)


def test_the_score_by_hand(life: Life) -> None:
    """W 6, L 2; G and B from the components; PSR drops out where returns are not known."""
    for i, pnl in enumerate([4, -2, 2]):
        life.trade(f"p{i}", (i * 24, 100), (i * 24 + 1, 100 + pnl))
    life.tell(5, "cost", kind="gas", amount=1)
    life.until(WEEK)
    week = life.week()
    assert week.risk.psr is None
    gains, losses = 6, 2 + 1
    assert week.effectiveness.score == approx((0.4 * 6 / 8 + 0.3 * gains / (gains + losses)) / 0.7)


def test_fewer_than_two_parts_give_no_score(life: Life) -> None:
    life.tell(5, "cost", kind="gas", amount=1)
    life.until(WEEK)
    assert life.week().effectiveness.score is None
    assert "score" in life.week().effectiveness.reasons


def test_two_bad_weeks_raise_the_alarm_and_cap_the_score(life: Life) -> None:
    """Three of four below doing nothing (75 %) in both weeks, the sums negative."""
    for week in (0, 1):
        week_of_trades(life, week, [-1, -1, -1, 2.9])
    life.until(2 * WEEK)
    first, second = life.week(0).effectiveness, life.week(1).effectiveness
    assert (first.alarm, second.alarm) == (False, True)
    assert first.inaction_superiority_rate == second.inaction_superiority_rate == 0.75
    assert second.alarm_text
    assert second.score <= 0.30
    chance = sum(comb(4, k) * 0.75**k * 0.25 ** (4 - k) for k in (3, 4))  # six of its eight positions lost
    assert second.luck == approx(chance**2)
    assert second.luck_in_a_year == approx(a_year_of([chance] * 52))
    assert "loses 75 % of its trades" in second.alarm_text


@pytest.mark.parametrize("closed", [0, 2])
def test_luck_is_absent_where_no_two_weeks_can_raise_the_alarm(life: Life, closed: int) -> None:
    """Fewer than three closed positions raise no alarm: no chance of 0.0 % "at this agent's win rate"."""
    week_of_trades(life, 0, [-1, -1, -1, 2.9])
    week_of_trades(life, 1, [-1] * closed)
    life.until(2 * WEEK)
    effectiveness = life.week(1).effectiveness
    assert (effectiveness.luck, effectiveness.luck_in_a_year) == (None, None)
    why = "the alarm takes two weeks in a row, each with 3 closed positions"
    assert effectiveness.reasons["luck"] == effectiveness.reasons["luck_in_a_year"] == why
    assert "Luck alone" not in render(life.week(1), "text")


def a_year_of(chances: list[float]) -> float:
    """Chance of two in a row, counted from its end: what is left of the year after a week that came up, or did not."""
    after_quiet = after_one = 0.0
    for chance in reversed(chances):
        after_quiet, after_one = (
            chance * after_one + (1 - chance) * after_quiet,
            chance + (1 - chance) * after_quiet,
        )
    return after_quiet


def test_a_positive_sum_leaves_the_score_alone(life: Life) -> None:
    for week in (0, 1):
        week_of_trades(life, week, [-1, -1, -1, 30])
    life.until(2 * WEEK)
    effectiveness = life.week(1).effectiveness
    assert effectiveness.alarm
    assert effectiveness.score > 0.30


@pytest.mark.parametrize(
    ("first", "second", "alarm"),
    [
        ([-1] * 7 + [1] * 3, [-1] * 3, False),  # exactly 70 % is not above
        ([-1] * 8 + [1] * 3, [-1] * 3, True),
        ([-1, -1], [-1, -1, -1], False),  # two closed positions are too few
        ([-1, -1, -1], [-1, -1], False),
    ],
)
def test_when_the_alarm_is_raised(life: Life, first: list[int], second: list[int], alarm: bool) -> None:
    week_of_trades(life, 0, first)
    week_of_trades(life, 1, second)
    life.until(2 * WEEK)
    assert life.week(1).effectiveness.alarm is alarm


def test_the_week_before_is_a_week_whatever_the_clocks_did(tmp_path: Path) -> None:
    """London, October 2026: the week of the change has 169 hours. Sunday 23:30 of the week before last is not in it."""
    life = Life(tmp_path, owner={"time_zone": "Europe/London"})
    sunday = 41 * 7 * 24 - 1.5  # 18 October 22:30 UTC = 23:30 in London; weeks start at 23:00 UTC
    monday = sunday + 0.5
    for i in range(3):
        life.trade(f"old{i}", (sunday - 5, 100), (sunday, 99))
        life.trade(f"new{i}", (monday + 168 + 2, 100), (monday + 168 + 5 + i, 99))
    life.until(monday + 400)
    week = life.at("weekly", monday + 168 + 50)
    assert hours_of(week.period_end) - hours_of(week.period_start) == 168
    change = life.at("weekly", monday + 50)
    assert hours_of(change.period_end) - hours_of(change.period_start) == 169
    assert (change.effectiveness.closed_positions, change.effectiveness.alarm) == (0, False)
    assert (week.effectiveness.closed_positions, week.effectiveness.alarm) == (3, False)


def test_losing_streak_and_disposition(life: Life) -> None:
    """Losses in order of exit: 2 in a row, then a win, then 3."""
    for i, pnl in enumerate([-1, -2, 5, -1, -1, -1, 0]):
        life.trade(f"p{i}", (i * 5, 100), (i * 5 + 1, 100 + pnl))
    life.until(WEEK)
    assert life.week().breakdowns.longest_losing_streak == 3


def test_pgr_and_plr_by_hand(life: Life) -> None:
    """Sold on Monday: one gain, one loss. Held then: a paper gain, two paper losses."""
    life.market("ETH/USDC", {0: 100, 5: 100, 10: 100, 23: 100, 24: 100})
    life.trade("gain", (0, 90), (10, 100))
    life.trade("loss", (0, 120), (10, 100))
    for name, price in (("up", 95), ("down", 105), ("low", 110)):
        life.open(0, name)
        life.fill(0, name, "buy", 1, price)
    life.until(WEEK)
    breakdowns = life.week().breakdowns
    assert (breakdowns.pgr, breakdowns.plr) == approx((1 / 2, 1 / 3))


def test_predictions_by_hand(life: Life) -> None:
    """Hits: told; inside its interval; the predicted sign; a residual without judgement."""
    cases: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
        ({"predicted": 2.0, "low": 1, "high": 3, "category": "fees"}, {"actual": 2.5}, True),
        ({"predicted": 2.0, "low": 1, "high": 3, "category": "fees"}, {"actual": 3.5}, False),
        ({"predicted": 2.0, "category": "il"}, {"actual": 0.1}, True),
        ({"predicted": 2.0, "category": "il"}, {"actual": -0.1}, False),
        ({"predicted": -2.0, "category": "il"}, {"actual": -3.0}, True),
        ({"predicted": 2.0, "low": 1, "high": 3, "category": "fees"}, {"actual": 9, "correct": True}, True),
        ({"predicted": 2.0, "low": 1, "high": 3, "category": "fees"}, {"actual": 3}, True),  # closed interval
    ]
    for i, (prediction, resolution, _) in enumerate(cases):
        life.tell(i, "prediction", item="x", **prediction)
        life.tell(i + 0.5, "resolution", prediction=life.events[-1]["id"], **resolution)
    life.tell(10, "prediction", item="x", predicted=1, category="il")  # never resolved
    life.until(24)
    accuracy = life.day(0).prediction_accuracy
    residuals = [k["actual"] - m["predicted"] for m, k, _ in cases]
    assert (accuracy.total, accuracy.judged, accuracy.hits) == (7, 7, 5)
    assert accuracy.hit_rate == approx(5 / 7)
    assert accuracy.mean_residual == approx(sum(residuals) / 7)
    assert accuracy.mean_abs_residual == approx(sum(map(abs, residuals)) / 7)
    assert accuracy.interval_coverage == approx(2 / 4)
    assert accuracy.sample_sufficient is False
    assert {k: (v["total"], v["hits"]) for k, v in accuracy.by_category.items()} == {
        "fees": (4, 3),
        "il": (3, 2),
    }


def test_a_prediction_belongs_to_the_period_of_its_resolution(life: Life) -> None:
    life.tell(1, "prediction", predicted=1, category="c")
    life.tell(24, "resolution", prediction="e1", actual=1)
    life.until(48)
    assert [life.day(d).prediction_accuracy.total for d in (0, 1)] == [0, 1]


def test_a_position_knows_what_became_of_the_predictions_that_justified_it(life: Life) -> None:
    """Predicted before the decision, resolved on Monday; the position closes on Tuesday."""
    life.tell(0.5, "prediction", id="p1", category="c", predicted=2, low=1, high=3, decision="d1")
    life.tell(0.6, "prediction", id="p2", category="c", predicted=2, low=1, high=3, position="p")
    life.tell(1, "decision", id="d1", action="enter", position="p", reasoning="because")
    life.trade("p", (1, 100), (30, 104))
    life.tell(5, "resolution", prediction="p1", actual=2.5)
    life.tell(26, "resolution", prediction="p2", actual=9)
    life.until(48)
    for p in (life_of(life.day(1), "p"), life.position("p")):
        outcomes = {row.id: (row.actual, row.hit) for row in p.entry_predictions}
        assert outcomes == {"p1": (2.5, True), "p2": (9, False)}
    assert life.day(1).prediction_accuracy.total == 1


def test_thirty_predictions_are_a_sample(life: Life) -> None:
    for i in range(30):
        life.tell(i / 10, "prediction", predicted=1, category="c")
        life.tell(i / 10 + 0.01, "resolution", prediction=life.events[-1]["id"], actual=1)
    life.until(24)
    assert life.day(0).prediction_accuracy.sample_sufficient is True


def test_confidence_grows_with_resolved_decisions(life: Life) -> None:
    for i in range(6):
        life.trade(f"p{i}", (i, 100), (i + 0.5, 101), cites=["H-1"])
    life.until(24)
    document = life.day(0)
    assert document.resolved_decisions == 6
    assert document.confidence == approx(6 / 16)


def test_an_agent_that_did_nothing_has_no_rates(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 10}, value=10)
    life.until(DAY)
    document = life.day(0)
    assert document.confidence == 0
    assert document.effectiveness.inaction_superiority_rate is None
    assert document.breakdowns.by_side == []
    assert (document.breakdowns.fee_drag, document.breakdowns.concentration) == (None, None)
    assert document.prediction_accuracy.hit_rate is None
