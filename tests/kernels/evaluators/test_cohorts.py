"""Cohorts: rules of a fleet by the bets that judge an agent's, models by a set that holds the best, as `arch` has it."""

from __future__ import annotations

import numpy as np
import pytest
from arch.bootstrap import MCS

from retro.kernels import betting
from retro.kernels.evaluators.cohorts import cohort_evidence, confidence_set
from retro.kernels.evaluators.paired_days import stationary_means


@pytest.mark.parametrize("seed", range(5))
def test_the_confidence_set_is_that_of_arch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = rng.normal([0.0, 0.05, 0.3, 0.6], 1.0, (120, 4))
    oracle = MCS(losses, 0.1, reps=400, block_size=5, method="R", seed=seed)
    oracle.compute()
    drawn = np.stack([losses[chosen].mean(axis=0) for chosen in oracle._bootstrap_indices], axis=1)
    p = confidence_set(losses.mean(axis=0), drawn)
    assert p == pytest.approx(oracle.pvalues["Pvalue"].sort_index().to_numpy(), abs=1e-12)


def test_the_best_model_stays_and_a_bad_one_goes() -> None:
    rng = np.random.default_rng(7)
    losses = rng.normal(0.0, 1.0, (60, 3)).T + np.array([[0.0], [0.0], [3.0]])
    p = confidence_set(losses.mean(axis=1), stationary_means(losses, rng))
    assert p[:2].max() == 1.0
    assert p[:2].min() > 0.1 > p[2]


def test_models_that_lose_alike_are_not_told_apart() -> None:
    loss = np.array([1.0, 1.0])
    assert confidence_set(loss, np.repeat([[0.9, 1.1, 1.0]], 2, axis=0)).tolist() == [1.0, 1.0]


def fleet(rng: np.random.Generator, effect: dict[str, float]) -> tuple[list[str], list[int], list[float]]:
    """A year in which six agents cite each rule once a week, for outcomes that share the week's market."""
    market = rng.normal(0, 1, 52)
    rows = [
        (rule, week, mean + market[week] + rng.normal(0, 3))
        for rule, mean in effect.items()
        for week in range(52)
        for _ in range(6)
    ]
    names, weeks, values = zip(*rows, strict=True)
    return list(names), list(weeks), list(values)


def test_a_rule_that_loses_is_chosen_and_noise_is_not() -> None:
    effect = {"H-1": -4.0, **{f"H-{number}": 0.0 for number in range(2, 9)}}
    evidence = cohort_evidence(*fleet(np.random.default_rng(3), effect))
    assert dict(zip(evidence.name, evidence.grade, strict=True))["H-1"] == "supported"
    assert "supported" not in evidence.grade[1:]
    assert evidence.n.tolist() == [312] * 8
    assert evidence.weeks.tolist() == [52] * 8


def test_the_evidence_is_that_of_bets_on_the_weeks_and_no_order_moves_a_bit() -> None:
    names, weeks, values = fleet(np.random.default_rng(5), {"H-1": 1.0, "H-2": -1.0})
    evidence = cohort_evidence(names, weeks, values)
    sums = np.zeros((2, 52))
    for name, week, value in zip(names, weeks, values, strict=True):
        sums[int(name[-1]) - 1, week] += value
    grid = betting.WeekGrid(0, sums, np.full((2, 52), 6))
    pool = np.tile(np.arange(52), 2), sums.ravel()
    against, in_favour = betting.wealth_now(grid, betting.bounds(grid, *pool))
    assert evidence.e_against == pytest.approx(np.exp(against))
    assert evidence.e_for == pytest.approx(np.exp(in_favour))
    other = np.random.default_rng(1).permutation(len(names))
    again = cohort_evidence(*(np.asarray(column)[other] for column in (names, weeks, values)))
    assert again.e_against.tobytes() == evidence.e_against.tobytes()
    assert again.mean.tobytes() == evidence.mean.tobytes()


def test_few_weeks_say_nothing() -> None:
    evidence = cohort_evidence(["H-1"] * 3, [1, 2, 2], [1.0, -1.0, 4.0])
    assert np.isnan(evidence.e_against).all()
    assert (evidence.grade, evidence.mean.tolist(), evidence.weeks.tolist()) == (["none"], [4 / 3], [2])
