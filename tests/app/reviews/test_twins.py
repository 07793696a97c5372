"""What a random moment would have brought, kept with the review of each closed trade and drawn beside it."""

from __future__ import annotations

from pathlib import Path

from retro.app.questions.evaluators.luck import LuckQuestion, luck
from retro.app.questions.reviews import Stored, stored
from retro.periods import HOUR, parse_instant
from retro.present.formats import Format, render
from retro.report import dump
from retro.report.evaluators.luck import PositionLuck
from retro.store.database import Store
from retro.store.facts.agents import existing_agent
from retro.store.rework import enlist
from tests.app.reviews.test_rework import work
from tests.worlds.service_world import MONDAY, World, life, line, trade

DAYS = 8
FORMATS: tuple[Format, ...] = ("text", "md", "html")
QUIET = {"daily_review_enabled": False, "epoch_review_enabled": False}


def world_at(store: Store, folder: Path, hours: int) -> World:
    return World(store, folder, at=MONDAY + hours * HOUR, configuration={"retrospective": QUIET})


def made_now(world: World) -> dict[str, Stored]:
    """The reviews of positions that were made, or made anew, at this instant, by position."""
    newest = [review for review in world.reviews("position") if review.done_at == world.clock()]
    return {review.subject: stored(world.store, review.id) for review in newest}


def told_by_luck(world: World) -> dict[str, PositionLuck]:
    """What `retro luck` says of each position."""
    with world.store.read() as conn:
        agent = existing_agent(conn, "bot")
    report = luck(LuckQuestion(world.store, "bot", world.settings_for(agent)))
    return {row.position: row for row in report.positions}


def test_a_review_keeps_what_luck_says_when_it_is_made(store: Store, tmp_path: Path) -> None:
    """As history that comes at once, and as trades that close one after another."""
    world = world_at(store, tmp_path, 0)
    events, count = life(DAYS), 0
    for hours in (5 * 24, 7 * 24, DAYS * 24 + 2):
        world.clock.set(MONDAY + hours * HOUR)
        earlier = [event for event in events if parse_instant(event["at"]) < world.clock()]
        world.tell(earlier[count:])
        count = len(earlier)
        world.knock()
        newest, by_position = made_now(world), told_by_luck(world)
        assert newest
        for name, review in newest.items():
            twins, row = review.twins, by_position[name]
            assert twins is not None
            assert (twins.twins, twins.luck, twins.percentile) == (row.twins, row.luck, row.percentile)
            assert twins.reason == row.reasons.get("luck")
            if twins.quantiles is not None:
                assert list(twins.quantiles) == sorted(twins.quantiles)
                assert twins.quantiles[0] < twins.luck < twins.quantiles[-1]
    assert {review.twins.twins for review in newest.values() if review.twins} == {999}


def test_it_is_drawn_in_every_format_and_is_no_part_of_the_document(store: Store, tmp_path: Path) -> None:
    world = world_at(store, tmp_path, DAYS * 24)
    far = trade("far", MONDAY + 9 * HOUR, MONDAY + 5 * 24 * HOUR, 2000, 2010)
    still = line(
        "position", "open", MONDAY + HOUR, kind="spot", instrument="ETH/USDC", side="long", position="open"
    )
    world.tell([*life(DAYS), *far, still])
    world.knock()
    review = stored(store, "bot.position.p3")
    assert review.twins is not None
    assert review.twins.quantiles is not None
    assert "twin" not in review.text == dump(review.document)
    texts = {form: render(review.document, form, currency="USDC", twins=review.twins) for form in FORMATS}
    for form, text in texts.items():
        assert "Of 999 random moments nine in ten brought" in text, form
        assert "Choosing when: selection" in text, form
        assert "random moments" not in render(review.document, form, currency="USDC")
    [strip] = [row for row in texts["text"].splitlines() if "░" in row]
    assert strip.count("●") == 1
    assert len(strip) <= 80
    bare = stored(store, "bot.position.far")
    assert bare.twins is not None
    why = "of its holding times; 20 are needed."
    assert why in " ".join(render(bare.document, "text", currency="USDC", twins=bare.twins).split())


def test_a_rework_keeps_it_with_the_revision_it_makes(
    store: Store, tmp_path: Path, database_url: str
) -> None:
    world = world_at(store, tmp_path, DAYS * 24)
    world.tell(life(DAYS))
    world.knock()
    before = stored(store, "bot.position.p3")
    assert before.revision == 1
    shorter = {**QUIET, "trajectory_checkpoint_intervals": ["2h"]}
    world.configuration = {"retrospective": shorter, "store": {"url": database_url}}
    with store.write() as conn:
        enlist(conn, ["bot"], 0, world.clock())
    assert work(world).revised
    after = stored(store, "bot.position.p3")
    assert (after.revision, after.twins) == (2, before.twins)
    assert stored(store, "bot.position.p3@1").twins == before.twins
