"""docs/service.md names every key of a `[[source]]`, and what it shows is a configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from retro.config import load
from retro.config.sources import SourceTable
from retro.ingest.registry import ADAPTERS
from tests.worlds.places import ROOT

TEXT = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


def test_the_examples_are_a_configuration_with_every_kind_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text("\n".join(re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)))
    sources = load(Path("config.toml"), {}).source
    assert {source.kind for source in sources} == set(get_args(SourceTable.model_fields["kind"].annotation))
    of_logs = {"zone"} if not any("zone" in adapter.options for adapter in ADAPTERS.values()) else set()
    shown = set().union(*(source.model_fields_set for source in sources))
    assert shown | of_logs == set(SourceTable.model_fields)


def test_every_key_has_its_row_and_readme_points_there() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == set(SourceTable.model_fields)
    assert "(docs/service.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
