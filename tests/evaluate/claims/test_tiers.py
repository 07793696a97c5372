"""Tiers of inference, from tables worked out by hand."""

from __future__ import annotations

from typing import Literal

import pytest

from retro.evaluate.claims.fold import folded
from retro.evaluate.claims.record import ClaimHistory
from retro.evaluate.claims.tiers import tier_report
from retro.evaluate.claims.totals import totals_of
from retro.evaluate.terms import ClaimTerms, TierTerms
from retro.model import Decision, Prediction, Resolution
from retro.report.evaluators.tiers import TierAdvice, TierRow

SECOND = 1_000_000
Lot = tuple[Literal["T0", "T1", "T2"] | None, str, int, int, str | None]
"""Tier, category, how many predictions were right, of how many, how hard they were."""


def history(*lots: Lot) -> ClaimHistory:
    pairs, decisions = [], {}
    for k, (tier, category, right, judged, difficulty) in enumerate(lots):
        decision = Decision(
            id=f"d{k}",
            agent="a",
            at=0,
            action="hold",
            tier=tier,
            difficulty=difficulty,
        )
        decisions[decision.id] = decision
        for n in range(judged):
            name = f"{k}-{n}"
            forecast = Prediction(id=name, agent="a", at=SECOND, category=category, decision=f"d{k}")
            word = Resolution(id=name, agent="a", at=2 * SECOND, prediction=name, correct=n < right)
            pairs.append((forecast, word))
    return folded(ClaimHistory(), pairs, ClaimTerms(), decisions)


def advice_of(
    *lots: Lot, costs: dict[str, float | None] | None = None, worth: float | None = None
) -> list[TierAdvice]:
    costs = {"T1": 0.1, "T2": 1.0} if costs is None else costs
    return tier_report(totals_of(history(*lots), 1).tiers, costs, TierTerms(20, 1.5, worth), 1).recommendation


def test_rows_by_hand() -> None:
    """`price`: T1 30 of 40, T2 34 of 40, no T0: 64 of 80 right, so .8 without. `yield`: T0 5 of 10, T1 6 of 10.

    50 predictions of T1 cost 1: .02 each. 40 of T2 cost 2: .05 each.
    """
    lots: list[Lot] = [
        ("T1", "price", 30, 40, None),
        ("T2", "price", 34, 40, None),
        ("T0", "yield", 5, 10, None),
        ("T1", "yield", 6, 10, None),
        (None, "price", 0, 7, None),
    ]
    report = tier_report(totals_of(history(*lots), 1).tiers, {"T1": 1.0, "T2": 2.0}, TierTerms(), 1)

    def figures(row: TierRow) -> tuple[object, ...]:
        return (
            row.category,
            row.tier,
            row.n,
            row.accuracy,
            (row.baseline, row.baseline_n),
            row.gain,
            row.cost,
            row.effectiveness,
        )

    assert [figures(row) for row in report.rows] == [
        ("price", "T1", 40, 0.75, (0.8, 80), pytest.approx(-0.05), pytest.approx(0.8), pytest.approx(-2.5)),
        ("price", "T2", 40, 0.85, (0.8, 80), pytest.approx(0.05), 2.0, pytest.approx(1.0)),
        ("yield", "T0", 10, 0.5, (0.5, 10), 0.0, 0.0, None),
        ("yield", "T1", 10, 0.6, (0.5, 10), pytest.approx(0.1), pytest.approx(0.2), pytest.approx(5.0)),
    ]
    assert report.rows[2].reasons == {"effectiveness": "T0 costs nothing: the others are held against it"}
    (advice,) = report.recommendation
    assert (advice.category, advice.difficulty, advice.kind) == ("price", None, "keep")
    assert advice.incremental == pytest.approx(0.1 / 0.03)
    assert "hard questions go to the higher tier" in advice.reason


FREE: Lot = ("T0", "price", 10, 20, None)  # right in half: what the others gain beyond .5


