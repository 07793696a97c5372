"""The command itself: what goes where, what it exits with, and that every slip gets one clear line."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from retro import __version__
from retro.surface.cli.main import app
from tests.worlds.commands import JOURNAL, Retro, event, process, retro, round_trip, sample_db
from tests.worlds.places import ROOT

__all__ = ["retro", "sample_db"]


def every_command(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command and of every group of commands."""
    commands = [words] if words else []
    for name, inner in getattr(command, "commands", {}).items():
        commands += every_command(inner, (*words, name))
    return commands


COMMANDS = every_command(get_command(app))
GROUPS = [(), *(words for words in COMMANDS if any(other[:-1] == words for other in COMMANDS))]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(words: tuple[str, ...], retro: Retro) -> None:
    result = retro(*words, "--help")
    assert result.code == 0
    assert result.err == ""
    text = " ".join(result.out.split())
    assert f"Usage: retro {' '.join(words)}" in text
    assert re.search(r"Example: retro ", text)
    assert max(len(line) for line in result.out.splitlines()) <= 80


@pytest.mark.parametrize("words", GROUPS, ids=str)
def test_every_command_there_is_stands_in_the_help_in_one_whole_line(
    words: tuple[str, ...], retro: Retro
) -> None:
    result = retro(*words, "--help")
    listed = re.findall(r"^  [a-z0-9-]+  +\S.*$", result.out.partition("--help  ")[2], re.MULTILINE)
    below = {other[-1] for other in COMMANDS if other[:-1] == words}
    assert {line.split()[0] for line in listed} == below
    for line in listed:
        assert re.fullmatch(r"  [a-z0-9-]+  +[A-Z].*[.?]", line), line
        assert "..." not in line, "the summary is too long for its line"
        assert retro(*words, line.split()[0], "--help").code == 0


def test_the_version_is_the_package_s(retro: Retro) -> None:
    assert retro("--version") == (0, f"retro {__version__}\n", "")


