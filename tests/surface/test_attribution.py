"""`retro attribution` and `tiers` at the command line, and recall that weighs memories by what was decided with them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.commands import Retro, retro
from tests.worlds.episodes import TRENDING, remembered

__all__ = ["remembered", "retro"]


def lines() -> list[dict[str, Any]]:
    """Two decisions: with `loss` in front of it one was right (T1), with `win` the next was wrong (T2)."""
    rows: list[dict[str, Any]] = []
    for day, item, tier, right in ((5, "loss", "T1", True), (6, "win", "T2", False)):
        at = f"2026-03-0{day}T12:00:00Z"
        rows += [
            {"type": "decision", "id": item, "at": at, "action": "hold", "tier": tier, "context_items": [item, "a<b>\u202e"]},
            {"type": "prediction", "id": item, "at": at, "decision": item, "category": "price"},
            {"type": "resolution", "id": item, "at": at.replace("T12", "T18"), "prediction": item, "correct": right},
            {"type": "cost", "id": item, "at": at, "kind": "inference", "tier": tier, "amount": "0.5"},
        ]  # fmt: skip
    return [{"agent": "ada", **row} for row in rows]


@pytest.fixture
def decided(remembered: Retro) -> Retro:
    """The agent of four episodes with a journal beside them."""
    Path("agent.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lines()))
    assert remembered("ingest", "journal", "agent.jsonl").code == 0
    return remembered


def recalled(retro: Retro, *words: str) -> dict[str, dict[str, Any]]:
    result = retro("recall", "--context", json.dumps(TRENDING), "--json", *words)
    assert result.code == 0
    return {hit["id"]: hit for hit in result.data}


def test_recall_weighs_a_memory_by_its_decisions_only_where_the_owner_says_so(decided: Retro) -> None:
    """`loss`: one of +1, a step ago: .995/(.995 + 2). `win`: one of -1: -1/3."""
    plain = recalled(decided)
    assert all("Att" not in hit["components"] for hit in plain.values())
    Path("config.toml").write_text("[memory]\nuse_attribution = true\n")
    weighed = recalled(decided, "--config", "config.toml")
    factors = {"loss": 1 + 0.995 / 2.995, "win": 2 / 3, "skip": 1, "other": 1}
    assert weighed.keys() == plain.keys() == factors.keys()
    for name, hit in weighed.items():
        assert hit["components"]["Att"] == pytest.approx(factors[name])
        assert hit["score"] == pytest.approx(plain[name]["score"] * factors[name])
        assert hit["score"] == pytest.approx(math.prod(hit["components"].values()))
    scores = [hit["score"] for hit in weighed.values()]
    assert scores == sorted(scores, reverse=True)
    assert list(recalled(decided, "--config", "config.toml", "-k", "1")) == [next(iter(weighed))]
    # before anything was decided with them, nothing weighs
    earlier = recalled(decided, "--config", "config.toml", "--as-of", "2026-03-05T00:00:00Z")
    assert {hit["components"]["Att"] for hit in earlier.values()} == {1.0}


def test_the_tables_fit_and_foreign_names_are_harmless(decided: Retro) -> None:
    for words in (("attribution",), ("tiers",)):
        table = decided(*words)
        assert table.code == 0
        assert max(map(len, table.out.splitlines())) <= 80
        assert "\u202e" not in table.out
    rows = decided("attribution", "--json").data
    assert [row["item"] for row in rows] == ["loss", "a<b>\u202e", "win"]
    report = decided("tiers", "--json").data
    assert [(row["tier"], row["accuracy"], row["cost_per_prediction"]) for row in report["rows"]] == [
        ("T1", 1, 0.5),
        ("T2", 0, 0.5),
    ]
    assert decided("tiers", "--as-of", "2026-03-05T18:00:00Z", "--json").data["rows"] == []


def test_an_agent_that_named_nothing_hears_how_to(remembered: Retro) -> None:
    Path("agent.jsonl").write_text('{"type":"death","id":"x","agent":"ada","at":"2026-03-09T00:00:00Z"}\n')
    assert remembered("ingest", "journal", "agent.jsonl").code == 0
    for words in (("attribution",), ("tiers",)):
        result = remembered(*words)
        assert result.code == 0
        assert "docs/journal.md" in result.out + result.err
    assert remembered("attribution", "--json").data == []
    assert remembered("dreams", "--json").data == []
