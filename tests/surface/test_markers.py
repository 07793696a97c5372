"""Markers on the command line and from Python, the door of the future, and a memory that is still empty."""

from __future__ import annotations

import json
import re
from pathlib import Path

import memory
import retro as package
from retro.store.database import open_store
from tests.worlds.commands import Retro, retro
from tests.worlds.episodes import TRENDING, episode, remembered

__all__ = ["remembered", "retro"]


def test_markers_are_listed_newest_first_or_nearest_to_a_situation(remembered: Retro) -> None:
    assert remembered("markers", "--json").data == []
    store = open_store("memory_data/retro.db")
    try:
        with store.write() as conn:
            for number, name in enumerate(("win", "other")):
                at = 1_772_000_000_000_000 + number * 86_400_000_000
                memory.amend(conn, "ada", name, memory.Retrospective("r", at, vs_inaction=-5.0))
    finally:
        store.close()
    assert [marker["episode"] for marker in remembered("markers", "--json").data] == ["other", "win"]
    near = remembered("markers", "--context", json.dumps(TRENDING), "--json").data
    assert (near[0]["episode"], near[0]["similarity"]) == ("win", 1.0)
    printed = remembered("markers").out
    assert re.search(r"(?m)^  win +atr_d1 40, regime trending +Regret +50 % +25 Feb 2026$", printed)
    assert "Sure: 100 % from 10 USDC up." in printed
    with package.open("memory_data/retro.db") as mirror:
        assert mirror.markers("ada", TRENDING) == near


def test_no_future_memory_enters_through_python(remembered: Retro) -> None:
    with package.open("memory_data/retro.db") as mirror:
        done = mirror.remember(episode("seer") | {"at": "2199-01-01T00:00:00Z"})
        assert (done["stored"], done["faults"][0]["reason"]) == (0, "at: lies in the future")
        assert "seer" not in [hit["id"] for hit in mirror.recall("ada", TRENDING)]


def test_a_new_database_remembers_nothing_of_whoever_asks(retro: Retro) -> None:
    """An agent asks before its first trade; once somebody is known, an unknown name is a slip."""
    options = ("--agent", "new", "--json")
    assert [retro(command, *options).data for command in ("recall", "plans", "habits", "beliefs")] == [[]] * 4
    assert retro("state", *options).data["trades"] == 0
    assert retro("kelly", *options).data["fraction"] is None
    Path("e.jsonl").write_text(json.dumps(episode("e", 1)) + "\n")
    assert retro("remember", "e.jsonl").code == 0
    assert retro("recall", *options).code == 2


def test_how_an_agent_stands_is_told_with_units(remembered: Retro) -> None:
    Path("config.toml").write_text("[agent.ada]\ncapital = 100\nbase_currency = 'EURC'\n")
    state = remembered("state").out
    assert "  3 trades" in state
    for figure in (r"Drawdown +9\.1 %", r"Equity +100\.00 USDC", r"Halted +no"):
        assert re.search(f"(?m)^  {figure}$", state)
    habits = remembered("habits").out
    assert re.search(r"(?m)^  Mean r +[-+]?\d\.\d+ R$", habits)
    assert re.search(r"(?m)^  Win rate +\d+\.\d %$", habits)
    drift = "Drift unknown: its scale is not known yet: 1 of 13 weeks, 12 missing"
    assert drift in " ".join(habits.split())
