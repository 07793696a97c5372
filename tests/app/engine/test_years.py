"""Years of service in seconds, on a clock that only goes when told: every week once, whatever happened in between."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from retro.deliver.channel import Message, Outcome, Retry, Sent
from retro.periods import DAY, HOUR
from retro.store.database import open_store
from tests.worlds.service_world import MONDAY, Recorder, World, line, trade

ADA = "ada@example.org"


@pytest.mark.parametrize(("years", "zone"), [(2, "America/New_York"), (1, "Australia/Sydney")])
def test_years_of_weeks_through_outages_and_both_changes_of_the_clock(
    tmp_path: Path, years: int, zone: str
) -> None:
    """Knocked at random, asleep for weeks, with a mail server that is often away: each week is told of once."""
    rng = random.Random(years)
    mail = Recorder()
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + HOUR, mail=mail)
    world.configuration = {
        "owner": {"time_zone": zone},
        "mail": {"host": "h", "recipients": [ADA], "kinds": ["weekly", "epoch"]},
        "retrospective": {
            "daily_review_enabled": False,
            "position_close_review": False,
            "epoch_interval_days": 90,
        },
    }
    away: Counter[bool] = Counter()

    def answer(_: Message) -> Outcome:
        gone = rng.random() < 0.3
        away[gone] += 1
        return Retry("421 away") if gone else Sent()

    mail.answer = answer
    week_number, end = 0, MONDAY + years * 365 * DAY
    while world.clock() < end:
        while MONDAY + week_number * 7 * DAY < world.clock():
            at = MONDAY + week_number * 7 * DAY
            events = trade(f"p{week_number}", at, at + 30 * HOUR, 2000, rng.uniform(1900, 2100))
            if week_number == 0:
                events.insert(0, line("equity", "e", at, value=10_000, balances={"USDC": 10_000}))
            world.tell([event for event in events if "T" in event["at"]], now=at + 31 * HOUR)
            week_number += 1
        world.knock()
        world.clock.advance(rng.choice((3, 5, 9, 20, 33)) * 24 * 3600 + rng.randrange(86_400))
    mail.answer = lambda _: Sent()
    for _ in range(3):
        world.knock()
        world.clock.advance(2 * 3600)
    weeks = [review for review in world.reviews("weekly") if review.state == "done"]
    assert len(weeks) >= 52 * years
    assert [a.period_end for a in weeks[:-1]] == [b.period_start for b in weeks[1:]]
    for week in weeks:
        local = datetime.fromtimestamp(week.period_end / 1e6, ZoneInfo(zone))
        assert local.strftime("%a %H:%M") == "Mon 00:00"
    letters = world.letters("mail")
    assert {letter.state for letter in letters} == {"sent"}
    heads = Counter(
        letter.review_id for letter in letters if letter.revision == 1 and letter.kind == "weekly"
    )
    assert set(heads) == {week.id for week in weeks}
    assert set(heads.values()) == {1}
    assert away[True] > 5
    world.store.close()
