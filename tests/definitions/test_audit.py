"""The citation audit against the definitions: outcomes, sharing, thresholds, roles, evidence, units."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, sqrt
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.oracle import DAY, WEEK, Life, approx, clock, life, life_of, row_of, student_p

__all__ = ["life"]


def outcomes(life: Life, name: str, results: Iterable[float], start: float = 0.0, gap: float = 3.0) -> None:
    """Trades of 1 ETH from 100 whose pnl are `results`, an hour long, citing `name` at entry."""
    for i, pnl in enumerate(results):
        at = start + i * gap
        life.trade(f"{name}-{i}", (at, 100), (at + 1, 100 + pnl), cites=[name])


def test_the_specifications_own_example(life: Life) -> None:
    """H-7: 2.10, -4.80, -3.60 on three days: average -2.10, one win in three, demote, -11.26..+7.06; no bet yet."""
    outcomes(life, "H-7", [2.10, -4.80, -3.60], gap=24)
    life.until(WEEK)
    row = row_of(life.week(), "H-7")
    assert (row.citation_count, row.evaluated_count) == (3, 3)
    assert (row.associated_pnl, row.avg_pnl_per_citation) == approx((-6.3, -2.1))
    assert row.shared_pnl == approx(-6.3)
    assert row.win_rate == approx(1 / 3)
    assert row.recommendation.kind == "demote"
    assert (row.evidence, row.interval) == ("none", None)
    assert row.interval_one_look == pytest.approx([-11.26, 7.06], abs=0.005)
    assert row.interval_method == "t"
    assert (row.evidence_n, row.evidence_days) == (3, 3)
    assert row.largest_share == approx(4.8 / 8.4)  # of the gross loss it belongs to
    assert row.recommendation_without_largest == "insufficient_data"
    # the only outcomes of the role are its own: shrunk towards their mean is that mean
    assert row.shrunk_mean == approx(-2.1)


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        ([-50, -50], "insufficient_data"),
        ([-1, -1, -1], "investigate"),
        ([-1, -1, -1.000001], "demote"),
        ([0.5, 0.5, 0.5], "keep"),
        ([0.5, 0.5, 0.499999], "investigate"),
        ([5, 1, 2], "keep"),
    ],
)
def test_thresholds_apply_in_order_to_unrounded_values(life: Life, results: Any, kind: str) -> None:
    outcomes(life, "H-1", results)
    life.until(WEEK)
    assert row_of(life.week(), "H-1").recommendation.kind == kind


def test_a_pnl_of_zero_is_no_win(life: Life) -> None:
    outcomes(life, "H-1", [0, 0, 3])
    life.until(WEEK)
    assert row_of(life.week(), "H-1").win_rate == approx(1 / 3)


def test_repeats_raise_the_count_and_nothing_else(life: Life) -> None:
    """Entered, held twice and increased by a decision that cites the same rule: one outcome."""
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.tell(0, "decision", action="enter", position="p", cites=["H-1", "H-1"])
    life.tell(1, "decision", action="hold", position="p", cites=["H-1"])
    life.tell(2, "decision", action="hold", position="p", cites=["H-1"])
    life.fill(3, "p", "buy", 1, 104)
    life.tell(3, "decision", action="increase", position="p", cites=["H-1"])
    life.fill(9, "p", "sell", 2, 106)
    life.until(10)
    row = row_of(life.week(), "H-1")
    assert (row.citation_count, row.evaluated_count) == (4, 1)
    assert row.associated_pnl == approx(6 + 2)


def test_an_increase_gets_the_pnl_of_its_own_lots(life: Life) -> None:
    """1 at 100 by H-1, 2 at 104 by H-2 (fee 0.2), all sold at 106 (fee 0.3)."""
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.tell(0, "decision", action="enter", position="p", cites=["H-1"])
    life.fill(3, "p", "buy", 2, 104, fee="0.2")
    life.tell(3, "decision", action="increase", position="p", cites=["H-2"])
    life.fill(9, "p", "sell", 3, 106, fee="0.3")
    life.until(10)
    document = life.week()
    final = life_of(document, "p").final_pnl
    assert final == approx(6 + 4 - 0.5)
    assert row_of(document, "H-1").associated_pnl == approx(final)
    assert row_of(document, "H-2").associated_pnl == approx(2 * 2 - 0.2 - 0.2)
    # H-1 shares with nobody, nor does H-2: the set of (entry, p) is {H-1}, the increase alone has its own
    assert row_of(document, "H-1").shared_pnl == approx(final)
    assert row_of(document, "H-2").shared_pnl == approx(4 - 0.4)


def test_enter_beats_increase_for_a_rule_cited_by_both(life: Life) -> None:
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.tell(0, "decision", action="enter", position="p", cites=["H-1", "H-2"])
    life.fill(3, "p", "buy", 1, 104)
    life.tell(3, "decision", action="increase", position="p", cites=["H-2", "H-3"])
    life.fill(9, "p", "sell", 2, 106)
    life.until(10)
    document = life.week()
    rows = {h: row_of(document, h) for h in ("H-1", "H-2", "H-3")}
    assert [rows[h].associated_pnl for h in rows] == approx([8, 8, 2])
    # H-2 is judged by the entry, so what the increase made is H-3's alone: shares add up to outcomes
    assert [rows[h].shared_pnl for h in rows] == approx([4, 4, 2])
    assert [rows[h].citation_count for h in rows] == [1, 2, 1]


def test_increases_of_one_position_are_one_outcome_of_a_rule(life: Life) -> None:
    """1 at 102 by H-2, then 1 at 104 by H-2 and H-3; the entry cites nothing."""
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    for hours, price, cites in ((2, 102, ["H-2"]), (4, 104, ["H-2", "H-3"])):
        life.fill(hours, "p", "buy", 1, price)
        life.tell(hours, "decision", action="increase", position="p", cites=cites)
    life.fill(9, "p", "sell", 3, 110)
    life.until(10)
    document = life.week()
    two, three = row_of(document, "H-2"), row_of(document, "H-3")
    assert (two.citation_count, two.evaluated_count, three.evaluated_count) == (2, 1, 1)
    assert (two.associated_pnl, three.associated_pnl) == approx((8 + 6, 6))
    assert (two.shared_pnl, three.shared_pnl) == approx((8 + 3, 3))


def test_shared_credit_adds_up_to_the_outcomes(life: Life) -> None:
    """The set of a position is everything cited for its entry, by enter and by hold."""
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.tell(0, "decision", action="enter", position="p", cites=["H-1", "dip"])
    life.tell(1, "decision", action="hold", position="p", cites=["H-2"])
    life.fill(9, "p", "sell", 1, 110)
    life.trade("q", (2, 100), (4, 95), cites=["dip"])
    life.until(10)
    document = life.week()
    rows = [r for r in document.heuristic_performance if r.role == "entry"]
    assert {r.heuristic_id: r.shared_pnl for r in rows} == {
        "H-1": approx(10 / 3),
        "H-2": approx(10 / 3),
        "dip": approx(10 / 3 - 5),
    }
    assert fsum(r.shared_pnl or 0.0 for r in rows) == approx(5)


def test_ids_are_read_from_the_reasoning_where_no_cites_are_given(life: Life) -> None:
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.tell(0, "decision", action="enter", position="p", reasoning="Per H-7 and H-12 (not XH-3, H-7 again)")
    life.fill(2, "p", "sell", 1, 103)
    life.tell(
        2, "decision", action="exit", position="p", cites=[], reasoning="H-9 is not cited: cites is empty"
    )
    life.until(10)
    rows = life.week().heuristic_performance
    assert {(r.heuristic_id, r.role, r.citation_count) for r in rows} == {
        ("H-7", "entry", 1),
        ("H-12", "entry", 1),
    }


def test_skip_without_a_position_is_counted_and_has_no_outcome(life: Life) -> None:
    life.tell(0, "decision", action="skip", cites=["H-4"])
    life.until(10)
    row = row_of(life.week(), "H-4")
    assert (row.citation_count, row.evaluated_count) == (1, 0)
    assert row.recommendation.kind == "insufficient_data"
    assert row.avg_pnl_per_citation is None


def test_a_citation_that_is_not_resolved_counts_but_is_not_evaluated(life: Life) -> None:
    life.marks("ETH", {0: 100, 20: 101})
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.tell(0, "decision", action="enter", position="p", cites=["H-1"])
    life.until(20)
    row = row_of(life.week(), "H-1")
    assert (row.citation_count, row.evaluated_count, row.associated_pnl) == (
        1,
        0,
        None,
    ) or row.associated_pnl == 0
    assert row.evidence == "none"


def test_an_outcome_belongs_to_the_period_in_which_it_resolves(life: Life) -> None:
    """Entered on Monday, closed on Tuesday: cited on Monday, evaluated on Tuesday."""
    life.trade("p", (1, 100), (30, 107), cites=["H-1"])
    life.until(48)
    monday, tuesday = row_of(life.day(0), "H-1"), row_of(life.day(1), "H-1")
    assert (monday.citation_count, monday.evaluated_count) == (1, 0)
    assert (tuesday.evaluated_count, tuesday.associated_pnl) == (1, 7)


@pytest.mark.parametrize(
    ("side", "later", "outcome"),
    [("long", 90, 20), ("long", 113, -26), ("short", 113, 26), ("short", 90, -20)],
)
def test_an_exit_is_judged_by_what_it_avoided(life: Life, side: str, later: int, outcome: int) -> None:
    """-side x quantity x (mark at exit + h - fill): 2 ETH out at 100 after 5 h, judged 5 h later."""
    life.marks("ETH", dict.fromkeys(range(10), 100) | {10: later})
    life.trade("p", (0, 100), (5, 100), 2, side, cites=["H-1"], exit_cites=["H-15"])
    life.until(12)
    document = life.week()
    assert row_of(document, "H-15", "exit").associated_pnl == approx(outcome)
    assert row_of(document, "H-1").associated_pnl == 0
    assert {(r.heuristic_id, r.role) for r in document.heuristic_performance} == {
        ("H-1", "entry"),
        ("H-15", "exit"),
    }


@pytest.mark.parametrize(("leave", "day"), [(11, 0), (12, 1), (13, 1)])
def test_an_exit_resolves_in_the_period_of_its_horizon(life: Life, leave: int, day: int) -> None:
    """Entered at 0, out at `leave`: judged at twice that hour; 24 is the next day's."""
    life.market("ETH/USDC", {h: 100 + h for h in range(48)})
    life.trade("p", (0, 100), (leave, 100 + leave), exit_cites=["H-15"])
    life.until(48)
    for d in (0, 1):
        row = [r for r in life.day(d).heuristic_performance if r.role == "exit"]
        evaluated = row[0].evaluated_count if row else 0
        assert evaluated == (d == day)
    assert row_of(life.week(), "H-15", "exit").associated_pnl == approx(-leave)


