"""Induction: bets against the agent's own base rate that luck seldom wins, however often they are looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory
from memory import DEFAULT
from memory.episodic.columns import EpisodeColumns, of_episodes
from memory.episodic.episode import episode_of
from memory.episodic.results import results_of
from memory.insight.evidence import decided
from memory.insight.induction import Induction, base_rates, e_value, induced_after, inductions, log_e
from memory.instants import DAY
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, raw_episode

__all__ = ["db"]

WEEKS = 52
SESSIONS, REGIMES, VOLATILITIES = (
    ("asia", "london", "new_york"),
    ("up", "down", "flat", "wild"),
    ("low", "high"),
)


def exact_e(wins: int, losses: int, rate: Fraction) -> Fraction:
    """E in whole numbers: w! l! / (n + 1)! over the chance of these outcomes."""
    spread = Fraction(math.factorial(wins) * math.factorial(losses), math.factorial(wins + losses + 1))
    return spread / (rate**wins * (1 - rate) ** losses)


def induced(columns: EpisodeColumns, n: int) -> list[Induction]:
    """What the first n episodes made believe."""
    results = results_of(columns)[:n]
    outcomes = np.flatnonzero(decided(results))
    return inductions(columns, outcomes, base_rates(results[outcomes] > 0), DEFAULT)


def life(random: np.random.Generator, week: int, london: float, elsewhere: float) -> EpisodeColumns:
    """A year of `week` trades a week in situations drawn at random; those in london win with a chance of their own."""
    episodes = []
    for i in range(WEEKS * week):
        session = SESSIONS[random.integers(3)]
        won = random.random() < (london if session == "london" else elsewhere)
        context = {
            "session": session,
            "regime": REGIMES[random.integers(4)],
            "volatility_regime": VOLATILITIES[random.integers(2)],
        }
        episodes.append(
            raw_episode(f"e{i:04}", day=7 * i / week, pnl_r=1.0 if won else -1.0, context=context)
        )
    return of_episodes([episode_of(episode) for episode in episodes], DEFAULT)


@pytest.mark.parametrize(
    ("wins", "losses", "rate", "expected"),
    [(3, 12, 0.6, 37.904867), (14, 16, 0.6, 0.659066), (6, 2, 0.5, 1.015873), (0, 30, 0.1, 0.760962)],
)
def test_published_values_of_e(wins: int, losses: int, rate: float, expected: float) -> None:
    assert e_value(wins, losses, rate) == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 99))
def test_e_is_exact(wins: int, losses: int, percent: int) -> None:
    expected = exact_e(wins, losses, Fraction(percent, 100))
    assert e_value(wins, losses, percent / 100) == pytest.approx(float(expected), rel=1e-10)
    # a win for a loss and the rate the other way round is the same bet
    assert log_e(losses, wins, 1 - percent / 100) == pytest.approx(math.log(expected), abs=1e-9)


@given(st.integers(0, 12), st.integers(1, 99))
def test_e_is_worth_one_on_average_where_the_rate_is_right(n: int, percent: int) -> None:
    rate = Fraction(percent, 100)
    chances = [math.comb(n, w) * rate**w * (1 - rate) ** (n - w) for w in range(n + 1)]
    assert sum(chance * exact_e(w, n - w, rate) for w, chance in enumerate(chances)) == 1


def test_e_of_a_long_life_is_still_a_number() -> None:
    assert math.isfinite(e_value(100_000, 0, 0.01))
    assert e_value(0, 0, 0.3) == 1.0


def test_a_base_rate_counts_what_was_decided_so_far_and_is_never_certain() -> None:
    won = np.array([True, False, True, True])
    assert base_rates(won).tolist() == [0.99, 0.5, pytest.approx(2 / 3), 0.75]
    assert base_rates(np.zeros(500, dtype=bool)).tolist() == [0.01] * 500


@given(st.lists(st.booleans(), max_size=60), st.lists(st.integers(1, 99), min_size=60), st.integers(1, 4))
@settings(deadline=None, max_examples=200)
def test_a_pattern_is_induced_at_the_first_count_from_ten_on_that_reaches_its_odds(
    won: list[bool], percents: list[int], looked_at: int
) -> None:
    expected = next(
        (
            n
            for n in range(10, len(won) + 1)
            if exact_e(sum(won[:n]), n - sum(won[:n]), Fraction(percents[n - 1], 100)) >= 10 * looked_at
        ),
        None,
    )
    rates = np.array(percents[: len(won)]) / 100
    counts = np.full(len(won), looked_at)
    assert induced_after(np.array(won, dtype=bool), rates, counts) == expected


def test_the_more_patterns_are_looked_at_the_more_is_asked_of_each(db: Store) -> None:
    """Ten of ten after ten losses: base rate 1/2, E = 2^10 / 11 = 93: enough for nine patterns, not for ten."""
    won_all, halves = np.ones(10, dtype=bool), np.full(10, 0.5)
    assert induced_after(won_all, halves, np.full(10, 9)) == 10
    assert induced_after(won_all, halves, np.full(10, 10)) is None
    lost = [raw_episode(f"l{i}", day=i / 10, pnl_r=-1.0) for i in range(10)]
    won = [
        raw_episode(f"w{i}", day=2 + i / 10, pnl_r=1.0, context={"session": "london", "regime": "up"})
        for i in range(10)
    ]
    with db.write() as conn:
        memory.remember(conn, lost + won)
        both = memory.beliefs(conn, "ada")
        assert {belief.id for belief in both} == {"breakout/session=london", "breakout/regime=up"}
        for belief in both:
            assert (belief.patterns, belief.in_sample) == (2, 10)
            assert (belief.base_rate, belief.e_value) == (0.5, pytest.approx(1024 / 11))


def test_what_all_trades_have_in_common_is_no_pattern(db: Store) -> None:
    """It is the base rate: an agent that wins nine of ten everywhere does not win them because of London."""
    episodes = [
        raw_episode(f"e{i:03}", day=i, pnl_r=-1.0 if i % 10 == 9 else 1.0, context={"session": "london"})
        for i in range(100)
    ]
    with db.write() as conn:
        memory.remember(conn, episodes)
        assert memory.beliefs(conn, "ada") == ()


def test_a_trader_who_seldom_wins_believes_nothing_of_losing_as_usual(db: Store) -> None:
    """One win in four everywhere: far from a coin, and nothing about London."""
    episodes = [
        raw_episode(
            f"e{i:03}",
            day=i,
            pnl_r=4.0 if (i + i // 4) % 4 == 0 else -1.0,
            context={"session": SESSIONS[i % 3]},
        )
        for i in range(240)
    ]
    with db.write() as conn:
        memory.remember(conn, episodes)
        assert memory.beliefs(conn, "ada") == ()


@given(st.integers(0, 2**32), st.lists(st.integers(1, 364), min_size=1, max_size=4))
@settings(deadline=None, max_examples=15)
def test_a_belief_once_induced_stays_at_every_later_look(seed: int, looks: Sequence[int]) -> None:
    columns = life(np.random.default_rng(seed), 7, 0.9, 0.4)

    def at(n: int) -> set[Any]:
        return {(i.field, int(i.members[0]), i.first, i.claim, i.patterns) for i in induced(columns, n)}

    ever = at(len(columns))
    for look in looks:
        assert at(columns.until(START + look * DAY)) <= ever


@pytest.mark.parametrize(("week", "rate"), [(3, 0.5), (7, 0.35), (7, 0.5), (20, 0.6)])
def test_agents_whose_patterns_mean_nothing_seldom_believe_in_one_however_often_they_look(
    week: int, rate: float
) -> None:
    """200 agents, nine patterns each, a year. A belief stays, so the last look shows what any look showed."""
    agents = 200
    misled = sum(bool(induced(c, len(c))) for c in _lives(agents, week, rate, rate))
    assert misled / agents <= 0.10 + 3 * math.sqrt(0.10 * 0.90 / agents)


def test_a_true_pattern_is_still_learned() -> None:
    """A third of the trades win 8 of 10, the others 5, seven a week: known within the year in nine lives of ten."""
    agents = 200
    learned = sum(
        any((i.field, i.claim) == ("session", "wins") for i in induced(columns, len(columns)))
        for columns in _lives(agents, 7, 0.8, 0.5)
    )
    assert learned / agents >= 0.90


def _lives(agents: int, week: int, london: float, elsewhere: float) -> list[EpisodeColumns]:
    random = np.random.default_rng([week, round(100 * london)])
    return [life(random, week, london, elsewhere) for _ in range(agents)]
