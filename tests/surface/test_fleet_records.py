"""One agent's records are its own: in a folder of several nobody reads another's, and the prompt is a brief."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import retro as package
from retro.errors import UsageError
from tests.worlds.commands import Retro, event, retro, round_trip

__all__ = ["retro"]


def journal(agent: str, trades: int, profit: float) -> str:
    """One trade a day for a month, each citing H-1 of its agent; the account opens with 1,000."""
    lines = [event("equity", f"{agent}-q", "2026-03-01T08:00:00Z", agent, value="1000")]
    for number in range(trades):
        day = f"2026-03-{number + 1:02d}"
        swing = profit if number % 3 else -2 * profit
        lines.append(
            round_trip(f"{agent}-{number}", day, swing, agent, cites=["H-1"], reasoning=f"{agent} thinks")
        )
    return "".join(lines)


@pytest.fixture
def fleet(retro: Retro) -> Retro:
    Path("config.toml").write_text(
        "[retrospective]\ndaily_review_enabled = false\nposition_close_review = false\n"
    )
    Path("a.jsonl").write_text(journal("ada", 25, 3.0))
    Path("b.jsonl").write_text(journal("bob", 12, 1.0))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("ingest", "journal", "b.jsonl").code == 0
    assert retro("run", "--once").code == 0
    return retro


def test_nobody_is_told_of_another_agents_records(fleet: Retro) -> None:
    for words in (("experiments",), ("hypotheses",), ("experiments", "prompt")):
        asked = fleet(*words, "--json")
        assert (asked.code, asked.out) == (2, "")
        assert "ada, bob" in asked.err
        assert fleet(*words, "--agent", "eve").code == 2
        for name, stranger in (("ada", "bob"), ("bob", "ada")):
            answer = fleet(*words, "--agent", name, "--json")
            assert answer.code == 0
            assert stranger not in answer.out
    assert len(fleet("hypotheses", "--agent", "ada", "--json").data) == 1
    records = fleet("experiments", "--agent", "bob", "--json").data
    assert {record["agent"] for record in records} == {"bob"}


def test_python_asks_whose_records_too(fleet: Retro) -> None:
    with package.open("memory_data/retro.db") as mirror:
        for ask in (mirror.list_hypotheses, mirror.experiment_history, mirror.experiment_prompt):
            with pytest.raises(UsageError, match="ada, bob"):
                ask()
        assert {record["agent"] for record in mirror.experiment_history(agent="bob")} == {"bob"}
        assert [entry["agent"] for entry in mirror.list_hypotheses(agent="ada")] == ["ada"]
        assert mirror.experiment_prompt(agent="ada") == fleet("experiments", "prompt", "--agent", "ada").out


def test_records_of_an_earlier_version_go_by_the_review_that_wrote_them(fleet: Retro) -> None:
    before = fleet("experiments", "--agent", "ada", "--json").data
    for path in Path("memory_data/experiments").iterdir():
        text = re.sub(r"^agent: .*\n", "", path.read_text(), flags=re.MULTILINE)
        path.write_text(re.sub(r"^  agent: .*\n", "", text, flags=re.MULTILINE))
    after = fleet("experiments", "--agent", "ada", "--json").data
    assert [record["id"] for record in after] == [record["id"] for record in before]
    Path("memory_data/experiments/mine.yaml").write_text("id: mine\nresults: {win_rate: 0.5}\n")
    answer = fleet("experiments", "--agent", "ada", "--json")
    assert [record["id"] for record in answer.data] == [record["id"] for record in before]
    assert "left out 1 record that name no agent" in answer.err


def test_an_assessment_belongs_to_its_agent_and_settles_no_other_agents_hypothesis(fleet: Retro) -> None:
    Path("notes.md").write_text("H_001 refuted. H_002 refuted.")
    words = ("experiments", "assess", "notes.md", "--strategy", "s")
    assert fleet(*words).code == 2
    [theirs] = fleet("hypotheses", "--agent", "ada", "--json").data
    saved = fleet(*words, "--agent", "bob", "--json").data
    assert saved["unknown"] == [theirs["id"]]
    assert fleet("hypotheses", "--agent", "ada", "--json").data == [theirs]
    assert saved["id"] in [record["id"] for record in fleet("experiments", "--agent", "bob", "--json").data]


def test_the_prompt_is_a_brief_of_rules_lessons_drawdown_and_what_is_open(fleet: Retro) -> None:
    text = fleet("experiments", "prompt", "--agent", "ada").out
    assert len(text) <= 2000
    assert "Drawdown " in text
    assert re.search(r"\(25 closed trades, noisy\)", text)
    rules = re.search(r"### Rules Under Audit\n\n(- .*)\n", text)
    assert rules
    assert re.search(r"H-1.*: \w+ \(n \d+ in its last review\); evidence \w+, n \d+, noisy", rules[1])
    lessons = text.split("### Largest Lessons (one trade each: examples, no rate)\n\n")[1].split("\n\n")[0]
    assert len(lessons.split("\n")) == 3
    assert "worse than doing nothing" in lessons
    assert (
        text.index("## Experiment History")
        < text.index("### Recent Experiments")
        < text.index("## Open Hypotheses")
    )
    assert json.loads(fleet("experiments", "prompt", "--agent", "ada", "--json").out)["prompt"] == text
    assert len(fleet("experiments", "prompt", "--agent", "ada", "--full").out) > len(text)


def test_no_ratio_of_a_few_days_goes_into_a_prompt_and_what_rests_on_few_is_called_noisy(
    fleet: Retro,
) -> None:
    """Five weeks and an epoch of thirty days have a ratio on file; the epoch's alone is stated, with its error."""
    records = fleet("experiments", "--agent", "ada", "--json").data
    assert sum("sharpe_ratio" in record["results"] for record in records) > 4
    full = fleet("experiments", "prompt", "--agent", "ada", "--full").out
    ratios = re.findall(r"Sharpe \S+ \((\d+) days, standard error \d+\.\d\d\)", full)
    assert ratios == ["30"]
    assert full.count("Sharpe ") == 1
    brief = fleet("experiments", "prompt", "--agent", "ada").out
    lines = [line for line in brief.split("\n") if "% won of " in line]
    assert len(lines) >= 2
    assert all(" trades, noisy | " in line and "max drawdown (" in line for line in lines)
