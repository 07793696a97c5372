"""docs/memory.md is true: its commands and its Python run in the order in which they stand, and print what they show."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from memory.situation.context import DEFAULT
from retro.surface.mcp.tools import READS, WRITES
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def reader_s_files() -> None:
    """What the page supposes a reader to have."""
    Path("episodes.jsonl").write_text(next(body for kind, body in BLOCKS if kind == "json"))
    Path("notes.md").write_text("Breakouts kept winning in trends.")
    (Path("their-memory") / "experiments").mkdir(parents=True)
    (Path("their-memory") / "experiments" / "exp_v15_adx.yaml").write_text("id: exp_v15_adx\nresults: {}\n")


def a_longer_history(retro: Retro) -> None:
    """A replay needs more than the page's three episodes."""
    rows = [
        {"id": f"x-{i}", "agent": "harbor-4", "at": f"2026-0{3 + i // 28}-{1 + i % 28:02d}T12:00:00Z", "pnl_r": 1 - i % 2 * 1.5}
        for i in range(56)
    ]  # fmt: skip
    Path("more.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert retro("remember", "more.jsonl").code == 0


def follow(retro: Retro, block: str) -> None:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *expected_lines = part.splitlines()
        program, *words = shlex.split(command)
        if words[0] == "validate":
            a_longer_history(retro)
        result = retro(*words)
        assert (program, result.code) == ("retro", 0), (command, result.err)
        printed = iter([line.rstrip() for line in result.out.splitlines()])
        for line in expected_lines:
            assert line in printed, f"`{command}` does not print, in this order: {line!r}\n{result.out}"


def test_the_page_can_be_followed_from_top_to_bottom(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    reader_s_files()
    for kind, body in BLOCKS:
        if kind == "console":
            follow(retro, body)
        elif kind == "toml":
            Path("config.toml").write_text(body)
        elif kind == "python":
            exec(compile(body, "docs/memory.md", "exec"), {})  # noqa: S102  the page is ours
    assert retro("state", "--json").data["halted"] is False
    assert retro("plans", "--json").data[0]["vs_inaction"] == 0.8  # skipping a loss was worth it


def test_the_page_names_every_tool_and_what_it_may_do() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+) \| (read-only|writes) \|", PAGE, re.MULTILINE)
    permissions = {name: mark for names, mark in rows for name in re.findall(r"`(\w+)`", names)}
    assert permissions == dict.fromkeys(READS, "read-only") | dict.fromkeys(WRITES, "writes")


def test_the_page_names_every_field_of_a_situation() -> None:
    assert [field.name for field in DEFAULT.fields if f"`{field.name}`" not in PAGE] == []
