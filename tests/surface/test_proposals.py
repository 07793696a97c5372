"""`retro playbook propose`, `pr` and `status` as an owner meets them, without account or repository."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import playbook
from retro.config import load
from retro.present.page.amendments import describe_change, evidence_in_words
from retro.store.database import open_store
from retro.surface.screens.acts import perform
from retro.surface.screens.catalogue import answer
from retro.surface.screens.routes import Request
from tests.surface.web.test_door import house_of
from tests.worlds import playbook_lives as lives
from tests.worlds.commands import Retro, retro
from tests.worlds.playbook_lives import lived

__all__ = ["lived", "retro"]  # fixtures


@pytest.fixture
def home(retro: Retro, lived: Path, tmp_path: Path) -> Path:
    shutil.copy(lived, tmp_path / "retro.db")
    return tmp_path


def configure(home: Path, text: str, book: bytes | None) -> list[str]:
    (home / "config.toml").write_text(f'[store]\nurl = "retro.db"\n{text}')
    if book is not None:
        (home / "rules" / "BOOK.md").parent.mkdir()
        (home / "rules" / "BOOK.md").write_bytes(book)
    return ["--config", "config.toml", "playbook"]


@pytest.mark.parametrize(
    "text",
    [lives.BOOK, lives.BOOK.replace("\n", "\r\n"), lives.BOOK.rstrip("\n"), f"\ufeff{lives.BOOK}"],
    ids=["plain", "CRLF", "open end", "BOM"],
)
def test_git_takes_what_propose_prints_also_below_a_folder(retro: Retro, home: Path, text: str) -> None:
    configuration = '[agent.bot]\nplaybook = "rules/BOOK.md"\n[playbook]\nfile = "rules/BOOK.md"\n'
    words = configure(home, configuration, text.encode())
    (home / "x.patch").write_text(retro(*words, "propose").out, newline="")
    subprocess.run(["git", "apply", "--whitespace=nowarn", "x.patch"], cwd=home, check=True)
    after = (home / "rules" / "BOOK.md").read_bytes().decode()
    assert after == text.replace("[0.62]", "[0.12]", 1).replace("status: active", "status: demoted", 1)


def test_the_diff_is_headed_by_what_each_change_rests_on(retro: Retro, home: Path) -> None:
    """Unit, n, interval, how sure, and what would prove it wrong: before the diff, where git and patch pass it over."""
    words = configure(home, '[agent.bot]\nplaybook = "rules/BOOK.md"\n', lives.BOOK.encode())
    head, *diff = retro(*words, "propose").out.splitlines()
    assert head.startswith("# demote H-1: average -48.0")
    for part in ("USDC over 40 resolved entry citations", "95 % -", "evidence supported"):
        assert part in head
    assert head.endswith("wrong if later entry citations speak for it at 10 to 1")
    assert diff[0].startswith("--- ")


def test_an_agent_without_a_playbook_is_proposed_a_new_file(retro: Retro, home: Path) -> None:
    words = configure(home, "", None)
    (home / "x.patch").write_text(retro(*words, "propose").out, newline="")
    subprocess.run(["git", "apply", "x.patch"], cwd=home, check=True)
    (rule,) = playbook.parse((home / "PLAYBOOK.md").read_bytes()).heuristics
    assert (rule.id, rule.status, rule.tags) == ("H-1", "demoted", ("size_up",))


def test_status_shows_the_whole_address_and_what_would_prove_it_wrong(retro: Retro, home: Path) -> None:
    words = configure(home, '[agent.bot]\nplaybook = "rules/BOOK.md"\n', lives.BOOK.encode())
    address = retro(*words, "pr").out.strip()
    (row,) = retro(*words, "status", "--json").data
    printed = retro(*words, "status").out.splitlines()
    assert f"  {row['id']}  bot    open   H-1: demote" in printed
    assert address in "".join(line.strip() for line in printed)
    assert address in retro(*words, "status", "--format", "html").out
    assert f"  - {row['id']} is wrong if later entry citations speak for it at 10 to 1" in printed


def test_an_owner_answers_at_the_terminal_and_on_the_screen_what_no_request_asks(
    retro: Retro, home: Path
) -> None:
    words = configure(home, '[agent.bot]\nplaybook = "rules/BOOK.md"\n', lives.BOOK.encode())
    retro(*words, "pr")
    (row,) = retro(*words, "status", "--json").data
    with closing(open_store(str(home / "retro.db"))) as store:
        house = house_of(store, load(home / "config.toml", {}))
        screen = answer(house, Request("proposals", (row["id"],)))
        assert [verb for _, verb, _ in screen.acts] == ["accept", "decline"]
        (which,) = {subject for _, _, subject in screen.acts}
        assert perform(house, "decline", which) == "rejected"
        assert answer(house, Request("proposals", (row["id"],))).acts == ()
    refused = retro(*words, "accept", row["id"])
    assert (refused.code, "is rejected already" in refused.err) == (2, True)
    with closing(sqlite3.connect(home / "retro.db")) as raw, raw:
        raw.execute("UPDATE proposals SET state = 'open'")
    assert retro(*words, "accept", row["id"], "--json").data["state"] == "merged"
    (rule,) = (
        r for r in playbook.parse((home / "rules" / "BOOK.md").read_bytes()).heuristics if r.id == "H-1"
    )
    assert rule.status == "demoted"


def entry(**changed: Any) -> dict[str, Any]:
    defaults = {"op": "set_confidence", "heuristic": "H-7", "old": "- H-7 [0.62] x", "new": "- H-7 [0.53] x"}
    evidence = {"role": "entry", "resolved": 15, "wins": 7, "average": -0.962, "unit": "usd", "e": 2.577}
    return {**defaults, "evidence": {**evidence, "interval": [-2.87, 0.845], "grade": "weak"}, **changed}


@pytest.mark.parametrize(
    ("proposal", "change", "evidence"),
    [
        (entry(), ("lower to 0.53", "H-7"), "average -0.96 USDC over 15 resolved entry citations, 7 won, 95 % -2.87..+0.84 at every look, evidence weak (2 to 1)"),
        (entry(new="- H-7 [0.7] x", evidence={"role": "exit", "resolved": 1, "average": 2, "unit": "bps"}), ("raise to 0.70", "H-7"), "avoided on average +2.00 bps of notional over 1 resolved exit citation"),
        (entry(op="merge", old="- H-7 [0.5] x\n- H-8 [0.5] y", evidence={"resolved": 0, "role": "entry"}), ("merge H-8 into it", "H-7"), "no average over 0 resolved entry citations"),
        (entry(op="demote", heuristic="moon", old=None, new="- H-9 [0.1] x {tags: moon}", evidence="told in words"), ("demote", "H-9"), "told in words"),
        (entry(op="add", old=None, evidence={"prompted_by": "H-1", "its_average": -2.1, "its_resolved": 3}), ("add", "H-7"), "none of its own yet; beside H-1: average -2.10 USDC over 3 resolved citations"),
        ({}, ("change", ""), ""),
    ],
)  # fmt: skip
def test_a_proposal_is_told_in_words_with_unit_and_sample_size(
    proposal: dict[str, Any], change: tuple[str, str], evidence: str
) -> None:
    assert describe_change(proposal) == change
    assert evidence_in_words(proposal, "USDC") == evidence
