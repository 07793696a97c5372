"""The state of a market just before an instant: worked by hand, against a plain loop, and blind to what comes after."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise

import numpy as np
import pytest

from retro.kernels.evaluators.trends import market_states

DAY = 86_400_000_000


def walk(days: int, seed: int, hours: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = days * 24 // hours
    return np.arange(n) * (hours * 3_600_000_000), 100 * np.exp(np.cumsum(rng.normal(0, 0.02, n)))


def plainly(at: list[int], price: list[float], instant: int) -> tuple[int, bool] | None:
    """The definition, one look-up after the other."""

    def log_mark(moment: int) -> float | None:
        before = [i for i, t in enumerate(at) if t <= moment]
        return math.log(price[before[-1]]) if before and moment - at[before[-1]] <= DAY else None

    days = [log_mark(instant - 1 - k * DAY) for k in range(91)]
    weeks, moves = [], []
    for k in range(84):
        window = days[k : k + 8]
        if None not in window:
            weeks.append((k, window[0] - window[7]))
            moves.append(math.sqrt(statistics.fmean((a - b) ** 2 for a, b in pairwise(window))))
    if len(weeks) < 30 or weeks[0][0] != 0:
        return None
    low, high = np.quantile([move for _, move in weeks], (1 / 3, 2 / 3))
    trend = 1 if weeks[0][1] > high else -1 if weeks[0][1] < low else 0
    return trend, moves[0] > statistics.median(moves)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_a_plain_loop_says(seed: int) -> None:
    at, price = walk(130, seed)
    holes = np.random.default_rng(seed).random(len(at)) > 0.1
    holes[200:212] = False  # three days without any mark
    at, price = at[holes], price[holes]
    instants = np.array([5, 36, 37, 38, 51, 60, 91, 100, 129]) * DAY + 12_345
    states = market_states(at, price, instants)
    expected = [plainly(at.tolist(), price.tolist(), int(instant)) for instant in instants]
    assert states.is_known.tolist() == [state is not None for state in expected]
    assert [
        (trend, volatile)
        for trend, volatile, known in zip(
            states.trend.tolist(), states.is_volatile.tolist(), states.is_known.tolist(), strict=True
        )
        if known
    ] == [state for state in expected if state is not None]
    assert 0 < states.is_known.sum() < len(instants)


def test_no_mark_at_the_instant_or_after_it_is_looked_at() -> None:
    at, price = walk(120, 7)
    instants = np.arange(95, 118) * DAY
    states = market_states(at, price, instants)
    for k, instant in enumerate(instants.tolist()):
        wild = np.where(at >= instant, price * 1000, price)
        alone = market_states(at, wild, instants[k : k + 1])
        cut = market_states(at[at < instant], price[at < instant], instants[k : k + 1])
        for other in (alone, cut):
            assert (other.trend[0], other.is_volatile[0], other.is_known[0]) == (
                states.trend[k],
                states.is_volatile[k],
                states.is_known[k],
            )
    assert len(set(states.trend.tolist())) == 3


def test_a_climb_a_fall_and_a_standstill_are_called_so() -> None:
    at = np.arange(100 * 4) * (DAY // 4)
    quiet = np.where(np.arange(400) % 8 < 4, 100.0, 101.0)
    ramp = np.concatenate([np.ones(368), np.linspace(1, 1.3, 32)])
    instant = np.array([100 * DAY])
    assert market_states(at, quiet * ramp, instant).trend[0] == 1
    assert market_states(at, quiet / ramp, instant).trend[0] == -1
    flat = market_states(at, np.full(400, 50.0), instant)
    assert (flat.trend[0], bool(flat.is_volatile[0]), bool(flat.is_known[0])) == (0, False, True)
    assert market_states(at, quiet * ramp, instant).is_volatile[0]


def test_without_marks_nothing_is_known() -> None:
    nothing = market_states(np.empty(0, np.int64), np.empty(0), np.array([DAY]))
    assert nothing.is_known.tolist() == [False]
