"""What condenses, when an agent looks back, and what an item is worth before anybody named it."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import RefusedError
from memory.instants import DAY
from memory.library.layers.content import content_importance, layer_of_importance
from memory.library.layers.groups import medoid, similar_groups, similarities
from memory.library.layers.reflections import ReflectionFacts, consistency, reflection_triggers


def around(angle: float, *offsets: float) -> list[list[float]]:
    """Unit vectors in a plane, so many radians from an angle: two are alike up to acos .85 = .5548 apart."""
    return [[math.cos(angle + offset), math.sin(angle + offset)] for offset in offsets]


def test_groups_of_four_alike_condense_and_of_three_do_not() -> None:
    vectors = np.array(
        [*around(0, 0.0, 0.1, 0.2, 0.3), *around(2, 0.0, 0.1, 0.2), *around(4, 0.0)], dtype=np.float32
    )
    assert similar_groups(vectors) == [(0, 1, 2, 3)]
    assert similar_groups(vectors[:3]) == []
    assert similar_groups(vectors[:0]) == []


def test_every_pair_of_a_group_is_alike_and_a_chain_is_no_group() -> None:
    chain = np.array(around(0, 0.0, 0.5, 1.0, 1.5), dtype=np.float32)  # neighbours alike, the ends not
    assert similar_groups(chain) == []
    # one near a single member must not keep the four from condensing, however near it is
    hanger = np.array([*around(0, 0.0, 0.1, 0.2, 0.3), *around(0, -0.3)], dtype=np.float32)
    assert similar_groups(hanger) == [(0, 1, 2, 3)]


def test_the_medoid_is_the_one_in_the_middle() -> None:
    vectors = np.array(around(0, 0.0, 0.1, 0.2, 0.3, 0.4), dtype=np.float32)
    assert medoid(vectors, (0, 1, 2, 3, 4)) == 2
    assert medoid(vectors, (1, 2, 3)) == 2
    assert medoid(vectors[[0, 0, 0, 0]], (0, 1, 2, 3)) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.floats(0.05, 1.0))
def test_laws_of_groups(seed: int, n: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 3)) * spread + rng.integers(0, 2, (n, 3))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    groups, alike = similar_groups(vectors), similarities(vectors)
    rows = [row for group in groups for row in group]
    assert len(rows) == len(set(rows))
    assert all(len(group) >= 4 for group in groups)
    assert all(alike[a, b] >= 0.85 for group in groups for a, b in combinations(group, 2))
    outside = [row for row in range(n) if row not in rows]
    assert not any(
        all(alike[row, member] >= 0.85 for member in group) for row in outside for group in groups
    ), "a row that fits a whole group is left out of it"


def test_content_importance_is_the_sum_of_what_is_stated() -> None:
    whole = {"market_impact": 30, "novelty": 25.0, "relevance": 20, "source": 15, "urgency": 10}
    assert content_importance(whole) == 100.0
    assert content_importance({"market_impact": 30, "novelty": 25}) == 55.0
    assert content_importance({}) is None
    assert content_importance({"urgency": 0}) == 0.0
    for parts, field in (({"urgency": 10.5}, "urgency"), ({"source": True}, "source"), ({"mood": 1}, "mood")):
        with pytest.raises(RefusedError, match=f"^{field}: "):
            content_importance(parts)
    routes = {0.0: "short", 54.99: "short", 55.0: "mid", 84.99: "mid", 85.0: "long", 100.0: "long"}
    assert {importance: layer_of_importance(importance) for importance in routes} == routes


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (ReflectionFacts(at=40 * DAY), []),
        (ReflectionFacts(at=40 * DAY, since=10 * DAY + 1), []),
        (ReflectionFacts(at=40 * DAY, since=10 * DAY), ["30 days have passed without a reflection"]),
        (ReflectionFacts(at=0, week_return=-0.05), []),
        (ReflectionFacts(at=0, week_return=-0.061), ["the last 7 days lost 6.1% of equity"]),
        (ReflectionFacts(at=0, strategies=("trend", "trend"), regimes=("calm", None)), []),
        (
            ReflectionFacts(at=0, strategies=("trend", "range"), regimes=("calm", "wild")),
            ["the strategy changed from range to trend", "the regime changed from wild to calm"],
        ),
    ],
)
def test_a_reflection_is_asked_for_by_time_loss_strategy_and_regime(
    facts: ReflectionFacts, words: list[str]
) -> None:
    assert [trigger.words for trigger in reflection_triggers(facts)] == words


def test_consistency_is_seven_parts_similarity_and_three_agreement() -> None:
    fits = consistency([0.8, 0.6], [1, -1], 1)
    assert (fits.value, fits.similarity, fits.agreement, fits.asks) == (pytest.approx(0.64), 0.7, 0.5, False)
    strange = consistency([0.4, -0.2], [-1, None], 1)
    assert (strange.value, strange.asks) == (pytest.approx(0.14), True)
    assert consistency([3 / 7, 3 / 7], [-1, -1], 1).asks is False  # .3 itself asks for nothing
    unknown = consistency([0.9], [0], -1)
    assert (unknown.value, unknown.asks) == (None, False)
    assert unknown.reason == "no outcome of what was recalled is known"
    assert consistency([], [], 1).reason == "nothing was recalled"
