"""Many instruments at once: told and read in as many statements as a few, and what each says by itself."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from retro.model import MarkSeries
from retro.periods import DAY, HOUR
from retro.store.books.trades import traded as traded_of
from retro.store.facts import agents, marks
from retro.store.facts.last_told import last_told
from retro.store.facts.market import market
from retro.store.schema import mark_blocks
from retro.store.schema import series as mark_series
from tests.worlds.lives import live, report
from tests.worlds.oracle import Life
from tests.worlds.steps import settle_anew, statements_of

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from retro.store.database import Store

T0 = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
LIVES = count()
HOURS = st.dictionaries(st.integers(-60, 130), st.integers(1, 9), max_size=6)
SETTINGS = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def series(agent: str | None, name: str, prices: dict[int, int]) -> MarkSeries:
    """Marks by hour, or half of a candle: every third knows its low."""
    hours = sorted(prices)
    t = np.array([T0 + hour * HOUR for hour in hours], np.int64)
    low = np.array([np.nan if hour % 3 else prices[hour] / 2 for hour in hours])
    return MarkSeries(agent, name, t, np.array([prices[hour] for hour in hours], float), low, None)


def each(conn: Connection, agent: str | None, name: str, start: int, end: int) -> MarkSeries | None:
    """The definition: from the last mark before, if there is one; else the first after the end."""
    before = marks.last_at_or_before(conn, agent, name, start)
    inside = marks.load(conn, agent, name, start if before is None else before[0], end)
    if inside is None and (first := marks.first_after(conn, agent, name, end)) is not None:
        inside = marks.load(conn, agent, name, first[0], first[0])
    return inside


def plain(marked: MarkSeries | None) -> Any:
    """A series as lists, which compare."""
    if marked is None:
        return None
    columns = [None if x is None else x.tolist() for x in (marked.t, marked.price, marked.low, marked.high)]
    return (marked.agent, marked.instrument, *columns)


@given(st.lists(HOURS, min_size=1, max_size=4), st.integers(-70, 140), st.integers(0, 70), st.booleans())
@SETTINGS
def test_a_market_is_each_of_its_instruments(
    store: Store, prices: list[dict[int, int]], start: int, length: int, own: bool
) -> None:
    agent = f"a{next(LIVES)}" if own else None
    names = [f"{next(LIVES)}/USDC" for _ in prices]
    with store.write() as conn:
        marks.add_all(
            conn,
            [series(agent, *pair) for pair in zip(names, prices, strict=True)],
            where="candles.csv",
        )
        begin, end = T0 + start * HOUR, T0 + (start + length) * HOUR
        loaded = market(conn, agent, [*names, "never/USDC"], begin, end)
        wanted = {name: plain(each(conn, agent, name, begin, end)) for name in names}
        if own and any(prices):
            life = agents.existing_agent(conn, str(agent))
            latest = [T0 + hour * HOUR for path in prices for hour in path if T0 + hour * HOUR <= end]
            assert last_told(conn, life, end) == max(latest, default=0)
    assert list(loaded) == sorted(loaded)
    assert {name: plain(loaded.get(name)) for name in names} == wanted


@given(st.lists(HOURS, min_size=2, max_size=5))
@SETTINGS
def test_series_told_together_are_stored_as_one_after_the_other(
    store: Store, prices: list[dict[int, int]]
) -> None:
    """Two of them are of one instrument: what the second tells otherwise is a conflict."""
    together, apart = f"a{next(LIVES)}", f"a{next(LIVES)}"
    names = [f"C{max(i, 1)}/USDC" for i in range(len(prices))]
    pairs = list(zip(names, prices, strict=True))
    with store.write() as conn:
        at_once = marks.add_all(conn, [series(together, *pair) for pair in pairs], where="x.csv")
        singly = [marks.add(conn, series(apart, *pair), where="x.csv") for pair in pairs]
        stored = [market(conn, agent, names, T0 - 100 * DAY, T0 + 100 * DAY) for agent in (together, apart)]
        lives = [agents.agent(conn, agent) for agent in (together, apart)]
    assert at_once == singly
    assert [plain(s)[1:] for s in stored[0].values()] == [plain(s)[1:] for s in stored[1].values()]
    spans = [None if life is None else (life.first_at, life.last_at, life.events) for life in lives]
    assert spans[0] == spans[1]


def traded(folder: Path, count: int, first_mark: int) -> Life:
    """As many instruments, each with marks from an hour on and a position that is entered at 6."""
    life = Life(folder, f"a{count}")
    life.tell(0, "external", quantity=1000)
    for n in range(count):
        name = f"C{n}/USDC"
        life.marks(name, {first_mark: 10, 30: 11, 60: 12})
        life.trade(f"p{n}", (6, 10), (40, 11), instrument=name, cites=["H-1"], exit_cites=["X-1"])
    life.until(168)
    assert life.store
    return life


@pytest.mark.parametrize("first_mark", [0, 10])
def test_more_instruments_are_no_more_statements(tmp_path: Path, first_mark: int) -> None:
    """To settle them, and to review a day and the week that holds it, be they marked by their entry or only after it."""
    few, many = (traded(tmp_path, count, first_mark) for count in (5, 25))
    for work in (settle_anew, Life.week, lambda life: life.day(1)):
        assert statements_of(many.store, partial(work, many)) == statements_of(few.store, partial(work, few))


def test_marks_of_more_new_instruments_are_no_more_statements(store: Store) -> None:
    """What is asked, written and noted of them is so once for all; one that has marks already is looked at by itself."""

    def tell(count: int) -> None:
        markets = [series(f"a{count}", f"C{n}/USDC", {0: 1, 30: 2}) for n in range(count)]
        with store.write() as conn:
            marks.add_all(conn, markets, where="candles.csv")

    assert statements_of(store, partial(tell, 25)) == statements_of(store, partial(tell, 5))


TELLINGS = st.lists(
    st.tuples(
        st.integers(0, 3),  # instrument
        st.lists(
            st.tuples(
                st.sampled_from([0, 1, 999, 1000, 2000, DAY - 1, DAY, DAY + 500, 3 * DAY]),
                st.integers(1, 3),
                st.sampled_from([None, 0.5]),
            ),
            max_size=6,
        ),
    ),
    max_size=6,
)


@given(TELLINGS)
@SETTINGS
def test_series_told_together_are_stored_as_when_told_one_by_one(
    store: Store, told: list[tuple[int, list[tuple[int, int, float | None]]]]
) -> None:
    """Instants told twice or within a millisecond, an instrument told of twice, lows or none: the same blocks and counts."""
    life = next(LIVES)

    def batch(owner: str) -> list[MarkSeries]:
        return [
            MarkSeries(
                f"{owner}{life}",
                f"C{which}",
                np.array([T0 + offset for offset, _, _ in points], np.int64),
                np.array([price for _, price, _ in points], float),
                np.array([np.nan if low is None else low for _, _, low in points], float),
            )
            for which, points in told
        ]

    with store.write() as conn:
        together = marks.add_all(conn, batch("a"), where="x")
        apart = [marks.add(conn, series, where="x") for series in batch("b")]
        assert together == apart
        assert _blocks(conn, f"a{life}") == _blocks(conn, f"b{life}")


def _blocks(conn: Connection, owner: str) -> list[tuple[Any, ...]]:
    c = mark_blocks.c
    query = select(mark_series.c.instrument, c.day, c.at_ms, c.price, c.low, c.high, c.micros)
    query = query.join(mark_series, mark_series.c.key == c.series).where(mark_series.c.owner == owner)
    return [tuple(row) for row in conn.execute(query.order_by(mark_series.c.instrument, c.day))]


def test_what_may_have_traded_an_asset_since_and_last_before(store: Store) -> None:
    """ETH in two quotes, the second closed long after its last fill; ETHX is another asset."""
    hours = {
        "p1": ("ETH/USDC", 1, 2),
        "p2": ("ETH/BTC", 3, 9),
        "p3": ("ETHX/USDC", 4, 5),
        "p4": ("ETH", 20, 21),
    }
    lines = []
    for name, (instrument, bought, closed) in hours.items():
        key = {"agent": "bot", "position": name}
        for kind, hour, fields in (
            ("position", bought, {"kind": "spot", "instrument": instrument}),
            ("fill", bought, {"side": "buy", "quantity": 1, "price": 1}),
            ("exit", closed, {}),
        ):
            lines.append(
                {"type": kind, "id": f"{name}{kind}", "at": (T0 + hour * HOUR) // 1000, **key, **fields}
            )
    live(store, "".join(json.dumps(line) + "\n" for line in lines).encode())
    report(store, "bot")  # a server settles for who asks
    with store.read() as conn:
        assert traded_of(conn, "bot", {"ETH": T0 + 10 * HOUR, "ETHX": T0}) == {"p2", "p3", "p4"}
        assert traded_of(conn, "bot", {"ETH": T0 + 30 * HOUR}) == {"p4"}
        assert traded_of(conn, "bot", {"BTC": T0}) == set()
