"""The citation audit: the decision rule, credit, evidence, the largest trade, inseparable heuristics."""

from __future__ import annotations

import json
import math
import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import audit
from retro.kernels.terms import Thresholds
from retro.kernels.uncertainty import by_day, mean_estimate
from tests.worlds.places import GOLDEN
from tests.worlds.work import calls_in

HEURISTICS = json.loads((GOLDEN / "heuristics.json").read_text())
RULE = HEURISTICS["decision_rule_min3_demote-1_investigate0.5"]
H7 = [2.10, -4.80, -3.60]

KIND = {
    "InsufficientData": "insufficient_data",
    "Demote": "demote",
    "Investigate": "investigate",
    "Keep": "keep",
}

citations = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=40)
outcomes = st.lists(st.floats(-100, 100), min_size=9, max_size=9)


def columns(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [h for h, _ in pairs], [o for _, o in pairs]


# the decision rule


@pytest.mark.parametrize("row", RULE, ids=lambda row: row["name"])
def test_decision_rule_has_the_published_boundaries(row: Any) -> None:
    assert audit.recommend(row["n"], row["avg"]) == KIND[row["expect"]]


def test_configured_thresholds_replace_the_seeds() -> None:
    strict = Thresholds(min_citations=5, demote=0.0, investigate=2.0)
    assert audit.recommend(4, 9.0, strict) == "insufficient_data"
    assert audit.recommend(5, -0.001, strict) == "demote"
    assert audit.recommend(5, 0.0, strict) == "investigate"
    assert audit.recommend(5, 2.0, strict) == "keep"


@given(st.integers(0, 20), st.floats(-10, 10), st.floats(0, 5))
@settings(max_examples=100, deadline=None)
def test_a_better_average_never_earns_a_worse_word(n: int, average: float, gain: float) -> None:
    ladder = ["demote", "investigate", "keep"]
    before, after = audit.recommend(n, average), audit.recommend(n, average + gain)
    if "insufficient_data" in (before, after):
        assert before == after
    else:
        assert ladder.index(after) >= ladder.index(before)


def test_seed_heuristic_h7_is_demoted_by_its_average() -> None:
    """-2.10 on average, one win of three, interval -11.26..+7.06: a policy choice, not a proof."""
    credit = audit.credit(H7, [0, 0, 0], [0, 1, 2], 1)
    average = credit.full[0] / credit.evaluated[0]
    assert average == pytest.approx(-2.10)
    assert credit.wins[0] / credit.evaluated[0] == pytest.approx(1 / 3)
    assert audit.recommend(int(credit.evaluated[0]), average) == "demote"
    estimate = mean_estimate(by_day(H7, [1, 2, 3]))
    assert [round(x, 2) for x in estimate.interval or ()] == [-11.26, 7.06]
    assert estimate.p == pytest.approx(0.4278162800689622)


# credit


def test_full_and_shared_credit_agree_with_the_worked_example() -> None:
    row = HEURISTICS["multi_citation"]
    table = np.array(row["citations"])
    decisions, heuristics = np.nonzero(table)
    got = audit.credit(row["pnl"], heuristics, decisions, table.shape[1])
    assert got.full == pytest.approx(np.array(row["full_credit"]), abs=1e-9)
    assert got.shared == pytest.approx(np.array(row["shared_credit"]), abs=1e-9)
    assert got.shared.sum() == pytest.approx(row["cited_pnl_total"], abs=1e-9)
    uncited = [np.array(row["pnl"])[table[:, h] == 0].mean() for h in range(table.shape[1])]
    assert uncited == pytest.approx(row["baseline_uncited_mean"], abs=1e-9)


def test_sharing_evenly_is_the_shapley_value() -> None:
    """Average marginal contribution over all orders in which heuristics could have been learnt."""
    example = HEURISTICS["multi_citation"]["shapley_unanimity_example"]
    names = sorted(example["shapley"])
    sets = [{names.index(h) for h in cited} for cited, _ in example["decisions"]]
    pnl = [value for _, value in example["decisions"]]
    pairs = [(h, o) for o, cited in enumerate(sets) for h in cited]
    got = audit.credit(pnl, *columns(pairs), len(names)).shared
    assert dict(zip(names, got.tolist(), strict=True)) == pytest.approx(example["shapley"])
    marginal = np.zeros(len(names))
    for order in permutations(range(len(names))):
        for i, h in enumerate(order):
            learnt_before, learnt = set(order[:i]), set(order[: i + 1])
            marginal[h] += sum(
                v for s, v in zip(sets, pnl, strict=True) if s <= learnt and not s <= learnt_before
            )
    assert got == pytest.approx(marginal / math.factorial(len(names)))


@given(citations, outcomes)
@settings(max_examples=100, deadline=None)
def test_shared_credit_adds_up_to_the_cited_outcomes(
    pairs: list[tuple[int, int]], values: list[float]
) -> None:
    got = audit.credit(values, *columns(pairs), 6)
    cited = {o for _, o in pairs}
    assert math.fsum(got.shared) == pytest.approx(math.fsum(values[o] for o in cited), abs=1e-9)
    for h in range(6):
        own = {o for who, o in pairs if who == h}
        assert got.evaluated[h] == len(own)
        assert got.full[h] == pytest.approx(math.fsum(values[o] for o in own), abs=1e-9)
        assert got.wins[h] == sum(values[o] > 0 for o in own)


@given(citations, outcomes, st.randoms())
@settings(max_examples=60, deadline=None)
def test_citing_twice_or_in_another_order_changes_nothing(
    pairs: list[tuple[int, int]], values: list[float], shuffle: random.Random
) -> None:
    once = audit.credit(values, *columns(pairs), 6)
    again = [*pairs, *pairs[:7]]
    shuffle.shuffle(again)
    twice = audit.credit(values, *columns(again), 6)
    for field in ("evaluated", "wins", "full", "shared"):
        assert getattr(once, field).tolist() == getattr(twice, field).tolist()


def test_unresolved_outcomes_earn_no_credit_and_zero_is_no_win() -> None:
    got = audit.credit([math.nan, 0.0, 3.0], [0, 0, 0, 1], [0, 1, 2, 2], 3)
    assert got.evaluated.tolist() == [2, 1, 0]
    assert got.wins.tolist() == [1, 1, 0]
    assert got.full.tolist() == [3.0, 3.0, 0.0]
    assert got.shared.tolist() == [1.5, 1.5, 0.0]


# the largest trade


def test_h7_is_mostly_one_trade() -> None:
    got = audit.largest_trade(H7)
    assert (got.index, got.outcome) == (1, -4.80)
    assert got.share == pytest.approx(4.80 / 8.40)
    assert got.average_without == pytest.approx(-0.75)
    assert got.recommendation_without == "insufficient_data"


def test_one_lucky_trade_can_be_all_that_keeps_a_heuristic() -> None:
    got = audit.largest_trade([40.0, -1.2, -1.4, -1.1])
    assert got.share == 1.0
    assert got.recommendation_without == "demote"
    assert audit.recommend(4, (40.0 - 3.7) / 4) == "keep"


def test_largest_trade_of_little_or_nothing() -> None:
    assert audit.largest_trade([]) is None
    only = audit.largest_trade([-2.0])
    assert (only.share, only.average_without, only.recommendation_without) == (1.0, None, "insufficient_data")
    flat = audit.largest_trade([0.0, 0.0, 0.0, 0.0])
    assert (flat.index, flat.share, flat.average_without) == (0, None, 0.0)
    assert audit.largest_trade([2.0, -2.0]).index == 0


# heuristics that are always cited together


def test_heuristics_cited_together_are_named_as_partners() -> None:
    """0 and 1 share five of six outcomes, 2 shares exactly four of five with 3: 0.8 is still separable."""
    pairs = [(0, o) for o in range(6)] + [(1, o) for o in range(5)]
    pairs += [(2, o) for o in range(10, 15)] + [(3, o) for o in range(10, 14)]
    got = audit.inseparable(*columns(pairs))
    assert {index: row.nearest for index, row in got.items()} == {0: ((1, 5 / 6),), 1: ((0, 5 / 6),)}
    assert {row.count for row in got.values()} == {1}


def test_of_many_partners_the_nearest_are_named_and_all_are_counted() -> None:
    """0 to 4 are cited for the same ten outcomes, 5 and 6 for nine of them, 7 for half: 2 is nearest to its like."""
    pairs = [(h, o) for h in range(5) for o in range(10)]
    pairs += [(h, o) for h in (5, 6) for o in range(9)] + [(7, o) for o in range(5)]
    got = audit.inseparable(*columns(pairs), most=5)
    assert got[2].nearest == ((0, 1.0), (1, 1.0), (3, 1.0), (4, 1.0), (5, 0.9))
    assert got[6].nearest == ((5, 1.0), (0, 0.9), (1, 0.9), (2, 0.9), (3, 0.9))
    assert [got[h].count for h in range(7)] == [6] * 7
    assert 7 not in got


def test_thousands_of_tags_of_one_outcome_are_no_square() -> None:
    def work(tags: int) -> int:
        pairs = [(h, 0) for h in range(tags)] + [(h, 1 + h % 50) for h in range(tags)]
        return calls_in(lambda: audit.inseparable(*columns(pairs)))

    assert work(2000) < 2.25 * work(1000)


@given(citations)
@settings(max_examples=100, deadline=None)
def test_partners_are_those_whose_citation_sets_overlap(pairs: list[tuple[int, int]]) -> None:
    cited = {h: {o for who, o in pairs if who == h} for h, _ in pairs}
    expected = {
        (i, j): len(cited[i] & cited[j]) / len(cited[i] | cited[j])
        for i in cited
        for j in cited
        if i != j and len(cited[i] & cited[j]) / len(cited[i] | cited[j]) > 0.8
    }
    got = audit.inseparable(*columns(pairs))
    assert {(i, j): jaccard for i, row in got.items() for j, jaccard in row.nearest} == expected
    assert all(row.count == len(row.nearest) for row in got.values())
