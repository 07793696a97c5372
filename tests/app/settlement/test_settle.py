"""The book is settled once, however many readers find it stale at the same moment."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from retro.report import dump
from retro.store.database import open_store
from tests.worlds.lives import live, report

DAY = 86_400_000
MONDAY = 1_772_409_600_000  # 2026-03-02
READERS = 6


def life() -> bytes:
    events = []
    for n in range(40):
        at, key = MONDAY + n * 3_600_000, {"agent": "bot", "position": f"p{n}"}
        events += [
            {"type": "position", "id": f"o{n}", "at": at, "kind": "spot", "instrument": "E/U", "side": "long", **key},
            {"type": "fill", "id": f"a{n}", "at": at, "side": "buy", "quantity": 1, "price": 10 + n % 3, **key},
            {"type": "decision", "id": f"d{n}", "at": at, "action": "enter", "cites": ["H-1"], **key},
            {"type": "fill", "id": f"b{n}", "at": at + DAY, "side": "sell", "quantity": 1, "price": 11, **key},
        ]  # fmt: skip
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def test_readers_who_find_the_book_stale_at_once_all_read_the_same(database_url: str) -> None:
    store = open_store(database_url)
    live(store, life())
    otherwise = {
        "retrospective": {"lot_method": "average"}
    }  # other settings: the book has to be settled anew
    ready = Barrier(READERS)

    def read(_: int) -> str:
        own = open_store(database_url)
        try:
            ready.wait()
            return dump(report(own, "bot", "weekly", configuration=otherwise))
        finally:
            own.close()

    with ThreadPoolExecutor(READERS) as readers:
        documents = set(readers.map(read, range(READERS)))
    assert documents == {dump(report(store, "bot", "weekly", configuration=otherwise))}
    store.close()
