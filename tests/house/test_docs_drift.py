"""docs/drift.md is true: its commands print what it shows, and its JSON has the fields that it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from retro.config import load
from retro.report.evaluators.drift import (
    CauseTotal,
    DriftCauses,
    DriftLines,
    DriftPair,
    DriftReport,
    DriftSensitivity,
    DriftSummary,
    DriftTag,
    UnmatchedTrade,
)
from tests.evaluate.drift.bots import differing
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "drift.md").read_text(encoding="utf-8")


def test_its_commands_print_what_it_shows(retro: Retro) -> None:
    differing(Path.cwd())
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert blocks
    for part in (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]):
        command, *expected_lines = part.splitlines()
        program, *words = shlex.split(command)
        assert program == "retro"
        result = retro(*words)
        assert result.code == 0, result.err
        printed = iter([line.rstrip() for line in result.out.splitlines()])
        for line in expected_lines:
            assert line in printed, f"`{command}` does not print, in this order: {line!r}\n{result.out}"
    assert Path("drift.html").read_text().rstrip().endswith("</html>")


def test_its_configuration_is_one(tmp_path: Path) -> None:
    [written] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "config.toml").write_text(written)
    assert load(tmp_path / "config.toml", {}).agent["live"].backtest == "backtest"


def test_its_fields_and_causes_are_those_that_are_printed() -> None:
    page = re.sub(r"\s+", " ", PAGE)
    listed = [names.split(", ") for names in re.findall(r"`?\{(\w+(?:, \w+)+)\}", page)]
    documents = (
        DriftSummary,
        DriftReport,
        DriftLines,
        CauseTotal,
        DriftPair,
        UnmatchedTrade,
        DriftTag,
        DriftSensitivity,
    )
    assert listed == [list(document.model_fields) for document in documents]
    causes = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert causes == {*DriftCauses.model_fields}
