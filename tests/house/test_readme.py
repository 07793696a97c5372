"""What is written for users is true: every command of the README runs, every line it shows is printed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

import playbook
from retro.config import load
from retro.journal import FIELDS, check
from retro.report import PositionRetrospective, RetrospectiveReport
from retro.surface.cli.main import run
from tests.worlds.commands import Demo, demo, environment, round_trip
from tests.worlds.freqtrade_databases import Order, Trade, write
from tests.worlds.places import ROOT

__all__ = ["demo"]

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md")) + [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
]


class Step(NamedTuple):
    """A command of the README and the lines it is said to print."""

    command: str
    lines: list[str]


def steps() -> list[Step]:
    commands: list[Step] = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append(Step(line[2:], []))
            else:
                commands[-1].lines.append(line)
    return commands


def user_s_files(place: Path) -> None:
    """What the README says a reader has: a bot with candles, a fleet and its `fleet.toml`. All else must be here."""
    first, last = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC)
    times = [first + timedelta(hours=h) for h in range(int((last - first) / timedelta(hours=1)))]
    candles = place / "user_data" / "data" / "binance"
    candles.mkdir(parents=True)
    rows = [[int(at.timestamp() * 1000), 100, 103, 97, 100 + i % 3, 1] for i, at in enumerate(times)]
    (candles / "ETH_USDT-1h.json").write_text(json.dumps(rows))
    bot = Trade(
        [Order(True, 2.0, 100.0, "2026-01-06 08:00:00"), Order(False, 2.0, 102.0, "2026-01-07 09:00:00")],
        enter_tag="breakout", timeframe=60,
    )  # fmt: skip
    write(place / "tradesv3.sqlite", [bot])
    (place / "fleet").mkdir()
    (place / "fleet" / "harbor-3.jsonl").write_bytes((ROOT / "examples" / "agent.jsonl").read_bytes())
    lately = (datetime.now(UTC) - timedelta(days=3)).date().isoformat()
    (place / "fleet" / "harbor-9.jsonl").write_text(round_trip("p", lately, agent="harbor-9"))
    (fleet,) = re.findall(r"^```toml\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (place / "fleet.toml").write_text(fleet)


def test_a_reader_needs_no_file_but_those_the_readme_says_they_have(tmp_path: Path) -> None:
    """A file that only the tests have would hide a command that runs for nobody else."""
    user_s_files(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "tradesv3.sqlite",
        "user_data",
        "fleet",
        "fleet.toml",
    }


def typed(command: str) -> str:
    """The command as it is run here: the environment is there already, and the tests do not run themselves."""
    if command == "make demo":
        return "make -o .venv/runtime.stamp demo"
    return "make -n -o .venv/dev.stamp test" if command == "make test" else command


@pytest.fixture(scope="module")
def place(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which somebody has seen the demo."""
    return Path(shutil.copytree(demo.place, tmp_path_factory.mktemp("readme") / "copy", symlinks=True))


@pytest.fixture(scope="module")
def session(place: Path, postgres_server: str) -> dict[str, tuple[int, str, str]]:
    """Every command, typed into one shell in a copy of the repository, with its exit code, output and messages."""
    env = environment(place)
    user_s_files(place)
    for block in re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        subprocess.run([sys.executable, "-c", block], cwd=place, env=env, check=True)
    script = ["cd copy"]
    for number, step in enumerate(steps()):
        script.append(
            f"{{ {typed(step.command)}\n}} > ../{number}.out 2> ../{number}.err; echo $? > ../{number}.code"
        )
    env |= {"POSTGRESQL_URL": postgres_server, "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-c", "\n".join(script)], cwd=place.parent, env=env, check=True)
    outcomes = {}
    for number, step in enumerate(steps()):
        code, out, err = ((place.parent / f"{number}.{kind}").read_text() for kind in ("code", "out", "err"))
        outcomes[step.command] = (int(code), out, err)
    return outcomes


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.command)
def test_every_command_of_the_readme_runs_and_prints_what_it_shows(
    step: Step, session: dict[str, tuple[int, str, str]]
) -> None:
    code, out, err = session[step.command]
    assert code == 0, err
    printed = [line.rstrip() for line in out.splitlines()]
    place = 0
    for line in step.lines:
        assert line in printed, f"the README shows a line that is not printed; copy it anew: {line!r}"
        assert printed.index(line) >= place, f"the README shows lines in another order: {line!r}"
        place = printed.index(line)


