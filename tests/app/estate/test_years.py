"""An operator's years: a hundred agents on one PostgreSQL, a bot of two years on SQLite; nothing is lost on the way."""

from __future__ import annotations

import lzma
import shutil
import sqlite3
import threading
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from retro.app.engine.worker import run_pass
from retro.app.estate.archive import export_agent
from retro.app.estate.arrival import import_agent
from retro.app.estate.folders import EstateFolders
from retro.app.estate.merger import merge
from retro.app.estate.removal import forget, undo_forget
from retro.app.estate.rename import rename
from retro.daemon.restore import restore
from retro.deliver.briefing import briefing_of
from retro.deliver.channel import Message
from retro.kinds import CALENDAR
from retro.periods import HOUR, WEEK, parse_instant
from retro.report.document import digest_of
from retro.store.backup import back_up
from retro.store.database import Store, open_store
from retro.store.jobs import tables as jobs
from retro.store.schema import agents
from tests.app.estate.homes import texts
from tests.worlds.places import ROOT
from tests.worlds.service_world import MONDAY, Recorder, World, life, line, trade
from tests.worlds.steps import statements_of

WEEKS_ALONE = {
    "retrospective": {
        "daily_review_enabled": False,
        "position_close_review": False,
        "epoch_review_enabled": False,
    },
    "service": {"dormant_weeks": 1},
    "memory": {"records": False},
}


def folders(root: Path) -> EstateFolders:
    return EstateFolders(root / "reviews", root / "memory_data", root / "playbook")


def documents(store: Store, agent: str) -> dict[tuple[str, int], str | None]:
    """(review id, revision) -> its text, of one agent's reviews."""
    with store.read() as conn:
        stored = jobs.documents.c
        query = select(jobs.reviews.c.id, stored.revision, stored.document)
        query = query.join(jobs.reviews, jobs.reviews.c.key == stored.review)
        rows = conn.execute(
            query.join(agents, agents.c.key == jobs.reviews.c.agent).where(agents.c.name == agent)
        ).all()
    return {(id_, revision): text for id_, revision, text in rows}


def a_week(agent: str, week: int, price: float) -> list[dict[str, Any]]:
    """One trade of a week, in ids of the agent's own."""
    at = MONDAY + week * WEEK + 9 * HOUR
    events = trade(f"{agent}-p{week}", at, at + 30 * HOUR, 2000, price, agent=agent)
    first = [line("equity", f"{agent}-e", MONDAY, agent, value=10_000, balances={"USDC": 10_000})]
    return [*(first if week == 0 else []), *events]


def test_a_hundred_agents_are_operated_for_two_years(postgres_url: str, tmp_path: Path) -> None:
    """Most tell what they own and fall silent, five trade on. Knocked each half-year; forgotten, renamed, merged, moved."""
    store = open_store(postgres_url)
    world = World(store, tmp_path, at=MONDAY + WEEK + HOUR, configuration=WEEKS_ALONE, files=True)
    names = [f"bot-{n:04}" for n in range(100)]
    active = names[::20]
    gains = {name: int(name[4:]) % 7 - 3 for name in active}
    silent = [line("equity", f"{name}-e", MONDAY, name, value=1000) for name in set(names) - {*active}]
    world.tell([*silent, *(event for name in active for event in a_week(name, 0, 2000 + gains[name]))])
    world.knock()
    knocks = []
    for first in (1, 27, 53, 79):
        weeks = range(first, first + 26)
        world.clock.set(MONDAY + weeks.stop * WEEK + HOUR)
        world.tell([event for name in active for week in weeks for event in a_week(name, week, 2004)])
        run_pass(world.bench())
        knocks.append(statements_of(store, lambda: run_pass(world.bench())))
    reviews = world.reviews()
    assert {review.state for review in reviews} == {"done"}
    review_counts = Counter(review.agent for review in reviews)
    assert {review_counts[name] for name in active} == {105}, "every week of who trades"
    assert {review_counts[name] for name in set(names) - {*active}} == {2}, (
        "of the others their own week, and the silent one"
    )
    assert len({review.id for review in reviews}) == len(reviews)
    assert max(knocks) <= knocks[0], "an idle knock costs after two years what it did after half of one"

    kept = {name: documents(store, name) for name in (active[0], active[1], names[1])}
    clock = world.clock
    forget(store, world.config, folders(tmp_path), names[3], clock=clock, host="here")
    rename(store, folders(tmp_path), active[2], "heron", clock=clock)
    merge(store, folders(tmp_path), active[3], active[4], clock=clock)
    world.knock()
    left = [review for review in world.reviews() if review.state != "done"]
    assert {(review.agent, review.state) for review in left} <= {(active[4], "superseded")}
    assert {name: documents(store, name) for name in kept} == kept, "nobody else's review moved"
    assert not [row for row in texts(store) if names[3] in row[2] and row[0] != "departures"]
    assert len(documents(store, "heron")) == 105
    merged = world.document(f"{active[4]}.weekly.2026-W10.g2")
    assert merged.pnl.total == pytest.approx(gains[active[3]] + gains[active[4]])

    # one of them moves to SQLite and back, and is what it was
    export_agent(store, world.config, folders(tmp_path), active[0], tmp_path / "moved")
    home = open_store(str(tmp_path / "home" / "retro.db"))
    import_agent(home, folders(tmp_path / "home"), tmp_path / "moved")
    assert documents(home, active[0]) == kept[active[0]]
    export_agent(home, world.config, folders(tmp_path / "home"), active[0], tmp_path / "back")
    forget(store, world.config, folders(tmp_path), active[0], clock=clock, host="here")
    undo_forget(store, active[0])
    import_agent(store, folders(tmp_path), tmp_path / "back")
    assert documents(store, active[0]) == kept[active[0]]
    home.close()
    store.close()


