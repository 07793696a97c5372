"""`retro doctor` on the memory and the records: counts, cache, rows that belong to nothing, damage by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from memory.library.stats import ArchiveSize, LibraryStats
from retro.app.doctor.library import without_index
from retro.store.database import open_store
from tests.worlds.commands import Retro, retro
from tests.worlds.episodes import episode, write_records

__all__ = ["retro"]


def findings(retro: Retro, name: str) -> list[tuple[str, str]]:
    rows = retro("doctor", "--json").data
    return [(row["state"], row["detail"]) for row in rows if row["check"] == name]


def remember_episodes(retro: Retro, count: int = 3) -> None:
    Path("e.jsonl").write_text("".join(json.dumps(episode(f"e{i}")) + "\n" for i in range(count)))
    assert retro("remember", "e.jsonl").code == 0


def test_a_sound_memory_is_counted(retro: Retro) -> None:
    assert findings(retro, "memory") == []  # no database yet
    remember_episodes(retro, 1100)
    assert findings(retro, "memory") == [
        ("ok", "ada: 1,100 episodes, 0 retrospectives, 0 amendments, 0 plans, 1 of 1 blocks of columns")
    ]


def test_a_row_changed_behind_its_back_and_a_row_of_nothing_are_found(retro: Retro) -> None:
    remember_episodes(retro)
    store = open_store("memory_data/retro.db")
    with store.write() as conn:
        conn.exec_driver_sql(
            "UPDATE memory_episode SET document = replace(document, '10.0', '99.0') WHERE id = 'e1'"
        )
        conn.exec_driver_sql(
            "INSERT INTO memory_amendment VALUES ('ada', 7, 'tags', 99, 0, '1', '2', 'r', 'w')"
        )
    store.close()
    result = retro("doctor", "--json")
    assert result.code == 1
    problems = [detail for state, detail in findings(retro, "memory") if state == "broken"]
    assert len(problems) == 2
    assert any("belong to no episode" in problem for problem in problems)


def test_a_lost_cache_is_a_note_and_a_damaged_one_is_named(retro: Retro) -> None:
    remember_episodes(retro, 1100)
    store = open_store("memory_data/retro.db")
    with store.write() as conn:
        conn.exec_driver_sql("UPDATE memory_block SET data = x'00'")
    [(state, detail)] = findings(retro, "memory")
    assert (state, "1 cached blocks are damaged" in detail) == ("broken", True)
    with store.write() as conn:
        conn.exec_driver_sql("DELETE FROM memory_block")
    store.close()
    assert [state for state, _ in findings(retro, "memory")] == ["ok", "note"]


def test_records_are_counted_and_damage_is_named(retro: Retro) -> None:
    assert findings(retro, "records") == [("ok", "none yet; the first weekly review writes them")]
    write_records(Path("memory_data"))
    [(state, detail)] = findings(retro, "records")
    assert (state, detail.startswith("3 experiments, 2 hypotheses in ")) == ("ok", True)
    Path("memory_data/experiments/exp_v15_1.yaml").write_text("a: [")
    assert "exp_v15_1.yaml: line 1" in findings(retro, "records")[0][1]
    assert retro("doctor").code == 1


def test_hypotheses_of_experiments_that_are_gone_are_counted(retro: Retro) -> None:
    write_records(Path("memory_data"))
    Path("memory_data/hypotheses.yaml").write_text(
        "hypotheses:\n- {id: H_001, text: a, source_experiment: exp_v15_0}\n- {id: H_002, text: b, source_experiment: exp_gone}\n"
    )
    assert ("note", "1 hypothesis names an experiment that is not there") in findings(retro, "records")


def test_records_that_are_off_are_not_looked_at(retro: Retro) -> None:
    Path("config.toml").write_text("[memory]\nrecords = false\n")
    assert findings(retro, "records") == [("note", "off: [memory] records is false")]


def test_a_large_library_on_postgresql_is_said_not_to_be_searched_by_pgvector() -> None:
    size = LibraryStats("bot", 200_001, 0, {}, {}, None, "lexical", None, 0, ArchiveSize(0, 0, 0), 0, 0, None)
    [check] = without_index(size)
    assert check.state == "note"
    assert check.detail.startswith("bot: 200,001 items; pgvector is not used")
    assert list(without_index(replace(size, items=200_000))) == []
