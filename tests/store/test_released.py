"""The databases of every release: opened by today's version they print what they printed then, and stay as they are.

`tests/data/released/README.md` says what lies there and what to do when a text is meant to change.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
import time_machine
from sqlalchemy import inspect

from retro.store.database import open_store
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

RELEASED = ROOT / "tests" / "data" / "released"
VERSIONS = sorted(path.parent.name for path in RELEASED.glob("*/now"))


class Question(NamedTuple):
    """A command, and the file of what it printed when the version was released."""

    file: str
    words: list[str]
    sha256: str


class Release(NamedTuple):
    """A copy of a release's database in the current directory or an empty schema, and how to ask it."""

    folder: Path
    database: str
    retro: Retro

    def run(self, *words: str) -> Any:
        return self.retro("--db", self.database, *words)

    def questions(self) -> list[Question]:
        lines = (self.folder / "expected" / "commands.jsonl").read_text().splitlines()
        return [Question(**json.loads(line)) for line in lines]

    def expected(self, file: str) -> str | None:
        """The whole text, where it was kept; of stored reviews it was not."""
        plain, packed = (self.folder / "expected" / name for name in (file, f"{file}.xz"))
        if packed.exists():
            return lzma.decompress(packed.read_bytes()).decode()
        return plain.read_bytes().decode() if plain.exists() else None

    def stored_reviews(self) -> dict[str, str]:
        """What `retro show` prints of every revision that there was."""
        asked = [question for question in self.questions() if question.words[0] == "show"]
        return {question.words[1]: self.run(*question.words).out for question in asked}


@pytest.fixture(params=VERSIONS)
def release(
    request: pytest.FixtureRequest, retro: Retro, new_database_url: str, tmp_path: Path
) -> Iterator[Release]:
    """A release as its owner has it, at the instant it was made."""
    folder = RELEASED / request.param
    for name in ("config.toml", "PLAYBOOK.md"):
        shutil.copy(folder / name, tmp_path)
    if "://" in new_database_url:
        with psycopg.connect(new_database_url) as conn:
            conn.execute(lzma.decompress((folder / "retro.sql.xz").read_bytes()))
    else:
        Path(new_database_url).parent.mkdir()
        Path(new_database_url).write_bytes(lzma.decompress((folder / "retro.db.xz").read_bytes()))
    with time_machine.travel((folder / "now").read_text().strip(), tick=False):
        yield Release(folder, new_database_url, retro)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_there_is_a_release_and_each_was_asked_for_reviews_of_every_kind() -> None:
    assert "0.1.0" in VERSIONS
    for version in VERSIONS:
        texts = (RELEASED / version / "expected" / "commands.jsonl").read_text()
        for kind in ("daily", "weekly", "epoch", "position"):
            assert f"show-sample.{kind}." in texts


def test_a_released_database_prints_what_it_printed_then(release: Release) -> None:
    for question in release.questions():
        result = release.run(*question.words)
        assert result.code == 0, result.err
        if (text := release.expected(question.file)) is not None:
            assert result.out == text, question.file
        assert digest(result.out) == question.sha256, question.file


def test_a_knock_makes_nothing_new_and_leaves_every_stored_review_as_it_is(release: Release) -> None:
    reviews, stored = release.run("reviews", "--json").out, release.stored_reviews()
    assert len(stored) > 50
    assert release.run("run", "--once").code == 0
    assert release.run("reviews", "--json").out == reviews
    assert release.stored_reviews() == stored


def test_the_days_after_are_reviewed_and_the_old_reviews_stay_as_they_were(release: Release) -> None:
    stored = release.stored_reviews()
    before = {row["id"] for row in release.run("reviews", "--json").data}
    now = (release.folder / "now").read_text().strip()
    with time_machine.travel(now, tick=False) as clock:
        clock.shift(7 * 24 * 3600)
        assert release.run("run", "--once").code == 0
        states = {row["id"]: row["state"] for row in release.run("reviews", "--json").data}
    assert {state for name, state in states.items() if name not in before} == {"done"}
    assert len(states) >= len(before) + 8  # seven days and a week
    assert release.stored_reviews() == stored


def test_the_next_revision_says_once_that_its_figures_follow_newer_definitions(release: Release) -> None:
    """A late cost makes a second revision of the week, another one the third: only the second has something to say."""
    week, said = "sample.weekly.2026-W03", []
    for number in (1, 2):
        late = {"type": "cost", "id": f"late-{number}", "agent": "sample", "at": "2026-01-13T10:00:00Z"}
        Path("late.jsonl").write_text(json.dumps({**late, "kind": "gas", "amount": number}) + "\n")
        assert release.run("ingest", "journal", "late.jsonl").code == 0
        assert release.run("run", "--once").code == 0
        quality = release.run("show", week, "--format", "json").data["data_quality"]
        said.append([warning for warning in quality["warnings"] if "definitions" in warning])
    assert [len(lines) for lines in said] == [1, 0]
    assert "docs/numbers.md" in said[0][0]


def test_a_released_database_gets_the_tables_of_a_new_one(release: Release) -> None:
    brought_up_to_date = shape(release.database)
    empty(release.database)
    assert brought_up_to_date == shape(release.database)


def empty(database: str) -> None:
    if "://" not in database:
        Path(database).unlink()
        return
    with psycopg.connect(database) as conn:
        (schema,) = conn.execute("SELECT current_schema()").fetchone() or ("",)
        conn.execute(f"DROP SCHEMA {schema} CASCADE")
        conn.execute(f"CREATE SCHEMA {schema}")


def shape(database: str) -> Any:
    """Every table's columns with their types, keys and indices."""
    store = open_store(database)
    with store.read() as conn:
        inspector = inspect(conn)
        tables = {
            name: (
                [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(name)],
                inspector.get_pk_constraint(name)["constrained_columns"],
                sorted((str(i["name"]), i["column_names"]) for i in inspector.get_indexes(name)),
            )
            for name in inspector.get_table_names()
        }
    store.close()
    return tables
