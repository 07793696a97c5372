"""A fleet as files of columns: same facts, same bytes; what changed is written again; what a reader sees is whole."""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyarrow import fs

from retro.app.estate.fleet.export import SHARED_BUCKET, FleetExport, export_fleet
from retro.app.estate.fleet.places import FolderPlace, ObjectPlace, opened_place
from retro.app.settlement.settings import settings_of
from retro.config import Config
from retro.errors import RetroError
from retro.secret import Secret
from retro.store.locks import bucket_of
from tests.app.estate.homes import Home
from tests.worlds.commands import Retro, event, retro, round_trip

__all__ = ["retro"]

AGENTS = ("ada", "bob")


def export(home: Home, to: str | Path = "out", **terms: Any) -> FleetExport:
    store = home.store()
    try:
        return export_fleet(
            store, lambda agent: settings_of(Config(), agent, None), str(home.folder / to), **terms
        )
    finally:
        store.close()


def manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def names(folder: Path) -> set[str]:
    """The files that lie in an export."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"manifest.json"}


def verified(folder: Path) -> set[str]:
    """The files that the manifest names, each with the bytes that it says."""
    files = manifest(folder)["files"]
    for file in files:
        content = (folder / file["name"]).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (file["sha256"], file["bytes"])
    return {file["name"] for file in files}


def ask(folder: Path, table: str, question: str) -> list[Any]:
    files = [str(folder / file["name"]) for file in manifest(folder)["files"] if file["table"] == table]
    rows = duckdb.read_parquet(files, hive_partitioning=True)
    return list(rows.query("t", question).fetchall())


def live(home: Home) -> Home:
    """Two agents of two days, reviewed and exported."""
    home.config.write_text(home.config.read_text() + "\n[retrospective]\ndaily_review_enabled = false\n")
    home.tell(*AGENTS, days=2)
    home.shared_marks()
    assert home.do("run", "--once") == 0
    export(home)
    return home


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Two agents with everything an agent can have, on SQLite."""
    return live(Home(tmp_path_factory.mktemp("fleet")))


def test_every_fact_mark_outcome_and_review_is_there_once(reviewed: Home) -> None:
    out = reviewed.folder / "out"
    assert verified(out) == names(out)
    assert ask(out, "facts", "SELECT agent, count(*), count(DISTINCT type || id), any_value(bucket) FROM t GROUP BY 1 ORDER BY 1") == [
        (agent, 12, 12, bucket_of(agent)) for agent in AGENTS
    ]  # fmt: skip
    own, shared = ask(
        out, "marks", "SELECT agent IS NULL, count(*), max(bucket) FROM t GROUP BY 1 ORDER BY 1"
    )
    assert (own[1], shared[1], shared[2]) == (2 * 8, 22, SHARED_BUCKET)
    outcomes = ask(
        out,
        "outcomes",
        "SELECT rule, role, count(*), sum(value)::DOUBLE, any_value(currency) FROM t GROUP BY 1, 2 ORDER BY 2, 1",
    )
    assert ("H-7", "entry", 2 * 2, 2 * (10 - 4), "USDC") in outcomes
    assert (None, "entry", 2 * 2, 2 * (10 - 4), "USDC") in outcomes
    with reviewed.store().read() as conn:
        done: dict[str, str] = dict(
            conn.exec_driver_sql(
                "SELECT id, digest FROM reviews JOIN review_documents ON review = key WHERE state = 'done'"
            ).all()
        )
    rows = ask(out, "reviews", "SELECT id, digest, document, quarter FROM t")
    assert {row[0]: row[1] for row in rows} == done
    assert {row[3] for row in rows} == {"2026Q1"}
    texts = {text for text in reviewed.documents().values() if text}
    assert {row[2] for row in rows} <= texts


