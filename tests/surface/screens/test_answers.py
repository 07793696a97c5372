"""Every command that lists or shows something, in every format: of nothing, of one thing and of many, the same figures."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import retro as package
from retro.surface.cli.main import app
from tests.worlds.commands import Retro, event, process, retro, reviewed_db, round_trip
from tests.worlds.episodes import RANGING, TRENDING, episode

__all__ = ["retro", "reviewed_db"]

TRICK = "<script>alert(1)</script>"
ANSWERS: dict[str, tuple[str, ...]] = {
    "agents": (),
    "agents show": ("harbor-3",),
    "positions": ("--agent", "harbor-3"),
    "reviews": (),
    "deliver": (),
    "faults": (),
    "doctor": (),
    "recall": ("--agent", "ada", "--context", json.dumps(TRENDING), "--with", "library"),
    "kelly": ("--agent", "ada", "--context", json.dumps(TRENDING)),
    "state": ("--agent", "ada"),
    "habits": ("--agent", "ada"),
    "beliefs": ("--agent", "ada"),
    "markers": ("--agent", "harbor-3"),
    "plans": ("--agent", "ada"),
    "memory": ("--agent", "ada"),
    "playbook status": (),
    "library search": ("fees", "--agent", "ada"),
    "library show": ("r-1", "--agent", "ada"),
    "library stats": (),
    "library layers": ("--agent", "ada"),
    "search": ("harbor",),
    "ripening": (),
}
"""A command, and what it is asked with in the house of many."""
ELSEWHERE = frozenset(
    {
        "attribution", "calibration", "checks", "diff", "dreams", "drift", "evaluations", "experiments",
        "explain", "fleet", "fleet status", "hypotheses", "learning", "library replay", "luck",
        "playbook audit", "playbook proposal", "playbook ripening", "predictions", "predictions hindsight",
        "review daily", "review epoch", "review life", "review position", "review weekly", "rule",
        "shadows", "show", "tiers", "today", "validate recall", "whatif",
    }
)  # fmt: skip
"""Commands with pages whose own tests hold them to their figures: they need a life of their own."""
FIGURE = re.compile(r"[+-]?\d[\d,]*\.\d+")


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command under a group, by its words."""
    for name, command in getattr(group, "commands", {}).items():
        yield " ".join((*path, name)), command
        yield from commands(command, (*path, name))


def test_whatever_has_a_page_is_held_to_it() -> None:
    drawn = {
        words
        for words, command in commands(typer.main.get_command(app))
        if any("--format" in option.opts for option in command.params)
    }
    assert drawn == ELSEWHERE | set(ANSWERS)


@pytest.fixture(scope="module")
def many(reviewed_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Agents, positions, reviews, letters; a memory, plans and texts, one of them a trick."""
    path = Path(shutil.copy(reviewed_db, tmp_path_factory.mktemp("answers") / "many.db"))
    with package.open(str(path)) as mirror:
        mirror.remember(
            [
                episode(f"e-{n}", 1 + n, pnl=7.25 * (1 - n % 3), pnl_r=0.725 * (1 - n % 3), symbol="ETH/USDC")
                for n in range(24)
            ]
            + [episode(TRICK, 27, context=RANGING, symbol="SOL/USDC", strategy=TRICK)]
        )
        mirror.create_trading_plan(
            {"all": [{"field": "regime", "op": "==", "value": "ranging"}]},
            {"type": "skip_trade"},
            f"it lost 12.50 {TRICK}",
            agent="ada",
            at="2026-03-05T00:00:00Z",
        )
        mirror.add_to_library(
            {
                "id": "r-1",
                "agent": "ada",
                "at": "2026-03-01T00:00:00Z",
                "collection": "lessons_learned",
                "text": f"Fees of 0.35 decide {TRICK}",
                "metadata": {"sharpe": 0.41, "desk": TRICK},
                "importance": 62.5,
            }
        )
    return path


def in_every_format(retro: Retro, *words: str | Path) -> dict[str, str]:
    """What a command prints in each format: the same figures, nothing that executes, 80 columns."""
    printed = {}
    for form in ("text", "json", "md", "html"):
        result = retro("-q", *words, "--format", form)
        assert result.code in {0, 1}, result.err  # doctor finds what is broken
        assert "Traceback" not in result.err
        printed[form] = result.out
    figures = set(FIGURE.findall(printed["text"]))
    for form in ("md", "html"):
        drawn = printed[form].replace("&#46;", ".").replace("\\", "")
        assert {figure for figure in figures if figure not in drawn} == set(), form
    assert max(map(len, printed["text"].splitlines()), default=0) <= 80
    assert "<script" not in printed["html"]
    assert printed["html"].rstrip().endswith("</html>")
    assert printed["md"].startswith("# ")
    json.loads(printed["json"])
    return printed


@pytest.mark.parametrize("words", ANSWERS, ids=str)
def test_many_are_the_same_in_every_format(words: str, many: Path, retro: Retro) -> None:
    printed = in_every_format(retro, "--db", many, *words.split(), *ANSWERS[words])
    assert printed["text"] or words in {"beliefs", "faults", "markers", "playbook status"}, (
        "there is something to say"
    )


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent of one position, and one line that could not be used."""
    folder = tmp_path_factory.mktemp("one")
    (folder / "a.jsonl").write_text(round_trip("p-1") + event("fill", "f", price="-1"))
    assert process("--db", "one.db", "-q", "ingest", "journal", "a.jsonl", cwd=folder).code == 1
    return folder / "one.db"


@pytest.mark.parametrize("words", [words for words in ANSWERS if words != "library show"], ids=str)
def test_nothing_and_one_are_answered_in_every_format(words: str, one: Path, retro: Retro) -> None:
    """Of a database without an agent, and of an agent of one position: a page, or a sentence that says why there is none."""
    own = ("--agent", "ada") if "--agent" in ANSWERS[words] else ()
    asked = {"agents show": ("ada",), "search": ("p-1",), "library search": ("fees",)}.get(words, own)
    nothing = retro(*words.split(), *asked)
    assert nothing.code in {0, 1, 2}
    assert nothing.out or nothing.err
    in_every_format(retro, "--db", one, *words.split(), *asked)


def test_a_list_is_written_whole_into_a_file(many: Path, retro: Retro) -> None:
    for form in ("text", "json", "md", "html", "csv"):
        words = ("--db", many, "positions", "--agent", "harbor-3", "--format", form)
        printed = retro(*words)
        assert retro(*words, "-o", "list").code == 0
        assert Path("list").read_text().rstrip("\n") == printed.out.rstrip("\n")
    assert "--format takes" in retro("--db", many, "positions", "--format", "pdf").err
