"""An agent's life read ahead of several questions: it answers each as the tables do, and asks them once."""

from __future__ import annotations

import io
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.intake.ingest import IngestTerms, ingest
from retro.ingest.journal import reader as journal
from retro.model import Cost, Decision, Equity, External, Fact, Fill, Flow, Position, Prediction, Resolution
from retro.periods import DAY, FOREVER, HOUR
from retro.store.facts import events, marks
from retro.store.facts.market import MarketReader, market
from retro.store.jobs import reviews
from retro.store.life import LifeReader
from tests.store.test_market import HOURS, T0, plain, series
from tests.worlds.service_world import MONDAY, World, life, line, lines_of, trade
from tests.worlds.steps import statements_of

if TYPE_CHECKING:
    from pathlib import Path

    from retro.store.database import Store
    from retro.store.jobs.reviews import Review

NAMES = count()
TYPES: list[list[type[Fact]]] = [
    [Cost],
    [Decision],
    [Prediction],
    [Resolution],
    [Position, Decision, Fill, Flow, Cost, External, Equity, Prediction, Resolution],
]
WINDOWS = st.tuples(st.integers(-30, 30 * 24), st.integers(-2, 40 * 24))
SETTINGS = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def claims_and_trades(days: int = 21) -> list[dict[str, Any]]:
    """Three weeks of trades, with predictions, costs and a position that stays open."""
    events = life(days, every=2)
    for day in range(0, days, 3):
        at = MONDAY + day * DAY
        claim = {"decision": f"p{day}-in"} if day % 2 == 0 else {}
        events += [
            line("prediction", f"w{day}", at + HOUR, statement="up", target="ETH", confidence=0.6, **claim),
            line("resolution", f"r{day}", at + 3 * DAY, prediction=f"w{day}", correct=day % 2 == 0),
            line("cost", f"c{day}", at + 2 * HOUR, kind="data", amount=1 + day),
            line("cost", f"g{day}", at + 9 * HOUR, kind="gas", amount=2, position=f"p{day - day % 2}"),
        ]
    return events + trade("stays", MONDAY + DAY, MONDAY + 60 * DAY, 2000, 2010)[:3]


@pytest.fixture
def owed(store: Store, tmp_path: Path) -> tuple[Store, str, list[Review]]:
    """An agent's whole history, owed at once and not made."""
    world = World(store, tmp_path, at=MONDAY + 70 * DAY)
    batches = journal.read(io.BytesIO(lines_of(claims_and_trades())), "life", now=world.clock())
    ingest(store, "life", batches, world.settings_for, IngestTerms(), now=world.clock())
    return store, "bot", world.owe()


def sorted_facts(facts: list[Any]) -> list[tuple[str, str, int]]:
    return sorted((type(fact).__name__, fact.id, fact.at) for fact in facts)


@given(windows=st.lists(WINDOWS, min_size=1, max_size=8), first=st.integers(0, 30), size=st.integers(2, 9))
@SETTINGS
def test_what_is_read_ahead_answers_as_the_tables_do(
    owed: tuple[Store, str, list[Review]], windows: list[tuple[int, int]], first: int, size: int
) -> None:
    """Whatever stretch was read ahead, and whether a question lies inside it, across its end or outside."""
    store, agent, every = owed
    share = every[first : first + size]
    with store.read() as conn:
        reader = LifeReader(conn, agent)
        reader.read_ahead(share)
        for start, length in windows:
            begin = MONDAY + start * HOUR
            for end in (begin + length * HOUR, FOREVER):
                for types in TYPES:
                    for wallet in (False, True):
                        ours = reader.between(begin, end, types=types, wallet=wallet)
                        theirs = events.between(conn, agent, begin, end, types=types, wallet=wallet)
                        assert sorted_facts(ours) == sorted_facts(theirs)
                touched = events.positions_touched(conn, agent, begin, end)
                assert reader.positions_touched(begin, end) == touched
                for names in (touched, touched[:1], ["nobody"]):
                    assert sorted_facts(reader.of_positions(names, until=end)) == sorted_facts(
                        events.of_positions(conn, agent, names, until=end)
                    )
        for review in every:
            assert reader.facts_digest(review) == reviews.facts_digest(conn, review)
            assert reader.revision_of(review) is None


def test_a_share_of_history_asks_the_tables_once(owed: tuple[Store, str, list[Review]]) -> None:
    store, agent, every = owed
    days = [review for review in every if review.kind == "daily"][:12]

    def read(share: list[Review]) -> None:
        with store.read() as conn:
            reader = LifeReader(conn, agent)
            reader.read_ahead(share)
            for review in share:
                reader.facts_digest(review)
                reader.between(review.period_start, review.period_end, types=[Decision])
                reader.of_positions(
                    reader.positions_touched(review.period_start, review.period_end), until=FOREVER
                )

    assert statements_of(store, lambda: read(days)) == statements_of(store, lambda: read(days[:2]))


@given(
    st.lists(HOURS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(-70, 140), st.integers(0, 70)), min_size=1, max_size=6),
    st.tuples(st.integers(-70, 100), st.integers(0, 90)),
    st.booleans(),
)
@SETTINGS
def test_marks_read_ahead_are_cut_as_they_would_be_read(
    store: Store,
    prices: list[dict[int, int]],
    windows: list[tuple[int, int]],
    ahead: tuple[int, int],
    own: bool,
) -> None:
    agent = f"m{next(NAMES)}"
    names = [f"{agent}-{i}/USDC" for i in range(len(prices))]
    owner = agent if own else None
    with store.write() as conn:
        marks.add_all(
            conn,
            [series(owner, *pair) for pair in zip(names, prices, strict=True)],
            where="candles.csv",
        )
        reader = MarketReader(conn, agent)
        reader.read_ahead(T0 + ahead[0] * HOUR, T0 + sum(ahead) * HOUR)
        read = reader.owned if own else reader.shared
        for start, length in windows:
            begin, end = T0 + start * HOUR, T0 + (start + length) * HOUR
            for wanted in (names, names[:1], [*names, "never/USDC"]):
                cut = {name: plain(each) for name, each in read(wanted, begin, end).items()}
                direct = market(conn, owner, wanted, begin, end)
                assert cut == {name: plain(each) for name, each in direct.items()}
                assert list(cut) == sorted(cut)