def test_a_second_export_writes_nothing_and_a_changed_agent_its_own_files(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.tell(*AGENTS, days=1)
    assert home.do("ingest", "journal", home.journal) == 0
    first = export(home)
    assert (first.files, first.written, first.removed) == (6, 6, 0)
    before = (tmp_path / "out" / "manifest.json").stat().st_mtime_ns
    again = export(home)
    assert (again.written, again.removed, again.rows) == (0, 0, first.rows)
    assert (tmp_path / "out" / "manifest.json").stat().st_mtime_ns == before
    untouched = {name for name in names(tmp_path / "out") if f"bucket={bucket_of('bob')}/" in name}
    (tmp_path / "more.jsonl").write_text(round_trip("late", "2025-12-02", agent="ada"))
    assert home.do("ingest", "journal", tmp_path / "more.jsonl") == 0
    changed = export(home)
    new = {name for name in names(tmp_path / "out") if "quarter=2025Q4" in name}
    assert changed.written == len(new) == 3  # facts, marks and the outcomes of the new quarter
    assert untouched < verified(tmp_path / "out") == names(tmp_path / "out")
    assert home.do("agents", "forget", "bob", "--yes") == 0
    assert export(home).removed == len(untouched)
    assert not any("bob" in str(row) for row in ask(tmp_path / "out", "facts", "SELECT agent FROM t"))


def test_both_databases_give_the_same_bytes(reviewed: Home, tmp_path: Path, postgres_url: str) -> None:
    live(Home(tmp_path, postgres_url))
    mine, other = ((folder / "out" / "manifest.json").read_bytes() for folder in (tmp_path, reviewed.folder))
    assert mine == other


def test_a_killed_export_leaves_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    home.tell("ada", days=1)
    assert home.do("ingest", "journal", home.journal) == 0
    export(home)
    before = verified(tmp_path / "out")
    home.tell("eve", days=1)
    assert home.do("ingest", "journal", home.journal) == 0
    put, taken = FolderPlace.put, list[str]()

    def put_two(place: FolderPlace, name: str, written: Path) -> None:
        if len(taken) == 2:
            raise KeyboardInterrupt
        taken.append(name)
        put(place, name, written)

    with monkeypatch.context() as killed:
        killed.setattr(FolderPlace, "put", put_two)
        with pytest.raises(KeyboardInterrupt):
            export(home)
    assert verified(tmp_path / "out") == before
    assert names(tmp_path / "out") - before == set(taken)
    export(home)
    assert before | set(taken) < verified(tmp_path / "out") == names(tmp_path / "out")


def test_quantities_instants_and_names_are_as_they_were_told(tmp_path: Path) -> None:
    home, agent, name = Home(tmp_path), "..", "../../etc/passwd' OR 1=1 --"
    digits = "0.000000000000000001234567890123456789"
    home.journal.write_text(
        event("cost", name, "2025-12-31T23:59:59.999999Z", agent, kind="gas", amount=digits)
        + event("cost", "d", "2026-01-01T00:00:00Z", agent, kind="gas", amount=1)
    )
    assert home.do("ingest", "journal", home.journal) == 0
    export(home)
    out = tmp_path / "out"
    assert {name.rpartition("/")[0] for name in names(out)} == {
        f"facts/bucket={bucket_of(agent)}/quarter={quarter}" for quarter in ("2025Q4", "2026Q1")
    }
    rows = ask(
        out, "facts", "SELECT agent, id, instant AT TIME ZONE 'UTC', amount, quarter FROM t ORDER BY instant"
    )
    assert rows == [
        (agent, name, datetime(2025, 12, 31, 23, 59, 59, 999999), digits, "2025Q4"),
        (agent, "d", datetime(2026, 1, 1), "1", "2026Q1"),
    ]


def test_a_secret_stays_at_home(reviewed: Home) -> None:
    told = Secret("ANTHROPIC_API_KEY", "H-7 says so")
    with pytest.raises(
        RetroError, match="would hold the value of a secret that is set here: nothing is exported"
    ):
        export(reviewed, "elsewhere", secrets=(told,))
    assert names(reviewed.folder / "elsewhere") == set()


def test_objects_are_taken_in_as_files_are(reviewed: Home, tmp_path: Path) -> None:
    """The same through a file system of pyarrow's, of which S3 is one."""
    (tmp_path / "bucket").mkdir()
    (tmp_path / "spool").mkdir()
    place = ObjectPlace(_Objects(tmp_path / "bucket"), "prefix", tmp_path / "spool")
    assert (place.read("manifest.json"), place.names("facts")) == (None, set())
    for name in ("facts/a", "facts/b"):
        (tmp_path / "spool" / "x").write_text(name)
        place.put(name, tmp_path / "spool" / "x")
    assert place.names("facts") == {"facts/a", "facts/b"}
    place.remove("facts/b")
    assert (place.names("facts"), place.read("facts/a")) == ({"facts/a"}, "facts/a")
    assert list((tmp_path / "spool").iterdir()) == []


class _Objects(fs.SubTreeFileSystem):  # type: ignore[misc]
    """A folder that makes directories with files, as object storage does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), fs.LocalFileSystem())
        self._folder = folder

    def open_output_stream(self, path: str) -> Any:
        (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
        return super().open_output_stream(path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ada", "--to", "out"], "moves one agent"),
        ([], "say which agent goes into which folder"),
        (["ada"], "say which agent goes into which folder"),
        (["--to", "s3://key:secret@bucket/x"], "no key belongs into the address"),
        (["--to", "s3://bucket/x?secret_key=abc"], "no key belongs into the address"),
        (["--to", "s3://bucket"], "needs a bucket and a prefix"),
        (["--to", "ftp://host/x"], "there is no export to ftp://"),
    ],
)
def test_a_call_that_makes_no_sense_is_one_sentence(retro: Retro, words: list[str], sentence: str) -> None:
    answer = retro("export", *words)
    assert (answer.code, answer.out) == (2, "")
    assert sentence in answer.err
    assert "secret_key=abc" not in answer.err


def test_another_export_is_not_written_over(retro: Retro, tmp_path: Path) -> None:
    Path("out").mkdir()
    Path("out/manifest.json").write_text('{"kind": "slow-mirror agent"}')
    answer = retro("export", "--to", "out")
    assert answer.code == 1
    assert "is not the manifest of a fleet's export" in answer.err
    with opened_place("busy", tmp_path):
        answer = retro("export", "--to", "busy")
    assert (answer.code, "another process is exporting" in answer.err) == (75, True)
    Path("file").touch()
    answer = retro("export", "--to", "file/x")
    assert (answer.code, "file/x cannot be written" in answer.err) == (1, True)


def test_without_the_extra_one_sentence_names_it(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    answer = retro("export", "--to", "out")
    assert (answer.code, not Path("out").exists()) == (1, True)
    assert 'pip install "slow-mirror[fleet]"' in answer.err


def test_the_command_says_what_it_came_to(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    answer = retro("export", "--to", "out", "--json")
    assert answer.data == {
        "to": "out", "rows": {"facts": 4, "marks": 1, "outcomes": 1}, "files": 3,
        "bytes": sum(file["bytes"] for file in manifest(Path("out"))["files"]), "written": 3, "removed": 0,
    }  # fmt: skip
    assert "4 facts, 1 marks, 1 outcomes; 3 files, 0 written, 0 removed" in retro("export", "--to", "out").out
