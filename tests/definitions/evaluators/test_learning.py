"""Whether an agent learns, through the book: any order of the telling, nothing looks ahead, its rules' commits."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memory import Episode, remember
from retro import config
from retro.app.proposals.files import read_playbook
from retro.app.questions.evaluators.learning import LearningQuestion, Predecessor, learning
from retro.app.questions.evaluators.rule_lives import PlaybookPlace
from retro.app.settlement.settings import settings_of
from retro.report.evaluators.learning import LearningReport
from retro.store.database import Store, open_store
from retro.store.facts import agents
from tests.worlds.lives import agent_of, live

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms; a Monday, 2024-03-25
DAY = 24 * HOUR
TERMS = {"retrospective": {"residual_min_samples": 5, "calibration_min_samples": 6}}


def life(agent: str, seed: int, right: float, days: int = 60) -> list[Event]:
    """Four decisions a day, each with a forecast; one a day opens a position that cites a rule."""
    rng = random.Random(seed)
    events: list[Event] = []
    for n in range(4 * days):
        at, name = START + n * 6 * HOUR, f"{agent}{n}"
        common: Event = {"agent": agent, "at": at}
        trades = n % 4 == 0
        decision: Event = {
            "type": "decision",
            "id": f"d{n}",
            **common,
            "action": "enter" if trades else "hold",
        }
        decision |= {"cites": [("H-1", "H-2")[n // 4 % 2]]} if trades else {}
        events += [
            decision | ({"position": name} if trades else {}),
            {"type": "prediction", "id": f"q{n}", **common, "category": "price", "predicted": 1}
            | {"confidence": 0.8, "decision": f"d{n}"},
            {"type": "resolution", "id": f"r{n}", "agent": agent, "at": at + 5 * HOUR, "prediction": f"q{n}"}
            | {"actual": 1 + rng.choice([-0.5, 0.25]), "correct": rng.random() < right},
        ]
        if trades:
            instrument: Event = {"position": name, "instrument": "X/USDC"}
            fill = {"type": "fill", **instrument, "agent": agent, "quantity": 1}
            events += [
                {"type": "position", "id": f"o{n}", **common, **instrument, "kind": "spot", "side": "long"},
                {**fill, "id": f"b{n}", "at": at, "side": "buy", "price": 100},
                {**fill, "id": f"s{n}", "at": at + 20 * HOUR, "side": "sell", "price": rng.choice([97, 104])},
            ]
    return events


class Household:
    """Two agents with playbooks in a repository, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet")
        rules = "- H-1 [0.50] buy dips\n- H-2 [0.50] sell rips\n- H-3 [0.50] wait\n"
        self.commit(0, a=f"## Global\n{rules}", b=f"## Global\n{rules.replace('wait', 'hurry')}")
        self.commit(15, a=f"## Global\n{rules.replace('- H-2 [0.50] sell rips', '')}")

    def git(self, *words: str, at: int = 0) -> None:
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{at // 1000} +0000")
        who = {f"GIT_{role}_{part}": "a" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        env = {**dates, **who, "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        subprocess.run(["git", *words], cwd=self.folder, env=env, check=True)

    def commit(self, day: int, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / f"{name}.md").write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x", at=START + day * DAY)

    def asked(self, store: Store, as_of: int | None = None) -> LearningReport:
        loaded = config.Config.model_validate(TERMS)
        places = {name: PlaybookPlace(self.folder / f"{name}.md", os.environ) for name in "ab"}
        settings = {
            name: settings_of(loaded, agent_of(store, name), read_playbook(self.folder / f"{name}.md"))
            for name in "ab"
        }
        before = Predecessor("b", settings["b"], places["b"])
        return learning(
            LearningQuestion(store, "a", settings["a"], places["a"], predecessor=before, as_of=as_of)
        )


def tell(store: Store, events: Sequence[Event]) -> Store:
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    assert live(store, lines, configuration=TERMS, name=f"{len(events)}-{events[0]['id']}.jsonl").clean
    return store


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Household:
    return Household(tmp_path_factory.mktemp("learning") / "home")


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return [*life("b", 1, 0.72), *life("a", 2, 0.8)]


def test_a_life_its_rules_and_its_predecessor(
    store: Store, household: Household, events: list[Event], tmp_path: Path
) -> None:
    whole = household.asked(tell(open_store(str(tmp_path / "whole.db")), events))
    # the last forecast of 60 days resolves on Thursday, 2024-05-23
    assert whole.week == "2024-W20"
    # H-2 was first cited on the second day, and the commit of day 15 is without it: two older ones live on
    assert [(row.days, row.share) for row in whole.survival] == [(14, pytest.approx(2 / 3))]
    assert whole.half_life_days is None
    assert whole.reasons["half_life_days"] == "more than half live on: 67 % of 3 survive, 1 died"
    assert whole.generations is not None
    assert (whole.generations.inherited, whole.generations.kept) == (2, 1)
    own, other = whole.generations.decisions, whole.generations.predecessor_decisions
    # no fewer than 50 judged forecasts resolve before the 51st decision
    assert own is not None
    assert other is not None
    assert min(own, other) >= 51
    assert whole.generations.ratio == own / other
    assert whole.competence.decisions == own
    assert whole.groups.corrector is not None
    assert whole.groups.generations is not None
    assert whole.groups.attention is not None
    assert whole.groups.memory is None  # nothing in front of it was an episode of its memory
    # the last week in which something cited turned out, and the week before, in decisions that were judged right
    assert whole.score is not None
    # told in another order, in parts, settled in between or not
    rng = random.Random(4)
    shuffled = rng.sample(events, len(events))
    for first in range(0, len(shuffled), 300):
        tell(store, shuffled[first : first + 300])
        names = {event["agent"] for event in shuffled[: first + 300]}
        if first % 600 == 0 and names == {"a", "b"}:
            household.asked(store)
    assert household.asked(store) == whole


@pytest.mark.parametrize("moment", [2 * DAY + 1, 8 * DAY, 14 * DAY, 15 * DAY + 1, 21 * DAY, 43 * DAY + 1])
def test_a_life_cut_at_any_instant_answers_what_the_whole_answers_as_of_it(
    moment: int, household: Household, events: list[Event], tmp_path: Path
) -> None:
    cut = START + moment  # weeks end at days 14 and 21
    whole = tell(open_store(str(tmp_path / "whole.db")), events)
    ended = tell(open_store(str(tmp_path / "ended.db")), [event for event in events if event["at"] < cut])
    answer = household.asked(whole, cut * 1000)
    assert answer.model_dump_json() == household.asked(ended, cut * 1000).model_dump_json()


def test_a_week_that_ends_just_then_is_over(
    household: Household, events: list[Event], tmp_path: Path
) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), events)
    end = (START + 14 * DAY) * 1000
    assert household.asked(store, end).week == "2024-W14"
    assert household.asked(store, end - 1).week == "2024-W13"


def test_now_is_until_when_a_source_was_read_not_the_last_word_in_it(
    household: Household, events: list[Event], tmp_path: Path
) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), events)
    spoken = household.asked(store)
    with store.write() as conn:
        agents.note_agent(conn, "a", as_of=(START + 70 * DAY) * 1000)  # as a bot's database tells it
    read = household.asked(store)
    assert (spoken.week, read.week) == ("2024-W20", "2024-W22")
    # as of an instant it is that instant
    assert household.asked(store, (START + 64 * DAY) * 1000).week == "2024-W21"


