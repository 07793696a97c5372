"""docs/operating.md is true: its commands run in the order in which they stand, and its configuration is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from retro.config import load
from retro.config.tables import ServiceTable
from tests.app.estate.homes import told
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT
from tests.worlds.service_world import lines_of

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
AGENTS = ("harbor-3", "harbor-9", "old-strategy", "new-strategy")


def test_the_page_can_be_followed_from_top_to_bottom(retro: Retro, postgres_url: str) -> None:
    Path("agents.jsonl").write_bytes(b"".join(lines_of(told(agent, 2)) for agent in AGENTS))
    assert retro("ingest", "journal", "agents.jsonl").code == 0
    commands = re.findall(r"^\$ (.*)", PAGE, re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        program, *words = shlex.split(command.replace("$DATABASE", postgres_url))
        result = retro(*words)
        assert (program, result.code) == ("retro", 0), (command, result.err)


def test_its_configuration_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text("\n".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)))
    service = load(Path("config.toml"), {}).service
    assert (
        service.model_fields_set == {"keep_daily_reviews", "keep_documents"} <= set(ServiceTable.model_fields)
    )


def test_every_file_of_an_export_is_described(retro: Retro) -> None:
    Path("agents.jsonl").write_bytes(lines_of(told("harbor-3", 2)))
    retro("ingest", "journal", "agents.jsonl")
    assert retro("export", "harbor-3", "out").code == 0
    rows = re.findall(
        r"^\| `([^`]+)` \|", PAGE.partition("| file |")[2].partition("## Agents")[0], re.MULTILINE
    )
    patterns = [re.escape(name).replace("TABLE", r"\w+") for name in rows]
    written = [str(path.relative_to("out")) for path in Path("out").rglob("*") if path.is_file()]
    assert [name for name in written if not any(re.match(pattern, name) for pattern in patterns)] == []
