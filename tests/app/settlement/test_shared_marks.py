"""Shared marks leave an agent's book behind, and nobody else's: what it rests on, what it notes, what an upgrade keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from retro.app.intake.ingest import IngestTerms, ingest
from retro.app.reviews.build import inputs_of
from retro.app.reviews.window import Window, grid_of
from retro.app.settlement.invalidation import united
from retro.app.settlement.settle import settled_book
from retro.model import Batch, MarkSeries
from retro.periods import DAY, HOUR, period_at
from retro.store.books.shared_marks import book_marks, changes, series_ahead
from retro.store.database import Store, open_store
from retro.store.facts import agents
from retro.store.jobs import enrolments, outbox
from retro.store.jobs.staleness import Staleness
from retro.store.migrations.runner import COMPONENTS
from retro.store.schema import mark_tellings
from tests.worlds.service_world import MONDAY, World, life, line

NOW = MONDAY + 8 * DAY
WEEK = "bot.weekly.2026-W10"


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    """A bot that trades ETH/USDC for a week, and one that states its equity and trades nothing; all is reviewed."""
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell([*life(7), line("equity", "e", MONDAY, "idle", value=100)])
    world.clock.set(NOW)
    world.knock()
    world.knock()
    return world


def tell(world: World, at: int, price: float, instrument: str = "ETH/USDC", replace: Any = None) -> None:
    marks = MarkSeries(None, instrument, np.array([at]), np.array([price]), None, None)
    ingest(
        world.store,
        "candles",
        [Batch(events=1, marks=[marks])],
        world.settings_for,
        IngestTerms(replace=replace),
    )


def behind(world: World) -> list[str]:
    with world.store.read() as conn:
        return enrolments.unsettled(conn, world.clock())


def notes(world: World, agent: str) -> dict[str, int]:
    with world.store.read() as conn:
        query = select(book_marks.c.instrument, book_marks.c.version)
        query = query.where(book_marks.c.agent == agents.key_query(agent))
        return {row.instrument: row.version for row in conn.execute(query)}


def tellings(world: World) -> int:
    with world.store.read() as conn:
        return len(conn.execute(select(mark_tellings.c.version)).all())


def test_a_telling_concerns_those_alone_whose_facts_it_may_price(world: World) -> None:
    assert behind(world) == []
    tell(world, MONDAY + 2 * DAY, 2500.0)
    assert behind(world) == ["bot"]
    tell(world, MONDAY + 2 * DAY, 1.5, "DOGE/USDC")
    assert behind(world) == ["bot"]


def test_a_late_telling_makes_a_revision_at_the_next_knock_and_is_forgotten_then(world: World) -> None:
    before = {review.id: review.revision for review in world.reviews()}
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2500.0)
    assert {review.late for review in world.reviews()} == {Staleness()}, "the telling touches no review"
    assert tellings(world) == 1
    world.knock()
    after = {review.id: review.revision for review in world.reviews()}
    assert {name for name in after if after[name] > before[name]} >= {WEEK, "bot.daily.2026-03-04"}
    assert not [name for name in after if name.startswith("idle") and after[name] > 1]
    assert after["bot.daily.2026-03-02"] == 1, "two days before the mark nothing has changed"
    assert (tellings(world), behind(world)) == (0, [])
    assert notes(world, "bot")["ETH/USDC"] == 1


def test_who_asks_for_the_book_before_the_knock_gets_the_marks_and_hides_nothing_from_it(
    world: World,
) -> None:
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2500.0)
    with world.store.read() as conn:
        settings = world.settings_for(agents.existing_agent(conn, "bot"))
    with settled_book(world.store, "bot", settings):
        pass
    assert notes(world, "bot")["ETH/USDC"] == 1
    assert behind(world) == ["bot"], "losses are to be looked for from there"
    world.knock()
    assert world.review(WEEK).revision == 2


def test_what_is_told_between_two_knocks_is_taken_together_and_apart_by_days(world: World) -> None:
    for at in (MONDAY + DAY, MONDAY + DAY + HOUR, MONDAY + 5 * DAY):
        tell(world, at, 2010.0)
    with world.store.read() as conn:
        assert united(changes(conn, "bot"), apart=DAY) == [
            (MONDAY + DAY, MONDAY + DAY + HOUR),
            (MONDAY + 5 * DAY, MONDAY + 5 * DAY),
        ]
        assert series_ahead(conn) == [("ETH/USDC", 3)]
    world.knock()
    assert notes(world, "bot")["ETH/USDC"] == 3


def test_a_correction_is_a_version_and_the_same_told_again_is_none(world: World) -> None:
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2500.0)
    world.knock()
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2500.0)
    assert behind(world) == []
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2600.0, replace="the exchange said so")
    assert behind(world) == ["bot"]
    world.knock()
    assert world.review(WEEK).revision == 3


def test_what_a_decision_passed_by_is_watched_before_anybody_tells_its_marks(world: World) -> None:
    assert behind(world) == []
    skip = line(
        "decision", "no", MONDAY + 7 * DAY + HOUR, action="skip", reasoning="x", instrument="SOL/USDC"
    )
    world.tell([skip])
    world.knock()
    assert notes(world, "bot")["SOL/USDC"] == 0
    tell(world, MONDAY + 7 * DAY + 2 * HOUR, 90.0, "SOL/USDC")
    assert behind(world) == ["bot"]


def test_a_late_mark_of_the_benchmark_restates_the_reviews_that_it_changes(
    store: Store, tmp_path: Path
) -> None:
    world = World(store, tmp_path, at=MONDAY + HOUR, configuration={"owner": {"benchmark": "BTC/USDC"}})
    world.tell(life(7))
    world.clock.set(NOW)
    world.knock()
    world.knock()
    assert world.review(WEEK).revision == 1
    for day in range(8):
        tell(world, MONDAY + day * DAY, 60_000.0 + 500 * day, "BTC/USDC")
    assert behind(world) == ["bot"]
    world.knock()
    assert world.review(WEEK).revision == 2
    tell(world, MONDAY + DAY, 1.0, "ADA/USDC")  # nothing of it was held, and nobody is held against it
    assert behind(world) == []


def test_a_telling_waits_for_the_slowest_book(world: World) -> None:
    """The other bot is not settled, as one whose row is damaged is not: it is told when it can be."""
    world.tell(life(7, "slow"))
    world.knock()
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2500.0)
    with world.store.read() as conn:
        settings = world.settings_for(agents.existing_agent(conn, "bot"))
    with settled_book(world.store, "bot", settings):
        pass
    assert tellings(world) == 1
    assert "slow" in behind(world)
    world.knock()
    assert world.review("slow.weekly.2026-W10").revision == 2
    assert tellings(world) == 0


def test_every_series_that_a_review_looks_up_is_noted(world: World) -> None:
    """Else a mark could come late and its review stand as it was."""
    with world.store.read() as conn:
        settings = world.settings_for(agents.existing_agent(conn, "bot"))
    noted = notes(world, "bot").keys()
    with settled_book(world.store, "bot", settings) as book:
        for day in range(7):
            period = period_at("daily", MONDAY + day * DAY, settings.zone)
            window = Window(period, grid_of(period, settings), book.known_until, period.end)
            inputs = inputs_of(book, window, [row.position for row in book.positions()])
            assert inputs.prices.looked_up
            assert inputs.prices.looked_up | inputs.watched.looked_up <= noted


def test_books_of_an_older_version_miss_no_telling_and_lose_no_text(world: World) -> None:
    """They noted nothing: where marks come late between the upgrade and the first knock the review is revised, too."""
    documents = {review.id: world.text(review.id) for review in world.reviews() if review.state == "done"}
    with world.store.write() as conn:  # what the step leaves of the books of an older database
        conn.exec_driver_sql("DELETE FROM book_marks")
        conn.exec_driver_sql("UPDATE book SET settings = '', dirty_from = COALESCE(dirty_from, 0)")
    tell(world, MONDAY + 2 * DAY + 12 * HOUR, 2500.0)
    assert behind(world) == ["bot", "idle"]
    world.knock()
    assert world.review(WEEK).revision == 2
    assert {name: world.text(name, 1) for name in documents} == documents
    assert (tellings(world), behind(world)) == (0, [])


def test_a_book_that_is_settled_anew_after_an_upgrade_revises_nothing_by_itself(world: World) -> None:
    revisions = {review.id: review.revision for review in world.reviews()}
    with world.store.write() as conn:
        conn.exec_driver_sql("DELETE FROM book_marks")
        conn.exec_driver_sql("UPDATE book SET settings = '', dirty_from = COALESCE(dirty_from, 0)")
    world.knock()
    assert behind(world) == []
    assert {review.id: review.revision for review in world.reviews()} == revisions


OLD_ROWS = (
    (
        "INSERT INTO agents (key, name, first_at, last_at, events, day_grid, epoch_grid) VALUES"
        " (1, 'watched', 0, 9, 1, 1, 1), (2, 'new', 0, 9, 1, 1, 1)"
    ),
    "INSERT INTO enrolments (agent, enrolled_at, next_at) VALUES (1, 5, 100)",
    "INSERT INTO book (agent, dirty_from, settings, opening) VALUES (1, NULL, 'x', '{}'), (2, 7, 'x', '{}')",
    (
        "INSERT INTO reviews (key, agent, id, kind, subject, period_start, period_end, due_at, state, revision, backfill,"
        " attempts, not_before, late) VALUES (8, 1, 'watched.death', 'death', '', 0, 50, 50, 'done', 1, 0, 0, 0, 0)"
    ),
    (
        "INSERT INTO outbox (key, review, revision, channel, recipient, state, digest, attempts, not_before, written_at)"
        " VALUES (3, 8, 1, 'mail', 'ada', 'pending', 0, 0, 0, 60)"
    ),
)


def test_the_step_to_a_fleet_fills_what_older_rows_lack(new_database_url: str) -> None:
    before = open_store(new_database_url, components={**COMPONENTS, "retro": COMPONENTS["retro"][:16]})
    with before.write() as conn:
        for statement in OLD_ROWS:
            conn.exec_driver_sql(statement)
    before.close()
    store = open_store(new_database_url)
    with store.read() as conn:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in conn.exec_driver_sql(query)]

        assert rows("SELECT name, watched FROM agents ORDER BY key") == [("watched", 1), ("new", 0)]
        assert rows("SELECT agent, settings, dirty_from FROM book ORDER BY agent") == [(1, "", 0), (2, "", 7)]
        assert rows("SELECT agent, period_end, state FROM outbox") == [(1, 50, "pending")]
        assert enrolments.unsettled(conn, 10) == ["new", "watched"]
        assert [letter.review_id for letter in outbox.listed(conn)] == ["watched.death"]
    with store.write() as conn:
        assert [letter.key for letter in outbox.claim(conn, "a", 99, 9, "mail", digest=False)] == [3]
    store.close()
