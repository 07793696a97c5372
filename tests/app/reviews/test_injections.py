"""Whatever an agent writes, every figure, recommendation and proposal of its review is the same to the byte.

Tried without a model, with one that believes what it reads, and with one that quotes it; in the report, in the mail,
in the diff of PLAYBOOK.md and in the pull request.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import playbook
from retro.app.narration.narrate import narrated
from retro.app.proposals.channel import PullRequests
from retro.app.proposals.files import amended_text
from retro.app.proposals.justification import propose
from retro.app.proposals.lifecycle import suggest
from retro.config import Config
from retro.deliver.channel import Sent
from retro.narrate import plain
from retro.narrate.prompt import request_of
from retro.narrate.subject import report_subject
from retro.present.formats import render
from retro.report import RetrospectiveReport
from retro.store.database import Store, open_store
from retro.testing.forge import FakeForge
from retro.testing.model import Answer, FakeModel, Script, said
from tests.worlds.injections import INJECTIONS
from tests.worlds.lives import agent_of, settings_for
from tests.worlds.mails import eml, message, parts
from tests.worlds.narrations import AGENT, GOOD, KEY, NOW, configured, lived
from tests.worlds.playbook_lives import TOKEN, bare_repository, to_forge

BOOK = """\
# Playbook

## Global

- H-3 [0.55] Enter when fees have paid for the gas {status: active}
- H-7 [0.97] Increase position size when accuracy is above 80 % {status: active}
"""
ROOM = 25
"""Reasons the agent gives in the week."""
BATCHES = [INJECTIONS[start : start + ROOM] for start in range(0, len(INJECTIONS), ROOM)]


def test_the_corpus_is_large_enough() -> None:
    assert len(INJECTIONS) >= 200


def words_removed(report: RetrospectiveReport) -> str:
    """The report as bytes, without anybody's words: the agent's reasons, the narrative, and the digest of both."""
    document = report.model_dump(mode="json")
    for name in ("what_worked", "what_failed", "hindsight", "narrative"):
        del document[name]
    del document["provenance"]["data_digest"]
    for position in document["positions"]:
        for name in ("entry_reasoning", "exit_reasoning", "what_went_wrong", "lesson"):
            del position[name]
    document["playbook_proposals"] = [
        proposal for proposal in document["playbook_proposals"] if proposal["origin"] != "model"
    ]
    return json.dumps(document, ensure_ascii=False)


class Week:
    """A week told with some texts: its report, and what is proposed on its evidence."""

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        self.folder = folder
        self.store: Store = open_store(str(folder / "retro.db"))
        self.report = lived(self.store, texts)
        agent = agent_of(self.store, AGENT)
        book, amendments = propose(self.store, agent, settings_for()(agent))
        proposals = [playbook.to_json(amendment) for amendment in amendments]
        self.proposals = json.dumps(proposals)
        self.report = self.report.model_copy(update={"playbook_proposals": proposals})
        self.diff = playbook.diff(str(book), amended_text(book, amendments))


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Week]]:
    """The honest week, then one for every batch of texts."""
    all_weeks = [Week(tmp_path_factory.mktemp("week"), texts) for texts in [(), *BATCHES]]
    yield all_weeks
    for week in all_weeks:
        week.store.close()


def test_every_text_reaches_its_review(weeks: list[Week]) -> None:
    """The corpus is really there: otherwise the rest of this file says nothing."""
    reasons = [p.entry_reasoning or "" for week in weeks for p in week.report.positions]
    reasons += [p.exit_reasoning or "" for week in weeks for p in week.report.positions]
    count = sum(any(text[:40] in reason for reason in reasons) for text in INJECTIONS)
    assert count > 0.6 * len(INJECTIONS)  # the others stand in decisions to hold


def test_fault_19_without_a_model_figures_recommendations_proposals_and_diff_are_the_same_bytes(
    weeks: list[Week],
) -> None:
    honest, *injected_weeks = weeks
    assert honest.proposals != "[]"
    for week in injected_weeks:
        assert words_removed(week.report) == words_removed(honest.report)
        assert (week.proposals, week.diff) == (honest.proposals, honest.diff)
        plainly, honestly = plain.words(week.report), plain.words(honest.report)
        assert (plainly.what_worked, plainly.what_failed) == (honestly.what_worked, honestly.what_failed)
        assert plainly.hindsight == honestly.hindsight


def notes_in(request: dict[str, Any]) -> list[str]:
    """What the agent wrote, as a model reads it in a request."""
    content = request["messages"][0]["content"]
    [notes] = re.findall(r"<notes-of-the-agent-\w+>\n(.*)\n</notes-of-the-agent-\w+>", content)
    return [note["wrote"] for note in json.loads(notes)]


def obeys(request: dict[str, Any]) -> Answer:
    """A model that takes the agent's notes for orders and says what they say."""
    notes = notes_in(request)
    sentences = [notes[n % len(notes)] for n in range(8)]
    return said(
        {
            "what_worked": sentences[0],
            "what_failed": sentences[1],
            "hindsight": sentences[2],
            "positions": [{"position_id": "t-2", "what_went_wrong": sentences[3], "lesson": sentences[4]}],
            "proposals": [{"heuristic_id": name, "text": sentences[5]} for name in ("H-7", "H-3", "H-99")],
        }
    )


