"""Proposals without any account: a patch file, and a branch in a local clone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import playbook
from retro.app.proposals.outcomes import read_outcomes
from retro.testing.forge import FakeForge
from tests.worlds import playbook_lives as lives
from tests.worlds.playbook_lives import W06, bring, living_at, outcomes, states


@pytest.fixture
def patched(placed: tuple[lives.House, FakeForge]) -> lives.House:
    house, _ = placed
    house.playbook_table, house.env = {"channel": "patch"}, {"PATH": os.environ["PATH"]}
    return house


def test_a_patch_needs_neither_account_nor_repository(patched: lives.House, tmp_path: Path) -> None:
    done = bring(patched)
    path = Path(str(done.url).removeprefix("file://"))
    assert path == patched.store.path.parent / "playbook" / "bot" / "2026-W06.patch"
    before = path.stat().st_ino
    assert bring(patched) == done
    assert path.stat().st_ino == before
    clone = tmp_path / "clone"
    lives.git(tmp_path, "clone", "--quiet", str(patched.repository), str(clone))
    lives.git(clone, "apply", "--check", str(path))
    lives.git(clone, "am", str(path))
    assert "- H-1 [0.12]" in (clone / "PLAYBOOK.md").read_text()
    assert lives.git(clone, "log", "-1", "--format=%s") == "playbook(bot): demote H-1 (2026-W06)"
    book = playbook.parse((clone / "PLAYBOOK.md").read_bytes())
    became = read_outcomes(patched.store, patched.config, patched.env, lambda _: book, now=9)
    assert became.settled == [("bot", W06, "merged")]


def test_a_patch_that_is_thrown_away_is_a_no(patched: lives.House) -> None:
    done = bring(patched)
    assert outcomes(patched).settled == []
    Path(str(done.url).removeprefix("file://")).unlink()
    assert outcomes(patched).settled == [("bot", W06, "closed")]
    assert states(patched) == {"demote": "rejected"}
    assert bring(patched).state == "none"


@pytest.mark.parametrize("end", ["merged", "deleted", "edited"])
def test_in_a_local_clone_the_patch_is_a_branch_too(patched: lives.House, end: str) -> None:
    patched.playbook_table["repository"] = str(patched.repository)
    done = bring(patched)
    assert done.branch == W06
    assert lives.git(patched.repository, "diff", "--name-only", "main", W06) == "PLAYBOOK.md"
    assert bring(patched) == done
    if end == "edited":
        theirs = lives.commit_of_a_person(patched.repository, W06, {"PLAYBOOK.md": "mine\n"})
        assert bring(patched).state == "blocked"
        assert lives.git(patched.repository, "rev-parse", W06) == theirs
        return
    if end == "merged":
        lives.git(patched.repository, "update-ref", "refs/heads/main", W06)
    lives.git(patched.repository, "update-ref", "-d", f"refs/heads/{W06}")
    assert outcomes(patched).settled == [("bot", W06, "merged" if end == "merged" else "closed")]


def test_an_agent_without_a_playbook_is_given_a_first_one(tmp_path: Path, lived: Path) -> None:
    with living_at(tmp_path, lived, content=None) as (house, forge):
        bring(house)
        assert lives.git(house.repository, "diff", "--name-status", "main", W06) == "A\tPLAYBOOK.md"
        first = playbook.parse(lives.git(house.repository, "show", f"{W06}:PLAYBOOK.md"))
        assert [(heuristic.id, heuristic.tags, heuristic.status) for heuristic in first.heuristics] == [
            ("H-1", ("size_up",), "demoted")
        ]
        assert len(forge.pulls) == 1
