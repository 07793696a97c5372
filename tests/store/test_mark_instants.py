"""Marks keep the microsecond at which they were told; those of whole milliseconds cost no more than they did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from retro.model import MarkSeries
from retro.periods import HOUR
from retro.store import schema as tables
from retro.store.database import Store
from retro.store.facts import agents, marks
from retro.store.facts.last_told import last_told

T0 = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z

Told = Sequence[tuple[int, float]]


def add(
    store: Store, points: Told, agent: str | None = "ada", replace: str | None = None
) -> marks.AddedMarks:
    t, price = zip(*points, strict=True)
    mark_series = MarkSeries(agent, "ETH/USDC", np.array(t, np.int64), np.array(price, float))
    with store.write() as conn:
        return marks.add(conn, mark_series, where="j.jsonl", replace=replace)


def stored(store: Store, agent: str | None = "ada") -> list[tuple[int, float]]:
    with store.read() as conn:
        loaded = marks.load(conn, agent, "ETH/USDC", 0, 1 << 61)
    return [] if loaded is None else list(zip(loaded.t.tolist(), loaded.price.tolist(), strict=True))


def test_a_mark_is_kept_and_found_at_its_microsecond(store: Store) -> None:
    points = [(T0 + 1, 10.0), (T0 + 999_999, 11.0), (T0 + HOUR, 12.0)]
    add(store, points)
    assert stored(store) == points
    with store.read() as conn:
        assert marks.last_at_or_before(conn, "ada", "ETH/USDC", T0 + 999_998) == (T0 + 1, 10.0)
        assert marks.first_after(conn, "ada", "ETH/USDC", T0 + 1) == (T0 + 999_999, 11.0)
        between = marks.load(conn, "ada", "ETH/USDC", T0 + 2, T0 + HOUR - 1)
        agent = agents.existing_agent(conn, "ada")
        assert last_told(conn, agent, T0 + 999_998) == T0 + 1
    assert between is not None
    assert between.t.tolist() == [T0 + 999_999]
    assert (agent.first_at, agent.last_at) == (T0 + 1, T0 + HOUR)


def test_marks_of_whole_milliseconds_are_stored_as_they_always_were(store: Store) -> None:
    add(store, [(T0 + 1000, 10.0), (T0 + HOUR, 11.0)], agent=None)
    with store.read() as conn:
        (block,) = conn.execute(select(tables.mark_blocks)).all()
    assert block.at_ms == np.array([T0 // 1000 + 1, (T0 + HOUR) // 1000], "<i8").tobytes()
    assert block.micros is None


def test_a_mark_that_an_older_version_cut_to_milliseconds_is_made_exact_when_it_is_told_again(
    store: Store,
) -> None:
    add(store, [(T0 + 5000, 10.0), (T0 + HOUR, 11.0)])
    again = add(store, [(T0 + 5678, 10.0), (T0 + HOUR, 11.0)])
    assert stored(store) == [(T0 + 5678, 10.0), (T0 + HOUR, 11.0)]
    assert (again.stored, again.completed, again.unchanged, again.first_at) == (0, 1, 1, T0 + 5678)


def test_a_corrected_mark_is_remembered_with_its_microsecond(store: Store) -> None:
    add(store, [(T0 + 1234, 10.0)])
    add(store, [(T0 + 1234, 10.5)], replace="restated")
    with store.read() as conn:
        (correction,) = conn.execute(select(tables.mark_corrections)).all()
    assert (correction.at_ms * 1000 + correction.micros, correction.price) == (T0 + 1234, 10.0)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    points=st.lists(
        st.tuples(st.integers(0, 12).map(lambda n: T0 + n * 500), st.just(7.0)), min_size=1, unique=True
    ),
    cuts=st.lists(st.integers(0, 12), max_size=3),
)
def test_in_any_order_and_split_the_same_marks_are_stored(
    store: Store, points: list[tuple[int, float]], cuts: list[int]
) -> None:
    """Of the same price and millisecond the exact one stands, whichever came first."""
    agent = f"agent-{abs(hash((tuple(points), tuple(cuts))))}"
    expected = [
        (t, p) for t, p in sorted(points) if t % 1000 or not any(0 < other - t < 1000 for other, _ in points)
    ]
    edges = sorted({0, len(points), *(min(cut, len(points)) for cut in cuts)})
    for start, end in pairwise(edges):
        add(store, points[start:end], agent=agent)
    assert stored(store, agent) == expected


@pytest.mark.parametrize("price", [10.0, 11.0])
def test_another_price_in_the_same_millisecond_is_another_mark(store: Store, price: float) -> None:
    add(store, [(T0, 12.0), (T0 + 300, price)])
    assert stored(store) == [(T0, 12.0), (T0 + 300, price)]
