"""docs/evaluators.md is true: its commands run in the order in which they stand, and print what they show."""

from __future__ import annotations

import re
import shlex

from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
COMMANDS = [
    part
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
]


def test_the_page_can_be_followed_from_top_to_bottom(retro: Retro) -> None:
    sample = ROOT / "examples" / "sample"
    for part in COMMANDS:
        command, *expected = part.splitlines()
        program, *words = shlex.split(command.replace("examples/sample", str(sample)))
        result = retro("--config", sample / "config.toml", "--db", "retro.db", *words)
        assert (program, result.code) == ("retro", 0), (command, result.err)
        printed = iter([line.rstrip() for line in result.out.splitlines()])
        for line in expected:
            assert line in printed, f"`{command}` does not print, in this order: {line!r}\n{result.out}"
