"""docs/fleet.md is true: its commands run, and each of its questions gets an answer with an n from a small fleet."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from retro.periods import DAY, HOUR, SECOND, WEEK, format_instant, parse_instant
from retro.surface.cli.main import run
from tests.worlds.commands import event
from tests.worlds.places import ROOT

PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"^\*\*(\d+)\. .*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
MODELS = ("model-a", "model-b", "model-c")
FIRST, WEEKS, AGENTS = parse_instant("2025-11-03T00:00:00Z"), 16, 6


def trade(agent: str, number: int, at: int, gain: float, rule: str) -> str:
    """Bought at 100 a minute after a mark, sold two hours later; what thinking cost beside it."""
    name, when = f"p{number}", format_instant(at)
    own = {"position": name, "instrument": "ETH/USDC"}
    model = MODELS[int(agent[-1]) % len(MODELS)]
    return (
        event("mark", f"m{number}", format_instant(at - 60 * SECOND), agent, instrument="ETH/USDC", price="99.9")
        + event("mark", f"n{number}", format_instant(at + HOUR // 2), agent, instrument="ETH/USDC", price=101 + gain)
        + event("position", f"{name}-o", when, agent, kind="spot", side="long", strategy=f"s{number % 2}", **own)
        + event("cost", f"{name}-c", when, agent, kind="inference", amount="0.001", model=model, tier="T1")
        + event("decision", f"{name}-d", when, agent, action="enter", position=name, cites=[rule])
        + event("fill", f"{name}-b", when, agent, side="buy", quantity="1", price="100", **own)
        + event("fill", f"{name}-s", format_instant(at + 2 * HOUR), agent, side="sell", quantity="1", price=100 + gain, **own)
    )  # fmt: skip


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six agents of sixteen weeks, two trades a week each: H-1 wins, H-2 loses, model-c loses a little always."""
    folder, dice = tmp_path_factory.mktemp("fleet"), random.Random(5)
    lines = []
    for name in (f"agent-{number}" for number in range(AGENTS)):
        lines.append(event("equity", "e", format_instant(FIRST), name, value="1000"))
        for number in range(2 * WEEKS):
            gain = (1.0 if number % 2 else -1.0) + dice.uniform(-0.4, 0.4) - (name[-1] in "25")
            lines.append(trade(name, number, FIRST + number // 2 * WEEK + (1 + number % 2) * DAY, gain, f"H-{2 - number % 2}"))  # fmt: skip
    (folder / "fleet.jsonl").write_text("".join(lines))
    (folder / "config.toml").write_text(
        '[retrospective]\ndaily_review_enabled = false\nposition_close_review = false\nepoch_review_enabled = false\n'
        '[service]\ncatch_up = "latest"\ndormant_weeks = 0\n'
        f'[store]\nurl = "{folder}/retro.db"\nreviews = "{folder}/reviews"\n[memory]\ndirectory = "{folder}/memory"\n'
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (["ingest", "journal", "fleet.jsonl"], ["run", "--once"]):
            assert run(["--config", "config.toml", "-q", *words]) == 0
        commands = re.findall(r"^\$ retro (export .*)", PAGE, re.MULTILINE)
        assert len(commands) >= 2
        for command in commands:
            assert run(["--config", "config.toml", *shlex.split(command)]) == 0, command
    return folder


@pytest.fixture(scope="module")
def tables(fleet: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The page's first block of SQL, on the export that its commands wrote."""
    prelude = re.findall(r"```sql\n(CREATE TABLE.*?)```", PAGE, re.DOTALL)[0]
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.execute(prelude.replace("fleet-export", str(fleet / "fleet-export")))
        yield db


def test_there_are_ten_questions() -> None:
    assert [number for number, _ in QUESTIONS] == [str(number) for number in range(1, 11)]


@pytest.mark.parametrize("number", range(1, 11))
def test_a_question_gets_a_table_with_its_n(tables: duckdb.DuckDBPyConnection, number: int) -> None:
    answer = tables.sql(QUESTIONS[number - 1][1])
    assert "n" in answer.columns
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    assert rows
    assert all(row["n"] > 0 for row in rows)
    if number != 10:  # a week in which nothing closed is against nothing
        assert [row for row in rows if None in row.values()] == []
    CHECKS.get(number, lambda _: None)(rows)


def _rules(rows: list[dict[str, Any]]) -> None:
    entries = {row["rule"]: row for row in rows if row["role"] == "entry"}
    assert {name: (row["agents"], row["n"]) for name, row in entries.items()} == dict.fromkeys(
        ("H-1", "H-2"), (AGENTS, WEEKS * AGENTS)
    )
    assert entries["H-1"]["mean_bps"] > 0 > entries["H-2"]["mean_bps"]


def _costs(rows: list[dict[str, Any]]) -> None:
    assert sum(row["n"] for row in rows) == 2 * WEEKS * AGENTS
    assert sum(row["amount"] for row in rows) == 2 * WEEKS * AGENTS * Decimal("0.001")


def _fills(rows: list[dict[str, Any]]) -> None:
    assert [(row["n"], row["oldest_mark_seconds"]) for row in rows] == [(2 * WEEKS, 60)] * AGENTS
    assert all(abs(row["mean_cost_bps"] - 1e4 * (100 / 99.9 - 1)) < 1e-6 for row in rows)


CHECKS: dict[int, Any] = {4: _rules, 6: _costs, 9: _fills}


def test_evidence_and_models_are_as_the_page_computes_them(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(fleet)
    capsys.readouterr()
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/fleet.md", "exec"), {})  # noqa: S102  our own page
    printed = capsys.readouterr().out.splitlines()
    rules, models = printed[:2], printed[2:]
    assert re.fullmatch(
        rf"H-1: \+\d+\.\d bps, n {WEEKS * AGENTS} in {WEEKS} weeks, [\d.e-]+ to 1 against, \w+", rules[0]
    )
    assert rules[1].startswith("H-2: -")
    in_favour, against = (float(line.partition("weeks, ")[2].partition(" ")[0]) for line in rules)
    assert in_favour < 1
    assert against > 5
    p = {line.partition(":")[0]: float(line.rpartition(" ")[2]) for line in models}
    assert max(p["model-a"], p["model-b"]) == 1.0
    assert p["model-c"] < 0.1
