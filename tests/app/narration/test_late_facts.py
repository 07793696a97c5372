"""Facts that arrive between the figures of a review and its words come into it, whatever became of the words."""

from __future__ import annotations

from retro.periods import HOUR
from retro.store.jobs import interventions
from tests.app.engine.test_ledger import breaking, world
from tests.worlds.service_world import MONDAY, World, trade

__all__ = ["world"]


def test_facts_told_between_a_failed_attempt_and_the_next_come_into_the_review(world: World) -> None:
    """Its figures were stored, its words failed: it goes on with those figures, and is then looked at once more."""
    world.knock(words=breaking(1))
    world.clock.advance(40)
    world.tell(trade("late", MONDAY + 9 * HOUR, MONDAY + 10 * HOUR, 100, 150))
    world.knock()
    document = world.document("bot.daily.2026-03-02")
    assert [position.position_id for position in document.positions] == ["late"]


def test_facts_told_while_a_review_is_parked_come_into_it_when_it_is_retried(world: World) -> None:
    words = breaking(99)
    for _ in range(5):
        world.knock(words=words)
        world.clock.advance(2 * 3600)
    assert world.review("bot.daily.2026-03-02").state == "parked"
    world.tell(trade("late", MONDAY + 9 * HOUR, MONDAY + 10 * HOUR, 100, 150))
    with world.store.write() as conn:
        interventions.retry(conn, "bot.daily.2026-03-02", world.clock())
    world.knock()
    document = world.document("bot.daily.2026-03-02")
    assert [position.position_id for position in document.positions] == ["late"]
