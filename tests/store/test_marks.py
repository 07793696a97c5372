"""Marks: one price an instant, merged into the blocks of their days, read by the days of a window."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sqlalchemy import Connection, func, select

from retro.model import MarkSeries
from retro.periods import DAY, HOUR
from retro.store import schema as tables
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from retro.store.facts import marks

T0 = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
MS = 1000
FORK = multiprocessing.get_context("fork")
LIVES = count()


def series(
    points: dict[int, Any], agent: str | None = None, instrument: str = "ETH/USDC", **columns: Any
) -> MarkSeries:
    """Marks at instants in microseconds; `low` and `high` where they are given."""
    t = np.array(list(points), np.int64)
    bounds = {name: np.array(values, float) for name, values in columns.items()}
    return MarkSeries(agent, instrument, t, np.array(list(points.values()), float), **bounds)


def add(store: Store, mark_series: MarkSeries, **options: Any) -> marks.AddedMarks:
    with store.write() as conn:
        return marks.add(conn, mark_series, where="candles.csv", **options)


def load(
    store: Store, start: int = 0, end: int = 1 << 61, agent: str | None = None, name: str = "ETH/USDC"
) -> Any:
    with store.read() as conn:
        return marks.load(conn, agent, name, start, end)


def points(mark_series: MarkSeries | None) -> dict[int, float]:
    return (
        {}
        if mark_series is None
        else dict(zip(mark_series.t.tolist(), mark_series.price.tolist(), strict=True))
    )


def outcome(added: marks.AddedMarks) -> dict[str, int]:
    counted = {name: getattr(added, name) for name in ("stored", "unchanged", "completed", "replaced")}
    counted["conflicts"] = len(added.conflicts)
    return {name: number for name, number in counted.items() if number}


# adding


def test_the_days_of_which_somebody_told_marks(store: Store) -> None:
    add(store, series({T0: 1.0, T0 + 1: 2.0, T0 + 3 * DAY: 3.0}))
    add(store, series({T0 + DAY: 1.0}, agent="bot"))
    add(store, series({T0 + 2 * DAY: 1.0}, instrument="ETH"))
    first = T0 // DAY
    with store.read() as conn:
        assert marks.days_told(conn, [None], "ETH/USDC") == {first, first + 3}
        assert marks.days_told(conn, [None, "bot"], "ETH/USDC") == {first, first + 1, first + 3}
        assert marks.days_told(conn, ["other"], "ETH/USDC") == marks.days_told(conn, [None], "BTC") == set()


def test_marks_come_back_as_they_were_told_across_days(store: Store) -> None:
    prices = {T0 + i * HOUR: 3000 + 1 / 3 * i for i in range(-30, 50)}
    added = add(store, series(prices))
    assert (outcome(added), added.first_at) == ({"stored": 80}, T0 - 30 * HOUR)
    loaded = load(store)
    assert points(loaded) == prices
    assert (loaded.agent, loaded.instrument, loaded.low, loaded.high) == (None, "ETH/USDC", None, None)
    assert loaded.t.dtype == np.int64
    assert loaded.price.dtype == np.float64


def test_blocks_are_little_endian_one_a_day(store: Store) -> None:
    add(store, series({T0: 1.5, T0 + HOUR: 2.5, T0 + DAY: 3.5}, low=[1, 2, np.nan], high=[np.nan] * 3))
    with store.read() as conn:
        first, second = conn.execute(select(tables.mark_blocks).order_by(tables.mark_blocks.c.day)).all()
    assert (first.day, second.day) == (T0 // DAY, T0 // DAY + 1)
    assert first.at_ms == np.array([T0 // MS, (T0 + HOUR) // MS], "<i8").tobytes()
    assert first.price == np.array([1.5, 2.5], "<f8").tobytes()
    assert first.low == np.array([1, 2], "<f8").tobytes()
    assert (first.high, second.low, second.high) == (None, None, None)


def test_marks_before_the_epoch_have_their_days_too(store: Store) -> None:
    add(store, series({-1 * MS: 1.0, 0: 2.0, -DAY - 1 * MS: 3.0}))
    assert points(load(store, -(10**15))) == {-DAY - MS: 3.0, -MS: 1.0, 0: 2.0}


def test_telling_again_changes_nothing(store: Store) -> None:
    mark_series = series({T0: 1.0, T0 + DAY: 2.0})
    add(store, mark_series)
    again = add(store, mark_series)
    assert (outcome(again), again.first_at) == ({"unchanged": 2}, None)


def test_a_second_price_for_an_instant_is_a_conflict_and_is_kept_back(store: Store) -> None:
    add(store, series({T0: 3000.5, T0 + HOUR: 3001.0}))
    added = add(store, series({T0: 3000.5, T0 + HOUR: 2999.0, T0 + 2 * HOUR: 3002.0}), lines=[2, 3, 4])
    assert (outcome(added), added.first_at) == ({"stored": 1, "unchanged": 1, "conflicts": 1}, T0 + 2 * HOUR)
    (conflict,) = added.conflicts
    assert (conflict.where, conflict.line) == ("candles.csv", 3)
    assert conflict.reason == "price of ETH/USDC at 2026-03-01T01:00:00Z is known as 3001, not 2999"
    assert points(load(store))[T0 + HOUR] == 3001.0


def test_a_series_may_tell_an_instant_twice_and_out_of_order(store: Store) -> None:
    t = np.array([T0 + HOUR, T0, T0, T0 + HOUR, T0], np.int64)
    mark_series = MarkSeries(None, "ETH/USDC", t, np.array([2.0, 1.0, 1.0, 5.0, 7.0]))
    added = add(store, mark_series, lines=[1, 2, 3, 4, 5])
    assert outcome(added) == {"stored": 2, "unchanged": 1, "conflicts": 2}
    assert sorted(conflict.line or 0 for conflict in added.conflicts) == [4, 5]
    assert points(load(store)) == {T0: 1.0, T0 + HOUR: 2.0}


def test_a_low_or_high_that_was_unknown_is_filled_in(store: Store) -> None:
    add(store, series({T0: 10.0, T0 + HOUR: 11.0, T0 + 2 * HOUR: 12.0}))
    added = add(store, series({T0: 10.0, T0 + HOUR: 11.0}, low=[9, np.nan], high=[np.nan, np.nan]))
    assert (outcome(added), added.first_at) == ({"completed": 1, "unchanged": 1}, T0)
    added = add(store, series({T0: 10.0}, low=[9], high=[12]))
    assert outcome(added) == {"completed": 1}
    assert outcome(add(store, series({T0: 10.0}))) == {"unchanged": 1}, "not knowing contradicts nothing"
    loaded = load(store)
    assert_array_equal(
        loaded.low, [9, 11, 12], "where a low is unknown the price stands in: no NaN crosses a border"
    )
    assert_array_equal(loaded.high, [12, 11, 12])
    assert load(store, T0 + HOUR).low is None


def test_another_low_is_a_conflict(store: Store) -> None:
    add(store, series({T0: 10.0}, low=[9], high=[np.nan]))
    added = add(store, series({T0: 10.0}, low=[8], high=[11]))
    assert outcome(added) == {"conflicts": 1}
    assert added.conflicts[0].reason.startswith(
        "low of ETH/USDC at 2026-03-01T00:00:00Z is known as 9, not 8"
    )
    assert added.conflicts[0].line is None
    assert load(store).high is None


def test_a_replacement_keeps_what_was_said_before(store: Store) -> None:
    add(store, series({T0: 10.0, T0 + HOUR: 11.0}, low=[9, np.nan], high=[np.nan, np.nan]))
    added = add(store, series({T0: 10.5, T0 + HOUR: 11.0}), replace="exchange restated")
    assert (outcome(added), added.first_at) == ({"replaced": 1, "unchanged": 1}, T0)
    assert points(load(store)) == {T0: 10.5, T0 + HOUR: 11.0}
    with store.read() as conn:
        (correction,) = conn.execute(select(tables.mark_corrections))
    assert (correction.at_ms, correction.price, correction.low, correction.high) == (
        T0 // MS,
        10.0,
        9.0,
        None,
    )
    assert (correction.place, correction.reason) == ("candles.csv", "exchange restated")


@pytest.mark.parametrize("column", ["price", "low"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_mark_that_is_not_finite_is_refused(store: Store, column: str, value: float) -> None:
    columns = {"price": [1.0], "low": [1.0], column: [value]}
    mark_series = MarkSeries(
        None, "X", np.array([0]), np.array(columns["price"]), low=np.array(columns["low"])
    )
    if column == "low" and np.isnan(value):
        # NaN is how a series says that a low is unknown
        assert outcome(add(store, mark_series)) == {"stored": 1}
        return
    with pytest.raises(ValueError, match="not finite"):
        add(store, mark_series)


def test_an_empty_series_is_nothing(store: Store) -> None:
    assert outcome(add(store, series({}))) == {}
    with store.read() as conn:
        assert marks.instruments(conn, None) == {}


def test_many_candles_in_one_go(store: Store) -> None:
    """35,000 candles of five minutes, then the same with one more: 122 blocks and then one."""
    t = T0 + 300_000_000 * np.arange(35_000)
    price = 3000 + np.sin(t / 1e10)
    candles = MarkSeries(None, "ETH/USDC", t, price, price - 1, price + 1)
    assert outcome(add(store, candles)) == {"stored": 35_000}
    with store.read() as conn:
        assert conn.execute(select(func.count()).select_from(tables.mark_blocks)).scalar_one() == 122
    assert outcome(add(store, candles)) == {"unchanged": 35_000}
    loaded = load(store)
    for name in ("t", "price", "low", "high"):
        assert_array_equal(getattr(loaded, name), getattr(candles, name))


# owners


def test_an_agents_marks_are_its_own_and_move_its_life(store: Store) -> None:
    add(store, series({T0: 1.0}))
    add(store, series({T0: 2.0, T0 + DAY: 3.0}, "bot"))
    assert points(load(store)) == {T0: 1.0}
    assert points(load(store, agent="bot")) == {T0: 2.0, T0 + DAY: 3.0}
    assert load(store, agent="other") is None
    with store.read() as conn:
        (agent,) = facts.agents(conn)
    assert (agent.name, agent.first_at, agent.last_at, agent.events) == ("bot", T0, T0 + DAY, 2)
    add(store, series({T0: 9.0, T0 + DAY: 9.0}, "bot"))
    with store.read() as conn:
        assert facts.agents(conn) == [agent], "a conflict is no event"


@pytest.mark.parametrize("name", ["a\0b", "x" * 4000, "'; --"])
def test_no_instrument_is_too_odd(store: Store, name: str) -> None:
    add(store, series({T0: 1.0}, instrument=name))
    assert points(load(store, name=name)) == {T0: 1.0}
    with store.read() as conn:
        (listed,) = marks.instruments(conn, None)
    assert points(load(store, name=listed)) == {T0: 1.0}


def test_instruments_are_listed_by_owner(store: Store) -> None:
    for agent, name in ((None, "ETH/USDC"), (None, "BTC/USDC"), ("bot", "ETH")):
        add(store, series({T0: 1.0}, agent, name))
    with store.read() as conn:
        assert list(marks.instruments(conn, None)) == ["BTC/USDC", "ETH/USDC"]
        assert list(marks.instruments(conn, "bot")) == ["ETH"]
        assert marks.instruments(conn, "other") == {}


# reading


@pytest.fixture
def marked_days(store: Store) -> Store:
    """Two marks on each of days 0, 1 and 5."""
    add(store, series({T0 + d * DAY + h * HOUR: 10.0 * d + h for d in (0, 1, 5) for h in (6, 18)}))
    return store


def test_a_window_includes_both_its_ends(marked_days: Store) -> None:
    assert points(load(marked_days, T0 + 6 * HOUR, T0 + DAY + 6 * HOUR)) == {
        T0 + 6 * HOUR: 6.0, T0 + 18 * HOUR: 18.0, T0 + DAY + 6 * HOUR: 16.0,
    }  # fmt: skip
    assert list(points(load(marked_days, T0 + 6 * HOUR + 1, T0 + DAY + 6 * HOUR - 1))) == [T0 + 18 * HOUR]
    assert load(marked_days, T0 + 2 * DAY, T0 + 4 * DAY) is None
    assert load(marked_days, T0 + 7 * HOUR, T0 + 8 * HOUR) is None


@pytest.mark.parametrize(
    ("at", "before", "after"),
    [
        (T0, None, (T0 + 6 * HOUR, 6.0)),
        (T0 + 6 * HOUR - 1, None, (T0 + 6 * HOUR, 6.0)),
        (T0 + 6 * HOUR, (T0 + 6 * HOUR, 6.0), (T0 + 18 * HOUR, 18.0)),
        (T0 + 6 * HOUR + 1, (T0 + 6 * HOUR, 6.0), (T0 + 18 * HOUR, 18.0)),
        (T0 + DAY, (T0 + 18 * HOUR, 18.0), (T0 + DAY + 6 * HOUR, 16.0)),
        (T0 + 23 * HOUR, (T0 + 18 * HOUR, 18.0), (T0 + DAY + 6 * HOUR, 16.0)),
        (T0 + 3 * DAY, (T0 + DAY + 18 * HOUR, 28.0), (T0 + 5 * DAY + 6 * HOUR, 56.0)),
        (T0 + 9 * DAY, (T0 + 5 * DAY + 18 * HOUR, 68.0), None),
    ],
)
def test_the_last_mark_until_an_instant_and_the_first_after_it(
    marked_days: Store, at: int, before: Any, after: Any
) -> None:
    with marked_days.read() as conn:
        assert marks.last_at_or_before(conn, None, "ETH/USDC", at) == before
        assert marks.first_after(conn, None, "ETH/USDC", at) == after
        assert marks.last_at_or_before(conn, "bot", "ETH/USDC", at) is None
        assert marks.first_after(conn, None, "BTC/USDC", at) is None


def test_a_window_reads_only_the_blocks_of_its_days(tmp_path: Path) -> None:
    """Counted in steps of SQLite's own machine: ten times the history costs the same."""
    steps = {}
    questions: dict[str, Callable[[Connection], object]] = {
        "load": lambda c: marks.load(c, None, "ETH/USDC", T0, T0 + 2 * DAY),
        "before": lambda c: marks.last_at_or_before(c, None, "ETH/USDC", T0),
        "after": lambda c: marks.first_after(c, None, "ETH/USDC", T0),
    }
    for days in (30, 300):
        store = open_store(str(tmp_path / f"{days}.db"))
        add(store, series({T0 + i * 6 * HOUR: float(i) for i in range(-4 * days, 4 * days)}))
        with store.read() as conn:
            driver: Any = conn.connection.driver_connection
            for name, question in questions.items():
                ticks = [0]
                driver.set_progress_handler(lambda t=ticks: t.append(0), 1)
                assert question(conn) is not None
                driver.set_progress_handler(None, 0)
                steps[name, days] = len(ticks)
    for (name, _), step_count in steps.items():
        assert step_count <= steps[name, 30] + 5, steps


