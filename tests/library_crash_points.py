"""Sweep what writes to a library through every system call that writes: dead before it, dead after it, refused by the disk.

    python tests/library_crash_points.py [--step 1]

Adding, a step of the layers, archiving and re-indexing, each of several transactions. What a kill leaves must be what one
of them left in an undisturbed run, row by row; done again, it must come to the same end.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memory.library import archive, intake, reindex
from memory.library.embedder import embed
from memory.library.layers.preset import INVESTOR_BENCH
from memory.library.layers.step import Feedback
from memory.library.steps import step_layers
from memory.store.library_tables import libraries
from tests.library.test_items import raw
from tests.library.test_search import Letters
from tests.syscalls import MODES, Mode, traced
from tests.worlds.memory_databases import experience

if TYPE_CHECKING:
    from retro.store.database import Store

__all__ = ["WORKS", "LibraryStage"]

FIRST, OTHER = Letters(), Letters(name="other")
NOON: Final = 1_772_366_400_000_000
"""Of the day after the items'."""
ITEMS: Final = [
    raw("a", text="aab", symbol="ETH", layer="short", importance=90.0),
    raw("b", text="abb", symbol="ETH", layer="mid", importance=50.0, parents=["a"]),
    raw("c", text="aaab", symbol="ETH", layer="long", importance=5.0, metadata={"desk": "x"}),
    raw("d", text="abab", parents=["b", "elsewhere"]),
]
TOLD: Final = [
    raw("e", text="bba", symbol="ETH", layer="short", parents=["a"]),
    raw("f", text="baa", version_of="d"),
    raw("g", text="bab", collection="strategy_library", status="draft"),
    raw("h", text="abba", symbol="ETH", layer="reflection", parents=["e"]),
]


def _add(store: Store) -> Iterator[None]:
    for start in (0, 2):
        items, _ = intake.validated(TOLD[start : start + 2])
        vectors = embed(FIRST, items)
        with store.write() as conn:
            intake.add(conn, items, embedded=vectors)
        yield


def _step(store: Store) -> Iterator[None]:
    for day in range(2):
        with store.write() as conn:
            feedback = [Feedback("b", -1), Feedback("a", 1)]
            step_layers(conn, "ada", "ETH", at=NOON + day * 10**11, preset=INVESTOR_BENCH, feedback=feedback)
        yield


def _archive(store: Store) -> Iterator[None]:
    for ids in (["a", "b"], ["c"]):
        with store.write() as conn:
            archive.archive_items(conn, "ada", ids, NOON, "unused")
        yield


def _reindex(store: Store) -> Iterator[None]:
    with store.write() as conn:
        reindex.begin_reindex(conn, "ada", OTHER.name)
    yield
    while True:
        with store.read() as conn:
            items = reindex.items_without(conn, "ada", OTHER.name, 2)
        vectors = embed(OTHER, items)
        with store.write() as conn:
            if items:
                reindex.store_vectors(conn, "ada", vectors)
            elif reindex.finish_reindex(conn, "ada", OTHER.name, OTHER.dimensions):
                break
        yield
    yield


WORKS: Final[dict[str, Callable[[Store], Iterator[None]]]] = {
    "add": _add,
    "step": _step,
    "archive": _archive,
    "reindex": _reindex,
}
"""What writes, transaction by transaction."""


def _rows(store: Store) -> list[Any]:
    """All that is stored of libraries, table by table."""
    tables = [table for table in libraries.metadata.sorted_tables if table.name.startswith("memory_")]
    with store.read() as conn:
        return [(t.name, sorted(repr(tuple(row)) for row in conn.execute(t.select()))) for t in tables]


class LibraryStage:
    """A library, something to do with it, and what an undisturbed run leaves after each transaction."""

    def __init__(self, folder: Path, work: str) -> None:
        self.folder, self.work = folder, WORKS[work]
        self.blank = folder / "blank.db"
        with experience(str(self.blank)) as store:
            items, _ = intake.validated(ITEMS)
            with store.write() as conn:
                intake.add(conn, items, embedded=embed(FIRST, items))
        path = self._take("calm")
        with experience(str(path)) as store:
            self.states = [_rows(store), *(_rows(store) for _ in self.work(store))]
        self.points = traced(lambda: self.run(self._take("counted"))).calls

    def run(self, path: Path) -> None:
        """A process: all of the work."""
        with experience(str(path)) as store:
            for _ in self.work(store):
                pass

    def disturbed(self, mode: Mode, point: int) -> int:
        """One point: disturb a run there, look at what it left, go on from it; how it ended."""
        path = self._take(f"{mode} {point}")
        code = traced(lambda: self.run(path), mode, point).code
        where = f"{mode} {point}: {self.points[point - 1]}"
        with experience(str(path)) as store:
            with store.read() as conn:
                assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok", where
            left = _rows(store)
        assert left in self.states, where
        if left != self.states[-1]:  # else all of it was done when the end was refused
            self.run(path)
            with experience(str(path)) as store:
                assert _rows(store) == self.states[-1], where
        path.unlink()
        return code

    def sweep(self, step: int = 1) -> Counter[str]:
        """Every `step`-th point in every way; how often a run died, gave up and lived."""
        ends = Counter[str]()
        for number, mode in enumerate(MODES):
            for point in range(1 + number * step // len(MODES), len(self.points) + 1, step):
                code = self.disturbed(mode, point)
                ends["killed" if code < 0 else "gave up" if code else "lived"] += 1
        return ends

    def _take(self, name: str) -> Path:
        return Path(shutil.copy(self.blank, self.folder / f"{name}.db"))


def main() -> None:
    """Sweep and print the figures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--step", type=int, default=1, help="every n-th point only")
    arguments = options.parse_args()
    for work in WORKS:
        with tempfile.TemporaryDirectory() as name:
            stage = LibraryStage(Path(name), work)
            ends = stage.sweep(arguments.step)
        print(
            f"{work:8} {len(stage.points):4} system calls that write, {ends.total():4} points swept: {dict(ends)}"
        )
    print(
        "0 half items: each kill left what a whole transaction leaves, and the work done again came to the same end"
    )


if __name__ == "__main__":
    main()
