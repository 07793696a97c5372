"""Ingest against a raw executemany of the same rows into the same tables, as a ratio measured in one run.

    python benchmarks/ingest.py [--events 1000000] [--postgres]

Three figures: the raw executemany, `facts.add`, and `retro ingest journal` from file to disk. The bar: the last takes
at most twice the first, and memory does not grow with the file.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from retro.model import Row
from retro.store import facts
from retro.store.engine import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 10_000
START = 1_770_000_000_000_000


def life(events: int) -> Iterator[Row]:
    """A busy agent's journal: fills, decisions, funding and costs, a position every eight events."""
    draw = random.Random(1)
    for i in range(events):
        at = START + i * 1_000_000 + draw.randrange(1_000_000)
        position = f"p{i // 8}"
        stamp = f'"id":"e{i}","agent":"bench","at":{at // 1000}'
        match i & 3:
            case 0:
                kind, rest = (
                    "fill",
                    (
                        f'"position":"{position}","instrument":"ETH/USDC","side":"buy","quantity":"{draw.random():.6f}",'
                        f'"price":"{3000 + draw.random():.2f}","fee":"0.31","order":"o{i}"'
                    ),
                )
            case 1:
                kind, rest = (
                    "decision",
                    (
                        f'"action":"hold","position":"{position}","instrument":"ETH/USDC",'
                        f'"reasoning":"momentum still up, H-{i % 20} says wait for the retest","confidence":0.62'
                    ),
                )
            case 2:
                kind, rest = (
                    "flow",
                    (
                        f'"position":"{position}","kind":"funding_paid","asset":"USDC","quantity":"{draw.random():.6f}"'
                    ),
                )
            case _:
                position = None
                kind, rest = (
                    "cost",
                    '"kind":"inference","amount":"0.0123","tier":"T1","model":"m","tokens_in":900',
                )
        yield Row("bench", kind, f"e{i}", at // 1000 * 1000, position, f'{{"type":"{kind}",{stamp},{rest}}}')


def raw(store: Store, events: int) -> Iterator[float]:
    """Seconds of executemany on the driver's own connection, commit included; making the rows is not counted."""
    rows = life(events)
    with store.write() as conn:
        conn.exec_driver_sql("INSERT INTO agents (name, events) VALUES ('bench', 0)")
        key = conn.exec_driver_sql("SELECT key FROM agents").scalar_one()
        cursor = conn.connection.cursor()
        mark = "?" if store.dialect == "sqlite" else "%s"
        statement = (
            f"INSERT INTO events (agent, type, id, at, position, body) VALUES ({key}{f', {mark}' * 5})"
        )
        while batch := [row[1:] for row in islice(rows, BATCH)]:
            began = time.perf_counter()
            cursor.executemany(statement, batch)
            yield time.perf_counter() - began
        began = time.perf_counter()
    yield time.perf_counter() - began


def added(store: Store, events: int) -> Iterator[float]:
    """Seconds of `facts.add`, commit included; making the rows is not counted."""
    rows = life(events)
    with store.write() as conn:
        while batch := list(islice(rows, BATCH)):
            began = time.perf_counter()
            facts.add(conn, batch, where="bench", lines=None)
            yield time.perf_counter() - began
        began = time.perf_counter()
    yield time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory() as directory:
        figures = {}
        for name, measured in (("raw executemany", raw), ("facts.add", added)):
            store = open_store(str(Path(directory) / f"{measured.__name__}.db"))
            figures[name] = sum(measured(store, events))
            print(f"{name:<24}{figures[name]:8.2f} s  {events / figures[name]:>10,.0f} events/s", flush=True)
            store.close()
        print(f"facts.add / raw executemany: {figures['facts.add'] / figures['raw executemany']:.2f}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
