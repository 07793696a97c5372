"""Marks are brought together before they are stored: nothing is lost, doubled or put in another order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.app.intake.batches import batched
from retro.model import Batch, EventRow, MarkSeries

SERIES = st.builds(
    lambda owner, name, points, wide: MarkSeries(
        owner,
        name,
        np.array([t for t, _ in points], np.int64),
        np.array([p for _, p in points], np.float64),
        np.array([p - 1 for _, p in points]) if wide else None,
        np.array([p + 1 for _, p in points]) if wide else None,
    ),
    st.sampled_from([None, "ada", "bob"]),
    st.sampled_from(["ETH", "BTC"]),
    st.lists(st.tuples(st.integers(0, 9), st.floats(1, 9)), min_size=1, max_size=4),
    st.booleans(),
)
BATCHES = st.lists(
    st.builds(
        lambda rows, marks, twice: Batch(
            rows=[EventRow("ada", "decision", f"d{n}", 0, None, "{}") for n in rows],
            marks=marks,
            events=len(rows) + sum(len(series.t) for series in marks) + twice,
        ),
        st.lists(st.integers(0, 99), max_size=3),
        st.lists(SERIES, max_size=4),
        st.integers(0, 2),
    ),
    max_size=8,
)


def marks_of(batches: list[Batch]) -> dict[tuple[str | None, str, bool], list[tuple[float, ...]]]:
    """Every series from its first mark to its last, whatever batches it came in."""
    marks = defaultdict[tuple[str | None, str, bool], list[tuple[float, ...]]](list)
    for series in (series for batch in batches for series in batch.marks):
        low = series.price if series.low is None else series.low
        high = series.price if series.high is None else series.high
        key = (series.agent, series.instrument, series.low is None)
        marks[key] += zip(series.t.tolist(), series.price.tolist(), low.tolist(), high.tolist(), strict=True)
    return marks


@given(BATCHES, st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_what_comes_out_is_what_went_in(batches: list[Batch], most: int) -> None:
    out = list(batched(batches, most))
    assert marks_of(out) == marks_of(batches)
    assert [row for batch in out for row in batch.rows] == [row for batch in batches for row in batch.rows]
    assert sum(batch.events for batch in out) == sum(batch.events for batch in batches)


@given(BATCHES, st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_no_more_is_held_than_it_was_told_to(batches: list[Batch], most: int) -> None:
    received = released = 0
    largest = max((sum(len(s.t) for s in batch.marks) for batch in batches), default=0)

    def counted() -> Iterator[Batch]:
        nonlocal received
        for batch in batches:
            received += sum(len(series.t) for series in batch.marks)
            yield batch

    for batch in batched(counted(), most):
        released += sum(len(series.t) for series in batch.marks)
        assert received - released < most + largest


def test_one_series_told_in_many_parts_becomes_one() -> None:
    parts = [MarkSeries("ada", "ETH", np.array([t]), np.array([1.0 + t])) for t in range(100)]
    out = list(batched([Batch(marks=[part], events=1) for part in parts], most=1000))
    merged = [series for batch in out for series in batch.marks]
    assert len(merged) == 1
    assert merged[0].t.tolist() == list(range(100))
