"""What the tools answer costs an agent's context: at most 4 KB, whatever there is, unless detail is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retro.app.questions.experience import Experience
from retro.config import load
from retro.store.database import open_store
from retro.surface.cli.main import run
from retro.surface.mcp.size import LARGEST, brief, encoded, fitted, page
from retro.surface.mcp.tools import READS, Tools
from tests.worlds.commands import SAMPLE, event, round_trip
from tests.worlds.episodes import TRENDING, episode

WORDY = "Because it was so, and so it was because. " * 60
CONFIG = "[retrospective]\ndaily_review_enabled = false\nposition_close_review = false\n[owner]\nname = 'x'\n"


def big_life(place: Path) -> list[Path]:
    """A wordy agent: 84 trades in a week of eighty rules, and a thousand remembered decisions."""
    lines = [event("equity", "q", "2026-03-01T08:00:00Z", value="100000")]
    for number in range(84):
        day = f"2026-03-{2 + number % 7:02d}"
        cites = [f"H-{number % 80}", "size_up"]
        lines.append(round_trip(f"t-{number}", day, float(number % 9 - 4), cites=cites, reasoning=WORDY))
    (place / "a.jsonl").write_text("".join(lines))
    episodes = (
        episode(
            f"e-{number}",
            1 + number % 28,
            reflection=WORDY,
            tags=[f"tag{i}" for i in range(40)],
            symbol=f"S{number % 90}/USDC",
        )
        for number in range(1000)
    )
    (place / "e.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in episodes))
    return [place / "a.jsonl", place / "e.jsonl"]


@pytest.fixture(scope="module", params=["sample", "big"])
def tools(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    place = tmp_path_factory.mktemp(request.param)
    config = place / "config.toml"
    database = str(place / "r.db")
    words = ("--config", str(config), "--db", database, "-q")
    config.write_text(CONFIG)
    if request.param == "sample":
        assert run([*words, "ingest", "journal", str(SAMPLE / "agent.jsonl")]) == 0
    else:
        journal, episodes = big_life(place)
        assert run([*words, "ingest", "journal", str(journal)]) == 0
        assert run([*words, "remember", str(episodes)]) == 0
    assert run([*words, "run", "--once"]) == 0
    store = open_store(database)
    offered = Tools(Experience(store, load(config, {})))
    for number in range(20):
        parents = [f"exp_{number}_{i}" for i in range(40)]
        offered.add_to_library(
            f"s{number}", "sample", "2026-03-01T00:00:00Z", WORDY, "strategy_library", parents=parents
        )
    yield offered
    store.close()


def sized(answer: dict[str, Any]) -> int:
    return len(encoded({"untrusted": "x" * 120, **answer}).encode())


def asked(tools: Tools) -> dict[str, list[dict[str, Any]]]:
    """Every reading tool's answer to its plain question; of reviews and memories, to each of several."""
    recalled = tools.recall_memories(context=TRENDING, k=50, types=["episode", "belief", "plan"])
    listed = tools.list_reviews(state="done")
    return {
        "recall_memories": [recalled],
        "get_behavioral_analysis": [tools.get_behavioral_analysis()],
        "get_agent_state": [tools.get_agent_state()],
        "check_active_plans": [tools.check_active_plans(context=TRENDING)],
        "get_strategy_performance": [tools.get_strategy_performance()],
        "get_trade_reflection": [
            tools.get_trade_reflection(hit["id"]) for hit in recalled["memories"] if hit["type"] == "episode"
        ],
        "list_positions": [tools.list_positions()],
        "list_reviews": [listed, tools.list_reviews()],
        "get_review": [tools.get_review(review["id"]) for review in listed["reviews"][-8:]],
        "list_hypotheses": [tools.list_hypotheses()],
        "experiment_history": [tools.experiment_history(n=1000)],
        "playbook_audit": [tools.playbook_audit(), tools.playbook_audit(history=True)],
        "playbook_ripening": [tools.playbook_ripening()],
        "correct_prediction": [tools.correct_prediction("return_4h", 0.004)],
        "calibrate_confidence": [tools.calibrate_confidence("return_4h", 0.75)],
        "get_prediction_report": [tools.get_prediction_report()],
        "search_library": [tools.search_library("why was it so", k=20)],
        "get_lineage": [tools.get_lineage("s3"), tools.get_lineage("exp_3_0")],
        "list_strategies": [tools.list_strategies()],
        "get_replay_queue": [tools.get_replay_queue()],
        "what_if": [tools.what_if(grid=True), tools.what_if(["without H-7"])],
    }


