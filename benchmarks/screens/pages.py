"""What a page, a list and a window cost: bytes, milliseconds, beside what one would use without them."""

from __future__ import annotations

import gzip
import itertools
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from benchmarks.screens.house import AGENT, ROUNDS, Bar, milliseconds, serving
from retro.store.books import pages
from retro.store.database import Store, open_store

if TYPE_CHECKING:
    from benchmarks.screens.house import House

LIST_MS = 30.0
LARGE = 10_000
"""Positions beyond which Today may take longer."""
SCREENS = {
    "Today": ("/?", 14, 25.0),
    "a review": (f"/r/{AGENT}.weekly.2026-W10?", 20, 20.0),
    "a position": (f"/p/{AGENT}/p-1?", 12, 40.0),
    "positions": (f"/positions?agent={AGENT}&", 10, LIST_MS),
}
"""Its address, and how many KB and milliseconds it may take, packed, and drawn anew."""


def compare_pages(house: House, positions: int) -> list[Bar]:
    """Each screen: bytes, milliseconds when it is drawn anew, when nobody changed it, and beside a file of the same page."""
    bars = []
    folder = house.folder / "files"
    folder.mkdir()
    connection = house.connect()
    for name, (address, _, _) in SCREENS.items():
        body = house.get(connection, address)[1]
        (folder / f"{name.replace(' ', '-')}.html").write_bytes(gzip.decompress(body))
    port, number = house.port + 1, itertools.count()
    print(
        f"\n{'screen':14}{'KB packed':>10}{'ms':>8}{'its CPU':>9}{'again':>8}{'304':>8}{'a file, ms':>12}{'ratio':>8}"
    )
    with serving([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"], port, folder):
        for name, (address, kb, ms) in SCREENS.items():
            _, body, tag = house.get(connection, address)
            worked = house.processor_ms()
            anew = milliseconds(lambda address=address: house.get(connection, f"{address}n={next(number)}"))  # type: ignore[misc]
            worked = (house.processor_ms() - worked) / (ROUNDS + 1)
            again = milliseconds(lambda address=address: house.get(connection, address))  # type: ignore[misc]
            unchanged = milliseconds(lambda address=address, tag=tag: house.get(connection, address, tag))  # type: ignore[misc]
            file = f"/{name.replace(' ', '-')}.html"
            theirs = milliseconds(lambda file=file: house.get(house.connect(port), file))  # type: ignore[misc]
            size = len(body) / 1024
            print(
                f"{name:14}{size:10.1f}{anew:8.1f}{worked:9.1f}{again:8.1f}{unchanged:8.1f}{theirs:12.1f}{anew / theirs:8.1f}"
            )
            most = 40.0 if name == "Today" and positions > LARGE else ms
            bars += [Bar(f"{name}, packed", size, kb, "KB"), Bar(f"{name}, drawn anew", anew, most)]
            if name == "a review":
                bars.append(Bar("a review that nobody changed (304)", unchanged, 2.0))
            if name == "a position":
                bars.append(Bar("a position that nobody changed", again, 3.0))
    return bars


def compare_lists(house: House, positions: int) -> list[Bar]:
    """A page of a list at its beginning, far on and sorted, beside loading all of it."""
    connection = house.connect()
    list_address = SCREENS["positions"][0]
    places = {
        "first page": "",
        "page in the middle": f"after=copy-{positions // 2}",
        "page at the far end": f"after=copy-{positions - 200}",
        "sorted by regret": "sort=-regret",
        "filtered: pnl<0 held>1d": "q=pnl%3C0+held%3E1d",
        "filtered: eth": "q=eth",
    }
    times = {
        name: milliseconds(lambda query=query: house.get(connection, list_address + query))  # type: ignore[misc]
        for name, query in places.items()
    }
    store = open_store(house.url, create=False)
    whole = milliseconds(lambda: loaded(store), 3)
    store.close()
    print(
        f"\n{'of ' + format(positions, ',') + ' positions':28}{'ms':>8}{'of loading and sorting all of it':>36}"
    )
    for name, ms in times.items():
        print(f"{name:28}{ms:8.1f}{ms / whole:36.3f}")
    print(f"{'loading and sorting all':28}{whole:8.0f}")
    ratio = times["page in the middle"] / times["first page"]
    plain = [name for name in times if not name.startswith("filtered")]
    return [
        *(Bar(f"positions, {name}", times[name], LIST_MS) for name in plain),
        Bar("a page in the middle beside the first", ratio, 1.5, "times"),
    ]


def loaded(store: Store) -> list[Any]:
    """Every row of a list, as a spreadsheet has them, by its regret."""
    with store.read() as conn:
        rows = list(pages.positions_after(conn, AGENT, None, 1 << 40))
    return sorted(rows, key=lambda row: row.regret or 0.0, reverse=True)


def compare_windows(house: House, seconds: float) -> list[Bar]:
    """A window alone, and beside eight that listen without a pause."""
    connection = house.connect()
    alone = milliseconds(lambda: house.get(connection, "/"))
    end = time.monotonic() + seconds
    asked = [0] * 8

    def listen(number: int) -> None:
        mine = house.connect()
        while time.monotonic() < end:
            house.get(mine, "/-/pulse")
            asked[number] += 1
            time.sleep(0.05)  # a hundred times as often as a page does

    threads = [threading.Thread(target=listen, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    beside = milliseconds(lambda: house.get(connection, "/"))
    for thread in threads:
        thread.join()
    print(
        f"\nToday alone {alone:.1f} ms; beside eight windows that asked {sum(asked):,} times {beside:.1f} ms"
    )
    return [Bar("a ninth window beside one alone", beside / alone, 5.0, "times")]
