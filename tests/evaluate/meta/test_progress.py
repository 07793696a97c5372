"""Competence and the score of a week, worked out by hand."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pytest

from retro.evaluate.audit.history import RECORD, History
from retro.evaluate.claims.record import CLAIM, ClaimHistory
from retro.evaluate.meta.competence import Competence, competence_of
from retro.evaluate.meta.earnings import RuleEarnings
from retro.evaluate.meta.learning import learning_report
from retro.evaluate.meta.progress import LearningFacts, Progress, WeighedDecision
from retro.evaluate.meta.rule_lives import RuleLife, RuleLives
from retro.evaluate.terms import AgeingTerms
from retro.periods import DAY, WEEK, Period, parse_instant, period_at

UTC = ZoneInfo("UTC")
MONDAY = parse_instant("2026-03-02T00:00:00Z")


def week(number: int) -> Period:
    return period_at("weekly", MONDAY + number * WEEK, UTC)


def claims(rows: list[tuple[int, float, float, float]]) -> ClaimHistory:
    """Claims by (resolved at, residual, bias in force, verdict)."""
    records = np.zeros(len(rows), CLAIM)
    records["confidence"] = records["worth"] = np.nan
    for name, column in zip(
        ("resolved_at", "actual", "bias", "verdict"), zip(*rows, strict=True), strict=True
    ):
        records[name] = column
    records["regime"] = 1
    return ClaimHistory(["any thing", "calm"], records)


def judged(verdicts: list[int]) -> ClaimHistory:
    return claims([(n * 10, 0.0, np.nan, verdict) for n, verdict in enumerate(verdicts)])


def decided(*instants: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(instants, dtype=np.int64)


def test_the_first_decision_before_which_seventy_of_a_hundred_were_right() -> None:
    # 50 resolve at 0 .. 490, 35 of them right: the decision at 490 knows only 49, the next all
    history = judged([1] * 35 + [0] * 15)
    assert competence_of(decided(5, 490, 491, 600), history) == Competence(3, 491)
    assert competence_of(decided(5, 490), history) is None
    assert competence_of(decided(491), judged([1] * 34 + [0] * 16)) is None
    assert competence_of(decided(10_000), judged([0] * 200 + [1] * 70 + [0] * 30)) == Competence(1, 10_000)
    assert competence_of(decided(10_000), judged([1] * 200 + [1] * 69 + [0] * 31)) is None
    assert competence_of(decided(), history) is None


def history_of(values: dict[str, list[float]], at: int) -> History:
    """Outcomes of entries by rule, and each as one of all."""
    names = ["", *values]
    rows = [
        (place, value)
        for number, name in enumerate(values, 1)
        for value in values[name]
        for place in (0, number)
    ]
    records = np.zeros(len(rows), RECORD)
    records["name"] = [place for place, _ in rows]
    records["value"] = [value for _, value in rows]
    records["resolved_at"] = at
    records["position"] = [number // 2 for number in range(len(rows))]
    return History(names, records)


def test_a_week_is_scored_from_three_groups_on() -> None:
    old, new = MONDAY + DAY, MONDAY + WEEK + DAY
    facts = LearningFacts(
        # mean |r - bias| 2 and then 1 and 0: from 2 to .5, so (2 - .5)/2 = .75 better
        claims=claims([(old, 3, 1, np.nan), (new, 2, 1, np.nan), (new, 1, 1, np.nan)]),
        # H-1 earns in both weeks, H-2 loses: half of the rows; half-life 9 days in both
        earnings=RuleEarnings.of(history_of({"H-1": [3, 5], "H-2": [-8, -8]}, old), {}),
        lives=RuleLives(
            [
                RuleLife("H-0", old - 9 * DAY, old),
                RuleLife("H-1", old - 9 * DAY),
                RuleLife("H-2", old - 8 * DAY),
            ]
        ),
        # 1 of 2 that cited something, then 1 of 4
        decisions=[
            WeighedDecision(old, 1, cites=True),
            WeighedDecision(old, -0.5, cites=True),
            WeighedDecision(old, 1, cites=False),
            WeighedDecision(new, 0.1, cites=True),
            *[WeighedDecision(new, 0, cites=True)] * 3,
        ],
    )
    progress = Progress(facts, UTC, MONDAY)
    groups = progress.groups(week(1))
    assert groups.corrector == pytest.approx(0.75)
    assert groups.attention == pytest.approx(-0.5)
    assert (groups.heuristics, groups.memory, groups.generations) == (0, None, None)
    assert progress.score(week(1)) == pytest.approx((0.75 - 0.5 + 0) / 3)
    assert progress.score(week(0)) is None
    report = learning_report(progress, facts, week(1), AgeingTerms(), now=new + WEEK, effectiveness=0.6)
    assert (report.week, report.negative_weeks, report.ageing_multiplier) == ("2026-W11", 0, 1)
    assert report.epistemic_multiplier == pytest.approx(0.8)
    assert "groups.memory" in report.reasons


def test_recalled_episodes_that_ended_as_the_decision_did() -> None:
    facts = LearningFacts(
        claims=ClaimHistory(),
        earnings=RuleEarnings.of(history_of({}, 0), {}),
        decisions=[
            WeighedDecision(MONDAY, 1, cites=False, recalled=4, agreed=1),
            WeighedDecision(MONDAY + WEEK, 1, cites=False, recalled=2, agreed=1),
        ],
    )
    assert Progress(facts, UTC, MONDAY).groups(week(1)).memory == pytest.approx(0.5)


def test_a_successor_that_needed_half_the_decisions_learned_faster() -> None:
    facts = LearningFacts(
        claims=ClaimHistory(),
        earnings=RuleEarnings.of(history_of({}, 0), {}),
        competence=Competence(100, MONDAY + WEEK),
        predecessor=Competence(200, MONDAY - WEEK),
    )
    progress = Progress(facts, UTC, MONDAY)
    assert progress.groups(week(1)).generations == pytest.approx(0.5)
    assert progress.groups(week(0)).generations is None  # competent only when it was over


def worsening(scores: list[int]) -> Progress:
    """Weeks in which attention, correction and recall all change by the sign of a score (9: nothing is told)."""
    level, errors, decisions = 1.0, [], []
    for number, score in enumerate([0, *scores]):
        at = MONDAY + number * WEEK
        level *= {1: 0.5, -1: 2.0}.get(score, 1.0)
        if score == 9:
            continue
        errors.append((at, level, 0.0, np.nan))
        right = round(512 / level)
        decisions += [WeighedDecision(at, 1, cites=True, recalled=1024, agreed=right)] * right
        decisions += [WeighedDecision(at, -1, cites=True)] * (1024 - right)
    facts = LearningFacts(claims(errors), RuleEarnings.of(history_of({}, 0), {}), decisions=decisions)
    return Progress(facts, UTC, MONDAY)


@pytest.mark.parametrize(
    ("scores", "run", "ageing"),
    [([-1], 1, 1.0), ([-1, -1], 2, 1.1), ([1, -1, -1, -1], 3, 1.2), ([-1, 0], 0, 1.0), ([-1, -1, 1], 0, 1.0)],
)
def test_ageing_speeds_up_from_the_second_week_below_0_on(scores: list[int], run: int, ageing: float) -> None:
    progress, last = worsening(scores), week(len(scores))
    assert progress.negative_weeks(last) == run
    assert AgeingTerms().multiplier(run) == pytest.approx(ageing)


def test_a_week_without_a_score_neither_breaks_the_run_nor_lengthens_it() -> None:
    # a silent week has no score, nor has the one after it: nothing stands before it
    progress = worsening([-1, -1, 9, -1, -1])
    assert [progress.score(week(n)) is None for n in range(1, 6)] == [False, False, True, True, False]
    assert progress.negative_weeks(week(5)) == 3


def test_no_week_is_scored_where_it_is_switched_off() -> None:
    progress = worsening([-1, -1])
    facts = LearningFacts(ClaimHistory(), RuleEarnings.of(history_of({}, 0), {}))
    report = learning_report(progress, facts, week(2), AgeingTerms(enabled=False), now=0, effectiveness=None)
    assert (report.score, report.negative_weeks, report.epistemic_multiplier) == (None, 0, 1)
    assert report.reasons["score"] == "[retrospective] meta_learning_enabled is false"