def test_every_answer_fits_into_4_kb(tools: Tools) -> None:
    answers = asked(tools)
    assert set(answers) == set(READS) - {"get_drift"}  # which needs two agents: tests/surface/test_drift.py
    too_large = {
        name: max(map(sized, of_one)) for name, of_one in answers.items() if max(map(sized, of_one)) > LARGEST
    }
    assert too_large == {}


def test_the_cursor_leads_through_everything_once(tools: Tools) -> None:
    def walked(name: str, ask: Any) -> list[str]:
        ids, cursor = [], 0
        while True:
            answer = ask(cursor)
            assert sized(answer) <= LARGEST
            ids += [item["id"] for item in answer[name]]
            if "next" not in answer:
                assert len(ids) == answer["total"]
                return ids
            assert answer["next"] > cursor
            cursor = answer["next"]

    reviews = walked("reviews", lambda cursor: tools.list_reviews(cursor=cursor))
    everything = tools.list_reviews(detail=True)["reviews"]
    assert reviews == [review["id"] for review in everything]
    assert [review["period_end"] for review in everything] == sorted(
        (review["period_end"] for review in everything), reverse=True
    )
    hypotheses = walked("hypotheses", lambda cursor: tools.list_hypotheses(cursor=cursor))
    assert hypotheses == [entry["id"] for entry in tools.list_hypotheses(detail=True)["hypotheses"]]
    experiments = walked("experiments", lambda cursor: tools.experiment_history(n=1000, cursor=cursor))
    history = tools.experiment_history(n=1000, detail=True)
    assert experiments == [record["id"] for record in history["experiments"]]
    memories = walked("memories", lambda cursor: tools.recall_memories(context=TRENDING, k=50, cursor=cursor))
    whole = tools.recall_memories(context=TRENDING, k=50, detail=True)["memories"]
    assert memories == [hit["id"] for hit in whole]


def test_positions_lead_from_one_answer_to_the_next(tools: Tools) -> None:
    ids, answer = [], tools.list_positions()
    while True:
        ids += [item["position_id"] for item in answer["positions"]]
        if "next" not in answer:
            break
        answer = tools.list_positions(after=answer["next"])
    whole = tools.list_positions(limit=1000, detail=True)
    assert ids == [item["position_id"] for item in whole["positions"]]
    assert len(ids) == whole["total"]


def test_detail_gives_the_review_as_it_was_written_and_paths_only_on_demand(tools: Tools) -> None:
    reviews = tools.list_reviews(state="done", detail=True)["reviews"]
    weeks = (
        tools.get_review(r["id"], detail=True, paths=True)["review"] for r in reviews if ".weekly." in r["id"]
    )
    whole = next(
        week
        for week in weeks
        if any(position["path"] for position in week["positions"])
        and any(row["citation_count"] for row in week["heuristic_performance"])
    )
    without = tools.get_review(whole["id"], detail=True)["review"]
    short = tools.get_review(whole["id"])["review"]
    assert not any("path" in position for position in without["positions"])
    assert (short["id"], short["pnl"]["total"]) == (
        whole["id"],
        pytest.approx(whole["pnl"]["total"], abs=1e-3),
    )
    assert short["heuristics"][0]["evidence"] in {"none", "weak", "suggestive", "supported"}
    assert "n" in short["heuristics"][0]


# the measure itself


def test_a_page_holds_at_least_one_document_and_counts_all_of_them() -> None:
    documents = [{"id": str(number), "text": WORDY, "rows": [WORDY] * 30} for number in range(5)]
    first = page("things", documents, 0)
    assert first["total"] == 5
    assert first["things"][0]["id"] == "0"
    assert sized(first) <= LARGEST
    assert page("things", [], 0) == {"things": [], "total": 0}
    assert page("things", documents, 9) == {"things": [], "total": 5}


def test_brief_drops_what_says_nothing_and_keeps_falsehoods_and_zeros() -> None:
    value: dict[str, object] = {
        "a": None,
        "b": [],
        "c": 0,
        "d": False,
        "e": 1.23456789,
        "f": 0.000123456,
        "g": "x" * 9,
        "h": {"i": None},
    }
    assert brief(value, 3, 5) == {"c": 0, "d": False, "e": 1.2346, "f": 0.0001235, "g": "xxxx…"}


def test_what_fits_is_given_as_generously_as_it_fits() -> None:
    assert fitted(lambda items, characters: {"x": "y" * characters, "n": items}, 1000)["n"] == 12
    assert len(encoded(fitted(lambda items, characters: {"x": "ü" * characters}, 220)).encode()) <= 220