def test_an_exit_whose_horizon_has_no_mark_stays_unresolved(life: Life) -> None:
    life.marks("ETH", dict.fromkeys(range(6), 100))
    life.trade("p", (0, 100), (5, 100), exit_cites=["H-15"])
    life.until(40)
    row = row_of(life.week(), "H-15", "exit")
    assert (row.citation_count, row.evaluated_count) == (1, 0)


def test_a_reduce_is_an_exit_citation(life: Life) -> None:
    """One outcome for (H-15, exit, p), however often it is cited."""
    life.marks("ETH", dict.fromkeys(range(5), 100) | dict.fromkeys(range(5, 12), 110))
    life.open(0, "p")
    life.fill(0, "p", "buy", 3, 100)
    life.fill(2, "p", "sell", 1, 100)
    life.tell(2, "decision", action="reduce", position="p", cites=["H-15"])
    life.fill(4, "p", "sell", 2, 100)
    life.tell(4, "decision", action="exit", position="p", cites=["H-15"])
    life.until(12)
    row = row_of(life.week(), "H-15", "exit")
    assert (row.citation_count, row.evaluated_count) == (2, 1)
    assert row.associated_pnl < 0


def test_units_of_the_thresholds(tmp_path: Path) -> None:
    """-1.5 dollars each: below -1.0 usd; at a risk of 10 -0.15 R, below -0.10; of 20 -0.075 R, above it; -37.5 bps of 400."""
    for unit, risk, average, kind in (
        ("usd", 10, -1.5, "demote"),
        ("r", 10, -0.15, "demote"),
        ("r", 20, -0.075, "investigate"),
        ("bps", 10, -37.5, "demote"),
    ):
        life = Life(tmp_path, f"{unit}{risk}", retrospective={"heuristic_threshold_unit": unit})
        for i in range(3):
            life.trade(f"p{i}", (i * 3, 100), (i * 3 + 1, 99.625), 4, cites=["H-1"], risk=risk)
        life.until(20)
        row = row_of(life.week(), "H-1")
        assert row.threshold_unit == unit
        assert row.avg_in_unit == approx(average)
        assert row.recommendation.kind == kind
        assert row.avg_pnl_per_citation == approx(-1.5)


