"""A re-indexing that is killed at a system call leaves the library searched by one model whole, and goes on from there."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from memory.library import reindex
from memory.library.embedder import embed
from tests.library.test_items import raw
from tests.library.test_search import Letters, ids, tell
from tests.syscalls import CAN_TRACE, MODES, traced
from tests.worlds.memory_databases import experience

OTHER = Letters(name="other")
POINTS = 2
"""Of each way of dying: all of them take a minute."""


def rebuild(path: Path) -> None:
    """What `retro library reindex` does, two items at a time."""
    with experience(str(path)) as store:
        with store.write() as conn:
            reindex.begin_reindex(conn, "ada", OTHER.name)
        while True:
            with store.read() as conn:
                items = reindex.items_without(conn, "ada", OTHER.name, 2)
            with store.write() as conn:
                if items:
                    reindex.store_vectors(conn, "ada", embed(OTHER, items))
                elif reindex.finish_reindex(conn, "ada", OTHER.name, OTHER.dimensions):
                    return


@pytest.mark.skipif(not CAN_TRACE, reason="the tracer is Linux's on x86-64")
def test_a_killed_reindexing_leaves_one_model_and_goes_on(tmp_path: Path) -> None:
    blank = tmp_path / "blank.db"
    with experience(str(blank)) as store:
        tell(store, [raw(f"i{number}", text="a" * number + "b") for number in range(5)])
        expected = ids(store, "aab")
    calm = Path(shutil.copy(blank, tmp_path / "calm.db"))
    calls = len(traced(partial(rebuild, calm)).calls)
    assert calls > 20
    for number, mode in enumerate(MODES):
        for place in range(POINTS):
            point = 1 + (place * calls + number * calls // 3) // POINTS % calls
            path = Path(shutil.copy(blank, tmp_path / f"{mode} {point}.db"))
            traced(partial(rebuild, path), mode, point)
            with experience(str(path)) as store:
                with store.read() as conn:
                    assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
                    state = reindex.index_state(conn, "ada")
                assert state.vectors[state.model] == 5
                assert ids(store, "aab", Letters(name=state.model)) == expected
            rebuild(path)
            with experience(str(path)) as store, store.read() as conn:
                assert reindex.index_state(conn, "ada").vectors == {OTHER.name: 5}
            with experience(str(path)) as store:
                assert ids(store, "aab", OTHER) == expected