@pytest.mark.parametrize(
    ("cheap", "dear", "kind"),
    [
        (("T1", "price", 19, 19, None), ("T2", "price", 20, 40, None), "insufficient"),
        (("T1", "price", 20, 40, None), ("T2", "price", 10, 40, None), "use_T0"),
        (("T1", "price", 21, 40, None), ("T2", "price", 20, 40, None), "shift_to_T1"),
        (("T1", "price", 20, 40, None), ("T2", "price", 21, 40, None), "keep"),
        (("T1", "price", 24, 40, None), ("T2", "price", 32, 40, None), "shift_to_T1"),  # .1/.0025 to .3/.025: 3.3
        (("T1", "price", 22, 40, None), ("T2", "price", 40, 40, None), "keep"),  # .05/.0025 to .5/.025: 1.0
    ],
)  # fmt: skip
def test_each_kind_of_recommendation(cheap: Lot, dear: Lot, kind: str) -> None:
    (advice,) = advice_of(FREE, cheap, dear)
    assert advice.kind == kind


def test_the_ratio_counts_from_exactly_the_threshold() -> None:
    """Gains of .25 and .5, prices of .01 and .03: 25 to 16 2/3 is 1.5; any dearer T1, and it is less."""
    lots: list[Lot] = [FREE, ("T1", "price", 30, 40, None), ("T2", "price", 40, 40, None)]
    assert [a.kind for a in advice_of(*lots, costs={"T1": 0.4, "T2": 1.2})] == ["shift_to_T1"]
    assert [a.kind for a in advice_of(*lots, costs={"T1": 0.41, "T2": 1.2})] == ["keep"]


def test_a_dear_tier_stays_where_its_extra_accuracy_may_be_worth_its_extra_price() -> None:
    """T2 gains 20 points more of which, resampled, at most about 36; they cost .0225 more a prediction."""
    lots: list[Lot] = [FREE, ("T1", "price", 24, 40, None), ("T2", "price", 32, 40, None)]
    assert [a.kind for a in advice_of(*lots, worth=0.0001)] == ["shift_to_T1"]  # worth .0036 at most
    assert [a.kind for a in advice_of(*lots, worth=0.01)] == ["keep"]  # worth .36 at most


def test_what_is_not_known_of_costs_is_said_and_moves_nothing() -> None:
    lots: list[Lot] = [FREE, ("T1", "price", 24, 40, None), ("T2", "price", 32, 40, None)]
    report = tier_report(totals_of(history(*lots), 1).tiers, {"T2": None}, TierTerms(), 1)
    rows = {row.tier: row for row in report.rows}
    assert (rows["T1"].cost, rows["T1"].effectiveness) == (None, None)
    assert rows["T1"].reasons["cost"] == "no inference cost of T1 is told"
    assert rows["T2"].reasons["cost"] == "a part of it has no price"
    assert [(a.kind, a.incremental) for a in report.recommendation] == [("keep", None)]
    free = tier_report(totals_of(history(*lots), 1).tiers, {"T1": 0.0, "T2": 1.0}, TierTerms(), 1)
    assert [row.reasons.get("effectiveness") for row in free.rows if row.tier == "T1"] == [
        "T1 has cost nothing"
    ]
    assert [a.kind for a in free.recommendation] == ["shift_to_T1"]


def test_where_difficulty_is_told_only_the_equally_hard_are_compared() -> None:
    """Overall T2 looks worse (25 of 60 to 38 of 60); among the hard and among the easy questions it is better."""
    lots: list[Lot] = [
        ("T1", "price", 36, 40, "easy"),
        ("T1", "price", 2, 20, "hard"),
        ("T2", "price", 20, 20, "easy"),
        ("T2", "price", 5, 40, "hard"),
        ("T2", "price", 1, 1, None),
    ]
    rows = tier_report(totals_of(history(*lots), 1).tiers, {"T1": 0.6, "T2": 6.1}, TierTerms(), 1)
    assert [(row.tier, row.n, round(row.gain, 3)) for row in rows.rows] == [
        ("T1", 60, 0.104),
        ("T2", 61, -0.103),
    ]
    assert [(a.difficulty, a.kind) for a in rows.recommendation] == [("easy", "keep"), ("hard", "use_T0")]
    # easy: 56 of 60 right, so .933 without: T1 -.033, T2 +.067. hard: 53 of 60 wrong, so .883 without: both below


def test_without_tiers_there_is_a_reason() -> None:
    report = tier_report(totals_of(history((None, "price", 3, 4, None)), 1).tiers, {}, TierTerms(), 1)
    assert (report.rows, report.recommendation) == ([], [])
    assert report.reasons["rows"] == "no judged prediction names a decision with a tier"
