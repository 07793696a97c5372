"""All agents on one page: who wants a person first, sums in one currency, and a cost that no number of agents moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update

from retro.app.reviews.fleet import FleetQuestion, fleet_report
from retro.app.reviews.week_lines import summing_up
from retro.errors import UsageError
from retro.periods import DAY
from retro.present.formats import render
from retro.report import dump
from retro.report.fleet import FleetReport, line_of
from retro.store.database import Store
from retro.store.jobs.tables import documents, outbox, reviews
from tests.worlds.service_world import MONDAY, Recorder, World, life

WEEK, GAIN = "2026-W10", 4 * 10.0 - 3 * 4.0
"""The first week of a `life`: four trades of 10 and three of -4."""
WEEKS_ALONE = {"daily_review_enabled": False, "epoch_review_enabled": False, "position_close_review": False}


def world_of(store: Store, folder: Path, agents: dict[str, int], **configuration: Any) -> World:
    """Agents that live so many days, reviewed when the first week is over."""
    tables = {"retrospective": WEEKS_ALONE, **configuration}
    world = World(store, folder, at=MONDAY + 7 * DAY + DAY // 2, configuration=tables, mail=Recorder())
    for name, days in agents.items():
        world.tell(life(days, agent=name))
    world.knock(consequences=(summing_up(),))
    return world


def fleet(world: World, **question: Any) -> FleetReport:
    with world.store.read() as conn:
        return fleet_report(conn, world.config, FleetQuestion(world.clock(), **question))


def test_the_week_of_every_agent_and_its_sum(store: Store, tmp_path: Path) -> None:
    report = fleet(world_of(store, tmp_path, {"ada": 7, "bob": 7}))
    assert (report.week, report.agents, report.reviewed, report.wanting) == (WEEK, 2, 2, 0)
    assert [(row.agent, row.pnl, row.against_nothing) for row in report.rows] == [
        ("ada", GAIN, GAIN),
        ("bob", GAIN, GAIN),
    ]
    assert [(row.mover, row.mover_pnl) for row in report.rows] == [("p0", 10.0), ("p0", 10.0)]
    (sums,) = report.currencies
    assert (sums.currency, sums.agents, sums.pnl) == ("USDC", 2, 2 * GAIN)


def test_nothing_is_added_up_across_currencies(store: Store, tmp_path: Path) -> None:
    own = {"agent": {"bob": {"base_currency": "USDT"}}}
    report = fleet(world_of(store, tmp_path, {"ada": 7, "bob": 7, "eve": 7}, **own))
    assert [(sums.currency, sums.agents) for sums in report.currencies] == [("USDC", 2), ("USDT", 1)]
    assert report.currencies[0].pnl == 2 * GAIN
    page = render(report, "text")
    assert f"{3 * GAIN:.2f}" not in page


def test_who_wants_a_person_stands_first(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path, {"ada": 7, "bob": 7, "eve": 7, "joe": 1})
    with world.store.write() as conn:
        conn.execute(update(reviews).where(reviews.c.id == "eve.weekly.2026-W10").values(state="parked"))
        key = conn.execute(
            outbox.select()
            .join(reviews, reviews.c.key == outbox.c.review)
            .where(reviews.c.id == "bob.weekly.2026-W10")
        ).first()
        assert key is not None
        conn.execute(update(outbox).where(outbox.c.key == key.key).values(state="failed"))
    world.clock.at += 21 * DAY  # after their week, the third of four in which a silence is waited through
    report = fleet(world, week=WEEK)
    assert [(row.agent, [wish.kind for wish in row.wishes]) for row in report.rows] == [
        ("eve", ["parked"]),
        ("bob", ["delivery"]),
        ("ada", []),
        ("joe", []),
    ]
    world.clock.at += 7 * DAY
    silent = fleet(world, week=WEEK)
    assert [row.agent for row in silent.rows if row.state == "dormant"] == ["ada", "bob", "eve", "joe"]
    assert silent.rows[0].wishes[0].text == "silent since 8 Mar 2026"


def test_an_agent_without_the_week_says_why_it_has_no_figure(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path, {"ada": 7})
    world.tell(life(7, agent="new"))
    report = fleet(world)
    (row,) = [row for row in report.rows if row.agent == "new"]
    assert row.pnl is None
    assert row.reasons["pnl"] == f"no review of {WEEK} is owed yet"
    assert (report.reviewed, report.currencies[0].pnl) == (1, GAIN)


def test_few_rows_are_listed_and_all_are_counted(store: Store, tmp_path: Path) -> None:
    report = fleet(world_of(store, tmp_path, {f"agent-{i}": 7 for i in range(4)}), limit=1)
    assert (len(report.rows), report.omitted, report.agents) == (1, 3, 4)
    assert report.currencies[0].pnl == 4 * GAIN
    assert "3 more" in render(report, "text")


def test_no_statement_more_for_more_agents(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path, {"ada": 7})
    counts = []
    executed: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *given: executed.append(given[2]))
    for names in ((), ("bob", "eve", "joe", "zoe")):
        for name in names:
            world.tell(life(7, agent=name))
        world.knock(consequences=(summing_up(),))
        executed.clear()
        assert fleet(world).reviewed == 1 + len(names)
        counts.append(len(executed))
        assert not [statement for statement in executed if "review_documents.document" in statement]
        assert not [words for words in executed if words.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert counts[0] == counts[1]


def test_a_review_of_before_there_were_lines_is_read_and_says_the_same(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path, {"ada": 7, "bob": 7})
    before = dump(fleet(world))
    with world.store.read() as conn:
        lines = list(conn.execute(documents.select().order_by(documents.c.review)))
    assert [json.loads(row.line) for row in lines] == [
        line_of(world.document(name)).model_dump(mode="json")
        for name in (f"ada.weekly.{WEEK}", f"bob.weekly.{WEEK}")
    ]
    with world.store.write() as conn:
        conn.execute(update(documents).values(line=None))
    assert dump(fleet(world)) == before


def test_every_form_says_the_same_figures_and_escapes_what_an_agent_wrote(
    store: Store, tmp_path: Path
) -> None:
    world = world_of(store, tmp_path, {"ada": 7})
    with world.store.write() as conn:
        row = conn.execute(documents.select()).one()
        line = {**json.loads(row.line), "alarm": "<script>alert(1)</script> \x1b[31m", "mover": "<b>x</b>"}
        conn.execute(update(documents).values(line=json.dumps(line)))
    report = fleet(world)
    assert [wish.kind for wish in report.rows[0].wishes] == ["alarm"]
    text, markdown, html = (render(report, form) for form in ("text", "md", "html"))
    for page in (text, markdown, html):
        assert f"{GAIN:.2f}" in page
        assert "\x1b" not in page
    assert "<script>" not in html
    assert "<b>x" not in html
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("week", ["2026", "2026-W54", "x-Wy"])
def test_a_week_that_is_none_is_one_sentence(store: Store, tmp_path: Path, week: str) -> None:
    with pytest.raises(UsageError, match="is no week"):
        fleet(world_of(store, tmp_path, {}), week=week)
