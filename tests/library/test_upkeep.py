"""Archive and restore change no byte, forgetting leaves no byte, and a process that dies at any statement leaves none halfway."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from memory import DamagedError, MissingError
from memory.library import archive, columns, intake, lineage, reindex, transfer
from memory.library.embedder import embed
from memory.library.search import SearchFilters, search
from memory.library.stats import library_stats
from memory.store.layers import drop_states
from memory.store.library_tables import libraries
from retro.store.database import Store
from tests.library.test_items import raw
from tests.library.test_search import LETTERS, Letters, ids, tell
from tests.worlds.commands import Retro, retro
from tests.worlds.memory_databases import db, experience

__all__ = ["db", "retro"]

NOW = 2_000_000_000_000_000
SECOND = Letters(name="second")
TEXTS = ["aab \n é \u2028 \U0001f680", "abb", "b" * 5000, "a"]


def tell_four(store: Store) -> None:
    """Four items, one in a layer, one resting on another; one is everybody's."""
    items = [raw(f"i{number}", text=text) for number, text in enumerate(TEXTS)]
    items[1] |= {"parents": ["i0", "exp_1"], "layer": "mid", "importance": 70, "metadata": {"r": -1.5}}
    tell(store, [*items, raw("ours", text="ab", agent=None)])


def lines(store: Store, agents: tuple[str, ...] = ("ada", "")) -> list[str]:
    with store.read() as conn:
        return list(transfer.export_lines(conn, agents))


def test_archive_and_restore_change_no_byte(db: Store) -> None:
    tell_four(db)
    before, ranks = lines(db), ids(db, "aab")
    with db.write() as conn:
        assert archive.archive_unused(conn, "ada", NOW, NOW) == 4
        assert archive.archive_unused(conn, "ada", NOW, NOW) == 0
        assert (
            conn.exec_driver_sql("SELECT count(*) FROM memory_item WHERE text IS NOT NULL").scalar_one() == 1
        )
    assert ids(db, "aab") == ["ours"]
    assert ids(db, "aab", archived=True) == ranks
    with db.read() as conn:
        hit = search(conn, "b", LETTERS, agent="ada", filters=SearchFilters(archived=True), k=1).hits[0]
        assert (hit.item.id, hit.item.text, hit.archived) == ("i2", TEXTS[2], True)
        assert library_stats(conn, ["ada"])[0].archive.items == 4
    with db.write() as conn:
        assert (
            intake.add(conn, [raw("i0", text=TEXTS[0])]).unchanged == 1
        )  # known by its digest while it is archived
        for number in range(4):
            assert archive.restore(conn, "ada", f"i{number}")
        assert not archive.restore(conn, "ada", "i0")
        assert conn.exec_driver_sql("SELECT count(*) FROM memory_item_archive").scalar_one() == 0
    assert lines(db) == before
    assert ids(db, "aab") == ranks


def test_what_was_used_is_not_archived(db: Store) -> None:
    tell_four(db)
    with db.write() as conn:
        archive.note_use(conn, "ada", ["i1"], NOW)
        archive.note_use(conn, "ada", ["i1"], 5)  # an earlier use told later takes nothing back
        assert archive.archive_unused(conn, "ada", NOW, NOW) == 3
    assert sorted(ids(db, "ab")) == ["i1", "ours"]


def test_a_forgotten_item_leaves_an_id_and_no_byte_of_it(db: Store, new_database_url: str) -> None:
    tell_four(db)
    secret = "b" * 5000
    with db.write() as conn:
        archive.archive_unused(conn, "ada", NOW, NOW)
        archive.forget_item(conn, "ada", "i2", 7, "owner")
        archive.forget_item(conn, "ada", "i0", 8, "owner")
    with db.read() as conn:
        line = lineage.lineage(conn, "ada", "i1")
        assert [(entry.id, entry.kind) for entry in line.ancestors] == [
            ("exp_1", "reference"),
            ("i0", "forgotten"),
        ]
        with pytest.raises(MissingError, match="'i2' was forgotten by owner"):
            intake.get(conn, "ada", "i2")
        for table in libraries.metadata.tables.values():
            if table.name.startswith(("memory_item", "memory_block", "memory_lib")):
                rows = conn.execute(sa.select(table)).all()
                assert secret not in repr(rows)
    assert "i2" not in ids(db, "b", archived=True)
    with db.write() as conn:
        again = intake.add(conn, [raw("i2", text=secret)])
        assert [entry.reason for entry in again.conflicts] == ["was forgotten"]


