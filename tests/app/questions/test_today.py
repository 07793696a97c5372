"""Today: what came in, what wants a person, what was learned and what ripens; from stored rows, without a write."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, event, select, update

from retro.app.questions.screens.biography import rule_biography
from retro.app.questions.screens.ripening import RipeningQuestion, ripening
from retro.app.questions.screens.today import TodayQuestion, mark_seen, today
from retro.app.reviews.week_lines import summing_up
from retro.app.settlement.settle import settled_book
from retro.errors import UnknownError
from retro.periods import DAY, HOUR, format_instant
from retro.present.formats import render
from retro.report.today import TodayReport
from retro.store.books.positions import book
from retro.store.books.totals import DayTotal, totals_of
from retro.store.database import Store
from retro.store.jobs.results import ReviewSummary, RuleWeek, keep_summaries
from retro.store.jobs.tables import documents, reviews, rule_weeks
from tests.worlds.lives import agent_of
from tests.worlds.oracle import row_of
from tests.worlds.service_world import MONDAY, World, life, line, trade

GAIN = 4 * 10.0 - 3 * 4.0
"""A `life` of a week: four trades of 10 and three of -4, against having kept what was given up for each."""


def world_of(store: Store, folder: Path, days: int = 7, **configuration: Any) -> World:
    tables = {"retrospective": {"epoch_review_enabled": False}, **configuration}
    world = World(store, folder, at=MONDAY + days * DAY + DAY // 2, configuration=tables)
    world.tell(life(days))
    world.knock(consequences=(summing_up(),))
    return world


def look(world: World, agent: str | None = None) -> TodayReport:
    question = TodayQuestion(world.clock(), agent)
    return today(world.store, world.config, world.settings_for, question)


def stored_rows(store: Store) -> list[Any]:
    c = reviews.c
    with store.read() as conn:
        own = select(c.id, c.result, c.against_nothing, c.reversal, c.summed, c.revision)
        return [
            *conn.execute(own.order_by(c.id)).all(),
            *conn.execute(select(rule_weeks).order_by(*rule_weeks.primary_key)).all(),
        ]


def test_a_row_of_the_ledger_says_what_its_document_says(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path)
    for review in world.reviews():
        document = world.document(review.id)
        assert review.summed == review.revision == 1
        if review.kind == "position":
            assert (review.result, review.against_nothing) == (document.final_pnl, document.vs_inaction)
        else:
            assert review.result == document.result
            assert review.against_nothing == document.effectiveness.sum_vs_inaction
    week = world.document("bot.weekly.2026-W10")
    rows = [row for row in stored_rows(store) if hasattr(row, "rule")]
    assert {(row.rule, row.role, row.n, row.mean, row.verdict) for row in rows} == {
        (row.heuristic_id, row.role, row.evidence_n, row.evidence_avg, row.recommendation.kind)
        for row in week.heuristic_performance
    }
    assert {row.rule for row in rows} == {"H-7", "H-3"}


def test_a_turn_is_how_far_the_end_lies_from_the_first_hours(store: Store, tmp_path: Path) -> None:
    """At 13:00 the mark of 12:00 holds: 2000 + day % 5 + 1.2; those of odd days end at -4, of 2000 put in."""
    world = world_of(store, tmp_path)
    turned = {r.subject: r.reversal for r in world.reviews("position") if r.reversal is not None}
    assert turned == {
        name: pytest.approx(turn / 2000) for name, turn in {"p1": 6.2, "p3": 8.2, "p5": 5.2}.items()
    }


def test_what_an_older_version_made_is_summed_up_by_the_next_knock(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path)
    before = stored_rows(store)
    with store.write() as conn:
        conn.execute(update(reviews).values(result=None, against_nothing=None, reversal=None, summed=0))
        conn.execute(delete(rule_weeks))
        gone = select(reviews.c.key).where(reviews.c.id == "bot.daily.2026-03-02").scalar_subquery()
        conn.execute(update(documents).where(documents.c.review == gone).values(document=None, purged_at=1))
    world.knock()
    after = stored_rows(store)
    put_away = ("bot.daily.2026-03-02", None, None, None, 1, 1)
    assert [put_away if row[0] == put_away[0] else tuple(row) for row in before] == [
        tuple(row) for row in after
    ]


def test_days_add_up_the_lives_that_ended_on_them(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path)
    first = date(2026, 3, 2).toordinal()
    expected = [
        DayTotal(first + day, 1, 1, int(day % 2 == 0), gain, gain)
        for day, gain in enumerate([10.0, -4.0, 10.0, -4.0, 10.0, -4.0, 10.0])
    ]
    with store.read() as conn:
        assert totals_of(conn, "bot") == expected
    late = trade("late", MONDAY + HOUR, MONDAY + 2 * HOUR, 2000, 2000.5)
    world.tell(late)
    expected[0] = DayTotal(first, 2, 2, 2, 10.5, 10.5)
    settings = world.settings_for(agent_of(store, "bot"))
    for _ in range(2):  # as it is settled on, and made anew
        with settled_book(store, "bot", settings) as opened:
            assert totals_of(opened.conn, "bot") == expected
        with store.write() as conn:
            conn.execute(delete(book))


def test_it_counts_from_the_last_look_and_reading_writes_nothing(store: Store, tmp_path: Path) -> None:
    world = world_of(store, tmp_path)
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    first = look(world)
    assert {words.split()[0] for words in statements} <= {"SELECT", "BEGIN", "PRAGMA", "SET"}
    assert (first.since, first.arrivals.reviews, first.arrivals.closed) == (None, None, 7)
    assert [(row.currency, row.pnl, row.counted) for row in first.arrivals.money] == [("USDC", GAIN, 7)]
    assert "reviews" in first.arrivals.reasons
    mark_seen(store, world.clock(), first.digest)
    assert look(world).arrivals.reviews == 0
    at = MONDAY + 7 * DAY
    world.tell(trade("p7", at + 9 * HOUR, at + 10 * HOUR, 2000, 2003))
    assert look(world).unsettled == {} or look(world).unsettled["bot"]
    world.clock.at += 2 * DAY
    world.knock()
    after = look(world)
    assert after.since == format_instant(world.clock.at - 2 * DAY)
    assert [(row.closed, row.pnl) for row in after.arrivals.money] == [(1, 3.0)]
    assert after.arrivals.reviews == 3  # the position, and the days of Monday and of Tuesday
    mark_seen(store, MONDAY, "older")
    assert look(world).since == after.since


def test_no_life_is_shown_twice_in_a_fortnight(one_world: World) -> None:
    days_of: dict[str, list[int]] = {}
    one_world.clock.at = MONDAY + 4 * DAY + HOUR  # the day after p3 ended
    first = look(one_world).reversed_life
    assert first is not None
    assert (first.position, first.result) == ("p3", -4.0)
    for day in range(4, 50):
        one_world.clock.at = MONDAY + day * DAY + HOUR
        life_of_day = look(one_world).reversed_life
        if life_of_day is not None:
            days_of.setdefault(life_of_day.position, []).append(day)
    assert days_of["p3"][0] == 4
    gaps = [b - a for days in days_of.values() for a, b in pairwise(days)]
    assert gaps
    assert min(gaps) >= 14


@pytest.fixture
def one_world(store: Store, tmp_path: Path) -> World:
    if store.dialect != "sqlite":
        pytest.skip("the other database would say nothing new")
    return world_of(store, tmp_path, 14)


def opinion(verdict: str, evidence: str, ripe_in: int | None = None, unripe: str | None = None) -> RuleWeek:
    return RuleWeek("H-7", "entry", 9, -1.0, None, 0.5, "usd", verdict, evidence, 2.0, 0.1, ripe_in, unripe)


def test_changed_minds_and_what_ripens_are_read_off_the_weeks(one_world: World) -> None:
    weeks = one_world.reviews("weekly")
    assert [week.period_end for week in weeks] == [MONDAY + 7 * DAY, MONDAY + 14 * DAY]
    opinions = [opinion("keep", "weak", 5), opinion("demote", "weak", 3)]
    with one_world.store.write() as conn:
        keep_summaries(
            conn,
            [
                ReviewSummary(week.key, week.revision, 0.0, 0.0, None, (rule,))
                for week, rule in zip(weeks, opinions, strict=True)
            ],
        )
        text = '{"evaluators":{"shadows":[{"name":"slow","days":4,"paired":2,"verdict":"insufficient"},'
        text += '{"name":"same","days":4,"paired":0,"verdict":"insufficient"}]}}'
        mine = documents.c.review == weeks[1].key
        conn.execute(update(documents).where(mine).values(document=text))
    (mind,) = look(one_world).minds
    assert (mind.rule, mind.before_verdict, mind.verdict, mind.evidence, mind.n) == (
        "H-7", "keep", "demote", "weak", 9,
    )  # fmt: skip
    rows = ripening(one_world.store, one_world.config, RipeningQuestion(one_world.clock()))
    ripe = [(row.kind, row.name, row.date) for row in rows if row.kind != "exit"]
    # three weeks after Monday, 16 March; five more days with a difference at one in two: ten days
    assert ripe == [("shadow", "slow", "2026-03-26"), ("rule", "H-7", "2026-04-06"), ("shadow", "same", None)]
    assert "rate is not known" in rows[-1].reasons["date"]
    mark_seen(one_world.store, one_world.clock(), "")
    assert look(one_world).minds == []


def test_a_silent_agent_and_a_service_that_rests_stand_first(one_world: World) -> None:
    one_world.clock.at += 60 * DAY
    report = look(one_world)
    page = render(report, "text")
    assert [wish.kind for wish in report.wishes] == ["silence"]
    assert report.signs[0].kind == "service"
    assert page.index("has been silent for 9 weeks.") < page.index("Wants you".upper())
    assert "retro run" in page
    assert "That is all." in page
    assert len(look(one_world, "bot").rows) == 1


def test_a_rule_s_biography_is_what_its_weeks_said(one_world: World) -> None:
    agent = agent_of(one_world.store, "bot")
    life_of_rule = rule_biography(one_world.store, one_world.config, agent, "H-7")
    (chapter,) = life_of_rule.chapters
    assert (chapter.role, [week.week for week in chapter.weeks]) == ("entry", ["2026-W10", "2026-W11"])
    for week in chapter.weeks:
        row = row_of(one_world.document(week.review), "H-7")
        assert (week.n, week.mean, week.verdict, week.evidence) == (
            row.evidence_n, row.evidence_avg, row.recommendation.kind, row.evidence,
        )  # fmt: skip
    assert chapter.newest == row_of(one_world.document("bot.weekly.2026-W11"), "H-7")
    with pytest.raises(UnknownError, match="no reviewed week of bot tells of a rule 'H-99'"):
        rule_biography(one_world.store, one_world.config, agent, "H-99")


def test_the_month_is_what_was_closed_on_its_days_and_what_is_foretold_ripens(one_world: World) -> None:
    month = look(one_world).month
    assert month is not None
    assert [day.date for day in month.days] == [f"2026-03-{number:02}" for number in range(1, 17)]
    assert [day.closed for day in month.days] == [0, *[1] * 14, 0]
    assert month.pnl == pytest.approx(7 * 10.0 - 7 * 4.0)
    assert [day.so_far for day in month.days[:4]] == pytest.approx([0.0, 10.0, 6.0, 16.0])
    due = format_instant(one_world.clock() + 2 * DAY)
    past = format_instant(one_world.clock() - DAY)
    at = one_world.clock() - 3 * DAY
    one_world.tell(
        [
            line("prediction", "open", at, target_at=due, predicted=1.0),
            line("prediction", "answered", at, target_at=due, predicted=1.0),
            line("resolution", "r", at + HOUR, prediction="answered", actual=1.0),
            line("prediction", "over", at, target_at=past, predicted=1.0),
        ]
    )
    asked = RipeningQuestion(one_world.clock())
    rows = [row for row in ripening(one_world.store, one_world.config, asked) if row.kind == "prediction"]
    assert [(row.agent, row.name, row.date) for row in rows] == [("bot", "open", due[:10])]
    one_world.clock.at += 60 * DAY
    later = look(one_world)
    assert later.month is None
    assert later.reasons["month"]