# laws


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.tuples(st.integers(-8, 8), st.sampled_from([1.0, 2.0]), st.booleans()), max_size=12),
        max_size=5,
    )
)
def test_add_agrees_with_a_dictionary(store: Store, batches: list[list[tuple[int, float, bool]]]) -> None:
    """The model: the first price of an instant stands, whatever comes in whatever order and grouping."""
    name = f"X{next(LIVES)}"
    price_at: dict[int, float] = {}
    lows: set[int] = set()
    with store.write() as conn:
        for batch in batches:
            expected = {"stored": 0, "unchanged": 0, "completed": 0, "conflicts": 0}
            for slot, price, low in batch:
                at = T0 + slot * 7 * HOUR
                if at not in price_at:
                    kind = "stored"
                    price_at[at] = price
                elif price_at[at] != price:
                    kind = "conflicts"
                else:
                    kind = "completed" if low and at not in lows else "unchanged"
                if low and kind != "conflicts":
                    lows.add(at)
                expected[kind] += 1
            mark_series = MarkSeries(
                None,
                name,
                np.array([T0 + slot * 7 * HOUR for slot, *_ in batch], np.int64),
                np.array([price for _, price, _ in batch], float),
                low=np.array([0.5 if low else np.nan for *_, low in batch], float),
            )
            added = marks.add(conn, mark_series, where="x")
            assert outcome(added) == {kind: number for kind, number in expected.items() if number}
        loaded = marks.load(conn, None, name, 0, 1 << 61)
    assert points(loaded) == price_at
    if loaded is not None:
        lowest = loaded.price if loaded.low is None else loaded.low
        assert lowest.tolist() == [0.5 if at in lows else price_at[at] for at in points(loaded)]


def writes(database_url: str, offset: int) -> None:
    store = open_store(database_url)
    for i in range(20):
        add(store, series({T0 + (2 * i + offset) * HOUR: float(i)}))
        add(store, series({T0 + i * HOUR: float(offset)}, f"bot{offset}"))
    store.close()


def test_two_processes_that_add_at_once_lose_no_mark(store: Store, database_url: str) -> None:
    started = [FORK.Process(target=writes, args=(database_url, offset)) for offset in (0, 1)]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0]
    assert len(points(load(store))) == 40
    with store.read() as conn:
        assert [agent.events for agent in facts.agents(conn)] == [20, 20]
