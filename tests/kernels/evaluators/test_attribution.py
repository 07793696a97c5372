"""Context attribution by hand, and the lazy rule it is a closed form of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.kernels.evaluators import attribution as kernel

SIGNALS = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.5, 0.0, 1 / 3, 1.0]), st.sets(st.integers(0, 3))), max_size=40
)


def pairs(items_by_step: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    """(item, step) of each that was there."""
    flat = [(item, step) for step, items in enumerate(items_by_step) for item in sorted(items)]
    return np.array([i for i, _ in flat], np.int64), np.array([s for _, s in flat], np.int64)


def test_three_decisions_by_hand() -> None:
    """Decay .5. Item 0 at steps 0 (+1) and 2 (-0.5): C = .25, D = .5, W = 1.25. Item 1 at step 1 (0): C = D = 0, W = .5."""
    item, step = pairs([{0}, {1}, {0}])
    credit = kernel.presence_credit(np.array([1.0, 0.0, -0.5]), item, step, 2, 0.5)
    assert credit.well.tolist() == [0.25, 0.0]
    assert credit.badly.tolist() == [0.5, 0.0]
    assert credit.weight.tolist() == [1.25, 0.5]
    assert credit.appearances.tolist() == [2, 1]
    assert credit.value.tolist() == [-0.25 / 3.25, 0.0]
    assert kernel.multipliers(np.array([-0.9, -0.25, 0.5, 0.7])).tolist() == [0.5, 0.75, 1.5, 1.5]


@given(SIGNALS, st.sampled_from([1.0, 0.995, 0.5]))
def test_it_is_the_lazy_rule(life: list[tuple[float, set[int]]], decay: float) -> None:
    signal, items_by_step = np.array([s for s, _ in life]), [items for _, items in life]
    well, badly, weight, last = [0.0] * 4, [0.0] * 4, [0.0] * 4, [0] * 4
    for now, (value, items) in enumerate(zip(signal.tolist(), items_by_step, strict=True)):
        for number in items:
            faded = decay ** (now - last[number])
            well[number] = well[number] * faded + max(value, 0.0)
            badly[number] = badly[number] * faded + max(-value, 0.0)
            weight[number] = weight[number] * faded + 1
            last[number] = now
    end = [decay ** (max(len(life) - 1, 0) - then) for then in last]
    credit = kernel.presence_credit(signal, *pairs(items_by_step), 4, decay)
    for name, lazily in (("well", well), ("badly", badly), ("weight", weight)):
        expected = [value * fade for value, fade in zip(lazily, end, strict=True)]
        assert getattr(credit, name).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_a_lift_is_said_from_twenty_with_and_five_without() -> None:
    """24 with it, 18 of them well and 6 badly: +.5; 6 without, 2 well and 4 badly: -1/3. One a day: all regroupings of 6."""
    signal = np.array([1.0] * 18 + [-1.0] * 6 + [1.0] * 2 + [-1.0] * 4)
    item, step = pairs([{0, 1} if n < 19 else {0} if n < 24 else {2} for n in range(30)])
    day = np.arange(30)
    first, few, second = kernel.lifts(signal, day, item, step, 3, seed=7)
    assert few is None  # 19 with it
    assert second is None  # 6 with it
    assert first is not None
    assert first.lift == pytest.approx(0.5 + 1 / 3)
    # hypergeometric, by hand: 20 of 30 went well; a group of 6 without it has k of them. Mean 4, observed 2, so k <= 2 or k = 6
    ways = [_choose(20, k) * _choose(10, 6 - k) for k in range(7)]
    assert first.p == pytest.approx((ways[0] + ways[1] + ways[2] + ways[6]) / sum(ways), abs=0.01)


def _choose(n: int, k: int) -> int:
    return 1 if k == 0 else _choose(n, k - 1) * (n - k + 1) // k


def test_what_is_drawn_for_one_item_does_not_depend_on_another() -> None:
    rng = np.random.default_rng(3)
    signal, day = rng.choice([-1.0, 1.0], 200), np.arange(200) // 2
    items_by_step = [{0} if n % 3 else set() for n in range(200)]
    alone = kernel.lifts(signal, day, *pairs(items_by_step), 1, seed=1)
    beside = kernel.lifts(
        signal,
        day,
        *pairs(
            [
                {item + 1 for item in items} | ({0} if n % 2 else set())
                for n, items in enumerate(items_by_step)
            ]
        ),
        2,
        seed=1,
    )
    assert alone[0] == beside[1]