def test_a_second_demo_gives_the_same_bytes(
    demo: Demo, place: Path, session: dict[str, tuple[int, str, str]]
) -> None:
    assert session["make demo"] == (0, demo.out, "")
    documents = sorted((demo.place / "demo").glob("*.json"))
    assert len(documents) == 3
    for document in documents:
        assert (place / "demo" / document.name).read_bytes() == document.read_bytes()


def test_the_first_screen_says_what_it_is_and_shows_it() -> None:
    first = README.splitlines()[:40]
    text = "\n".join(first)
    assert text.index("Hindsight reviews for trading agents") < text.index("$ make demo")
    assert "H-7  entry DEMOTE" in text
    assert "$ make test" in "\n".join(README.splitlines()[:50])


def test_all_three_kinds_of_users_find_their_way() -> None:
    commands = [step.command for step in steps()]
    assert any(command.startswith("retro ingest freqtrade tradesv3.sqlite --candles") for command in commands)
    assert any(command.startswith("retro ingest journal agent.jsonl") for command in commands)
    assert any(command.startswith('retro --db "$DATABASE" ingest') for command in commands)
    assert len(commands) == len(set(commands)), "each command stands once"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    """`retro review weekly` in running text: the words before the first that is no command's name."""
    later = {"run", "deliver", "reviews", "show", "diff", "mcp", "recall", "remember", "open", "journal"}
    for line in re.findall(r"`retro ([a-z][^`]*)`", page.read_text(encoding="utf-8")):
        words = re.match(r"(?:[a-z]+(?:-[a-z0-9]+)* ?)*", line)[0].split()
        if words and words[0] not in later:
            chosen = (
                words[:2] if words[0] in {"ingest", "review", "playbook"} and len(words) > 1 else words[:1]
            )
            assert _is_command(*chosen), line


@cache
def _is_command(*words: str) -> bool:
    with redirect_stdout(StringIO()):
        return run([*words, "--help"]) == 0


def test_the_page_of_the_house_names_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {
        path.stem
        for path in (ROOT / "retro").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert [room for room in sorted(rooms - {"__init__", "__main__"}) if f"`{room}`" not in text] == []


def test_the_example_lines_of_the_journal_page_are_events() -> None:
    text = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
    lines = [
        line for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) for line in block.splitlines()
    ]
    assert len(lines) >= 6
    for line in lines:
        assert check(line, time.time_ns() // 1000).unknown == ()


@pytest.mark.parametrize("kind", sorted(FIELDS))
def test_the_journal_page_names_every_field_of_every_type(kind: str) -> None:
    text = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
    assert f"`{kind}`" in text
    missing = [name for name in FIELDS[kind] if not re.search(rf"[`.]{name}`", text)]
    assert missing == []
    words = [word for allowed in FIELDS[kind].values() if isinstance(allowed, tuple) for word in allowed]
    assert [word for word in words if f"`{word}`" not in text] == []


def test_the_writer_of_the_journal_page_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/journal.md", "exec"), {})  # noqa: S102  the page is ours
    assert len(Path("agent.jsonl").read_text().splitlines()) == 3


def test_the_page_of_the_playbook_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "playbook.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))
    book = playbook.parse(blocks["markdown"])
    assert [heuristic.id for heuristic in book.heuristics] == ["H-1", "H-2", "H-3", "H-4"]
    assert not book.faults
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(blocks["toml"])
    assert load(Path("config.toml"), {}).playbook.slug == "ada/agent"
    exec(compile(blocks["python"], "docs/playbook.md", "exec"), {})  # noqa: S102  the page is ours


def test_the_page_of_numbers_uses_the_names_that_reports_use() -> None:
    text = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
    figures = {
        name
        for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert len(figures) >= 50
    field_names: set[str] = set()
    pending = [model.model_json_schema() for model in (RetrospectiveReport, PositionRetrospective)]
    while pending:
        schema = pending.pop()
        field_names |= set(schema.get("properties", {}))
        pending += list(schema.get("$defs", {}).values())
    assert figures - field_names == set()
    figures_of_pnl = set(RetrospectiveReport.model_json_schema()["$defs"]["PnlAttribution"]["properties"])
    assert [name for name in figures_of_pnl if name not in text] == [], (
        "every line of an attribution is explained"
    )