def test_a_library_moves_between_databases_byte_for_byte(db: Store, tmp_path: Path) -> None:
    tell_four(db)
    with db.write() as conn:
        archive.archive_items(conn, "ada", ["i3"], NOW, "recency below .05 in short")
        archive.forget_item(conn, "ada", "i1", 8, "owner")
    before = lines(db)
    with experience(str(tmp_path / "other.db")) as other:
        for expected in (6, 0):  # told again it changes nothing
            with other.write() as conn:
                done = transfer.import_lines(conn, before)
                assert (done.stored, done.faults) == (expected - 1 if expected else 0, ())
        assert lines(other) == before
        assert ids(other, "aab", archived=True) == ids(db, "aab", archived=True)
        head = next(line for line in before if '"agent":"ada"' in line and '"kind":"library"' in line)
        vector = json.loads(next(line for line in before if '"i0"' in line))
        vector["item"]["id"], vector["vector"]["sha256"] = "new", "0" * 64
        with other.write() as conn:
            done = transfer.import_lines(conn, [head, json.dumps(vector), "{}"], "f")
        assert [(fault.line, fault.reason) for fault in done.faults] == [
            (2, "vector: is not what its checksum says"), (3, "kind: must be library, item or forgotten"),
        ]  # fmt: skip


def test_a_fault_of_a_long_export_is_named_by_its_own_line_and_a_cut_export_says_so(
    db: Store, tmp_path: Path, retro: Retro
) -> None:
    tell(db, [raw("i0", metadata={"kind": "library"})])
    text = "\n".join([*lines(db), *[""] * 4000, "{}", ""])
    (tmp_path / "long.jsonl").write_text(text)
    done = retro("--db", "other.db", "library", "import", "long.jsonl", "--json")
    assert (done.code, done.data["stored"], done.data["unchanged"]) == (1, 1, 0)
    assert [fault["line"] for fault in done.data["faults"]] == [text.count("\n")]

    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress("\n".join(lines(db)).encode())[:-9])
    done = retro("--db", "third.db", "library", "import", "cut.jsonl.gz")
    assert done.code == 1
    assert "the gzip data end early" in done.err


def test_a_damaged_archive_block_is_named_and_not_read(db: Store) -> None:
    tell_four(db)
    with db.write() as conn:
        archive.archive_unused(conn, "ada", NOW, NOW)
        conn.exec_driver_sql("UPDATE memory_item_archive SET crc = crc + 1")
        with pytest.raises(DamagedError, match="archive block 0 of ada is damaged"):
            intake.get(conn, "ada", "i0")


def test_what_has_left_its_layer_is_in_none_where_it_moves_to(db: Store, tmp_path: Path) -> None:
    tell_four(db)
    with db.write() as conn:
        drop_states(conn, "ada", ["i1"])
    with experience(str(tmp_path / "other.db")) as other:
        with other.write() as conn:
            transfer.import_lines(conn, lines(db))
        assert lines(other) == lines(db)


# a process that dies


class Crash(Exception):
    """Stands for the process dying at a statement: the transaction never commits."""


def crashing(conn: Connection, at: int) -> None:
    numbers = count(1)

    @sa.event.listens_for(conn, "before_cursor_execute")
    def tick(*_: object) -> None:
        if next(numbers) == at:
            raise Crash


def view(store: Store) -> tuple[Any, ...]:
    with store.read() as conn:
        columns.drop_columns(conn)
        tables = [
            conn.execute(sa.select(table).order_by(*table.primary_key)).all()
            for table in libraries.metadata.tables.values()
            if table.name.startswith(("memory_item", "memory_lib", "memory_layer"))
        ]
    return (tables, ids(store, "aab", archived=True), lines(store))


def adding(conn: Connection) -> None:
    parsed, _ = intake.validated([raw("n1", text="a b"), raw("n2", text="bb", parents=["n1"], layer="short")])
    intake.add(conn, parsed, embedded=embed(LETTERS, parsed))


def archiving(conn: Connection) -> None:
    archive.archive_unused(conn, "ada", NOW, NOW)


def restoring(conn: Connection) -> None:
    archive.archive_unused(conn, "ada", NOW, NOW)
    archive.restore(conn, "ada", "i0")


def forgetting(conn: Connection) -> None:
    archive.forget_item(conn, "ada", "i0", 5, "owner")


def reindexing(conn: Connection) -> None:
    reindex.begin_reindex(conn, "ada", SECOND.name)
    reindex.store_vectors(conn, "ada", embed(SECOND, reindex.items_without(conn, "ada", SECOND.name)))
    assert reindex.finish_reindex(conn, "ada", SECOND.name, 2)


@pytest.mark.parametrize("change", [adding, archiving, restoring, forgetting, reindexing])
def test_a_crash_at_any_statement_leaves_the_library_as_it_was(
    db: Store, change: Callable[[Connection], None]
) -> None:
    tell_four(db)
    before = view(db)
    for at in count(1):
        try:
            with db.write() as conn:
                crashing(conn, at)
                change(conn)
        except Crash:
            assert view(db) == before
            continue
        break
    assert at > 5
    assert view(db) != before
