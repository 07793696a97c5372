"""Two agents of one life: their sum is the life that would have been told under one name, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retro.periods import DAY
from tests.app.estate.homes import Home, SavedHome, texts, told
from tests.worlds.commands import Retro, retro
from tests.worlds.service_world import MONDAY, life, line, lines_of, trade

__all__ = ["retro"]


def second(agent: str, days: int = 3) -> list[dict[str, Any]]:
    """What the bot did under its second strategy: no capital of its own, other ids."""
    start = MONDAY + 4 * DAY
    events = [event for event in life(days, agent, start) if event["type"] != "equity"]
    return [
        {**event, **{k: f"late-{event[k]}" for k in ("id", "position") if k in event}} for event in events
    ]


def home_of(folder: Path, url: str | None, first: str, later: str) -> Home:
    place = Home(folder, url)
    place.journal.write_bytes(lines_of([*told(first, 4), *second(later)]))
    assert place.do("run", "--once") == 0
    return place


def remembering(folder: Path, url: str | None = None) -> Home:
    place = home_of(folder, url, "trend", "range")
    place.remember("trend", "m-1")
    place.remember("range", "m-2")
    return place


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> SavedHome:
    return SavedHome(remembering(tmp_path_factory.mktemp("origin") / "home"))


@pytest.fixture
def home(saved: SavedHome, tmp_path: Path, database_url: str) -> Home:
    return remembering(tmp_path / "home", database_url) if "://" in database_url else saved.restored()


def week(home: Home, retro: Retro, agent: str) -> dict[str, Any]:
    words = ("--config", home.config, "--db", home.url, "review", "weekly", "--agent", agent, "--json")
    document: dict[str, Any] = retro(*words, "--at", "2026-03-04").data
    return document


def test_the_merged_life_has_the_figures_of_one_told_under_one_name(
    home: Home, tmp_path: Path, retro: Retro
) -> None:
    single_home = home_of(tmp_path / "one", None, "range", "range")
    assert home.do("agents", "merge", "trend", "range", "--yes") == 0
    merged, single = week(home, retro, "range"), week(single_home, retro, "range")
    assert merged["pnl"] == single["pnl"]
    assert merged["heuristic_performance"] == single["heuristic_performance"]
    ids = [position["position_id"].removeprefix("trend-") for position in merged["positions"]]
    assert ids == [position["position_id"].removeprefix("range-") for position in single["positions"]]
    assert len(merged["positions"]) == 7
    rows = retro("--db", home.url, "agents", "--json").data
    assert rows == retro("--db", single_home.url, "agents", "--json").data


def test_what_was_written_stays_and_the_merged_life_is_reviewed_anew(home: Home, retro: Retro) -> None:
    before = home.documents()
    home.do("agents", "merge", "trend", "range", "--yes")
    assert home.documents() == before
    for name in ("trend.weekly.2026-W10", "trend.position.trend-p0", "range.daily.2026-03-06"):
        assert retro("--db", home.url, "show", name, "--format", "json").out == before[name, 1]
    assert home.do("run", "--once") == 0
    after = home.documents()
    assert {key: after[key] for key in before} == before
    assert ("range.weekly.2026-W10.g2", 1) in after
    anew = json.loads(after["range.weekly.2026-W10.g2", 1] or "")
    assert anew["pnl"] == week(home, retro, "range")["pnl"]
    assert not [name for name, _ in after if name.startswith("range.position.trend-")], "reviewed once"
    assert home.do("run", "--once") == 0
    assert home.documents() == after


def test_nothing_of_the_old_name_is_left_but_where_it_went(home: Home, retro: Retro) -> None:
    home.do("agents", "merge", "trend", "range", "--yes")
    store = home.store()
    own = {(t, c) for t, c, value in texts(store) if value == "trend"}
    store.close()
    assert own == {("departures", "name"), ("reviews", "subject")}
    recall = retro(
        "--db", home.url, "recall", "--agent", "range", "--context", "{}", "-k", "40", "--json"
    ).data
    ids = [hit["id"] for hit in recall]
    assert {"m-1", "m-2"} <= set(ids)
    assert len(ids) == len(set(ids)) == 9
    assert home.do("doctor") in {0, 1}
    assert "was merged into 'range'" in retro("--db", home.url, "agents", "show", "trend").err


def test_its_source_tells_the_merged_life_on(home: Home, retro: Retro) -> None:
    home.do("agents", "merge", "trend", "range", "--yes")
    with home.journal.open("ab") as file:
        file.write(lines_of(trade("more", MONDAY + 8 * DAY, MONDAY + 8 * DAY + 1, 2000, 2001, agent="trend")))
    told_again = retro("--db", home.url, "ingest", "journal", home.journal, "--json").data
    assert (told_again["stored"], told_again["conflicts"]) == (5, 0)
    assert [row["agent"] for row in retro("--db", home.url, "agents", "--json").data] == ["range"]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (
            [line("decision", "trend-p0-in", MONDAY, "range", action="hold")],
            "both have decision trend-p0-in:",
        ),
        (
            [line("fill", "new", MONDAY, "range", position="trend-p1", side="buy", quantity=1, price=1)],
            "both have position trend-p1:",
        ),
        (
            [line("mark", "x", MONDAY, "range", asset="ETH", price=1)],
            "trend and range tell different prices of one instant: price of ETH at",
        ),
        ([line("death", "x", MONDAY + 4 * DAY, "trend")], "trend died on"),
    ],
    ids=["id", "position", "mark", "death"],
)
def test_what_stands_in_the_way_is_named_and_nothing_is_changed(
    home: Home, retro: Retro, events: list[dict[str, Any]], words: str
) -> None:
    (home.folder / "clash.jsonl").write_bytes(lines_of(events))
    home.do("ingest", "journal", home.folder / "clash.jsonl")
    store = home.store()
    before = sorted(texts(store))
    result = retro("--db", home.url, "agents", "merge", "trend", "range", "--yes")
    assert result.code != 0
    assert words in result.err
    assert sorted(texts(store)) == before
    store.close()


def test_an_episode_that_both_remember_is_refused(home: Home, retro: Retro) -> None:
    home.remember("range", "m-1")
    result = retro("--db", home.url, "agents", "merge", "trend", "range", "--yes")
    assert result.code == 2
    assert "both have episode m-1:" in result.err