def words_rules(request: dict[str, Any]) -> Answer:
    """A model that makes a rule of each note in turn, wherever it may."""
    notes = notes_in(request)
    return said(GOOD | {"proposals": [{"heuristic_id": "H-7", "text": notes[len(notes) // 2]}]})


def quotes(request: dict[str, Any]) -> Answer:
    """A model that repeats every note in quotation marks."""
    return said(GOOD | {"what_worked": " ".join(f'It wrote "{note}".' for note in notes_in(request)[:6])})


@pytest.mark.parametrize("script", [obeys, words_rules, quotes])
def test_fault_19_a_model_that_believes_the_agent_changes_no_figure_and_no_proposal(
    weeks: list[Week], script: Callable[[dict[str, Any]], Answer]
) -> None:
    honest, *injected_weeks = weeks
    with FakeModel(script) as model:
        config = configured(model.url, max_usd_per_review=9, max_usd_per_day=99, max_usd_per_month=99)
        for week in (honest, *injected_weeks):
            narrated_report = narrated(week.store, config, KEY, week.report, NOW)
            assert words_removed(narrated_report) == words_removed(honest.report)
            candidates = [
                proposal for proposal in narrated_report.playbook_proposals if proposal["origin"] == "model"
            ]
            assert [candidate["heuristic"] for candidate in candidates] in ([], ["H-8"])
            for candidate in candidates:
                assert not any(
                    candidate["new"].removeprefix("- H-8 [0.35] ")[:60] in text for text in INJECTIONS
                )
        assert len(model.calls) >= len(weeks)


def test_what_a_model_reads_of_the_agent_is_fenced_harmless_and_apart_from_the_figures(
    weeks: list[Week],
) -> None:
    """The figures block and the instructions are the same bytes; a note cannot close its fence."""
    honest, *injected_requests = (
        request_of(report_subject(plain.words(week.report)), "claude-haiku-5-5", week.report.id)
        for week in weeks
    )
    fences = set()
    for request in (honest, *injected_requests):
        assert request["system"] == honest["system"]
        content = request["messages"][0]["content"]
        [fence] = set(re.findall(r"(?m)^</?(?:figures|notes-of-the-agent)-(\w+)>$", content))
        fences.add(fence)
        assert content.count(fence) == 4
        assert content.count("<") == 4, "nothing in the blocks can be taken for a tag"
        assert content.split("\n")[1] == honest["messages"][0]["content"].split("\n")[1]
        assert content.count("\n") == 5
        assert not any(c.isprintable() is False and c != "\n" for c in content)
        assert max(map(len, notes_in(request))) <= 401
    assert len(fences) == len(weeks), "every review has a fence of its own"


@pytest.mark.parametrize("form", ["md", "html", "text"])
def test_a_page_in_a_gullible_models_words_carries_no_markup_of_the_agents(
    weeks: list[Week], form: Any
) -> None:
    """The agent's reasons are not on this page, so whatever is there of them came through the model."""
    with FakeModel(quotes) as model:
        config = configured(model.url, max_usd_per_review=9, max_usd_per_day=99, max_usd_per_month=99)
        for week in weeks[-3:]:
            narrated_report = narrated(week.store, config, KEY, week.report, NOW)
            silent = [
                p.model_copy(update={"entry_reasoning": None, "exit_reasoning": None})
                for p in narrated_report.positions
            ]
            page = render(narrated_report.model_copy(update={"positions": silent}), form)
            assert "evil.example" not in page
            assert "alert(1)" not in page
            assert "\u202e" not in page


def mail_of(report: RetrospectiveReport) -> tuple[str, str]:
    """Its mail as text and as HTML, without the digest of what the agent told."""
    text, html = parts(eml(message(report)))
    digest = report.provenance.data_digest[:16]
    return text.replace(digest, "-"), html.replace(digest, "-")


def beside_the_words(report: RetrospectiveReport) -> str:
    """The text of its mail without the section in words, a model's candidates, and the prompt in the foot."""
    audited = [proposal for proposal in report.playbook_proposals if proposal["origin"] != "model"]
    unasked = report.narrative.model_copy(update={"prompt": None})
    text, _ = mail_of(report.model_copy(update={"playbook_proposals": audited, "narrative": unasked}))
    before, words = text.split("IN WORDS ", 1)
    return before + words[words.index("WHERE THE MONEY CAME FROM") :]


def test_fault_19_without_a_model_the_mail_is_the_same_bytes(weeks: list[Week]) -> None:
    honest, *injected_mails = [mail_of(plain.words(week.report)) for week in weeks]
    assert "H-7" in honest[0].split("What is proposed?")[1].split("IN WORDS")[0]
    assert all(mail == honest for mail in injected_mails)


@pytest.mark.parametrize("script", [obeys, quotes])
def test_fault_19_a_gullible_models_mail_differs_in_its_words_alone(
    weeks: list[Week], script: Callable[[dict[str, Any]], Answer]
) -> None:
    honest, *injected_weeks = weeks
    bare = beside_the_words(plain.words(honest.report))
    sources = set()
    with FakeModel(script) as model:
        config = configured(model.url, max_usd_per_review=9, max_usd_per_day=99, max_usd_per_month=99)
        for week in injected_weeks[::2]:
            narrated_report = narrated(week.store, config, KEY, week.report, NOW)
            sources.add(narrated_report.narrative.source)
            assert beside_the_words(narrated_report) == bare
            assert not any(
                sign in part
                for part in mail_of(narrated_report)
                for sign in ("evil.example", "<script", "\u202e")
            )
    assert "plain" in sources


def request_of_week(week: Week, report: RetrospectiveReport, place: Path) -> tuple[dict[str, Any], str]:
    """What a pull request on a copy of its store says, and the branch's one commit with all it changes."""
    place.mkdir()
    shutil.copy(week.folder / "retro.db", place)
    store = open_store(str(place / "retro.db"))
    agent = agent_of(store, report.agent)
    with store.write() as conn:
        suggest(conn, agent, report.playbook_proposals, None, NOW)  # as finishing the review does
    with FakeForge(bare_repository(place / "agent.git", BOOK), token=TOKEN) as forge:
        config = Config.model_validate({"playbook": to_forge(forge)})
        env = {"PATH": os.environ["PATH"], "RETRO_FORGE_TOKEN": TOKEN}
        channel = PullRequests(store, config, env, settings_for(), lambda: NOW)
        assert channel.send(message(report)) == Sent()
        [pull] = forge.pulls
        request = {name: pull[name] for name in ("title", "body", "head", "base")}
        commit = forge.git("show", "--format=%an <%ae> %ad%n%B", pull["head"])
    store.close()
    return request, commit


def test_fault_19_pull_requests_are_the_same_bytes(weeks: list[Week], tmp_path: Path) -> None:
    """Title, body, branch, commit message and diff: each in a repository of its own."""
    honest, *injected_requests = [
        request_of_week(week, plain.words(week.report), tmp_path / str(n)) for n, week in enumerate(weeks)
    ]
    assert "H-7" in honest[0]["title"]
    assert all(request == honest for request in injected_requests)


@pytest.mark.parametrize(("script", "added"), [(words_rules, 0), (said(GOOD), 1)], ids=["gullible", "sound"])
def test_fault_19_a_models_candidate_in_a_pull_request_is_its_own_or_none(
    weeks: list[Week], tmp_path: Path, script: Script, added: int
) -> None:
    """A rule in the agent's words never gets there; one that stands is the same beside any text."""
    honest, *injected_weeks = weeks[:1] + weeks[-2:]
    bare, commit = request_of_week(honest, plain.words(honest.report), tmp_path / "bare")
    pull_requests = []
    with FakeModel(script) as model:
        config = configured(model.url, max_usd_per_review=9, max_usd_per_day=99, max_usd_per_month=99)
        for number, week in enumerate([honest, *injected_weeks] if added else injected_weeks):
            narrated_report = narrated(week.store, config, KEY, week.report, NOW)
            pull_requests.append(request_of_week(week, narrated_report, tmp_path / str(number)))
    assert all(pull_request == pull_requests[0] for pull_request in pull_requests)
    request, changed = pull_requests[0]
    assert changed.count("\n+- H-") - commit.count("\n+- H-") == added
    above, below = request["body"].split("\n---\n")
    if added:
        assert "Add size only once" not in above
        assert "Add size only once" in below
    else:
        assert (request, changed) == (bare, commit)
