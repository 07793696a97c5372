"""`retro library step` and `retro library layers`, as a person or a script meets them."""

from __future__ import annotations

from pathlib import Path

from memory.library import intake
from retro.store.database import open_store
from tests.worlds.commands import Retro, retro

__all__ = ["retro"]


def with_items(*ids: str, layer: str | None = None) -> None:
    common = {
        "agent": "ada",
        "at": "2026-03-01T00:00:00Z",
        "collection": "news",
        "symbol": "JNJ",
        "text": "t",
    }
    store = open_store("r.db")
    with store.write() as conn:
        intake.add(conn, [{**common, "id": name, "layer": layer} for name in ids])
    store.close()


def test_a_step_brings_in_what_its_file_names_and_the_layers_say_how_they_stand(retro: Retro) -> None:
    with_items("a", "b")
    Path("step.jsonl").write_text(
        '{"step": 1, "add": [{"id": "a", "layer": "short", "importance": 80}, {"id": "b", "layer": "short", "importance": 5}],'
        ' "feedback": [{"id": "a", "sign": 1}, {"id": "gone", "sign": -1}]}\n'
    )
    order = (
        "--db",
        "r.db",
        "library",
        "step",
        "--symbol",
        "JNJ",
        "--at",
        "2026-03-02",
        "--file",
        "step.jsonl",
    )
    first = retro(*order, "--json")
    assert first.code == 0, first.err
    assert first.data == {
        "agent": "ada", "symbol": "JNJ", "at": "2026-03-02T00:00:00Z", "preset": "own", "added": 2, "moved_up": 2,
        "moved_down": 0, "cleaned": 1, "feedback": 1, "skipped": 1, "items": 1, "unchanged": False,
    }  # fmt: skip
    again = retro(*order, "--json").data
    assert again == first.data | {"unchanged": True}
    assert "it was taken already" in retro(*order).out
    standing = retro("--db", "r.db", "library", "layers", "--agent", "ada", "--symbol", "JNJ", "--json").data
    assert list(standing) == ["short", "mid", "long", "reflection", "flow"]
    assert standing["long"] == {
        "items": 1, "mean_importance": (80 + 10) * 0.97, "mean_recency": 1.0, "oldest_delta": 0,
    }  # fmt: skip
    assert standing["short"] == {
        "items": 0, "mean_importance": None, "mean_recency": None, "oldest_delta": None,
    }  # fmt: skip
    assert (
        "1 step so far: 2 added, 2 rose, 0 fell, 1 cleaned up"
        in retro("--db", "r.db", "library", "layers").out
    )


def test_a_step_that_cannot_be_taken_is_one_line_that_names_the_place(retro: Retro) -> None:
    with_items("a", layer="short")
    order = ("--db", "r.db", "library", "step", "--symbol", "JNJ")
    Path("stranger.jsonl").write_text('{"step": 1, "add": [{"id": "z", "layer": "mid"}]}\n')
    Path("bad.jsonl").write_text('\n{"step": 1, "feedback": [{"id": "a"}]}\n')
    Path("two.jsonl").write_text('{"step": 1}\n{"step": 2}\n')
    Path("none.jsonl").write_text("\n")
    for file, words in (
        ("stranger.jsonl", "no item 'z' in the library of ada: add it first"),
        ("bad.jsonl", "bad.jsonl:2: feedback[0]: Object missing required field `sign`"),
        ("two.jsonl", "two.jsonl:2: a second step"),
        ("none.jsonl", "none.jsonl: holds no step"),
    ):
        result = retro(*order, "--at", "2026-03-02", "--file", file)
        assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
        assert words in result.err
    assert retro(*order, "--at", "2026-03-03").code == 0
    assert "a step goes forward only" in retro(*order, "--at", "2026-03-02").err
    assert retro(*order, "--at", "soon").code == 2
