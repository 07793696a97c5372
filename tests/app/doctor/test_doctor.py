"""`retro doctor`: what is broken is found, named with its remedy, and nothing is changed by looking."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from retro.app.doctor import machine as checks_machine
from retro.app.doctor import place as checks_place
from retro.app.doctor.check import Installation
from retro.app.doctor.examine import examine
from tests.worlds.commands import SAMPLE, CommandResult, Retro, event, process, retro, round_trip, sample_db
from tests.worlds.places import ROOT

__all__ = ["retro", "sample_db"]


def findings(result: CommandResult, state: str) -> list[str]:
    """The findings of a state, as `check: detail`."""
    return [f"{row['check']}: {row['detail']}" for row in result.data if row["state"] == state]


def test_a_sound_house_is_in_order(sample_db: Path, retro: Retro) -> None:
    result = retro("--config", SAMPLE / "config.toml", "--db", sample_db, "doctor", "--json")
    assert result.code == 0
    assert findings(result, "broken") == []
    names = {row["check"] for row in result.data}
    assert names >= {"python", "sqlite", "packages", "extras", "configuration", "database", "disk"}
    assert names >= {"permissions", "secrets", "agent", "marks", "playbook", "faults"}
    assert any(row["detail"].startswith("sample: 5,") for row in result.data if row["check"] == "agent")


def test_the_screen_and_the_data_say_the_same(sample_db: Path, retro: Retro) -> None:
    screen = retro("--db", sample_db, "doctor")
    rows = retro("--db", sample_db, "doctor", "--json").data
    screen_text = "".join(screen.out.split())  # a long path is broken where the line ends
    for row in rows:
        assert f"{row['check']}{row['state']}".replace(" ", "") in screen_text
        assert (
            "".join(row["detail"].split()) in screen_text or row["check"] == "disk"
        )  # its free space moves meanwhile
    assert "\n  Everything works" in screen.out


def test_a_quick_look_says_the_same_but_for_what_reads_every_row(sample_db: Path, retro: Retro) -> None:
    """What a screen shows: on SQLite no commit ends while somebody reads all there is."""
    rows = retro("--db", sample_db, "doctor", "--json").data
    left_out = {"rows", "memory", "library", "checks"}
    quick = retro("--db", sample_db, "doctor", "--quick", "--json").data
    names = {row["check"] for row in rows} - {row["check"] for row in quick}
    assert names <= left_out
    assert "rows" in names
    assert {"database", "agent", "permissions"} <= {row["check"] for row in quick}


def test_looking_makes_and_changes_nothing(sample_db: Path, retro: Retro, tmp_path: Path) -> None:
    result = retro("doctor", "--json")
    assert result.code == 0
    assert list(tmp_path.iterdir()) == []
    assert any(
        "is not there yet; the first `retro ingest` makes it" in text for text in findings(result, "note")
    )
    before = sample_db.read_bytes()
    retro("--db", sample_db, "doctor")
    assert sample_db.read_bytes() == before


def test_every_fault_of_the_configuration_is_a_finding(retro: Retro) -> None:
    Path("config.toml").write_text(
        "[retrospective]\nheuristic_min_citation = 3\n[owner]\ntime_zone = 'Mars'\n"
    )
    result = retro("doctor", "--json")
    assert result.code == 1
    wrong = findings(result, "broken")
    assert len(wrong) == 2
    assert "did you mean heuristic_min_citations?" in wrong[0]
    assert {row["check"] for row in result.data} >= {"python", "packages"}, (
        "the machine is examined all the same"
    )


def test_a_shadow_whose_rule_is_none_is_broken(retro: Retro) -> None:
    table = "[[shadow]]\nname = 'tight'\nrule = 'stop 3%'\nsince = 2026-03-01\n"
    Path("config.toml").write_text(table)
    result = retro("doctor", "--json")
    assert result.code == 1
    (wrong,) = findings(result, "broken")
    assert wrong.startswith(
        "configuration: [[shadow]] tight does not run: 'stop 3%' is no rule of a what-if; there are: "
    )


def test_a_shadow_of_an_agent_that_nobody_knows_is_named(sample_db: Path, retro: Retro) -> None:
    table = "[[shadow]]\nname = 'tight'\nrule = 'stop -3%'\nsince = 2026-03-01\nagent = 'simple'\n"
    Path("config.toml").write_text(table + table.replace("simple", "sample"))
    notes = findings(retro("--db", sample_db, "doctor", "--json"), "note")
    assert [text for text in notes if "shadow" in text] == [
        "agent: [[shadow]] tight is of simple, and no event tells of it; did you mean sample?"
    ]


@pytest.mark.parametrize("kind", ["text", "directory", "cut"])
def test_a_database_that_does_not_open_is_broken(kind: str, retro: Retro, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    if kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("hello\n" * 200)
    else:
        Path("a.jsonl").write_text("".join(round_trip(f"p{i}") for i in range(100)))
        retro("--db", path, "ingest", "journal", "a.jsonl")
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    result = retro("--db", path, "doctor", "--json")
    assert result.code == 1
    assert any(text.startswith("database: ") for text in findings(result, "broken"))


def test_a_database_of_a_newer_version_is_left_alone_and_named(retro: Retro, tmp_path: Path) -> None:
    import sqlite3

    retro("--db", "x.db", "agents")
    with sqlite3.connect(tmp_path / "x.db") as conn:
        conn.execute("UPDATE schema_version SET version = 999")
    conn.close()
    result = retro("--db", "x.db", "doctor", "--json")
    assert result.code == 1
    assert any("newer version" in text for text in findings(result, "broken"))


def test_who_else_may_read_the_database(retro: Retro) -> None:
    retro("--db", "x.db", "agents")
    assert "permissions: nobody else may read the database" in findings(
        retro("--db", "x.db", "doctor", "--json"), "ok"
    )
    Path("x.db").chmod(0o644)
    assert any("(mode 644)" in text for text in findings(retro("--db", "x.db", "doctor", "--json"), "note"))


@pytest.mark.parametrize(("free", "state"), [(10 << 20, "broken"), (500 << 20, "note"), (50 << 30, "ok")])
def test_room_on_the_disk(free: int, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retro.config import Config, with_database

    class Usage:
        def __init__(self, *_: object) -> None:
            self.free = free

    monkeypatch.setattr(shutil, "disk_usage", Usage)
    house = Installation(with_database(Config(), str(tmp_path / "no" / "such" / "x.db")), {}, 0)
    assert [check.state for check in checks_place.disk(house)] == [state]


def test_every_source_is_looked_at(retro: Retro) -> None:
    Path("candles").mkdir()
    Path("agent.jsonl").write_text(round_trip("p"))
    Path("bot.sqlite").write_bytes(b"SQLite format 3\0" + bytes(100))
    tables = [
        ("journal", "agent.jsonl", ""),
        ("journal", "gone.jsonl", ""),
        ("journal", "bot.sqlite", ""),
        ("freqtrade", "bot.sqlite", 'candles = "candles"'),
        ("freqtrade", "bot.sqlite", ""),
        ("marks", "candles", ""),
    ]
    Path("config.toml").write_text(
        "".join(
            f'[[source]]\nkind = "{kind}"\npath = "{path}"\n{setting}\n' for kind, path, setting in tables
        )
    )
    result = retro("doctor", "--json")
    wrong = findings(result, "broken")
    assert result.code == 1
    assert [text.split(": ")[0] for text in wrong] == ["source"] * 4
    assert "gone.jsonl does not exist" in wrong[0]
    assert 'write kind = "freqtrade"' in wrong[1]
    assert "candles is empty" in wrong[2]
    assert "candles is empty" in wrong[3]
    assert sum(text.startswith("source: ") for text in findings(result, "ok")) == 2
    assert any("names no candles" in text for text in findings(result, "note"))


def test_every_playbook_is_parsed(retro: Retro) -> None:
    Path("bad.md").write_text("## Global\n\n- H-1 [0.50] One\n- H-1 [0.40] Two\n")
    Path("good.md").write_text("## Global\n\n- H-1 [0.50] One\n")
    Path("config.toml").write_text(
        "".join(f'[agent.{name}]\nplaybook = "{name}.md"\n' for name in ("bad", "good", "gone"))
    )
    result = retro("doctor", "--json")
    assert result.code == 1
    wrong = findings(result, "broken")
    assert len(wrong) == 2
    assert "bad.md:4: " in wrong[0]
    assert wrong[1].startswith("playbook: gone: ")
    assert any(text.startswith("playbook: good: 1 heuristic,") for text in findings(result, "ok"))


def test_missing_and_old_marks_are_named(retro: Retro) -> None:
    fields = {"position": "q", "instrument": "SOL/USDC"}
    still = {"position": "r", "instrument": "ETH/USDC"}
    Path("a.jsonl").write_text(
        round_trip("p")
        + event("position", "1", kind="spot", side="long", **fields)
        + event("fill", "2", side="buy", quantity="1", price="10", **fields)
        + event("position", "3", kind="spot", side="long", **still)
        + event("fill", "4", side="buy", quantity="1", price="100", **still)
        + event("decision", "5", "2026-03-09T00:00:00Z", action="hold")
    )
    retro("ingest", "journal", "a.jsonl")
    notes = findings(retro("doctor", "--json"), "note")
    assert any(text.startswith("marks: ada: none for SOL/USDC;") for text in notes)
    assert any("older than a day: ETH/USDC (2026-03-02)" in text for text in notes)


def test_a_benchmark_without_marks_of_the_day_is_named(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    Path("config.toml").write_text('[owner]\nbenchmark = "BTC/USDT"\n')
    retro("ingest", "journal", "a.jsonl")
    [text] = [text for text in findings(retro("doctor", "--json"), "note") if text.startswith("benchmark: ")]
    assert "benchmark BTC/USDT has no mark; `retro ingest marks FILE --instrument BTC/USDT`" in text
    Path("btc.csv").write_text("timestamp,price\n2020-01-01T00:00:00Z,7000\n")
    retro("ingest", "marks", "btc.csv", "--instrument", "BTC/USDT")
    assert any("no mark after 2020-01-01" in text for text in findings(retro("doctor", "--json"), "note"))
    Path("btc.csv").write_text("timestamp,price\n2026-03-02T12:00:00Z,7000\n")
    retro("ingest", "marks", "btc.csv", "--instrument", "BTC/USDT")
    assert any(
        text.startswith("benchmark: ada: BTC/USDT") for text in findings(retro("doctor", "--json"), "ok")
    )


def test_a_slip_in_an_agent_s_name_is_pointed_out(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p", agent="harbor-3"))
    Path("config.toml").write_text("[agent.harbour-3]\ncapital = 10\n")
    retro("ingest", "journal", "a.jsonl")
    notes = findings(retro("doctor", "--json"), "note")
    assert "agent: harbour-3: is configured, but no event tells of it; did you mean harbor-3?" in notes


def test_a_book_that_is_behind_is_a_note_until_the_next_review(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    retro("ingest", "journal", "a.jsonl")
    Path("config.toml").write_text("[agent.ada]\ncapital = 1000\n")
    behind = "agent: ada: its book is behind its facts; the next review brings it up to date"
    assert behind in findings(retro("doctor", "--json"), "note")
    retro("review", "weekly")
    assert behind not in findings(retro("doctor", "--json"), "note")


def test_faults_are_counted(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p") + "nonsense\nmore\n")
    retro("ingest", "journal", "a.jsonl")
    assert "faults: 2 rows or sources could not be used; `retro faults` says why" in (
        findings(retro("doctor", "--json"), "note")
    )


def test_secrets_are_named_and_never_shown(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-value")
    Path("mail").write_text("hunter2-password\n")
    monkeypatch.setenv("RETRO_SMTP_PASSWORD_FILE", str(Path("mail").absolute()))
    Path("mail").chmod(0o644)
    result = retro("doctor", "--json")
    assert result.code == 1
    assert any("others can read this secret" in text for text in findings(result, "broken"))
    Path("mail").chmod(0o600)
    result = retro("doctor", "--json")
    assert result.code == 0
    assert any("ANTHROPIC_API_KEY from $ANTHROPIC_API_KEY" in text for text in findings(result, "ok"))
    assert "very-secret" not in result.out + result.err
    assert "hunter2" not in result.out + result.err


def test_a_foreign_package_of_our_name_is_found(tmp_path: Path) -> None:
    """`memory` is a name that others use too: whatever is imported instead of ours is named."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "__init__.py").write_text("")
    script = (
        "from retro.app.doctor.machine import packages;"
        "import json; print(json.dumps([[c.state, c.detail] for c in packages(None)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    ((state, detail),) = json.loads(done.stdout)
    assert state == "broken"
    assert f"memory is {tmp_path / 'memory'}, not " in detail


@pytest.mark.parametrize(("version", "state"), [((3, 40, 1), "note"), ((3, 51, 3), "ok"), ((3, 52, 0), "ok")])
def test_the_wal_bug_is_told_of_where_it_is(
    version: tuple[int, int, int], state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    assert [check.state for check in checks_machine.sqlite_library(None)] == [state]  # type: ignore[arg-type]


def test_an_extra_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else real(name))
    notes = [check.detail for check in checks_machine.extras(None) if check.state == "note"]  # type: ignore[arg-type]
    assert notes == ['Feather and Parquet candles: not installed; pip install "slow-mirror[freqtrade]"']


def test_what_one_examination_cannot_finish_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def unlucky(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "exists", unlucky)
    checks = examine(None, None, {}, now=0)
    assert [check.state for check in checks if check.name == "permissions"] == ["broken"]
    assert any(check.name == "secrets" for check in checks)


def test_postgresql_is_examined_too(postgres_url: str) -> None:
    result = process("--db", postgres_url, "doctor", "--json")
    assert result.code == 0, result.out
    assert any("PostgreSQL" in text and "0 agents" in text for text in findings(result, "ok"))
    assert process("--db", "postgresql://nobody@127.0.0.1:1/x", "doctor").code == 1
