"""Bets on a rule's percentiles: worked by hand, one unit a complete week."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from retro.evaluate.luck.rules import rule_rows
from retro.evaluate.luck.trades import ClosedTrade
from retro.kernels.betting import STAKES
from retro.periods import DAY, HOUR, WEEK

MONDAY = 4 * DAY  # 1970-01-05


def trade(name: str, left_at: int, *cites: str) -> ClosedTrade:
    return ClosedTrade(name, "ETH/USDC", left_at - HOUR, left_at, 1.0, 100.0, 0.0, 1.0, left_at // DAY, cites)


def test_a_week_is_bet_on_once_with_the_mean_of_its_positions_and_only_when_it_is_complete() -> None:
    ranked = [
        (trade("a", MONDAY + DAY, "H-1"), 1.0),
        (trade("b", MONDAY + 2 * DAY, "H-1"), 0.5),  # the week's unit: (1 + 0)/2 = .5
        (trade("c", MONDAY + 2 * WEEK + DAY, "H-1"), 0.1),  # -.8
        (trade("d", MONDAY + 3 * WEEK + DAY, "H-1"), 0.9),  # in a week that is not over
    ]
    [row] = rule_rows(ranked, MONDAY + 3 * WEEK + 2 * DAY, None)
    assert (row.heuristic, row.role, row.n, row.weeks) == ("H-1", "entry", 4, 2)
    assert row.mean_percentile == pytest.approx(0.625)
    stakes = STAKES.tolist()
    assert row.e_for == pytest.approx(sum((1 + 0.5 * c) * (1 - 0.8 * c) for c in stakes) / 7)
    assert row.e_against == pytest.approx(sum((1 - 0.5 * c) * (1 + 0.8 * c) for c in stakes) / 7)
    [row] = rule_rows(ranked, MONDAY + 4 * WEEK, None)
    assert row.weeks == 3


def test_a_week_ends_at_the_owners_midnight() -> None:
    late = [(trade("a", MONDAY - HOUR // 2, "H-1"), 0.9), (trade("b", MONDAY + HOUR, "H-1"), 0.9)]
    assert rule_rows(late, MONDAY + WEEK, None)[0].weeks == 2
    assert rule_rows(late, MONDAY + WEEK, ZoneInfo("Europe/Berlin"))[0].weeks == 1


def test_without_a_complete_week_there_are_no_odds_and_a_reason() -> None:
    [row] = rule_rows([(trade("a", MONDAY + DAY, "H-1"), 0.9)], MONDAY + 2 * DAY, None)
    assert (row.e_for, row.e_against, row.evidence, row.weeks) == (None, None, "none", 0)
    assert "complete" in row.reasons["e_for"]
    assert row.interval is None
    assert "one day" in row.reasons["interval"]


def test_evidence_is_said_of_rules_as_one_family() -> None:
    def weekly(rule: str, u: float, weeks: int) -> list[tuple[ClosedTrade, float]]:
        return [(trade(f"{rule}{n}", MONDAY + n * WEEK + DAY, rule), u) for n in range(weeks)]

    until = MONDAY + 60 * WEEK
    [best] = rule_rows(weekly("H-1", 0.9, 12), until, None)
    assert best.evidence == "supported"
    many = weekly("H-1", 0.9, 12) + [row for n in range(2, 200) for row in weekly(f"H-{n}", 0.51, 12)]
    among = {row.heuristic: row for row in rule_rows(many, until, None)}
    assert among["H-1"].e_for == best.e_for
    assert among["H-1"].evidence == "suggestive"
    assert [row.heuristic for row in rule_rows(many, until, None)][:3] == ["H-1", "H-2", "H-3"]
    [worst] = rule_rows(weekly("H-1", 0.1, 12), until, None)
    assert (worst.e_against, worst.evidence) == (pytest.approx(best.e_for), "supported")
