"""docs/luck.md is true: its commands print what it shows, and its JSON has the fields that it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from retro.config import load
from retro.report.evaluators.luck import LuckReport, LuckTotal, PositionLuck, RuleLuck
from retro.report.form import Document
from tests.worlds.commands import JOURNAL, Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "luck.md").read_text(encoding="utf-8")


def test_its_commands_print_what_it_shows(
    retro: Retro, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sample = ("--config", str(ROOT / "examples" / "sample" / "config.toml"), "--db", str(tmp_path / "s.db"))
    assert retro(*sample, "ingest", "journal", JOURNAL).code == 0
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert blocks
    for part in (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]):
        command, *expected_lines = part.splitlines()
        program, *words = shlex.split(command)
        assert (program, *words[:2]) == ("retro", "--config", "examples/sample/config.toml")
        result = retro(*sample, *words[2:])
        assert result.code == 0, result.err
        printed = iter([line.rstrip() for line in result.out.splitlines()])
        for line in expected_lines:
            assert line in printed, f"`{command}` does not print, in this order: {line!r}\n{result.out}"
        assert max(map(len, result.out.splitlines())) <= 80


def test_its_configuration_is_one(tmp_path: Path) -> None:
    [written] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "config.toml").write_text(written)
    read = load(tmp_path / "config.toml", {})
    assert (read.owner.benchmark, read.benchmark.beta) == ("BTC/USDT", {"ETH": 1.2})


def test_its_fields_are_those_that_are_printed() -> None:
    page = re.sub(r"\s+", " ", PAGE)
    documents: dict[str, type[Document]] = {
        "positions": PositionLuck,
        "heuristics": RuleLuck,
        "total": LuckTotal,
    }
    for name, document in documents.items():
        [listed] = re.findall(rf"{name}: \[?{{(.*?)}}", page)
        assert listed.split(", ") == list(document.model_fields)
    assert list(LuckReport.model_fields) == ["positions", "heuristics", "total", "reasons"]


def test_the_command_refuses_and_answers_as_others_do(retro: Retro) -> None:
    assert "--as-of" in retro("luck", "--help").out
    Path("a.jsonl").write_text('{"type":"equity","id":"e","agent":"a","at":1711324800000,"value":100}\n')
    assert retro("ingest", "journal", "a.jsonl").code == 0
    empty = retro("luck", "--json")
    assert (empty.code, empty.data["positions"], empty.data["total"]) == (0, [], None)
    assert empty.data["reasons"]["total"]
    wrong = retro("luck", "--as-of", "soon")
    assert wrong.code == 2
    assert "--as-of" in wrong.err
    assert retro("luck", "--agent", "nobody").code == 2
