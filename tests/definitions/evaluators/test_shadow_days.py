"""What the book keeps of shadows that an agent states itself is what its words and positions say, at every instant."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from retro.evaluate.whatif.shadow_days import joined, shadow_days
from retro.model import Shadow
from retro.periods import DAY, FOREVER
from retro.store.books.positions import forget_book, results_opened
from retro.store.books.shadow_days import (
    book_results,
    book_shadow_days,
    closed_results,
    stated_shadow_days,
)
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from tests.definitions.evaluators.test_shadow_exits import life
from tests.definitions.evaluators.test_shadows import START, Event, ask, event, tell, told_days, trade

FIRST = date(2024, 3, 25).toordinal()
UTC_ZONE = ZoneInfo("UTC")


def words(seed: int, count: int = 150) -> list[Event]:
    """Words of two shadows about days of a year in no order, some of days that had not begun, some about one day twice."""
    rng = random.Random(seed)
    return [
        event("shadow", f"w{n}", rng.randrange(24, 3500), shadow=rng.choice(["paper", "币安"]), pnl=rng.randrange(-9, 9))
        | {"day": date.fromordinal(FIRST + rng.randrange(150)).isoformat()}
        for n in range(count)
    ]  # fmt: skip


def rows_of(store: Store) -> list[tuple[Any, ...]]:
    ask(store)
    days, results = book_shadow_days.c, book_results.c
    with store.read() as conn:
        said = select(days.block, days.told_until, days.names, days.records).order_by(days.block)
        made = select(results.block, results.records).order_by(results.block)
        return [tuple(row) for query in (said, made) for row in conn.execute(query)]


def test_any_order_and_split_and_a_book_made_anew_have_the_same_bytes(store: Store, tmp_path: Path) -> None:
    events = [*life(4), *words(4)]
    expected = rows_of(tell(open_store(str(tmp_path / "whole.db")), events))
    assert len(expected) >= 4  # of each two blocks
    shuffled = random.Random(5).sample(events, len(events))
    for first in range(0, len(shuffled), 300):
        tell(store, shuffled[first : first + 300])
        rows_of(store)
    assert rows_of(store) == expected
    with store.write() as conn:
        forget_book(conn, "a")
    assert rows_of(store) == expected


@pytest.mark.parametrize("words_first", [True, False])
def test_the_book_holds_what_words_and_positions_say_whichever_came_first(
    words_first: bool, tmp_path: Path
) -> None:
    parts = [words(2), life(2)] if words_first else [life(2), words(2)]
    store = open_store(str(tmp_path / "x.db"))
    for part in parts:
        rows_of(tell(store, part))
    with store.read() as conn:
        for day in (2, 30, 77.7, 140, 4000):
            at = (START + int(day * 86_400_000)) * 1000
            said = shadow_days(facts.between(conn, "a", -FOREVER, at, types=[Shadow]), UTC_ZONE)
            stated = stated_shadow_days(conn, "a", at)
            assert (stated.names, stated.records.tobytes()) == (said.names, said.records.tobytes())
            rows = results_opened(conn, "a", -FOREVER, FOREVER)
            closed = rows[(rows["closed_at"] >= at - 40 * DAY) & (rows["closed_at"] <= at)]
            assert closed_results(conn, "a", at - 40 * DAY, at).tobytes() == closed.tobytes()
        assert len(closed_results(conn, "a", 0, FOREVER)) > 40


WORD = st.builds(
    lambda at, number, name, day, pnl: Shadow(
        id=f"w{number}", agent="a", at=at * DAY // 4, shadow=name, day=date.fromordinal(day + 719_163).isoformat(), pnl=pnl
    ),
    st.integers(0, 40), st.integers(0, 9), st.sampled_from("xyz"), st.integers(0, 11), st.decimals(-5, 5, places=2),
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(WORD, max_size=25, unique_by=lambda word: word.id), st.integers(0, 40), st.randoms())
def test_the_folds_of_two_stretches_are_the_fold_of_both_to_the_last_bit(
    stated: list[Shadow], cut: int, order: random.Random
) -> None:
    whole = shadow_days(stated, UTC_ZONE)
    shuffled = order.sample(stated, len(stated))
    at = cut * DAY // 4
    parts = [
        shadow_days([word for word in shuffled if (word.at < at) is early], UTC_ZONE)
        for early in (False, True)
    ]
    together = joined(parts)
    assert (together.names, together.records.tobytes()) == (whole.names, whole.records.tobytes())
    earlier = joined([whole.before(at)])
    assert (earlier.names, earlier.records.tobytes()) == (parts[1].names, parts[1].records.tobytes())


def test_without_a_known_capital_a_share_is_of_the_most_that_stood_at_once(tmp_path: Path) -> None:
    positions = [*trade("big", 26, 30, (1000, 1001)), *trade("beside", 28, 29, (1000, 1000))]
    events = [*positions, *told_days("wider", {1: 3, 2: 1, 3: 1})]
    [row] = ask(tell(open_store(str(tmp_path / "x.db")), events), shadow_min_duration_days=3)
    assert (row.real, row.shadow) == (1, 5)
    assert row.outperformance == pytest.approx(4 / 10)  # 0.5 % of 2000 is more than the 1 that was made
