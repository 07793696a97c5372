"""`retro review ... --narrate` at the command line, the cost of a week, and what doctor says of the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from retro.app.doctor.check import Check, Installation
from retro.app.doctor.model import CHECKS
from retro.store import spend
from retro.store.database import Store, open_store
from retro.testing.model import Answer, FakeModel, failing, said, tokens
from tests.worlds.narrations import DAY, GOOD, KEY, NOW, configured, week
from tests.worlds.places import SAMPLE

ANALYST: dict[str, Any] = {
    "what_worked": "Trading gains came to {pnl.trading_gains} and fees to {pnl.lp_fees_earned}. " * 4,
    "what_failed": "{h.H-7.name} averaged {h.H-7.avg}, with {h.H-7.evidence}; the week ended at {pnl.total}. "
    * 4,
    "hindsight": "{p.lp-2.name} could have been left at {p.lp-2.optimal_exit_at}; nobody knew that then. "
    * 4,
    "positions": [
        {
            "position_id": "lp-2",
            "what_went_wrong": "It stayed after the price had left its range, and ended at {p.lp-2.final_pnl}. "
            * 2,
            "lesson": "Leave a range when the price does, even while fees accrue.",
        }
    ],
    "proposals": [
        {"heuristic_id": "H-7", "text": "Raise the size only after a loss-free stretch in a calm range."}
    ],
}


def retro(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    return subprocess.run(
        [sys.executable, "-m", "retro", *words], env=clean | env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the week ingested into `retro.db`."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "week.jsonl").write_bytes(week())
    assert (
        retro("--db", str(folder / "retro.db"), "ingest", "journal", str(folder / "week.jsonl")).returncode
        == 0
    )
    return folder


def settled(folder: Path, url: str) -> list[str]:
    (folder / "config.toml").write_text(f'[llm]\nbase_url = "{url}/px"\n')
    return ["--config", str(folder / "config.toml"), "--db", str(folder / "retro.db")]


def test_narrate_changes_words_only_and_says_on_stderr_who_wrote_them(place: Path) -> None:
    with FakeModel(said(GOOD)) as model:
        start = [*settled(place, model.url), "review", "weekly", "--at", "2026-03-03", "--narrate"]
        outputs = {form: retro(*start, "--format", form, **KEY) for form in ("json", "md")}
        assert [request.path for request in model.requests] == ["/px/v1/messages"] * 2
    for form, done in outputs.items():
        assert done.returncode == 0, done.stderr
        assert "{pnl." not in done.stdout
        assert "8.30 USDC" in done.stdout.replace("\n", " "), form
        assert "worded by claude-haiku-5-5 for $0.00" in done.stderr
    report = json.loads(outputs["json"].stdout)
    bare = json.loads(retro(*start[:-1], "--format", "json").stdout)
    differing = {name for name in report if report[name] != bare[name]}
    assert differing == {
        "narrative",
        "what_worked",
        "what_failed",
        "hindsight",
        "positions",
        "playbook_proposals",
    }
    assert report["narrative"]["source"] == "model"
    assert report["provenance"] == bare["provenance"]


def test_without_narrate_nobody_is_asked_and_nothing_booked(place: Path) -> None:
    with FakeModel(said(GOOD)) as model:
        done = retro(*settled(place, model.url), "review", "weekly", "--at", "2026-03-03", **KEY)
        assert (done.returncode, model.requests) == (0, [])


def test_a_position_is_worded_too(place: Path) -> None:
    answer = {"what_went_wrong": "It was left at {p.t-2.final_pnl}.", "lesson": "Wait for the range."}
    with FakeModel(said(answer)) as model:
        done = retro(*settled(place, model.url), "review", "position", "t-2", "--narrate", "--json", **KEY)
    document = json.loads(done.stdout)
    assert (document["what_went_wrong"], document["lesson"]) == (
        "It was left at -5.00 USDC.",
        "Wait for the range.",
    )


@pytest.mark.parametrize(
    ("answer", "env", "why"),
    [
        (failing(529), KEY, "529 (overloaded)"),
        (said(GOOD), {}, "there is no key (ANTHROPIC_API_KEY)"),
    ],
)
def test_without_a_sound_answer_the_command_succeeds_plainly(
    place: Path, answer: Answer, env: Any, why: str
) -> None:
    with FakeModel(answer) as model:
        start = [*settled(place, model.url), "review", "weekly", "--at", "2026-03-03"]
        done = retro(*start, "--narrate", "--json", **env)
    assert done.returncode == 0
    assert why in done.stderr
    document, bare = json.loads(done.stdout), json.loads(retro(*start, "--json").stdout)
    assert document.pop("narrative")["source"] == "plain"
    del bare["narrative"]
    assert document == bare


def test_a_weekly_review_of_the_sample_agent_costs_under_a_cent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At T1 list prices, tokens as the double counts them (three bytes each), with a full answer and no cache."""
    start = ["--db", str(tmp_path / "retro.db")]
    assert retro(*start, "ingest", "journal", str(SAMPLE / "agent.jsonl")).returncode == 0
    with FakeModel(said(ANALYST)) as model:
        done = retro(*settled(tmp_path, model.url), "review", "weekly", "--narrate", "--json", **KEY)
        [call] = model.calls
    narrative = json.loads(done.stdout)["narrative"]
    assert narrative["source"] == "model", narrative["why"]
    fresh, out = model.billed["input_tokens"], model.billed["output_tokens"]
    thinking = 3000 * 0.5e-6  # what a model may think before it writes, at the price of output
    with capsys.disabled():
        stable = tokens(call.body["system"][-1]["text"])
        print(  # noqa: T201  # what a review costs, for whoever runs this test
            f"\na weekly review of the sample agent: {fresh:,} tokens in ({stable:,} of them the stable beginning),"
            f" {out:,} out: {narrative['cost']:.5f} USD; with 3,000 tokens of thinking {narrative['cost'] + thinking:.5f}"
        )
    assert 0 < narrative["cost"] + thinking < 0.01
    assert call.body["system"][-1]["cache_control"] == {"type": "ephemeral"}


