"""`retro doctor` on the way of proposals: git, the forge and what its token may do, the playbook at the base."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retro.app.doctor.check import Installation
from retro.app.doctor.playbook import CHECKS
from retro.config import Config
from retro.testing.forge import Answer, FakeForge
from tests.worlds import playbook_lives as lives


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[FakeForge]:
    with FakeForge(lives.bare_repository(tmp_path / "agent.git"), token=lives.TOKEN) as fake_forge:
        yield fake_forge


def findings_of(table: dict[str, Any], **env: str) -> dict[str, tuple[str, str]]:
    """Name -> state and detail of each finding."""
    house = Installation(Config.model_validate({"playbook": table}), {"PATH": os.environ["PATH"], **env}, 1)
    return {
        check.name: (check.state, check.detail) for examination in CHECKS for check in examination.look(house)
    }


def test_without_a_repository_nothing_is_asked() -> None:
    assert [state for state, _ in findings_of({}).values()] == ["ok"]
    assert findings_of({"repository": "/r"}, PATH="/nowhere")["git"][0] == "broken"


def test_a_sound_way_is_said_to_be_sound(forge: FakeForge) -> None:
    findings = findings_of(lives.to_forge(forge, forge.git_url), RETRO_FORGE_TOKEN=lives.TOKEN)
    assert findings.pop("forge")[0] == "ok"
    assert [state for state, _ in findings.values()] == ["ok", "ok"]
    assert "2 heuristics" in findings["repository"][1]
    assert lives.TOKEN not in str(findings)


@pytest.mark.parametrize(
    ("answer", "token", "state", "word"),
    [
        (None, "", "broken", "no token"),
        (None, "another-token", "broken", "needs contents and pull requests"),
        (
            Answer(200, {"full_name": "ada/agent", "permissions": {"push": False}}),
            lives.TOKEN,
            "broken",
            "not write",
        ),
        (
            Answer(200, {"full_name": "ada/other", "permissions": {"push": True}}),
            lives.TOKEN,
            "note",
            "ada/other now",
        ),
        (Answer(502, {"message": "down"}), lives.TOKEN, "note", "down"),
    ],
)
def test_what_is_wrong_with_a_forge_is_named(
    forge: FakeForge, answer: Answer | None, token: str, state: str, word: str
) -> None:
    if answer is not None:
        forge.trouble.append(answer)
    findings = findings_of(lives.to_forge(forge), **({"RETRO_FORGE_TOKEN": token} if token else {}))
    assert findings["forge"][0] == state
    assert word in findings["forge"][1]


def test_what_is_wrong_with_a_repository_is_named(tmp_path: Path) -> None:
    assert findings_of({"repository": str(tmp_path / "absent")})["repository"][0] == "broken"
    place = lives.bare_repository(tmp_path / "bare.git", None)
    assert findings_of({"repository": str(place)})["repository"][0] == "note"
    lives.commit_of_a_person(place, "main", {"PLAYBOOK.md": lives.BOOK.replace("H-2", "H-1")})
    state, detail = findings_of({"repository": str(place)})["repository"]
    assert (state, "PLAYBOOK.md:8" in detail) == ("broken", True)
    assert findings_of({"repository": str(place), "base_branch": "trunk"})["repository"][0] == "broken"