def test_an_episode_that_was_recalled_agrees_with_a_decision_that_ended_as_it_did(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "x.db"))
    episodes = [Episode(id=f"e{n}", agent="a", at=START * 1000, pnl=pnl) for n, pnl in enumerate((5, -2, 3))]
    with store.write() as conn:
        remember(conn, [*episodes, Episode(id="late", agent="a", at=(START + 9 * DAY) * 1000, pnl=1)])
    events: list[Event] = []
    for n, (day, correct) in enumerate(((1, True), (2, False), (8, True), (9, False))):
        at = START + day * DAY
        recalled = ["e0", "e1", "late", "a document"] if n < 2 else ["e2", "e2"] if n == 2 else ["e1"]
        events += [
            {
                "type": "decision",
                "id": f"d{n}",
                "agent": "a",
                "at": at,
                "action": "hold",
                "context_items": recalled,
            },
            {"type": "prediction", "id": f"q{n}", "agent": "a", "at": at, "decision": f"d{n}"},
            {"type": "resolution", "id": f"r{n}", "agent": "a", "at": at + HOUR, "prediction": f"q{n}"}
            | {"correct": correct},
        ]
    events.append({"type": "equity", "id": "e", "agent": "a", "at": START + 15 * DAY, "value": 1000})
    tell(store, events)
    settings = settings_of(config.Config(), agent_of(store, "a"), None)
    report = learning(LearningQuestion(store, "a", settings, PlaybookPlace(None, os.environ)))
    # first week: of each decision's two episodes one agreed; second: the only one of each
    assert (report.week, report.groups.memory) == ("2024-W14", 0.5)
    assert report.reasons["survival"] == "no playbook is configured"


def test_a_playbook_in_no_repository_is_said_and_merged_proposals_are_asked(
    events: list[Event], tmp_path: Path
) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), events)
    (tmp_path / "PLAYBOOK.md").write_text("## Global\n- H-1 [0.50] buy dips\n- H-7 [0.50] never cited\n")
    agent = agent_of(store, "a")
    settings = settings_of(config.Config(), agent, read_playbook(tmp_path / "PLAYBOOK.md"))
    place = PlaybookPlace(tmp_path / "PLAYBOOK.md", os.environ)
    report = learning(LearningQuestion(store, "a", settings, place))
    assert report.survival == []
    assert report.reasons["survival"].startswith(
        "the playbook lies in no git repository: merged proposals tell; 1 "
    )
    assert report.reasons["half_life_days"] == "more than half live on: 100 % of 1 survive, 0 died"
    assert report.generations is None
