"""Silence: after so many whole weeks without a word an agent rests, is said to once, and its next word wakes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.app.questions.agents import silent_since_of
from retro.app.settlement.silence import dormant_from
from retro.deliver.briefing import briefing_of
from retro.deliver.notify import summary
from retro.kinds import CALENDAR
from retro.periods import DAY, HOUR, WEEK, format_instant, parse_instant
from retro.report.document import digest_of
from retro.store.database import Store, open_store
from retro.store.jobs import enrolments
from retro.store.jobs.reviews import NEVER
from tests.worlds.service_world import MONDAY, Recorder, World, life, line, trade

ADA = "ada@example.org"
LAST_WORD = MONDAY + 6 * DAY + 18 * HOUR
"""Of `life(7)`: the mark of Sunday evening, 8 March 2026."""
DORMANT = MONDAY + 5 * WEEK
"""Its own week and four whole ones later: 6 April."""


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path, mail=Recorder())


def tell(world: World, events: list[dict[str, Any]]) -> None:
    """Told when the last of it has happened."""
    world.tell(events, now=max(parse_instant(event["at"]) for event in events) + HOUR)


def ids(world: World, kind: str) -> list[str]:
    return [review.period_key for review in world.reviews(kind)]


def newest_figures(world: World) -> dict[str, str]:
    """Id -> digest of the newest figures of the calendar: the same in every database with the same facts."""
    done = [review.id for review in world.reviews() if review.done_at and review.kind in CALENDAR]
    return {name: digest_of(world.document(name)) for name in done}


# what is owed


def test_after_four_whole_weeks_nothing_is_owed_any_more(world: World) -> None:
    tell(world, life(7))
    world.clock.set(MONDAY + 3 * 365 * DAY)
    world.owe()
    assert ids(world, "weekly") == ["2026-W10", "2026-W11", "2026-W12", "2026-W13", "2026-W14"]
    days = ids(world, "daily")
    assert (len(days), days[0], days[-1]) == (35, "2026-03-02", "2026-04-05")
    assert ids(world, "epoch") == ["2026-03-02", "2026-04-01"], "the epoch in which it fell dormant is whole"
    with world.store.read() as conn:
        assert enrolments.next_end(conn) is None, "it is waited for no more"
        assert enrolments.unsettled(conn, world.clock()) == []


@pytest.mark.parametrize("weeks", [0, 1])
def test_the_owner_says_how_long_a_silence_is_borne(world: World, weeks: int) -> None:
    world.configuration = {"service": {"dormant_weeks": weeks}}
    tell(world, life(7))
    world.clock.set(MONDAY + 10 * WEEK + HOUR)
    world.owe()
    assert len(ids(world, "weekly")) == (10 if weeks == 0 else 2)
    assert len(ids(world, "daily")) == (70 if weeks == 0 else 14)


def test_the_next_word_wakes_it_and_what_it_slept_through_stays_owed_to_nobody(world: World) -> None:
    tell(world, life(7))
    world.clock.set(MONDAY + 8 * WEEK)
    world.owe()
    awake = MONDAY + 9 * WEEK + 2 * DAY + 9 * HOUR  # Wednesday of W19
    tell(world, trade("late", awake, awake + HOUR, 2000, 2010))
    world.clock.set(MONDAY + 10 * WEEK + 2 * HOUR)
    world.owe()
    assert ids(world, "weekly")[-2:] == ["2026-W14", "2026-W19"]
    assert ids(world, "daily")[-6:] == ["2026-04-05", *(f"2026-05-{day:02}" for day in range(6, 11))]
    assert not any(review.backfill for review in world.reviews("daily")[-5:]), "people are told of it again"


def test_a_late_fact_in_the_silence_brings_back_what_it_breaks(world: World) -> None:
    """Told in June that it traded in W13: the silence began a week later, and the old end tells of no silence."""
    tell(world, life(7))
    world.clock.set(MONDAY + 12 * WEEK)
    world.knock()
    assert world.document("bot.weekly.2026-W14").silent_since == format_instant(LAST_WORD)
    late = MONDAY + 3 * WEEK + 30 * HOUR
    tell(world, trade("late", late, late + HOUR, 2000, 2010))
    for _ in range(3):
        world.knock()
        world.clock.advance(2 * 3600)
    assert ids(world, "weekly")[-1] == "2026-W17"
    assert len(ids(world, "daily")) == 56
    assert world.document("bot.weekly.2026-W14").silent_since is None
    assert world.document("bot.weekly.2026-W17").silent_since == format_instant(late + HOUR)


def test_an_agents_own_marks_are_words_and_shared_ones_are_not(world: World) -> None:
    tell(world, life(7))
    at = MONDAY + 6 * WEEK
    tell(world, [line("mark", "own", MONDAY + 3 * WEEK, asset="ETH", price=2000)])
    tell(world, [{"type": "mark", "id": "s", "at": format_instant(at), "asset": "ETH", "price": 2100}])
    world.clock.set(MONDAY + 20 * WEEK)
    world.owe()
    assert ids(world, "weekly")[-1] == "2026-W17"  # of 23 March (W13), and four whole weeks


def test_a_dead_agent_is_not_called_silent(world: World) -> None:
    tell(world, [*life(3), line("death", "end", MONDAY + 3 * DAY, cause="budget")])
    tell(world, life(3, agent="other"))
    world.clock.set(MONDAY + 20 * WEEK)
    world.knock()
    since = {
        name: silent_since_of(world.store, world.config, name, world.clock()) for name in ("bot", "other")
    }
    assert since == {"bot": None, "other": format_instant(MONDAY + 2 * DAY + 18 * HOUR)}
    assert not any("silent" in world.text(review.id) for review in world.reviews() if review.agent == "bot")


def test_years_of_reviews_of_a_silent_agent_from_before_stay_as_they_are(world: World) -> None:
    """A database whose service knew no silence: nothing is taken away, nothing comes twice, and waking fills on."""
    world.configuration = {"service": {"dormant_weeks": 0}}
    tell(world, life(7))
    world.clock.set(MONDAY + 12 * WEEK + 2 * HOUR)
    world.owe()
    before = {review.id for review in world.reviews()}
    world.configuration = {}
    world.clock.set(MONDAY + 16 * WEEK)
    world.owe()
    assert {review.id for review in world.reviews()} == before
    awake = MONDAY + 20 * WEEK
    tell(world, trade("late", awake, awake + HOUR, 2000, 2010))
    world.clock.set(awake + WEEK + 2 * HOUR)
    world.owe()
    assert ids(world, "weekly")[-2:] == ["2026-W21", "2026-W30"]


def test_a_day_without_anything_in_it_leaves_no_pages_of_nothing(store: Store, tmp_path: Path) -> None:
    """Its days of trade keep theirs, and so do weeks and epochs; the data of every day are there."""
    world = World(store, tmp_path, files=True)
    tell(world, life(7))
    world.clock.set(MONDAY + 3 * 365 * DAY)
    world.knock()
    files = world.files()
    for kind, pages in (("daily", 7), ("weekly", 5), ("epoch", 2)):
        names = [Path(name) for name in files if name.startswith(f"bot/{kind}/")]
        for form in (".html", ".md"):
            assert sum(name.suffix == form for name in names) == pages, kind
        assert {name.stem for name in names if name.suffix == ".json"} == {*ids(world, kind)}
    assert "bot/daily/2026-03-08.html" in files
    assert [name for name in files if "2026-03-09" in name] == ["bot/daily/2026-03-09.json"]


def test_a_day_that_says_when_the_silence_began_keeps_its_page(store: Store, tmp_path: Path) -> None:
    world = World(store, tmp_path, files=True)
    world.configuration = {"retrospective": {"weekly_review_enabled": False}}
    tell(world, life(7))
    world.clock.set(MONDAY + 3 * 365 * DAY)
    world.knock()
    pages = [name for name in world.files() if name.startswith("bot/daily/") and name.endswith(".html")]
    assert pages[-2:] == ["bot/daily/2026-03-08.html", "bot/daily/2026-04-05.html"]


def test_a_bot_that_left_positions_open_and_stopped_leaves_little_behind(tmp_path: Path) -> None:
    """A week of trades, three positions nobody prices, and silence since: everything on the disk, in a SQLite file."""
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, files=True)
    opened = LAST_WORD - HOUR
    left = [
        {**event, "instrument": f"C{n}/USDC"} if event["type"] == "position" else event
        for n in range(3)
        for event in trade(f"left{n}", opened, LAST_WORD, 10, 10)[:3]
    ]
    tell(world, [*life(7), *left])
    world.clock.set(MONDAY + 4 * 365 * DAY)
    world.knock()
    world.store.close()
    sizes = [path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()]
    assert len(world.reviews()) > 40
    assert sum(sizes) < 2_800_000, "4.1 MB with whole texts and a page of every empty day"


# the same whenever somebody knocks


@given(
    words=st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True).map(sorted),
    knocks=st.lists(st.integers(0, 320), max_size=12).map(sorted),
    zone=st.sampled_from(["UTC", "America/New_York", "Australia/Sydney"]),
    late=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_the_same_reviews_are_owed_whenever_it_was_knocked(
    words: list[int], knocks: list[int], zone: str, late: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Knocked at any days with what was told by then, or once at the end; a fact told late fills what it wakes."""
    end = MONDAY + 46 * WEEK
    trades = {
        MONDAY + week * WEEK + week % 7 * DAY + 9 * HOUR: trade(
            f"p{week}",
            MONDAY + week * WEEK + week % 7 * DAY + 9 * HOUR,
            MONDAY + week * WEEK + week % 7 * DAY + 10 * HOUR,
            2000,
            2010,
        )
        for week in words
    }
    owed: list[set[tuple[str, int, int]]] = []
    for stops in ([MONDAY + day * DAY for day in knocks], []):
        folder = tmp_path_factory.mktemp("silence")
        world = World(open_store(str(folder / "r.db")), folder)
        world.configuration = {"owner": {"time_zone": zone}}
        waiting = dict(trades)
        held_back = sorted(trades)[len(trades) // 2] if late and stops else None
        for now in [*stops, end]:
            world.clock.set(now)
            ready = [at for at in sorted(waiting) if at < now and (at != held_back or now == end)]
            for at in ready:
                tell(world, waiting.pop(at))
            if ready or world.reviews():
                world.owe()
        owed.append({(review.id, review.period_start, review.period_end) for review in world.reviews()})
        world.store.close()
    assert owed[0] == owed[1]


def test_the_same_facts_give_the_same_figures_knocked_daily_or_once(tmp_path: Path) -> None:
    events = life(7)
    awake = MONDAY + 9 * WEEK + 9 * HOUR
    woken = trade("late", awake, awake + HOUR, 2000, 2010)
    figures = []
    for daily in (True, False):
        folder = tmp_path / str(daily)
        folder.mkdir()
        world = World(open_store(str(folder / "r.db")), folder)
        tell(world, events)
        world.clock.set(MONDAY + 7 * DAY)
        while daily and world.clock() < awake:
            world.knock()
            world.clock.advance(3 * 86_400)
        tell(world, woken)
        for at in (awake + 2 * HOUR, MONDAY + 11 * WEEK, MONDAY + 11 * WEEK + DAY):
            world.clock.set(at)
            world.knock()
        figures.append(newest_figures(world))
        world.store.close()
    assert figures[0] == figures[1]
    assert len(figures[0]) > 50


@given(
    at=st.integers(parse_instant("2020-01-01T00:00:00Z"), parse_instant("2030-01-01T00:00:00Z")),
    zone=st.sampled_from(["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]),
    weeks=st.integers(1, 9),
)
def test_it_falls_dormant_on_a_monday_after_as_many_whole_weeks(at: int, zone: str, weeks: int) -> None:
    rest = dormant_from(at, ZoneInfo(zone), weeks)
    assert 0 < rest - at - weeks * WEEK <= WEEK + HOUR  # an hour where the clocks went back meanwhile
    assert dormant_from(rest, ZoneInfo(zone), weeks) - rest >= (weeks + 1) * WEEK - HOUR


# who is told


def mailed(world: World) -> list[Any]:
    assert world.mail is not None
    return [briefing_of(message) for message in world.mail.got]


def test_the_alarm_comes_once_in_the_week_in_which_it_fell_dormant(world: World) -> None:
    world.configuration = {
        "mail": {"host": "h", "recipients": [ADA]},
        "retrospective": {"epoch_interval_days": 90},
    }
    tell(world, life(7))
    while world.clock() < MONDAY + 10 * WEEK:
        world.knock()
        world.clock.advance(86_400)
    briefings = mailed(world)
    weeks = [briefing.period for briefing in briefings if briefing.kicker == "Weekly review"]
    assert weeks == ["2026-W10", "2026-W11", "2026-W12", "2026-W13", "2026-W14"]
    alarms = [briefing for briefing in briefings if any("Silent since" in alarm for alarm in briefing.alarms)]
    assert [briefing.period for briefing in alarms] == ["2026-W14"]
    assert alarms[0].outcome == "silent since 8 Mar 2026"
    assert "Silent since 2026-03-08 18:00 UTC" in summary(world.mail.got[briefings.index(alarms[0])])[1]


def test_history_that_ended_in_silence_is_told_of_by_one_mail(world: World) -> None:
    """A bot that stopped years ago, read today: one mail, and it says so."""
    world.configuration = {"mail": {"host": "h", "recipients": [ADA]}}
    world.clock.set(MONDAY + 4 * 365 * DAY)
    world.tell(life(7))
    for _ in range(40):
        world.knock()
        world.clock.advance(86_400)
    assert [briefing.outcome for briefing in mailed(world)] == ["silent since 8 Mar 2026"]
    assert len(world.reviews()) < 60


@pytest.mark.parametrize(
    ("enabled", "teller"),
    [({"weekly": False}, "2026-04-05"), ({"weekly": False, "daily": False}, "2026-04-01")],
)
def test_where_no_weeks_are_reviewed_a_day_or_an_epoch_says_it(
    world: World, enabled: dict[str, bool], teller: str
) -> None:
    chosen = {f"{kind}_review_enabled": on for kind, on in enabled.items()}
    world.configuration = {
        "mail": {"host": "h", "recipients": [ADA], "kinds": ["loss"]},
        "retrospective": chosen,
    }
    tell(world, life(7))
    world.clock.set(MONDAY + 6 * DAY)
    while world.clock() < MONDAY + 9 * WEEK:
        world.knock()
        world.clock.advance(86_400)
    assert [briefing.period for briefing in mailed(world)] == [teller], "an alarm goes to all who want any"


def test_the_mail_of_another_agents_week_has_a_line_of_who_is_silent(world: World) -> None:
    world.configuration = {"mail": {"host": "h", "recipients": [ADA], "kinds": ["weekly"]}}
    tell(world, life(7))
    tell(world, life(56, agent="lively", every=7))
    for week in (5, 6, 7):
        world.clock.set(MONDAY + week * WEEK + 2 * HOUR)
        world.knock()
    lively = [briefing for briefing in mailed(world) if briefing.agent == "lively"]
    assert [briefing.notices for briefing in lively] == [
        ("Silent: bot since 8 Mar 2026",),
        ("Silent: bot since 8 Mar 2026",),
        ("Silent: bot since 8 Mar 2026",),
    ]
    assert not any(briefing.notices for briefing in mailed(world) if briefing.agent == "bot")


def test_a_silent_agent_costs_a_knock_nothing(world: World) -> None:
    tell(world, life(7))
    world.clock.set(MONDAY + 20 * WEEK)
    world.knock()
    count = len(world.reviews())
    world.clock.set(MONDAY + 200 * WEEK)
    with world.store.read() as conn:
        assert not enrolments.unsettled(conn, world.clock())
        assert not enrolments.anything_to_do(conn, world.clock())
        assert enrolments.enrolment(conn, "bot").next_at == NEVER
    world.knock()
    assert len(world.reviews()) == count
