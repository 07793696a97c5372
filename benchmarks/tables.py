"""How fast a table is read by its mapping, and that memory does not grow with the file.

    python -m benchmarks.tables [--rows 25000]

CSV of fills at n, 2n and 4n rows: events a second of CPU from file to batches, and to disk with `ingest`; the peak of
Python's memory while reading. The bar: 20,000 events a second, and a peak that stays where it is.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

from retro.app.intake.ingest import ingest
from retro.app.settlement.settings import settings_of
from retro.config import Config
from retro.ingest.table.reader import read
from retro.store.database import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.model import Batch

NOW = 1_800_000_000_000_000
ORDERS = ("any", "oldest_first")
MAP = """
[source]
match = ["id", "time", "symbol"]
base = "quote"
order = "{order}"
[time]
column = "time"
format = "ms"
[fill]
id = "id"
instrument = {{ column = "symbol", quotes = ["USDT"], settle = "quote" }}
side = {{ column = "side", map = {{ BUY = "buy", SELL = "sell" }} }}
quantity = "qty"
price = "price"
fee = {{ column = "fee", asset = "fee_asset" }}
[stated]
realized = "pnl"
"""


def fills(path: Path, rows: int) -> None:
    draw = random.Random(1)
    with path.open("w") as file:
        file.write("id,time,symbol,side,qty,price,fee,fee_asset,pnl\n")
        for number in range(rows):
            side = "BUY" if number % 4 < 2 else "SELL"
            symbol = ("BTCUSDT", "ETHUSDT")[number % 2]
            price = 100 + draw.random()
            file.write(
                f"{number},{1_700_000_000_000 + number * 1000},{symbol},{side},1.5,{price:.2f},0.05,USDT,0.1\n"
            )


def reading(path: Path, mapping: Path) -> Iterator[Batch]:
    return read([path], agent="bench", zone=None, now=NOW, map=str(mapping))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=25_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for order in ORDERS:
            (folder / f"{order}.toml").write_text(MAP.format(order=order))
            for size in (rows, 2 * rows, 4 * rows):
                fills(folder / "fills.csv", size)
                began = time.process_time()
                events = sum(
                    batch.events for batch in reading(folder / "fills.csv", folder / f"{order}.toml")
                )
                seconds = time.process_time() - began
                tracemalloc.start()
                for _ in reading(folder / "fills.csv", folder / f"{order}.toml"):
                    pass
                peak = tracemalloc.get_traced_memory()[1] / 2**20
                tracemalloc.stop()
                print(
                    f"{order:>12}: {size:>9,} rows, {events:>9,} events, {events / seconds:>9,.0f} events/s, peak {peak:.1f} MiB"
                )
        store = open_store(str(folder / "bench.db"))
        config = Config()
        began = time.process_time()
        batches = reading(folder / "fills.csv", folder / "oldest_first.toml")
        done = ingest(store, "fills.csv", batches, lambda agent: settings_of(config, agent, None), now=NOW)
        seconds = time.process_time() - began
        print(f"     to disk: {done.events:,} events, {done.events / seconds:,.0f} events/s")
        store.close()


if __name__ == "__main__":
    main()