def test_the_default_unit_is_dollars_only_where_money_is_dollars(tmp_path: Path) -> None:
    for base, unit in (("USDT", "usd"), ("BTC", "bps"), ("EUR", "bps")):
        life = Life(tmp_path, base, owner={"base_currency": base})
        life.trade("p", (0, 100), (1, 101), cites=["H-1"], instrument=f"ETH/{base}")
        life.until(20)
        assert row_of(life.week(), "H-1").threshold_unit == unit


def test_outcomes_may_be_those_against_doing_nothing(tmp_path: Path) -> None:
    life = Life(tmp_path, retrospective={"entry_outcome": "vs_inaction"})
    life.marks("ETH", {0: 100, 5: 130})
    life.marks("BTC", {0: 1000, 5: 1050})
    life.trade("p", (0, 1000), (5, 1050), cites=["H-1"], instrument="BTC/USDC", funded_with={"ETH": 10})
    life.until(20)
    assert row_of(life.week(), "H-1").associated_pnl == approx(50 - 300)


def test_evidence_is_cumulative_and_counts_are_the_periods(life: Life) -> None:
    """Three outcomes a week for four weeks."""
    results = [1, 2, 3, -2, 5, 4, 2, 2, -1, 3, 4, 1]
    for i, pnl in enumerate(results):
        at = (i // 3) * WEEK + (i % 3) * DAY + 5
        life.trade(f"p{i}", (at, 100), (at + 2, 100 + pnl), cites=["H-1"])
    life.until(4 * WEEK)
    first, last = row_of(life.week(0), "H-1"), row_of(life.week(3), "H-1")
    assert (first.evaluated_count, first.evidence_n) == (3, 3)
    assert (last.evaluated_count, last.evidence_n, last.evidence_days) == (3, 12, 12)
    assert last.avg_pnl_per_citation == approx(8 / 3)
    assert last.interval_method == "t"
    mean = fsum(results) / 12
    assert last.shrunk_mean == approx(mean)
    variance = 12 / 11 * fsum((x - mean) ** 2 for x in results) / 144
    assert last.p_value == pytest.approx(student_p(mean / sqrt(variance), 11), abs=1e-9)


def test_trades_of_one_day_count_as_one_for_the_interval(life: Life) -> None:
    """Nine trades on three days: G = 3, the clustered variance by hand."""
    days = [[1, 2, 3], [-1, -2, 0], [4, 5, 3]]
    for d, day in enumerate(days):
        for i, pnl in enumerate(day):
            life.trade(f"p{d}{i}", (24 * d + i, 100), (24 * d + i + 0.5, 100 + pnl), cites=["H-1"])
    life.until(WEEK)
    row = row_of(life.week(), "H-1")
    mean = 15 / 9
    variance = 3 / 2 * fsum(fsum(x - mean for x in day) ** 2 for day in days) / 81
    half = 4.302652729911275 * sqrt(variance)  # t(0.975, 2)
    assert row.interval_one_look == pytest.approx([mean - half, mean + half], abs=1e-7)
    assert (row.evidence_n, row.evidence_days, row.interval_method) == (9, 3, "t")


def test_one_day_gives_no_interval(life: Life) -> None:
    outcomes(life, "H-1", [1, 2, 3], gap=2)
    life.until(WEEK)
    row = row_of(life.week(), "H-1")
    assert (row.interval_one_look, row.p_value) == (None, None)
    assert {"interval_one_look", "p_value"} <= row.reasons.keys()


def test_the_difference_from_uncited_decisions_is_a_memo(life: Life) -> None:
    outcomes(life, "H-1", [5, 5, 5], gap=24)
    outcomes(life, "dip", [1, 2, 0, 1], start=3, gap=24)
    life.until(WEEK)
    row = row_of(life.week(), "H-1")
    assert (row.uncited_count, row.uncited_avg, row.uncited_difference) == (4, 1, 4)


def test_always_cited_together_is_not_separable(life: Life) -> None:
    for i, pnl in enumerate([1, 2, 3]):
        life.trade(f"p{i}", (i * 24, 100), (i * 24 + 1, 100 + pnl), cites=["H-1", "H-2"])
    life.trade("alone", (80, 100), (81, 101), cites=["H-3"])
    life.until(WEEK)
    document = life.week()
    assert [(p.heuristic_id, p.jaccard) for p in row_of(document, "H-1").inseparable_from] == [("H-2", 1)]
    assert row_of(document, "H-3").inseparable_from == []


def test_a_jaccard_of_exactly_four_fifths_is_separable(life: Life) -> None:
    for i in range(5):
        cites = ["H-1", "H-2"] if i < 4 else ["H-1"]
        life.trade(f"p{i}", (i * 24, 100), (i * 24 + 1, 101), cites=cites)
    life.until(WEEK)
    assert row_of(life.week(), "H-1").inseparable_from == []


def test_actions_carry_what_they_realised_and_cited(life: Life) -> None:
    life.trade("p", (0, 100), (5, 107), cites=["H-1"], exit_cites=["H-15"])
    life.until(20)
    actions = [a for a in life.day(0).actions_taken if a.position_id == "p"]
    leave = [a for a in actions if a.action == "exit"]
    assert leave
    assert leave[0].at == clock(5)
    assert leave[0].realized_pnl == approx(7)
    assert leave[0].cites == ["H-15"]