def at_of(event: dict[str, Any]) -> int:
    return parse_instant(event["at"])


def is_alarm(message: Message) -> bool:
    return briefing_of(message).outcome.startswith("silent")


def figures(store: Store, world: World) -> dict[str, str]:
    """Id -> digest of the newest figures of the calendar."""
    own = World(store, world.folder, at=world.clock(), configuration=world.configuration)
    done = [review for review in own.reviews() if review.done_at and review.kind in CALENDAR]
    return {review.id: digest_of(own.document(review.id)) for review in done}


def test_a_bot_of_two_years_is_knocked_weekly_saved_under_load_and_restored(tmp_path: Path) -> None:
    """It trades for a quarter, is silent for a year, wakes and falls silent again; what was saved while it worked goes on alike."""
    path = tmp_path / "retro.db"
    world = World(open_store(str(path)), tmp_path, mail=Recorder())
    assert world.mail is not None
    world.configuration = {"mail": {"host": "h", "recipients": ["ada@example.org"], "kinds": ["weekly"]}}
    early, late = life(91, every=3), life(42, start=MONDAY + 65 * WEEK, every=3)
    late = [
        {
            **event,
            "id": f"late-{event['id']}",
            **({"position": f"late-{event['position']}"} if "position" in event else {}),
        }
        for event in late
        if event["type"] != "equity"
    ]
    copies = []
    for week in range(1, 105):
        now = MONDAY + week * WEEK + 2 * HOUR
        world.clock.set(now)
        due = [event for event in [*early, *late] if MONDAY <= at_of(event) < now]
        fresh = [event for event in due if at_of(event) >= now - WEEK - 2 * HOUR]
        if fresh:
            world.tell(fresh)
        if week in {9, 40, 69}:
            target = tmp_path / f"copy-{week}.db"
            other = open_store(str(path))
            saver = threading.Thread(target=back_up, args=(other, target))
            saver.start()
            world.knock()
            saver.join()
            other.close()
            copies.append(target)
        else:
            world.knock()
    assert {review.state for review in world.reviews()} == {"done"}
    assert [briefing_of(message).outcome for message in world.mail.got if is_alarm(message)] == [
        "silent since 31 May 2026",
        "silent since 11 Jul 2027",
    ]
    awake = 91 + 42 + 2 * 5 * 7
    assert awake - 14 <= len(world.reviews("daily")) <= awake
    expected = figures(world.store, world)
    world.store.close()
    assert path.stat().st_size < 40 << 20

    for copy in copies:
        home = tmp_path / f"from-{copy.stem}" / "retro.db"
        assert restore(copy, home, world.clock()) is None
        assert sqlite3.connect(home).execute("PRAGMA integrity_check").fetchone() == ("ok",)
        again = World(open_store(str(home)), home.parent, at=world.clock(), configuration=world.configuration)
        again.tell([*early, *late])
        again.knock()
        assert figures(again.store, again) == expected
        again.store.close()
        shutil.rmtree(home.parent)


def test_a_database_of_the_first_release_is_upgraded_and_goes_on_for_two_years(tmp_path: Path) -> None:
    """Its agent trades once a quarter: it is alarmed of and woken seven times, and no review of before changes by a byte."""
    release = ROOT / "tests" / "data" / "released" / "0.1.0"
    path = tmp_path / "retro.db"
    path.write_bytes(lzma.decompress((release / "retro.db.xz").read_bytes()))
    configuration = tomllib.loads((release / "config.toml").read_text())
    configuration |= {"mail": {"host": "h", "recipients": ["ada@example.org"], "kinds": ["weekly"]}}
    configuration["agent"]["sample"]["playbook"] = str(release / "PLAYBOOK.md")
    configuration["memory"]["directory"] = str(tmp_path / "memory")
    world = World(open_store(str(path)), tmp_path, mail=Recorder(), configuration=configuration)
    assert world.mail is not None
    first = documents(world.store, "sample")
    for week in range(104):
        now = MONDAY + week * WEEK + 2 * HOUR
        world.clock.set(now)
        if week % 13 == 12:
            world.tell(trade(f"late-{week}", now - 9 * HOUR, now - 5 * HOUR, 2000, 2010, agent="sample"))
        world.knock()
    assert {review.state for review in world.reviews()} == {"done"}
    after = documents(world.store, "sample")
    assert {key: text for key, text in after.items() if key in first} == first
    assert len(first) > 40
    assert len(after) > len(first) + 8 * 7
    alarms = [briefing_of(message).outcome for message in world.mail.got if is_alarm(message)]
    assert (
        len(alarms) == len(set(alarms)) == 8 + 1
    )  # the release has a second agent, which never speaks again
    world.store.close()
