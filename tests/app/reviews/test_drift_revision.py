"""A backtest that is read after a week was reviewed: its review is made again, and says why live was not it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retro.periods import DAY, HOUR
from retro.store.database import Store
from retro.store.jobs import reviews
from tests.worlds.service_world import MONDAY, Recorder, World, life, lines_of

WEEK = "bot.weekly.2026-W10"


def revisions(world: World) -> dict[str, int]:
    """Review -> how many times it was made, those of the week and of its days."""
    with world.store.read() as conn:
        rows = [review for review in reviews.listed(conn) if review.state == "done"]
        return {
            row.id: stored.revision for row in rows if (stored := reviews.revision_of(conn, row.key, None))
        }


def test_reviews_that_speak_of_a_backtest_are_made_again_when_it_is_read(
    store: Store, tmp_path: Path
) -> None:
    mail = Recorder()
    world = World(store, tmp_path, at=MONDAY, mail=mail)
    paths = [tmp_path / "bot.jsonl", tmp_path / "bt.jsonl"]
    world.configuration = {
        "agent": {"bot": {"backtest": "bt"}},
        "source": [{"kind": "journal", "path": str(path)} for path in paths],
    }
    events = life(8)
    paths[0].write_bytes(lines_of(events[:1]))
    paths[1].write_bytes(b"")
    world.knock()
    paths[0].write_bytes(lines_of(events))
    world.clock.set(MONDAY + 8 * DAY + HOUR)
    world.knock()
    before, count = revisions(world), len(mail.got)
    assert drift_of(world)["difference"] is None
    assert "knows no agent bt" in drift_of(world)["reasons"]["difference"]
    paths[1].write_bytes(lines_of(life(8, agent="bt")))
    world.knock()
    world.clock.set(MONDAY + 8 * DAY + 2 * HOUR)
    world.knock()
    assert (drift_of(world)["difference"], drift_of(world)["matched"]) == (0, 7)
    after = revisions(world)
    made_again = {name for name, number in after.items() if name in before and number > before[name]}
    assert WEEK in made_again
    assert not [name for name in made_again if ".weekly." not in name], "no other speaks of it"
    letters = [message.review_id for message in mail.got[count:] if message.agent == "bot"]
    assert letters == [WEEK], (
        "one letter, of the newest week; older ones are gathered as any that were overtaken"
    )


def drift_of(world: World) -> dict[str, Any]:
    drift: dict[str, Any] = world.document(WEEK).model_dump()["evaluators"]["drift"]
    return drift
