"""Forecasts, confidence and what-ifs through every door: the command line, MCP and Python say the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from retro.api import Mirror
from retro.app.questions.experience import Experience
from retro.config import load
from retro.errors import UnknownError, UsageError
from retro.store.database import open_store
from retro.surface.mcp.arguments import ToolServer
from retro.surface.mcp.tools import Tools, server_of
from tests.worlds.commands import SAMPLE, Retro, retro, sample_db

__all__ = ["retro", "sample_db"]

CONFIG = SAMPLE / "config.toml"
MID = "2026-02-10T00:00:00Z"


@pytest.fixture
def mirror(sample_db: Path) -> Iterator[Mirror]:
    with Mirror(open_store(str(sample_db)), load(CONFIG, {})) as mirror:
        yield mirror


@pytest.fixture
def tools(mirror: Mirror) -> Tools:
    return Tools(Experience(mirror.store, mirror.experience.config))


def printed(retro: Retro, database: Path, *words: str) -> Any:
    result = retro("--config", CONFIG, "--db", database, *words, "--json")
    assert result.code == 0, result.err
    return result.data


def test_a_forecast_is_corrected_alike_through_every_door(
    mirror: Mirror, tools: Tools, retro: Retro, sample_db: Path
) -> None:
    words = ("predictions", "correct", "--category", "return_4h", "--predicted", "0.004")
    answer = printed(retro, sample_db, *words)
    assert answer["active"] is True
    assert (
        answer
        == mirror.correct_prediction("return_4h", 0.004)
        == tools.correct_prediction("return_4h", 0.004)
    )
    earlier = printed(retro, sample_db, *words, "--as-of", MID)
    assert earlier != answer
    assert earlier == mirror.correct_prediction("return_4h", 0.004, as_of=MID)
    assert earlier == tools.correct_prediction("return_4h", 0.004, as_of=MID)


def test_confidence_is_calibrated_alike_through_every_door(
    mirror: Mirror, tools: Tools, retro: Retro, sample_db: Path
) -> None:
    answer = printed(retro, sample_db, "calibration", "of", "--category", "return_4h", "--confidence", "0.75")
    assert answer["active"] is True
    assert answer == mirror.calibrate_confidence("return_4h", 0.75)
    assert answer == tools.calibrate_confidence("return_4h", 0.75)
    with pytest.raises(UsageError, match="does not lie between 0 and 1"):
        mirror.calibrate_confidence("return_4h", 1.2)


def test_the_report_holds_the_rows_of_the_commands(
    mirror: Mirror, tools: Tools, retro: Retro, sample_db: Path
) -> None:
    expected = {
        "predictions": printed(retro, sample_db, "predictions"),
        "hindsight": printed(retro, sample_db, "predictions", "hindsight"),
        "calibration": printed(retro, sample_db, "calibration"),
    }
    assert mirror.get_prediction_report() == tools.get_prediction_report(detail=True) == expected
    short = tools.get_prediction_report()
    assert short["total"] == sum(map(len, expected.values()))
    assert {row["about"] for row in short["rows"]} <= set(expected)
    assert not any("bins" in row or "curve" in row for row in short["rows"])


def test_a_what_if_is_replayed_alike_and_brief_unless_detail_is_wanted(
    mirror: Mirror, tools: Tools, retro: Retro, sample_db: Path
) -> None:
    rules = ["stop -1%", "without H-7"]
    answer = printed(retro, sample_db, "whatif", *rules, "--from", MID)
    assert answer == mirror.what_if(rules, start=MID)
    assert answer == tools.what_if(rules, start=MID, detail=True)
    short = tools.what_if(rules, start=MID)
    assert [rule["rule"] for rule in short["rules"]] == sorted(
        rules, key=lambda text: -next(r["difference"] for r in answer["rules"] if r["rule"] == text)
    )
    assert not any("rows" in rule for rule in short["rules"])
    assert len(json.dumps(tools.what_if(grid=True))) < 4096
    with pytest.raises(UsageError):
        mirror.what_if([])


def test_the_replay_queue_is_one_and_each_replay_counts(
    retro: Retro, sample_db: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    with sqlite3.connect(sample_db) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    with Mirror(open_store(str(copy)), load(CONFIG, {})) as mirror:
        tools = Tools(mirror.experience)
        queue = printed(retro, copy, "dreams", "-n", "5")
        assert queue == mirror.get_replay_queue(n=5) == tools.get_replay_queue(n=5, detail=True)["queue"]
        assert [row["position"] for row in tools.get_replay_queue(n=5)["queue"]] == [
            row["position"] for row in queue
        ]
        first = queue[0]["position"]
        assert tools.mark_replayed(first) == {"agent": "sample", "position": first, "replays": 1}
        assert mirror.mark_replayed(first)["replays"] == 2
        (row,) = [row for row in mirror.get_replay_queue() if row["position"] == first]
        assert (row["replays"], row["score"]) == (2, pytest.approx(queue[0]["score"] * 0.85**2))
        with pytest.raises(UnknownError, match="no position"):
            mirror.mark_replayed("nowhere")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("calibrate_confidence", {"category": "return_4h", "confidence": 1.5}, "from 0 to 1"),
        ("correct_prediction", {"category": "x" * 121, "predicted": 1.0}, "category"),
        ("what_if", {"rules": ["stop -3%"] * 25}, "rules"),
        ("what_if", {"rules": ["stop -" + "3" * 200]}, "rules"),
        ("what_if", {"rules": ["levitate"]}, "levitate"),
    ],
)
async def test_what_is_too_large_or_no_rule_is_refused_in_a_sentence(
    mirror: Mirror, tool: str, arguments: dict[str, Any], word: str
) -> None:
    server: ToolServer = server_of(mirror.experience)
    with pytest.raises(ToolError, match=word):
        await server.call_tool(tool, arguments)
