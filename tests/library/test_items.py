"""Items enter whole or not at all, once, and stay what they were told to be; lineage never breaks and has no circle."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from memory import ConflictError, MissingError
from memory.library import intake, lineage
from memory.library.item import LARGEST_TEXT, SHARED, ItemFault, item_as_json, item_of, read_items
from memory.store import library as rows
from memory.store.library_tables import libraries
from retro.store.database import Store
from tests.worlds.memory_databases import db

__all__ = ["db"]


def raw(identity: str, text: str = "breakouts fail in August", **fields: Any) -> dict[str, Any]:
    """An item as an agent tells it."""
    item = {"id": identity, "agent": "ada", "at": "2026-03-01T00:00:00Z", "collection": "lessons_learned"}
    return {**item, "text": text, **fields}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "id: is required"),
        ({"id": "a\nb"}, "id: must be at most 200 characters without control"),
        ({"agent": "a b"}, "agent: must be 1 to 64"),
        ({"at": "2026-03-01"}, "at: must be an RFC 3339 time"),
        ({"text": " "}, "text: must be text that is not empty"),
        ({"text": "a\0b"}, "text: holds a character that cannot be stored"),
        ({"text": "é" * (LARGEST_TEXT // 2) + "x"}, "text: has 65,537 bytes; at most 65,536"),
        ({"collection": None}, "collection: is required"),
        ({"layer": "deep"}, "layer: must be one of short, mid, long, reflection"),
        ({"importance": float("nan")}, "importance: must lie between"),
        ({"confidence": 1.5}, "confidence: must lie between 0 and 1"),
        ({"parents": ["a", ""]}, "parents: is required"),
        ({"parents": ["x"]}, "parents: an item cannot rest on itself"),
        ({"collection": "strategy_library", "status": "live"}, "status: a strategy is one of draft"),
        ({"metadata": {"a": {"b": {"c": 1}}}}, "metadata.a.b: must be text, a number"),
        ({"metadata": {"a": 1}, "a": 2}, "a: stands in metadata too"),
        ({"metadata": {"a": float("inf")}}, "metadata.a: must be finite"),
    ],
)
def test_what_may_not_enter_is_named_by_its_field(change: dict[str, Any], reason: str) -> None:
    (fault,) = intake.validated([raw("x") | change])[1]
    assert fault.reason.startswith(reason)


def test_a_line_is_read_as_it_stands_and_a_bad_one_is_told_by_its_number() -> None:
    lines: list[bytes | str] = [
        b'\xef\xbb\xbf{"id":"a","at":0,"collection":"mine","text":"t","mood":"calm"}',
        "",
        "[1]",
        b"\xff",
    ]
    item, listed, broken = read_items(lines, "f")
    assert not isinstance(item, ItemFault)
    assert item_as_json(item)["agent"] is None  # belongs to nobody: everybody's
    assert item.metadata == {"mood": "calm"}  # a field that we do not know is kept
    assert (listed, broken) == (ItemFault("f", 3, "must be a JSON object"), ItemFault("f", 4, "not UTF-8"))


def test_an_item_is_stored_once_and_another_content_does_not_move_it(db: Store) -> None:
    items = [
        raw("a"),
        raw("b", parents=["a"], layer="short", importance=50, metadata={"n": 1.0, "none": None}),
    ]
    with db.write() as conn:
        assert intake.add(conn, items).stored == 2
        again = intake.add(conn, [items[0], raw("b", text="other"), raw("c", metadata=[1])], where="f")
    assert (again.stored, again.unchanged) == (0, 1)
    assert [(entry.id, entry.reason) for entry in again.conflicts] == [
        ("b", "told before with other content")
    ]
    assert again.faults == (ItemFault("f", 3, "metadata: must be an object"),)
    with db.read() as conn:
        stored = intake.get(conn, "ada", "b")
        assert stored.item == item_of(items[1])
        assert stored.item.metadata == {"n": 1}
        assert rows.head(conn, "ada").items == 2


def test_the_same_items_in_any_order_are_the_same_items(db: Store) -> None:
    items = [raw(name, parents=parents) for name, parents in (("a", []), ("b", ["a"]), ("c", ["a", "b"]))]
    for agent, order in (("ada", (0, 1, 2)), ("bob", (2, 0, 1))):
        with db.write() as conn:
            for place in order:
                assert intake.add(conn, [items[place] | {"agent": agent}]).stored == 1
    with db.read() as conn:
        views = [
            [(row.id, row.document, row.text, row.content) for row in rows.all_rows(conn, agent)]
            for agent in ("ada", "bob")
        ]
        assert views[0] == views[1]
        assert lineage.lineage(conn, "ada", "c") == lineage.lineage(conn, "bob", "c")


def test_lineage_counts_the_shortest_way_and_names_what_is_no_item(db: Store) -> None:
    """d rests on b and on a; b on a and on an experiment: a is one step from d, not two."""
    items = [
        raw("a"), raw("b", parents=["a", "exp_1"]), raw("d", parents=["b", "a"]), raw("a2", version_of="a"),
    ]  # fmt: skip
    with db.write() as conn:
        assert intake.add(conn, items).stored == 4
    with db.read() as conn:
        line = lineage.lineage(conn, "ada", "d")
        assert [(entry.id, entry.distance, entry.kind) for entry in line.ancestors] == [
            ("a", 1, "item"), ("b", 1, "item"), ("exp_1", 2, "reference"),
        ]  # fmt: skip
        assert line.roots == ("a", "exp_1")
        assert [(entry.id, entry.distance) for entry in lineage.lineage(conn, "ada", "a").descendants] == [
            ("a2", 1), ("b", 1), ("d", 1),
        ]  # fmt: skip
        assert [entry.id for entry in lineage.lineage(conn, "ada", "exp_1").descendants] == ["b", "d"]
        with pytest.raises(MissingError, match="no item 'nowhere'"):
            lineage.lineage(conn, "ada", "nowhere")


def test_a_circle_is_refused_in_one_telling_and_across_two(db: Store) -> None:
    with db.write() as conn:
        first = intake.add(conn, [raw("a", parents=["b"]), raw("b", parents=["c"]), raw("c", version_of="a")])
        assert (first.stored, [fault.reason for fault in first.faults]) == (
            2, ["c: parents: it would rest on itself"],
        )  # fmt: skip
        second = intake.add(conn, [raw("c", parents=["a"])])
        assert second.stored == 0
        assert intake.add(conn, [raw("c")]).stored == 1


def test_versions_are_counted_in_order_of_time_from_whichever_is_asked(db: Store) -> None:
    items = [
        raw("s1", at="2026-01-01T00:00:00Z", collection="strategy_library", status="draft"),
        raw(
            "s3", at="2026-03-01T00:00:00Z", collection="strategy_library", version_of="s2", status="approved"
        ),
        raw("s2", at="2026-02-01T00:00:00Z", collection="strategy_library", version_of="s1", status="tested"),
        raw("other", parents=["s1"]),
    ]
    with db.write() as conn:
        intake.add(conn, items)
    with db.read() as conn:
        for name in ("s1", "s2", "s3"):
            counted = [
                (entry.version, entry.id, entry.status) for entry in lineage.versions(conn, "ada", name)
            ]
            assert counted == [(1, "s1", "draft"), (2, "s2", "tested"), (3, "s3", "approved")]


def test_an_agent_sees_its_own_and_the_shared_items_only(db: Store) -> None:
    with db.write() as conn:
        intake.add(
            conn, [raw("mine"), raw("his", agent="bob"), raw("all", agent=None), raw("mine", agent=None)]
        )
    with db.read() as conn:
        assert intake.get(conn, "ada", "mine").item.agent == "ada"
        assert intake.get(conn, "bob", "mine").item.agent == SHARED
        assert intake.get(conn, "ada", "all").item.agent == SHARED
        with pytest.raises(MissingError):
            intake.get(conn, "ada", "his")


def test_what_was_rolled_back_was_never_there(db: Store) -> None:
    with pytest.raises(ConflictError), db.write() as conn:
        intake.add(conn, [raw("a", parents=["b"], layer="short")])
        raise ConflictError
    with db.read() as conn:
        tables = [table for table in libraries.metadata.tables.values() if table.name != "schema_version"]
        assert not any(
            conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in tables
        )
