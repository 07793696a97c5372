"""How alike two situations are: laws that hold for any contexts, and a table worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import DEFAULT, Field, RefusedError, Registry, alike
from memory.situation.context import encode, likeness, similarity
from tests.worlds.memory_databases import contexts, full_contexts, slow_similarity


@given(full_contexts, full_contexts)
@settings(deadline=None, max_examples=100)
def test_situations_that_know_the_same_fields_are_as_alike_either_way_round(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert alike(DEFAULT, first, second) == pytest.approx(alike(DEFAULT, second, first), abs=1e-12)


@given(contexts, contexts)
@settings(deadline=None, max_examples=200)
def test_likeness_is_a_share_and_agrees_with_the_definition_written_out(
    query: dict[str, Any], memory: dict[str, Any]
) -> None:
    similarity = alike(DEFAULT, query, memory)
    assert 0.0 <= similarity <= 1.0
    assert similarity == pytest.approx(slow_similarity(query, memory), abs=1e-12)


@given(contexts)
@settings(deadline=None, max_examples=100)
def test_a_situation_is_wholly_like_itself_unless_it_says_nothing(context: dict[str, Any]) -> None:
    says_something = any(DEFAULT.get(name) is not None for name in context)
    assert alike(DEFAULT, context, context) == (1.0 if says_something else 0.0)


@given(contexts, contexts, st.data())
@settings(deadline=None, max_examples=200)
def test_deleting_a_field_from_a_memory_never_makes_it_more_alike(
    query: dict[str, Any], memory: dict[str, Any], data: st.DataObject
) -> None:
    if not memory:
        return
    gone = data.draw(st.sampled_from(sorted(memory)))
    less = {name: value for name, value in memory.items() if name != gone}
    assert alike(DEFAULT, query, less) <= alike(DEFAULT, query, memory)


@pytest.mark.parametrize(
    ("query", "memory", "share"),
    [
        ({"regime": "volatile"}, {"regime": "volatile"}, 1.0),
        ({"regime": "volatile"}, {"regime": "ranging"}, 0.0),
        ({"regime": None}, {"regime": None}, 0.0),  # None never matches None
        ({"regime": "volatile"}, {"session": "asia"}, 0.0),  # nothing shared
        ({}, {"regime": "volatile"}, 0.0),
        # half of the weight the query knows is shared and matches: 0.25 / (0.25 + 0.25)
        ({"regime": "volatile", "atr_d1": 80, "atr_h1": 20}, {"regime": "volatile"}, 0.5),
        # what only the memory knows does not count against it
        ({"regime": "volatile"}, {"regime": "volatile", "atr_d1": 80}, 1.0),
        # a ratio of exactly 1 + bandwidth is one sigma: exp(-1/2)
        ({"atr_d1": 100}, {"atr_d1": 130}, math.exp(-0.5)),
        ({"price": 120}, {"price": 100}, math.exp(-0.5)),
        ({"spread_as_atr_pct": 0.15}, {"spread_as_atr_pct": 0.1}, math.exp(-0.5)),
        ({"spread_as_atr_pct": 0}, {"spread_as_atr_pct": 0}, 1.0),  # zero is like zero ...
        ({"spread_as_atr_pct": 0}, {"spread_as_atr_pct": 0.1}, 0.0),  # ... and infinitely unlike the rest
        ({"spread_as_atr_pct": 0.1}, {"spread_as_atr_pct": 0}, 0.0),
        (
            {"drawdown_pct": 0.1},
            {"drawdown_pct": 0.1},
            0.0,
        ),  # the agent's own state weighs nothing by default
    ],
)
def test_likeness_worked_by_hand(query: dict[str, Any], memory: dict[str, Any], share: Any) -> None:
    assert alike(DEFAULT, query, memory) == pytest.approx(share, abs=1e-12)


def test_the_drawdown_counts_when_the_owner_asks_for_it() -> None:
    registry = DEFAULT.extended([Field("drawdown_pct", "absolute", 0.10, 0.05)])
    assert alike(registry, {"drawdown_pct": 0.0}, {"drawdown_pct": 0.0}) == 1.0
    assert alike(registry, {"drawdown_pct": 0.10}, {"drawdown_pct": 0.05}) == pytest.approx(math.exp(-0.5))


def test_owners_add_fields_and_change_weights_by_name() -> None:
    registry = DEFAULT.extended([Field("funding", "absolute", 0.5, 0.01), Field("regime", "category", 0.5)])
    assert [field.name for field in registry.fields][-1] == "funding"
    assert len(registry.fields) == len(DEFAULT.fields) + 1
    query = {"regime": "volatile", "funding": 0.01}
    assert alike(registry, query, {"regime": "volatile", "funding": 5.0}) == pytest.approx(0.5)


def test_weights_do_not_change_the_layout_and_kinds_do() -> None:
    heavier = DEFAULT.extended([Field("regime", "category", 0.9)])
    other = DEFAULT.extended([Field("price", "absolute", 0.1, 5.0)])
    assert heavier.layout == DEFAULT.layout
    assert other.layout != DEFAULT.layout


@pytest.mark.parametrize(
    "field",
    [
        lambda: Field("", "category", 0.1),
        lambda: Field("x", "guess", 0.1),  # type: ignore[arg-type]
        lambda: Field("x", "category", -0.1),
        lambda: Field("x", "category", math.nan),
        lambda: Field("x", "ratio", 0.1, 0.0),
        lambda: Field("x", "absolute", 0.1, math.inf),
        lambda: Registry((Field("x", "category", 0.1), Field("x", "category", 0.2))),
    ],
)
def test_a_registry_that_makes_no_sense_is_refused(field: Any) -> None:
    with pytest.raises(RefusedError):
        field()


@pytest.mark.parametrize(
    "context",
    [
        {"regime": 1.5},
        {"atr_d1": "80"},
        {"atr_d1": True},
        {"atr_d1": math.nan},
        {"price": math.inf},
        {"price": 10**400},
        {"atr_h1": -1},
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_and_named(context: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match=next(iter(context))):
        alike(DEFAULT, context, {})


def test_a_stored_value_that_the_registry_can_no_longer_read_counts_as_missing() -> None:
    assert alike(DEFAULT, {"atr_d1": 80}, {"atr_d1": "eighty"}) == 0.0


@given(st.lists(contexts, max_size=20), contexts)
@settings(deadline=None, max_examples=50)
def test_many_memories_at_once_are_as_alike_as_one_by_one(
    memories: list[dict[str, Any]], query: dict[str, Any]
) -> None:
    together = similarity(DEFAULT, query, encode(DEFAULT, memories), len(memories))
    assert together.tolist() == [alike(DEFAULT, query, memory) for memory in memories]


@given(contexts, contexts)
@settings(deadline=None, max_examples=50)
def test_the_likeness_of_one_field_is_the_similarity_of_that_field_alone(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    for field in DEFAULT.fields:
        if field.weight and field.name in first:
            alone = alike(DEFAULT, {field.name: first[field.name]}, second)
            assert likeness(field, first[field.name], second.get(field.name)) == pytest.approx(
                alone, abs=1e-12
            )
