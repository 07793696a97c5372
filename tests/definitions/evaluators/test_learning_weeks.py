"""What reviews say of learning is what `retro learning` says as of their end, read from the weeks that are compared."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event as listeners

from playbook import Playbook, parse
from retro import config
from retro.app.questions.evaluators.learning import LearningQuestion, learning
from retro.app.questions.evaluators.rule_lives import PlaybookPlace
from retro.app.reviews.build import inputs_of, review_period
from retro.app.reviews.evaluators import evaluators_of
from retro.app.reviews.window import Window, grid_of
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settings import settings_of
from retro.app.settlement.settle import settled_book
from retro.deliver.briefing import briefing_of
from retro.evaluate.meta.competence import competence_of
from retro.evaluate.meta.progress import Progress
from retro.model import Decision
from retro.narrate.plain import words
from retro.periods import parse_instant
from retro.present.formats import render
from retro.report import RetrospectiveReport
from retro.store.books import positions
from retro.store.books.claims import claims_of
from retro.store.books.competence import competence_of_life
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from tests.definitions.evaluators.test_learning import DAY, START, TERMS, life, tell
from tests.worlds.lives import agent_of
from tests.worlds.mails import message

RULES = "## Global\n- H-1 [0.50] buy dips {since: 2024-03-20}\n- H-2 [0.50] sell rips\n"


def playbook() -> Playbook:
    return parse(RULES.encode())


def week(store: Store, n: int, horizon: Any = "weekly") -> RetrospectiveReport:
    agent = agent_of(store, "a")
    settings = settings_of(config.Config.model_validate(TERMS), agent, playbook())
    period = choose_period(agent, settings, horizon, at=(START + n * 7 * DAY) * 1000)
    with settled_book(store, "a", settings) as book:
        return review_period(book, period)


def told(seed: int, right: float = 0.8, days: int = 60) -> list[dict[str, Any]]:
    """A life whose decisions also recall, and some of which are judged by a second forecast weeks later."""
    rng, events = random.Random(seed), life("a", seed, right, days)
    for n in range(0, 4 * days, 9):
        claim = {"agent": "a", "category": "yield", "predicted": 1, "decision": f"d{n}", "confidence": 0.6}
        at = START + n * 6 * 3_600_000
        events += [
            {"type": "prediction", "id": f"late{n}", "at": at, **claim},
            {"type": "resolution", "id": f"late{n}", "agent": "a", "at": at + 16 * DAY, "prediction": f"late{n}"}
            | {"actual": 1 + rng.choice([-0.5, 0.25]), "correct": rng.random() < right},
        ]  # fmt: skip
    return events


@pytest.mark.parametrize("seed", [2, 3])
def test_a_week_says_what_the_command_says_as_of_its_end(seed: int, tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), told(seed))
    settings = settings_of(config.Config.model_validate(TERMS), agent_of(store, "a"), playbook())
    runs, reached = [], []
    for n in range(1, 8):
        document = week(store, n)
        assert document.evaluators is not None
        row = document.evaluators.learning
        assert row is not None
        end = parse_instant(document.period_end)
        answer = learning(LearningQuestion(store, "a", settings, PlaybookPlace(None, {}), as_of=end))
        assert (row.week, row.score, row.groups) == (answer.week, answer.score, answer.groups)
        assert row.negative_weeks == answer.negative_weeks
        assert row.alarm == (row.negative_weeks >= 2)
        assert all(f"groups.{name}" in row.reasons for name, delta in row.groups if delta is None)
        assert row.half_life_days == answer.half_life_days
        runs.append(row.negative_weeks)
        if row.competence is not None:
            assert row.competence == answer.competence
            reached.append(n)
    assert max(runs) >= 1
    assert len(reached) == 1
    [epoch] = [document.evaluators for document in (week(store, 4, "epoch"),)]
    assert epoch is not None
    assert epoch.learning is not None


def test_any_order_on_both_databases_and_nothing_looks_ahead(store: Store, tmp_path: Path) -> None:
    events = told(4, days=35)
    expected = week(tell(open_store(str(tmp_path / "whole.db")), events), 2).evaluators
    shuffled = random.Random(5).sample(events, len(events))
    tell(store, shuffled[:200])
    week(store, 2)
    tell(store, shuffled[200:])
    assert week(store, 2).evaluators == expected
    before = [event for event in events if event["at"] < START + 21 * DAY]
    ended = tell(open_store(str(tmp_path / "ended.db")), before)
    assert week(ended, 2).evaluators == expected


def test_competence_is_what_the_whole_life_says_however_it_was_told(store: Store, tmp_path: Path) -> None:
    events = told(4, days=35)
    settings = settings_of(config.Config.model_validate(TERMS), agent_of(tell(store, events[:40]), "a"), None)
    for first in range(40, len(events), 60):
        tell(store, events[first : first + 60])
        with settled_book(store, "a", settings):
            pass
    whole = tell(open_store(str(tmp_path / "whole.db")), events)
    answers = []
    for place in (store, whole):
        with settled_book(place, "a", settings) as book:
            answers.append(competence_of_life(book.conn, "a"))
            claims = claims_of(book.conn, "a")
            decided = sorted(facts.instants(book.conn, "a", Decision).values())
        assert answers[-1] == competence_of(np.array(decided, dtype=np.int64), claims) is not None
    assert answers[0] == answers[1]


def test_an_agent_without_claims_and_rules_has_no_such_part(tmp_path: Path) -> None:
    events = [row for row in life("a", 1, 0.8, 20) if row["type"] not in {"prediction", "resolution"}]
    store = tell(open_store(str(tmp_path / "x.db")), events)
    assert week(store, 1).evaluators is None


def test_page_and_mail_say_it_where_it_alarms_or_changed_and_else_nothing(tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), told(2))
    document = words(week(store, 5))
    assert document.evaluators is not None
    row = document.evaluators.learning
    assert row is not None
    calm = row.model_copy(
        update={"alarm": False, "competence": None, "half_life_days": 30.0, "half_life_before": 30.0}
    )
    worse = calm.model_copy(
        update={"alarm": True, "score": -0.125, "negative_weeks": 3, "ageing_multiplier": 1.2}
    )
    older = calm.model_copy(update={"half_life_days": 41.4})
    pages = []
    for change in (calm, worse, older):
        part = document.evaluators.model_copy(update={"learning": change})
        told_of = document.model_copy(update={"evaluators": part})
        pages.append(" ".join(render(told_of, "text").split()))
        assert ("learning" in [s.key for s in briefing_of(message(told_of)).sections]) == (change is not calm)
    assert "still learns" not in pages[0].lower()
    assert "Worse than the week before for 3 weeks in a row: score -0.12, ageing x 1.20." in pages[1]
    assert "Half of its rules live no longer than 41 days (before: 30)." in pages[2]


def test_a_week_reads_as_many_rows_of_a_long_life_as_of_a_short_one_and_a_run_of_bad_weeks_few_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, score = list[int](), Progress.score

    def worse(*asked: Any) -> float:
        score(*asked)
        return -0.5

    for days in (63, 126, 252):
        store = tell(open_store(str(tmp_path / f"{days}.db")), life("a", 6, 0.8, days))
        settings = settings_of(
            config.Config.model_validate(TERMS), agent_of(store, "a"), parse(b"## Global\n")
        )
        period = choose_period(agent_of(store, "a"), settings, "weekly")
        with settled_book(store, "a", settings) as book:
            window = Window(period, grid_of(period, settings), book.known_until, period.end)
            names = positions.alive(book.conn, "a", window.start, period.end)
            inputs, statements = inputs_of(book, window, names), list[str]()
            listeners.listen(
                book.conn, "before_cursor_execute", lambda *args, counted=statements: counted.append(args[2])
            )
            assert evaluators_of(book, window, inputs) is not None
            read.append(len(statements))
            monkeypatch.setattr(Progress, "score", worse)
            statements.clear()
            part = evaluators_of(book, window, inputs)
            monkeypatch.undo()
            assert part is not None
            assert part.learning is not None
            assert part.learning.negative_weeks >= days // 7 - 4
            assert len(statements) <= 60
    assert max(read) <= 25
