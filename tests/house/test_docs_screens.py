"""docs/screens.md is true: its commands run in the order in which they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.app.estate.homes import told
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT
from tests.worlds.service_world import lines_of

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "screens.md").read_text(encoding="utf-8")


def test_the_page_can_be_followed_from_top_to_bottom(retro: Retro) -> None:
    Path("agents.jsonl").write_bytes(lines_of(told("harbor-3", 2)))
    assert retro("ingest", "journal", "agents.jsonl").code == 0
    commands = re.findall(r"^ *\$ (.*)", PAGE, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        program, *words = shlex.split(command)
        result = retro(*words)
        assert (program, result.code) == ("retro", 0), (command, result.err)
