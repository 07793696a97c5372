"""Texts that are not kept: their rows stay, nothing that builds on them moves, and they can be made again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from retro.app.questions.reviews import stored
from retro.errors import UnknownError
from retro.periods import DAY, HOUR
from retro.store.database import Store
from retro.store.jobs import interventions
from tests.worlds.service_world import MONDAY, Recorder, World, life

KEPT_DAYS = 3


def world_of(store: Store, folder: Path, **service: Any) -> World:
    world = World(store, folder, at=MONDAY + HOUR, configuration={"service": service}, mail=Recorder())
    world.tell(life(1)[:1])
    for day in range(1, 10):
        world.clock.set(MONDAY + day * DAY + 2 * HOUR)
        if day < 9:
            world.tell(life(day))
        world.knock()
    return world


def purged(world: World) -> set[str]:
    with world.store.read() as conn:
        rows = conn.exec_driver_sql(
            "SELECT reviews.id, review_documents.digest FROM review_documents JOIN reviews ON reviews.key ="
            " review_documents.review WHERE document IS NULL AND purged_at IS NOT NULL"
        ).all()
    assert all(digest for _, digest in rows)
    return {name for name, _ in rows}


def body(text: str) -> str:
    """A document without the number of its revision."""
    return re.sub(r'"revision": \d+', '"revision": n', text)


def test_daily_reviews_lose_their_text_after_some_days(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path, keep_daily_reviews=KEPT_DAYS)
    daily = [review for review in world.reviews() if review.kind == "daily"]
    assert len(daily) == 9
    before = world.clock() - KEPT_DAYS * DAY
    with store.read() as conn:
        rows = conn.exec_driver_sql(
            "SELECT kind, period_end, review_documents.done_at, document IS NULL FROM review_documents"
            " JOIN reviews ON reviews.key = review_documents.review"
        ).all()
    old = [kind == "daily" and end < before and done_at < before for kind, end, done_at, _ in rows]
    assert [bool(gone) for *_, gone in rows] == old
    assert old.count(True) >= 5
    assert {review.state for review in world.reviews()} == {"done"}
    with pytest.raises(UnknownError, match=r"bot\.daily\.2026-03-02 was put away on 2026-03-0\d .*remake"):
        stored(store, "bot.daily.2026-03-02")
    assert world.text("bot.daily.2026-03-10")


def test_what_builds_on_them_stays_to_the_byte(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path, keep_daily_reviews=1)
    week = world.text("bot.weekly.2026-W10")
    revision = world.review("bot.weekly.2026-W10").revision
    assert "bot.daily.2026-03-02" in purged(world)
    with store.write() as conn:
        interventions.remake(conn, "bot.weekly.2026-W10")
    world.knock()
    assert body(world.text("bot.weekly.2026-W10", revision + 1)) == body(week)
    assert len(world.reviews("daily")) == 9, "none is owed again"


def test_one_that_was_put_away_is_made_again_and_stays_as_long_as_a_new_one(
    store: Store, tmp_path: Path
) -> None:
    name = "bot.daily.2026-03-02"
    world = world_of(store, tmp_path, keep_daily_reviews=KEPT_DAYS)
    plain = world_of_its_own(tmp_path)
    with store.write() as conn:
        interventions.remake(conn, name)
    world.knock()
    assert body(stored(store, name).text) == body(plain.text(name))
    plain.store.close()
    revision = stored(store, name).revision
    world.knock()
    assert stored(store, name).revision == revision
    for day in (1, KEPT_DAYS + 1):
        world.clock.advance(day * 86_400)
        world.tell(life(10 + day))
        world.knock()
    with pytest.raises(UnknownError, match="put away"):
        stored(store, name)


def world_of_its_own(folder: Path) -> World:
    from retro.store.database import open_store

    return world_of(open_store(str(folder / "plain.db")), folder)


def test_late_facts_that_change_nothing_make_no_revision_of_a_text_that_is_gone(
    store: Store, tmp_path: Path
) -> None:
    world = world_of(store, tmp_path, keep_daily_reviews=KEPT_DAYS)
    before = purged(world), {review.id: review.revision for review in world.reviews()}
    with store.write() as conn:
        interventions.remake_since(conn, 0)
    world.knock()
    assert (purged(world), {review.id: review.revision for review in world.reviews()}) == before


def test_only_so_many_revisions_keep_their_text(store: Store, tmp_path: Path) -> None:
    name = "bot.weekly.2026-W10"
    world = world_of(store, tmp_path, keep_documents=2)
    for _ in range(3):
        with store.write() as conn:
            interventions.remake(conn, name)
        world.knock()
    newest = world.review(name).revision
    for revision in (newest - 1, newest):
        assert stored(store, f"{name}@{revision}").text
    for revision in range(1, newest - 1):
        with pytest.raises(UnknownError, match=r"put away on .*; a newer one is there"):
            stored(store, f"{name}@{revision}")


def test_a_text_that_is_on_its_way_stays_until_it_has_arrived(store: Store, tmp_path: Path) -> None:
    from retro.deliver.channel import Retry

    down = Recorder(answer=lambda _: Retry("the server is away"))
    configuration = {"service": {"keep_daily_reviews": 1}, "mail": {"kinds": ["daily"]}}
    world = World(store, tmp_path, at=MONDAY + HOUR, configuration=configuration, mail=down)
    world.tell(life(1)[:1])
    for day in range(1, 6):
        world.clock.set(MONDAY + day * DAY + 2 * HOUR)
        world.tell(life(day))
        world.knock()
    assert purged(world) == set()
    down.answer = Recorder().answer
    world.clock.advance(2 * 3600)
    world.knock()
    world.clock.set(MONDAY + 6 * DAY + 2 * HOUR)
    world.tell(life(6))
    world.knock()
    assert len(purged(world)) == 4
    assert {letter.state for letter in world.letters("mail")} == {"sent"}
