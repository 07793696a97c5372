"""An exported agent is the same agent in any database: the same export again, the same documents, the same reviews anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.estate.archive import export_agent
from retro.app.estate.arrival import import_agent
from retro.app.estate.manifest import MANIFEST
from retro.config import load
from retro.errors import InputError, RetroError, UsageError
from retro.secret import find_secrets
from retro.store.facts import rulings
from retro.store.facts.replays import record_replay
from retro.store.facts.rulings import RulingRecord
from tests.app.estate.homes import Home, SavedHome, texts, told
from tests.worlds.commands import Retro, retro
from tests.worlds.service_world import MONDAY, line, lines_of

__all__ = ["retro"]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> SavedHome:
    """Two agents in one database, with shared marks, a ruling, corrections, faults and a memory."""
    place = Home(tmp_path_factory.mktemp("origin") / "home")
    place.tell("harbor-3", "otter")
    with place.journal.open("ab") as file:
        file.write(lines_of([line("fill", "bad", MONDAY, "harbor-3")]) + b"not a line\n")
    place.shared_marks("ETH/USDC", 2000)
    place.do("ingest", "journal", place.journal)
    changed = [
        event | {"reasoning": "hindsight"} for event in told("harbor-3") if event["id"] == "harbor-3-p0-in"
    ]
    (place.folder / "later.jsonl").write_bytes(lines_of(changed))
    place.do("ingest", "journal", place.folder / "later.jsonl", "--on-conflict", "replace")
    (place.folder / "later.jsonl").unlink()
    place.do("run", "--once")
    place.remember("harbor-3", "m-1")
    store = place.store()
    with store.write() as conn:
        rulings.record(conn, "harbor-3", RulingRecord("harbor-3-p1", "confirmed", "ada", MONDAY))
        record_replay(conn, "harbor-3", "harbor-3-p1", MONDAY)
    store.close()
    return SavedHome(place)


@pytest.fixture
def home(saved: SavedHome) -> Home:
    return saved.restored()


def weekly(home: Home, retro: Retro) -> str:
    words = ("--config", home.config, "--db", home.url, "review", "weekly", "--agent", "harbor-3")
    return retro(*words, "--at", "2026-03-04", "--format", "json").out


def test_from_sqlite_to_postgresql_and_back_nothing_changes(
    home: Home, tmp_path: Path, postgres_url: str, retro: Retro
) -> None:
    assert home.do("export", "harbor-3", tmp_path / "first") == 0
    server = Home(tmp_path / "server", postgres_url)
    assert server.do("import", tmp_path / "first") == 0
    assert server.do("export", "harbor-3", tmp_path / "second") == 0
    back = Home(tmp_path / "back")
    assert back.do("import", tmp_path / "second") == 0
    assert back.do("export", "harbor-3", tmp_path / "third") == 0
    first = tree(tmp_path / "first")
    assert first == tree(tmp_path / "second") == tree(tmp_path / "third")
    own = {key: text for key, text in home.documents().items() if key[0].startswith("harbor-3.")}
    assert own == server.documents() == back.documents()
    assert len(own) > 15
    assert weekly(home, retro) == weekly(server, retro) == weekly(back, retro)
    assert json.loads(weekly(back, retro))["pnl"]["total"] is not None


def test_an_imported_life_goes_on_without_making_anything_twice(home: Home, tmp_path: Path) -> None:
    home.do("export", "harbor-3", tmp_path / "out")
    other = Home(tmp_path / "other")
    assert other.do("import", tmp_path / "out") == 0
    before = other.documents()
    assert other.do("run", "--once") == 0
    assert other.documents() == before
    assert tree(other.folder / "memory_data" / "experiments") == {
        name.removeprefix("records/experiments/"): content
        for name, content in tree(tmp_path / "out").items()
        if name.startswith("records/experiments/")
    }


def test_what_is_exported_is_all_but_what_belongs_to_a_machine(home: Home, tmp_path: Path) -> None:
    home.do("export", "harbor-3", tmp_path / "out")
    files = tree(tmp_path / "out")
    rows = {name for name in files if name.startswith("rows/")}
    assert {
        "rows/events.jsonl",
        "rows/corrections.jsonl",
        "rows/position_rulings.jsonl",
        "rows/position_replays.jsonl",
        "rows/reviews.jsonl",
        "rows/review_documents.jsonl",
        "rows/enrolments.jsonl",
        "rows/memory_episode.jsonl",
        "rows/memory_retrospective.jsonl",
    } <= rows
    assert not {"rows/outbox.jsonl", "rows/book.jsonl", "rows/sources.jsonl"} & rows
    shared = [json.loads(row) for row in files["marks.jsonl"].splitlines()]
    assert {row["instrument"] for row in shared if row["shared"]} == {"ETH/USDC"}
    assert b"otter" not in b"".join(files.values())
    assert len(files["faults.jsonl"].splitlines()) == 2


def refused(home: Home, folder: Path, error: type[RetroError], words: str) -> None:
    """Nothing of it stays."""
    store = home.store()
    before = sorted(texts(store))
    with pytest.raises(error, match=words):
        import_agent(store, home.folders, folder)
    assert sorted(texts(store)) == before
    store.close()


def test_a_damaged_newer_or_second_import_is_refused_whole(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "out"
    home.do("export", "harbor-3", out)
    refused(home, out, UsageError, "already")
    other = Home(tmp_path / "other")
    events = out / "rows" / "events.jsonl"
    original = events.read_bytes()
    events.write_bytes(original.replace(b"2000", b"2001", 1))
    refused(other, out, InputError, r"events\.jsonl is not what was written")
    events.unlink()
    refused(other, out, InputError, "is missing")
    events.write_bytes(original)
    (out / "more.txt").write_text("x")
    refused(other, out, InputError, "not in the manifest")
    (out / "more.txt").unlink()
    manifest = (out / MANIFEST).read_text()
    (out / MANIFEST).write_text(manifest.replace('"format": 1', '"format": 2'))
    refused(other, out, InputError, "newer version")
    (out / MANIFEST).write_text(manifest.replace('"retro": ', '"retro": 9'))
    refused(other, out, InputError, "newer tables")
    (out / MANIFEST).write_text(manifest)
    assert other.do("import", out) == 0


def resealed(folder: Path, name: str, content: bytes) -> None:
    """Change a file and its digest in the manifest: what a stranger could send."""
    from retro.app.estate.manifest import digest_of_file

    (folder / name).write_bytes(content)
    manifest = json.loads((folder / MANIFEST).read_text())
    digest, size = digest_of_file(folder / name)
    manifest["files"][name] |= {"sha256": digest, "bytes": size}
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (
            "rows/events.jsonl",
            b'"type": "fill"',
            b'"type": "flow"',
            r"events\.jsonl line \d+: cannot be read",
        ),
        ("rows/review_documents.jsonl", b'\\"pnl\\"', b'\\"pln\\"', r"review_documents\.jsonl line \d+"),
        ("rows/review_documents.jsonl", b'"review": 3,', b'"review": 333,', "review_documents"),
        ("rows/memory_episode.jsonl", b'"digest": "', b'"digest": "*', "memory_episode"),
        ("rows/enrolments.jsonl", b'"enrolled_at"', b'"x"', "enrolments"),
    ],
)
def test_a_forged_row_is_refused_by_file_and_line(
    home: Home, tmp_path: Path, name: str, old: bytes, new: bytes, words: str
) -> None:
    home.do("export", "harbor-3", tmp_path / "out")
    content = (tmp_path / "out" / name).read_bytes()
    assert old in content
    resealed(tmp_path / "out", name, content.replace(old, new, 1))
    refused(Home(tmp_path / "other"), tmp_path / "out", InputError, words)


def test_shared_marks_that_differ_are_refused_and_those_that_agree_are_kept_once(
    home: Home, tmp_path: Path
) -> None:
    home.do("export", "harbor-3", tmp_path / "out")
    alike, different = Home(tmp_path / "alike"), Home(tmp_path / "different")
    alike.shared_marks("ETH/USDC", 2000)
    different.shared_marks("ETH/USDC", 1999)
    refused(different, tmp_path / "out", InputError, "a shared mark is known here otherwise: .*ETH/USDC")
    assert alike.do("import", tmp_path / "out") == 0
    assert alike.do("export", "harbor-3", tmp_path / "again") == 0
    assert tree(tmp_path / "out") == tree(tmp_path / "again")


def test_no_secret_is_exported(home: Home, tmp_path: Path) -> None:
    secrets = find_secrets({"RETRO_SMTP_PASSWORD": "H-7 says so"})
    store = home.store()
    with pytest.raises(RetroError, match=r"rows/\w+\.jsonl line \d+ would hold the value of a secret"):
        export_agent(store, load(home.config, {}), home.folders, "harbor-3", tmp_path / "out", secrets)
    store.close()
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))


def test_a_folder_that_is_there_is_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    assert home.do("export", "harbor-3", tmp_path / "out") == 2
    assert tree(tmp_path / "out") == {"mine": b"x"}
    assert home.do("export", "nobody", tmp_path / "new") == 2
    assert not (tmp_path / "new").exists()


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(
    decisions=st.lists(st.tuples(st.integers(0, 10**9), WORDS, WORDS), max_size=8),
    prices=st.dictionaries(
        st.integers(0, 10**12), st.floats(1e-12, 1e12, allow_nan=False, allow_infinity=False), max_size=20
    ),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_export_then_import_is_the_identity(
    tmp_path: Path, decisions: list[tuple[int, str, str]], prices: dict[int, float]
) -> None:
    """Whatever an agent says, and to the last bit of every price."""
    shutil.rmtree(tmp_path / "law", ignore_errors=True)
    home, other = Home(tmp_path / "law" / "a"), Home(tmp_path / "law" / "b")
    events = [line("equity", "e", MONDAY, "bot", value=1)]
    events += [
        line("decision", f"d{n}", MONDAY + at, "bot", action="hold", reasoning=why, strategy=strategy)
        for n, (at, why, strategy) in enumerate(decisions)
    ]
    events += [
        line("mark", f"m{at}", MONDAY + at, "bot", instrument="ETH/USDC", price=price)
        for at, price in prices.items()
    ]
    home.journal.write_bytes(lines_of(events))
    home.do("ingest", "journal", home.journal)
    assert home.do("export", "bot", tmp_path / "law" / "first") == 0
    assert other.do("import", tmp_path / "law" / "first") == 0
    assert other.do("export", "bot", tmp_path / "law" / "second") == 0
    assert tree(tmp_path / "law" / "first") == tree(tmp_path / "law" / "second")