@pytest.mark.parametrize("words", [(), ("ingest",), ("review",)], ids=str)
def test_a_command_line_that_asks_nothing_shows_the_help_and_is_a_usage_error(
    words: tuple[str, ...], retro: Retro
) -> None:
    result = retro(*words)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("Usage: retro ")
    assert "\n  weekly" in result.err or "\n  journal" in result.err or "\n  review" in result.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["positins"], "Did you mean 'positions', 'predictions'? See `retro --help`."),
        (["review", "weekly", "--formt", "json"], "--formt"),
        (["review", "weekly", "--format", "pdf"], "--format takes text, json, md or html"),
        (["review", "weekly", "--from", "2026-01-01"], "--from and --to belong together"),
        (["review", "weekly", "--at", "yesterday"], "--at: 'yesterday' is not an RFC 3339 instant"),
        (["review", "weekly", "--at", "2026-02-30"], "--at: "),
        (["review", "weekly", "--at", "2026-01-06T10:00:00"], "has no offset"),
        (["review", "position"], "Missing argument 'ID'"),
        (["ingest", "journal"], "Missing argument"),
        (["ingest", "journal", JOURNAL, "--on-conflict", "merge"], "--on-conflict takes keep or replace"),
        (["ingest", "freqtrade", "x", "--capital", "-5"], "--capital must be above 0"),
        (["ingest", "freqtrade", "x", "--capital", "much"], "--capital 'much' is not an amount"),
        (["ingest", "freqtrade", "x", "--as-of", "now"], "--as-of: 'now'"),
        (["ingest", "marks", "x.csv"], "--instrument"),
        (["positions", "--format", "xml"], "--format takes text, csv, json, md or html"),
        (["schema", "mail"], "retro schema takes report, position, journal or config"),
        (["agents", "--db"], "--db needs a value"),
        (["agents", "--db", ""], "--db needs a value"),
        (["agents", "--db", "mysql://x"], "--db must be the path of an SQLite file or a URL"),
        (["--config", "none.toml", "agents"], "none.toml: there is no such file"),
    ],
    ids=lambda value: " ".join(map(str, value))[:50] if isinstance(value, list) else "",
)
def test_a_wrong_call_is_one_line_on_stderr_and_exit_2(
    words: list[str], reason: str, sample_db: Path, retro: Retro
) -> None:
    arguments = words if {"--db", "--config"} & set(words) else ["--db", sample_db, *words]
    result = retro(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("retro: ")
    assert result.err.count("\n") == 1
    assert reason in result.err


def test_all_faults_of_a_configuration_are_told_at_once(retro: Retro) -> None:
    Path("bad.toml").write_text("[retrospective]\nheuristic_min_citation = 3\n[owner]\ntime_zone = 'Mars'\n")
    result = retro("agents", "--config", "bad.toml")
    assert (result.code, result.out) == (2, "")
    assert "did you mean heuristic_min_citations?" in result.err
    assert "line 4: owner.time_zone" in result.err
    assert not Path("memory_data").exists(), "nothing was made"


# Global options


@pytest.mark.parametrize("place", ["before", "between", "after", "equals"])
def test_global_options_stand_where_people_put_them(place: str, sample_db: Path, retro: Retro) -> None:
    lines: dict[str, list[str | Path]] = {
        "before": ["--json", "--db", sample_db, "playbook", "audit"],
        "between": ["playbook", "--db", sample_db, "--json", "audit"],
        "after": ["playbook", "audit", "--db", sample_db, "--json"],
        "equals": ["playbook", "audit", f"--db={sample_db}", "--json"],
    }
    result = retro(*lines[place])
    assert result.code == 0
    assert {row["heuristic_id"] for row in result.data} >= {"H-3", "H-7", "H-15"}


def test_the_configuration_is_the_option_s_else_the_environment_s_else_the_directory_s(
    retro: Retro, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("option", "environment", "directory"):
        Path(name).mkdir()
        Path(name, "config.toml").write_text(f'[store]\nurl = "{name}.db"\n')
    Path("config.toml").write_text('[store]\nurl = "here.db"\n')
    retro("agents")
    assert Path("here.db").exists()
    monkeypatch.setenv("RETRO_CONFIG", "environment/config.toml")
    retro("agents")
    assert Path("environment/environment.db").exists(), "a relative path begins at its file"
    retro("agents", "--config", "option/config.toml")
    assert Path("option/option.db").exists()
    retro("agents", "--config", "option/config.toml", "--db", "mine.db")
    assert Path("mine.db").exists(), "--db wins, and begins here"
    assert not Path("directory/directory.db").exists()


def test_it_works_from_any_directory(sample_db: Path, tmp_path: Path) -> None:
    from_root, from_elsewhere = (
        process("--db", sample_db, "review", "daily", cwd=place) for place in (ROOT, tmp_path)
    )
    assert from_root == from_elsewhere
    assert from_root.code == 0


def test_the_first_use_of_a_database_says_where_it_is(retro: Retro, tmp_path: Path) -> None:
    result = retro("agents")
    assert result.code == 0
    assert f"created {tmp_path / 'memory_data' / 'retro.db'}\n" in result.err
    assert result.out == ""
    assert "created" not in retro("agents").err


def test_quiet_leaves_the_result_alone(retro: Retro) -> None:
    result = retro("-q", "ingest", "journal", JOURNAL)
    assert result.err == ""
    assert result.out.count("\n") == 1


def test_verbose_adds_the_traceback(retro: Retro) -> None:
    plain, verbose = retro("ingest", "journal", "nothing"), retro("ingest", "journal", "nothing", "-v")
    assert "Traceback" not in plain.err
    assert "Traceback" in verbose.err
    assert verbose.err.endswith(plain.err)
    assert plain.code == verbose.code == 1


# Agents


def test_before_any_ingest_a_review_says_what_to_do(retro: Retro) -> None:
    for words in (["review", "weekly"], ["positions"], ["review", "position", "p"], ["playbook", "audit"]):
        result = retro("-q", *words)
        assert (result.code, result.out) == (1, ""), words
        assert "start with `retro ingest journal FILE`" in result.err


def test_several_agents_have_to_be_told_apart(retro: Retro) -> None:
    Path("two.jsonl").write_text(round_trip("a", agent="ada") + round_trip("b", agent="bob"))
    assert retro("ingest", "journal", "two.jsonl").code == 0
    for words in (["review", "weekly"], ["positions"], ["playbook", "audit"]):
        result = retro(*words)
        assert (result.code, result.out) == (2, "")
        assert "--agent: ada, bob" in result.err
        assert retro(*words, "--agent", "bob").code == 0


def test_an_unknown_agent_is_answered_with_the_known_ones(sample_db: Path, retro: Retro) -> None:
    result = retro("--db", sample_db, "review", "weekly", "--agent", "nobody")
    assert (result.code, result.out) == (2, "")
    assert "'nobody'; known: sample" in result.err


def test_an_unknown_position_is_the_data_s_fault(sample_db: Path, retro: Retro) -> None:
    result = retro("--db", sample_db, "review", "position", "lp-9")
    assert (result.code, result.out) == (1, "")
    assert "`retro positions` lists them" in result.err


# Databases


@pytest.mark.parametrize("kind", ["directory", "text", "stranger", "cut"])
def test_a_database_that_is_none_is_one_line_and_stays_as_it_is(
    kind: str, retro: Retro, tmp_path: Path
) -> None:
    path = tmp_path / "given.db"
    if kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("hello\n" * 200)
    elif kind == "stranger":
        import sqlite3

        with sqlite3.connect(path) as conn:
            conn.execute("CREATE TABLE trades (id)")
        conn.close()
    else:
        retro("--db", path, "-q", "ingest", "journal", JOURNAL)
        path.write_bytes(path.read_bytes()[:50_000])
    before = path.read_bytes() if path.is_file() else None
    for words in (["agents"], ["ingest", "journal", str(JOURNAL)], ["review", "weekly"]):
        result = retro("--db", path, "-q", *words)
        assert (result.code, result.out) == (1, ""), result
        assert result.err.startswith("retro: ")
        assert result.err.count("\n") == 1
    assert before is None or path.read_bytes() == before


# Output


def test_json_is_utf_8_whatever_the_locale(retro: Retro, tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    Path("a.jsonl").write_text(round_trip("p-ü", reasoning="Grün, 買い"))
    assert retro("--db", db, "ingest", "journal", "a.jsonl").code == 0
    results = [
        process("--db", db, "review", "position", "p-ü", "--json", env={"PYTHONIOENCODING": encoding})
        for encoding in ("ascii", "utf-8")
    ]
    assert results[0] == results[1]
    assert results[0].data["entry_reasoning"] == "Grün, 買い"
    assert "買い" in results[0].out


@pytest.mark.parametrize("buffering", ["", "1"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(sample_db: Path, buffering: str) -> None:
    done = subprocess.run(
        [
            "bash",
            "-c",
            'set -o pipefail; "$0" -m retro --db "$1" review weekly --json | head -c 50',
            sys.executable,
            str(sample_db),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": buffering},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_under_the_result_is_one_line_and_exit_1(sample_db: Path) -> None:
    for words in (["agents"], ["review", "weekly", "--json"], ["schema", "report"], ["--version"]):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "retro", "--db", str(sample_db), *words],
                cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False,
            )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == b"retro: the result could not be printed: No space left on device\n"


def test_closed_streams_are_no_traceback(sample_db: Path) -> None:
    for closed, code in ((">&-", 1), ("2>&-", 0)):
        done = subprocess.run(
            ["bash", "-c", f'"$0" -m retro --db "$1" agents {closed}', sys.executable, str(sample_db)],
            cwd=ROOT, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert b"internal error" not in done.stderr


def _on_a_terminal(*words: str, env: dict[str, str]) -> str:
    """What a command writes to a terminal."""
    import pty

    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "retro", *words],
        cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **env},
    )  # fmt: skip
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    assert child.wait() == 0
    return b"".join(chunks).decode()


@pytest.mark.parametrize("words", [["review", "daily"], ["positions"]], ids=" ".join)
def test_a_terminal_gets_colour_unless_told_otherwise_and_a_pipe_never(
    words: list[str], sample_db: Path
) -> None:
    line = ["--db", str(sample_db), *words]
    assert "\x1b[" in _on_a_terminal(*line, env={"NO_COLOR": ""})
    assert "\x1b" not in _on_a_terminal(*line, env={"NO_COLOR": "1"})
    assert "\x1b" not in _on_a_terminal(*line, env={"NO_COLOR": "", "TERM": "dumb"})
    assert "\x1b" not in process(*line).out


def test_long_work_shows_its_progress_on_a_terminal_only(tmp_path: Path) -> None:
    words = ["--db", str(tmp_path / "x.db"), "ingest", "journal", str(JOURNAL)]
    assert "reading" in _on_a_terminal(*words, env={})
    assert "reading" not in process("--db", tmp_path / "y.db", "ingest", "journal", JOURNAL).err


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_be_taught_to_complete(shell: str) -> None:
    script = process("--show-completion", shell, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert script.code == 0
    assert "_RETRO_COMPLETE" in script.out


def test_completion_knows_the_commands() -> None:
    def completed(line: str) -> list[str]:
        env = {
            "_RETRO_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        }
        return process(env=env).out.split()

    assert completed("retro ing") == ["ingest"]
    assert completed("retro review we") == ["weekly"]
    assert "--format" in completed("retro review weekly --fo")


def test_an_unforeseen_error_is_a_sentence_too(retro: Retro) -> None:
    """A database that somebody edited by hand: text where an instant belongs, which no code reckons with."""
    Path("a.jsonl").write_text(round_trip("p"))
    retro("--db", "edited.db", "ingest", "journal", "a.jsonl")
    with closing(sqlite3.connect("edited.db")) as conn, conn:
        conn.execute("UPDATE agents SET last_at = 'yesterday'")
    result = retro("-q", "--db", "edited.db", "agents")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("retro: internal error, please report it: TypeError: unsupported ")
    assert result.err.count("\n") == 1


def test_what_strangers_wrote_cannot_steer_the_terminal(retro: Retro) -> None:
    name = "evil\x1b[31m\u202e.jsonl"
    Path(name).write_text(event("fill", "x\u202e", price="-1") + event("nonsense", "y"))
    result = retro("ingest", "journal", name)
    assert result.code == 1
    assert "\x1b" not in result.out + result.err
    assert "\u202e" not in result.out + result.err
    listed = retro("faults")
    assert "\x1b" not in listed.out


def test_every_command_has_its_place_in_the_help(retro: Retro) -> None:
    assert "Others:" not in retro("--help").out
