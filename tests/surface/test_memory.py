"""The memory and the records on the command line and from Python, as the contract words them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import retro as package
from retro.errors import UnknownError, UsageError
from retro.store.database import open_store
from tests.worlds.commands import Retro, process, retro, round_trip
from tests.worlds.episodes import RANGING, TRENDING, episode, remembered, write_records
from tests.worlds.places import ROOT

__all__ = ["remembered", "retro"]

# remember


def test_remember_prints_the_document_of_an_ingestion_and_changes_nothing_the_second_time(
    retro: Retro,
) -> None:
    Path("e.jsonl").write_text(json.dumps(episode("a")) + "\n\n" + json.dumps(episode("b")))
    document = {"source": "e.jsonl", "events": 2, "stored": 2, "unchanged": 0, "conflicts": 0, "faults": []}
    result = retro("remember", "e.jsonl", "--json")
    assert (result.code, result.data) == (0, document)
    assert retro("remember", "e.jsonl", "--json").data == document | {"stored": 0, "unchanged": 2}


def test_faults_and_conflicts_are_counted_named_and_kept_and_good_lines_stored(retro: Retro) -> None:
    lines = [
        json.dumps(episode("a")),
        "not json",
        json.dumps(episode("b")).replace("10.0", "NaN"),
        json.dumps(episode("a", pnl=11.0)),
        json.dumps(episode("c", at="yesterday")),
        json.dumps(episode("d", at="2199-01-01T00:00:00Z")),
        json.dumps(episode("e", context={"regime": ["x"]})),
    ]
    Path("e.jsonl").write_text("\n".join(lines) + "\n")
    result = retro("--json", "remember", "e.jsonl")
    assert result.code == 1
    assert (result.data["stored"], result.data["conflicts"], result.data["events"]) == (1, 1, 7)
    assert [fault["line"] for fault in result.data["faults"]] == [2, 3, 5, 6, 7]
    assert [row["line"] for row in retro("faults", "--json").data] == [2, 3, 5, 6, 7]
    assert "told before with other content" in result.err


def test_files_may_be_several_gzipped_or_standard_input(
    retro: Retro, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.gz").write_bytes(gzip.compress(json.dumps(episode("a")).encode()))
    Path("b.jsonl").write_text(json.dumps(episode("b")))
    assert [entry["stored"] for entry in retro("remember", "a.gz", "b.jsonl", "--json").data] == [1, 1]
    assert retro("remember", "nowhere.jsonl").code == 1


# recall


def test_recall_has_the_contracts_shape_best_first(remembered: Retro) -> None:
    hits = remembered("recall", "--agent", "ada", "--context", json.dumps(TRENDING), "--json").data
    assert [hit["id"] for hit in hits] == ["win", "skip", "loss", "other"]
    assert list(hits[0]) == ["id", "type", "score", "components", "reason", "amended", "memory"]
    assert list(hits[0]["components"]) == ["Q", "Sim", "Rec", "Conf", "Aff", "boost"]
    assert (hits[0]["type"], hits[0]["amended"]) == ("episode", False)
    assert hits[0]["memory"]["at"] == "2026-03-01T12:00:00Z"
    assert hits[0]["memory"]["context"] == TRENDING
    product = 1.0
    for part in hits[0]["components"].values():
        product *= part
    assert hits[0]["score"] == pytest.approx(product)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("-k", "1"), ["win"]),
        (("--strategy", "range"), ["other"]),
        (("--symbol", "SOL/USDC"), ["other"]),
        (("--regime", "ranging"), ["other"]),
        (("--direction", "skip"), ["skip"]),
        (("--as-of", "2026-03-01T12:00:00Z"), ["win"]),
        (("--as-of", "2026-02-01"), []),
        (("--losses-first",), ["loss", "win", "skip", "other"]),
        (("--types", "belief,plan"), []),
    ],
)
def test_recall_is_narrowed_and_ordered_as_asked(
    remembered: Retro, words: tuple[str, ...], ids: list[str]
) -> None:
    result = remembered("recall", "--context", json.dumps(TRENDING), *words, "--json")
    assert result.code == 0
    assert [hit["id"] for hit in result.data] == ids


@pytest.mark.parametrize(
    "words",
    [
        ("--context", "{"),
        ("--context", "[]"),
        ("--context", '{"atr_d1": NaN}'),
        ("--context", '{"atr_d1": -1}'),
        ("--context", '{"regime": 1.5}'),
        ("-k", "0"),
        ("--types", "dream"),
        ("--as-of", "soon"),
        ("--agent", "bob"),
    ],
)
def test_a_question_that_makes_no_sense_is_a_usage_error_in_one_line(
    remembered: Retro, words: tuple[str, ...]
) -> None:
    result = remembered("recall", *words)
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1


def test_several_agents_without_a_name_are_listed(remembered: Retro) -> None:
    Path("bob.jsonl").write_text(json.dumps(episode("x", agent="bob")))
    remembered("remember", "bob.jsonl")
    for command in ("recall", "state", "plans", "habits", "beliefs", "kelly"):
        result = remembered(command)
        assert result.code == 2
        assert "ada, bob" in result.err


def test_an_empty_database_says_how_to_begin(retro: Retro) -> None:
    result = retro("recall")
    assert result.code == 1
    assert "retro remember" in result.err


def test_a_field_nothing_is_compared_by_is_noted(remembered: Retro) -> None:
    result = remembered("recall", "--context", '{"mood": "low", "regime": "ranging"}', "--json")
    assert result.code == 0
    assert "mood" in result.err


def test_the_configuration_adds_fields_and_replaces_built_in_ones(remembered: Retro) -> None:
    Path("config.toml").write_text(
        '[memory.fields.mood]\nkind = "category"\nweight = 1.0\n\n[memory.fields.regime]\nkind = "category"\nweight = 0.0\n'
    )
    Path("more.jsonl").write_text(
        "".join(json.dumps(episode(f"m{mood}", context={"mood": mood})) + "\n" for mood in ("low", "high"))
    )
    remembered("remember", "more.jsonl")
    hits = remembered("recall", "--context", '{"mood": "low", "regime": "ranging"}', "--json").data
    assert {hit["id"]: hit["components"]["Sim"] for hit in hits if hit["components"]["Sim"]} == {"mlow": 1.0}


def test_the_reasons_and_an_agents_words_cannot_move_the_cursor(remembered: Retro) -> None:
    Path("evil.jsonl").write_text(json.dumps(episode("\u202eevil", 5, symbol="a\u2066b")))
    remembered("remember", "evil.jsonl")
    result = remembered("recall", "--context", json.dumps(TRENDING))
    assert "evil" in result.out
    assert not {"\u202e", "\u2066"} & set(result.out)


# the other questions


def test_state_is_computed_from_the_ledger_as_of_an_instant(remembered: Retro) -> None:
    now = remembered("state", "--agent", "ada", "--json").data
    assert (now["trades"], now["consecutive_wins"], now["halted"]) == (3, 1, False)
    assert now["drawdown"] is None
    assert now["reasons"]["drawdown"] == "no capital is known"
    then = remembered("state", "--as-of", "2026-03-02T12:00:00Z", "--json").data
    assert (then["trades"], then["consecutive_losses"]) == (2, 1)


def test_capital_comes_from_the_configuration(remembered: Retro) -> None:
    Path("config.toml").write_text("[agent.ada]\ncapital = 100\n")
    assert remembered("state", "--json").data["equity"] == 100.0
    assert remembered("state", "--json").data["drawdown"] == pytest.approx(10 / 110)


def test_kelly_has_the_contracts_shape_and_says_unknown_rather_than_0(remembered: Retro) -> None:
    advice = remembered("kelly", "--agent", "ada", "--context", json.dumps(TRENDING), "--json").data
    assert list(advice) == ["fraction", "effective_n", "p", "win_r", "loss_r", "why"]
    assert advice["fraction"] is None
    assert "fewer than 10" in advice["why"]
    printed = remembered("kelly").out.splitlines()
    assert (printed[0], printed[3]) == ("KELLY: ada", "  Unknown")


def test_habits_beliefs_and_plans_are_lists(remembered: Retro) -> None:
    habits = remembered("habits", "--json").data
    assert {(habit["strategy"], habit["symbol"], habit["trades"]) for habit in habits} == {
        ("breakout", "ETH/USDC", 2),
        ("range", "SOL/USDC", 1),
    }
    assert remembered("beliefs", "--json").data == []
    assert remembered("plans", "--json").data == []
    for command in ("habits", "beliefs", "plans", "state"):
        assert remembered(command).code == 0


def test_plans_show_how_they_stand(remembered: Retro) -> None:
    with package.open("memory_data/retro.db") as mirror:
        created = mirror.create_trading_plan(
            {"all": [{"field": "regime", "op": "==", "value": "ranging"}]},
            {"type": "skip_trade"},
            "it lost",
            at="2026-03-05T00:00:00Z",
        )
    [plan] = remembered("plans", "--as-of", "2026-03-06", "--json").data
    assert (plan["id"], plan["status"], plan["reasoning"]) == (created["id"], "active", "it lost")
    assert remembered("plans", "--as-of", "2026-05-06", "--json").data[0]["status"] == "expired"
    assert remembered("plans", "--as-of", "2026-05-06", "--alive", "--json").data == []


def test_a_replay_prints_what_it_finds_and_too_little_is_said(remembered: Retro) -> None:
    result = remembered("validate", "recall", "--split", "2026-03-01")
    assert result.code == 2
    assert "at least 20" in result.err
    rows = [
        episode(f"v{i}", 1 + i % 28, pnl_r=1.0 if i % 3 else -1.0, context=TRENDING if i % 3 else RANGING)
        for i in range(60)
    ]
    Path("more.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    remembered("remember", "more.jsonl")
    replay = remembered("validate", "recall", "--split", "2026-03-15", "--json").data
    assert [approach["name"] for approach in replay["approaches"]] == [
        "fixed",
        "simple_kelly",
        "recency_kelly",
        "memory_kelly",
    ]
    assert replay["verdict"]
    text_result = remembered("validate", "recall", "--split", "2026-03-15")
    assert text_result.code == 0
    assert replay["verdict"].replace("_", " ") in " ".join(text_result.out.split())


def test_a_replay_without_situations_says_that_memory_knew_nothing(remembered: Retro) -> None:
    rows = [episode(f"v{i}", 1 + i % 28, pnl_r=1.0 if i % 3 else -1.0, context={}) for i in range(60)]
    Path("more.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    remembered("remember", "more.jsonl")
    words = " ".join(remembered("validate", "recall", "--split", "2026-03-15").out.split())
    trades = remembered("validate", "recall", "--split", "2026-03-15", "--json").data["trades"]
    assert f"{trades} of {trades} trades could not be sized from memory" in words
    assert f"{trades} state nothing of their situation" in words
    assert "memory knew too little to size any of these trades" in words


# records


def test_records_are_imported_listed_and_made_into_a_prompt(retro: Retro) -> None:
    write_records(Path("theirs"))
    imported = retro("experiments", "import", "theirs", "--json")
    assert (imported.code, imported.data["stored"], imported.data["faults"]) == (0, 5, [])
    assert retro("experiments", "import", "theirs", "--json").data["unchanged"] == 5
    assert [experiment["id"] for experiment in retro("experiments", "--json").data] == [
        "exp_v15_2",
        "exp_v15_1",
        "exp_v15_0",
    ]
    assert len(retro("experiments", "-n", "2", "--json").data) == 2
    assert [hypothesis["id"] for hypothesis in retro("hypotheses", "--json").data] == ["H_001", "H_002"]
    assert [hypothesis["id"] for hypothesis in retro("hypotheses", "--status", "refuted", "--json").data] == [
        "H_002"
    ]
    prompt = retro("experiments", "prompt", "-n", "2", "--full").out
    assert prompt.startswith(
        "## Experiment History\n\n### Recent Experiments (last 2)\n\n**exp_v15_2** (2025-12-03)\n"
    )
    assert prompt.endswith(
        "## Open Hypotheses\n\n- **H_001**: open one\n  - Source: not stated | Status: untested\n"
    )
    assert retro("experiments").code == retro("hypotheses").code == 0


def test_without_records_the_prompt_still_has_both_headings(retro: Retro) -> None:
    result = retro("experiments", "prompt", "-n", "15")
    assert (result.code, result.out) == (
        0,
        "## Experiment History\n\n### Recent Experiments (last 15)\n\n## Open Hypotheses\n",
    )
    assert retro("experiments", "--json").data == []
    assert retro("hypotheses", "--json").data == []
    assert not Path("memory_data").exists()


def test_a_damaged_file_is_named_and_the_good_ones_are_printed_exit_1(retro: Retro) -> None:
    write_records(Path("memory_data"))
    Path("memory_data/experiments/exp_v15_1.yaml").write_text("a: [")
    result = retro("experiments", "--json", "-q")
    assert result.code == 1
    assert len(result.data) == 2
    assert "exp_v15_1.yaml" in result.err
    result = retro("hypotheses", "--json")
    assert (result.code, len(result.data), "exp_v15_1.yaml" in result.err) == (1, 2, True)
    Path("memory_data/hypotheses.yaml").write_text("hypotheses: {")
    result = retro("hypotheses", "--json")
    assert (result.code, result.data) == (1, [])
    assert "hypotheses.yaml" in result.err
    assert "hypotheses.yaml" in retro("experiments").err
    assert retro("experiments", "prompt").code == 1
    assert Path("memory_data/hypotheses.yaml").read_text() == "hypotheses: {"


def test_the_directory_of_the_records_is_relative_to_the_configuration(retro: Retro) -> None:
    write_records(Path("home/notes"))
    Path("home/config.toml").write_text('[memory]\ndirectory = "notes"\n')
    assert len(retro("--config", "home/config.toml", "experiments", "--json").data) == 3


def test_a_folder_that_is_not_there_cannot_be_imported(retro: Retro) -> None:
    assert retro("experiments", "import", "nowhere").code == 1


# from Python


def test_the_python_door_answers_like_the_command_line(remembered: Retro) -> None:
    printed = remembered("recall", "--context", json.dumps(TRENDING), "-k", "2", "--json").data
    with package.open("memory_data/retro.db") as mirror:
        assert mirror.recall("ada", TRENDING, k=2) == printed
        assert mirror.recall_memories(context=TRENDING, k=2) == printed
        assert mirror.get_agent_state()["trades"] == 3
        assert mirror.get_trade_reflection("loss")["pnl"] == -20.0
        assert mirror.get_strategy_performance()[0]["strategy"] == "breakout"
        assert set(mirror.get_behavioral_analysis()) == {"habits", "beliefs", "markers"}
        assert mirror.check_active_plans({}) == []
        assert mirror.list_hypotheses() == mirror.experiment_history() == mirror.reviews() == []
        assert mirror.remember([episode("new", 6), episode("bad", 7, pnl="x")])["stored"] == 1
        assert mirror.remember(episode("new", 6))["unchanged"] == 1
        with pytest.raises(UsageError):
            mirror.recall("bob")
        with pytest.raises(UnknownError):
            mirror.get_trade_reflection("nothing")


def test_facts_and_episodes_share_a_database(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p1"))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("recall", "--agent", "ada", "--json").data == []


def test_a_strangers_memory_package_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "__init__.py").write_text("")
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    open_store(str(tmp_path / "r.db")).close()
    for words in (("recall",), ("experiments",), ("mcp",)):
        result = process("--db", tmp_path / "r.db", *words, cwd=tmp_path, env=env, stdin=b"")
        assert (result.code, result.out, len(result.err.strip().splitlines())) == (1, "", 1)
        assert "another package named `memory`" in result.err
    script = "import retro, sys; retro.open(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", script, "r.db"], cwd=tmp_path, env={**os.environ, **env},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "RetroError: another package named `memory`" in done.stderr
