"""A renamed agent is the same agent: every figure it had, its old ids and its sources lead to the new name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.estate.homes import Home, texts
from tests.worlds.commands import Retro, retro

__all__ = ["retro"]


@pytest.fixture
def home(tmp_path: Path, database_url: str) -> Home:
    place = Home(tmp_path / "home", database_url)
    place.tell("harbor", "harbor.weekly", days=3)
    assert place.do("run", "--once") == 0
    place.remember("harbor", "m-1")
    return place


def test_ids_files_records_and_memory_follow_and_documents_stay(home: Home, retro: Retro) -> None:
    before, files = home.documents(), home.files()
    assert home.do("agents", "rename", "harbor", "Port_5.0", "--yes") == 0

    def renamed(name: str) -> str:
        is_neighbour = name.startswith("harbor.weekly.") and not name.startswith("harbor.weekly.2026")
        return name if is_neighbour else name.replace("harbor.", "Port_5.0.", 1)

    assert home.documents() == {(renamed(name), n): text for (name, n), text in before.items()}
    reviews = {name: data for name, data in files.items() if name.startswith("reviews/harbor/")}
    moved = {name: data for name, data in home.files().items() if name.startswith("reviews/Port")}
    assert sorted(moved.values()) == sorted(reviews.values())
    assert len(moved) > 10
    assert not (home.folder / "reviews" / "harbor").exists()
    recall = retro("--db", home.url, "recall", "--agent", "Port_5.0", "--context", "{}", "--json").data
    assert "m-1" in [hit["id"] for hit in recall]
    records = [data for name, data in home.files().items() if "experiments" in name]
    assert not [data for data in records if b"agent: harbor\n" in data]
    assert home.do("run", "--once") == 0
    assert set(home.documents()) == {(renamed(name), n) for name, n in before}, "nothing is made again"


def test_an_old_id_and_an_old_source_lead_to_the_new_name(home: Home, retro: Retro) -> None:
    name = "harbor.daily.2026-03-02"
    text = retro("--db", home.url, "show", name, "--format", "json").out
    home.do("agents", "rename", "harbor", "port", "--yes")
    assert retro("--db", home.url, "show", name, "--format", "json").out == text
    assert retro("--db", home.url, "show", "port.daily.2026-03-02", "--format", "json").out == text
    neighbour = retro("--db", home.url, "show", "harbor.weekly.daily.2026-03-02", "--format", "json").data
    assert neighbour["agent"] == "harbor.weekly"
    home.tell("harbor", days=4)
    report = retro("--db", home.url, "ingest", "journal", home.journal, "--json").data
    assert report["notices"] == ["harbor is port now: told of it"]
    assert report["conflicts"] == 0
    agents = retro("--db", home.url, "agents", "--json").data
    assert [(row["agent"], row["positions"]) for row in agents] == [("harbor.weekly", 3), ("port", 4)]
    assert "harbor' was renamed to 'port'" in retro("--db", home.url, "agents", "show", "harbor").err
    earlier = retro("--db", home.url, "agents", "show", "port", "--json").data["earlier_names"]
    assert [(row["agent"], row["reason"]) for row in earlier] == [("harbor", "renamed")]


def test_there_and_back_is_as_it_was(home: Home) -> None:
    documents, files = home.documents(), home.files()
    home.do("agents", "rename", "harbor", "port", "--yes")
    home.do("agents", "rename", "port", "harbor", "--yes")
    assert (home.documents(), home.files()) == (documents, files)


def test_the_old_name_is_forgotten_with_the_new_one(home: Home, retro: Retro) -> None:
    home.do("agents", "rename", "harbor", "quay-7", "--yes")
    home.do("agents", "forget", "quay-7", "--yes")
    store = home.store()
    assert [row for row in texts(store) if "quay-7" in row[2] or "harbor-p0" in row[2]] == []
    store.close()
    assert home.do("ingest", "journal", home.journal) == 0
    assert [row["agent"] for row in retro("--db", home.url, "agents", "--json").data] == ["harbor.weekly"]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("harbor.weekly", "there is an agent"),
        ("gone", "was forgotten"),
        ("earlier", "is a name that harbor.weekly had"),
        ("../x", "the new name"),
        ("", "the new name"),
        ("harbor", "already"),
    ],
)
def test_a_name_that_somebody_has_or_had_is_refused(home: Home, retro: Retro, new: str, words: str) -> None:
    home.tell("gone", days=1)
    home.do("ingest", "journal", home.journal)
    home.do("agents", "forget", "gone", "--yes")
    home.do("agents", "rename", "harbor.weekly", "earlier", "--yes")
    home.do("agents", "rename", "earlier", "harbor.weekly", "--yes")
    result = retro("--db", home.url, "agents", "rename", "harbor", new, "--yes")
    assert result.code == 2
    assert words in result.err
