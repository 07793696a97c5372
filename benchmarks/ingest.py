"""Ingest against a raw executemany of the same rows into the same tables, as a ratio measured in one run.

    python benchmarks/ingest.py [--events 1000000] [--rounds 2]

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

from retro.app.intake.ingest import ingest
from retro.app.settlement.settings import settings_of
from retro.config import Config
from retro.ingest.journal.parallel import read_path
from retro.model import EventRow
from retro.store.database import Store, open_store
from retro.store.facts import events as facts

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 10_000
START = 1_770_000_000_000_000


def life(events: int) -> Iterator[EventRow]:
    """A busy agent's journal: fills, decisions, funding and costs, a position every eight events."""
    draw = random.Random(1)
    for i in range(events):
        at = START + i * 1_000_000 + draw.randrange(1_000_000)
        position: str | None = f"p{i // 8}"
        stamp = f'"id":"e{i}","agent":"bench","at":{at // 1000}'
        match i & 3:
            case 0:
                kind, fields = (
                    "fill",
                    (
                        f'"position":"{position}","instrument":"ETH/USDC","side":"buy","quantity":"{draw.random():.6f}",'
                        f'"price":"{3000 + draw.random():.2f}","fee":"0.31","order":"o{i}"'
                    ),
                )
            case 1:
                kind, fields = (
                    "decision",
                    (
                        f'"action":"hold","position":"{position}","instrument":"ETH/USDC",'
                        f'"reasoning":"momentum still up, H-{i % 20} says wait for the retest","confidence":0.62'
                    ),
                )
            case 2:
                kind, fields = (
                    "flow",
                    (
                        f'"position":"{position}","kind":"funding_paid","asset":"USDC","quantity":"{draw.random():.6f}"'
                    ),
                )
            case _:
                position = None
                kind, fields = (
                    "cost",
                    '"kind":"inference","amount":"0.0123","tier":"T1","model":"m","tokens_in":900',
                )
        yield EventRow(
            "bench", kind, f"e{i}", at // 1000 * 1000, position, f'{{"type":"{kind}",{stamp},{fields}}}'
        )


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


def whole(store: Store, events: int) -> Iterator[float]:
    """Seconds from a journal file to the committed store: what `retro ingest journal` does."""
    assert store.path is not None
    journal = store.path.with_suffix(".jsonl")
    with journal.open("w") as out:
        out.writelines(row.body + "\n" for row in life(events))
    began = time.perf_counter()
    batches = read_path(str(journal), now=START + events * 1_000_000)
    done = ingest(store, str(journal), batches, lambda agent: settings_of(Config(), agent, None))
    yield time.perf_counter() - began
    assert done.stored == events, done
    journal.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts")
    arguments = parser.parse_args()
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as directory:
        for turn in range(arguments.rounds):
            for name, measured in (("raw executemany", raw), ("facts.add", added), ("retro ingest", whole)):
                path = Path(directory) / f"{measured.__name__}-{turn}.db"
                store = open_store(str(path))
                best[name] = min(best.get(name, 1e9), sum(measured(store, arguments.events)))
                store.close()
                path.unlink()
    for name, seconds in best.items():
        ratio = seconds / best["raw executemany"]
        print(f"{name:<18}{seconds:8.2f} s {arguments.events / seconds:>10,.0f} events/s {ratio:6.2f} x raw")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
