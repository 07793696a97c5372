"""An operator's hands from Python: each method does what its command does, and says it in the same document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import retro
from retro.errors import UsageError
from tests.app.estate.homes import Home
from tests.worlds.places import ROOT


def of_harbor(home: Home) -> dict[tuple[str, int], Any]:
    return {name: text for name, text in home.documents().items() if name[0].startswith("harbor-3.")}


def test_the_lines_of_the_docs_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved, exported, renamed, merged, forgotten and taken in again: its reviews are the same bytes."""
    home = Home(tmp_path)
    home.tell("harbor-3", "harbor-9", "old-strategy", "new-strategy")
    assert home.do("run", "--once") == 0
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    before = of_harbor(home)
    exec(compile(block, "docs/operating.md", "exec"), {})  # noqa: S102  the page is ours
    assert of_harbor(home) == before
    assert len(before) > 7
    assert Path("retro-backup.db").stat().st_size > 0
    with retro.open("retro.db", Path("config.toml")) as mirror:
        names = {review["agent"] for review in mirror.reviews()}
        assert names == {"harbor-3", "harbor-10", "new-strategy"}
        with pytest.raises(UsageError, match="is there already"):
            mirror.export("harbor-3", "harbor-3-export")
        with pytest.raises(UsageError, match="nothing to undo"):
            mirror.undo_forget("harbor-3")
        forgotten = mirror.forget("harbor-10")
        assert forgotten["forgotten"] is True
        assert forgotten["rows"]["reviews"] > 7
        assert forgotten["files"]["reviews"] > 7
    assert not Path("reviews/harbor-10").exists()