# doctor


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Store]:
    store = open_store(str(tmp_path / "retro.db"))
    yield store
    store.close()


def examined(store: Store | None, url: str, env: dict[str, str], **llm: Any) -> list[Check]:
    house = Installation(configured(url, **llm), env, NOW, store)
    return [check for examination in CHECKS for check in examination.look(house)]


ALIVE: dict[str, dict[str, Any]] = {"claude-haiku-5-5": {}, "claude-sonnet-5-5": {}}


def test_doctor_is_content_with_a_key_and_living_models_that_have_a_price(house: Store) -> None:
    with FakeModel(said(GOOD), models=ALIVE) as model:
        findings = examined(house, model.url, KEY)
    assert {check.state for check in findings} == {"ok"}
    assert any("one call costs" in check.detail for check in findings)
    assert KEY["ANTHROPIC_API_KEY"] not in str(findings)


@pytest.mark.parametrize(
    ("llm", "env", "models", "state", "words"),
    [
        ({}, {}, ALIVE, "note", "no key"),
        ({"enabled": True}, {}, ALIVE, "broken", "there is no key"),
        ({"enabled": False}, KEY, ALIVE, "note", "switched off"),
        ({}, {"ANTHROPIC_API_KEY_FILE": "/nowhere/at/all"}, ALIVE, "broken", "cannot be read"),
        ({"t1_model": "claude-unheard-of"}, KEY, ALIVE, "broken", "no price is known"),
        ({"max_usd_per_review": 0.001}, KEY, ALIVE, "broken", "more than a cap of 0.001 allows"),
        ({}, KEY, {}, "broken", "the service does not know it"),
        ({}, KEY, ALIVE | {"claude-haiku-5-5": {"lifecycle": "retired"}}, "broken", "retired"),
        ({}, KEY, ALIVE | {"claude-haiku-5-5": {"lifecycle": "deprecated", "retires_at": "2026-12-01T00:00:00Z"}},
         "note", "retires on 2026-12-01"),
    ],
)  # fmt: skip
def test_doctor_names_what_keeps_a_model_from_wording(
    house: Store, llm: dict[str, Any], env: Any, models: Any, state: str, words: str
) -> None:
    with FakeModel(said(GOOD), models=models) as model:
        findings = examined(house, model.url, env, **llm)
    assert any(check.state == state and words in check.detail for check in findings), findings


def test_doctor_without_a_network_does_not_call_a_model_broken(house: Store) -> None:
    with FakeModel(said(GOOD)) as model:
        url = model.url
    findings = examined(house, url, KEY)
    assert {check.state for check in findings} == {"ok", "note"}


def test_doctor_tells_what_was_spent_this_month(house: Store) -> None:
    order = spend.Order("a", "r", 1, NOW, "T1", "m", Decimal("9.5"), "d", "p", "{}")
    caps = spend.Caps(Decimal(10), Decimal(10), Decimal(10), NOW - DAY, NOW - DAY)
    with house.write() as conn:
        assert spend.reserve(conn, order, caps) == 1
    [check] = [finding for finding in examined(house, "", {}) if finding.name == "spending"]
    assert (check.state, check.detail[:30]) == ("note", "9.5000 of 10 USD this month, b")
