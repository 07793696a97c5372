"""How long a person waits for what-ifs and twins: cold `retro` processes over thousands of positions.

    python -m benchmarks.counterfactuals [--runs 3]

Four coins on marks of one minute, positions of 1 to 24 hours with risk and rule. A grid of 24 over 5,000 positions, and 999
twins for each of 1,000: bars 3 s each. What one rule takes is what reading the life takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MINUTE, START = 60_000, 1_577_836_800_000  # ms; 2020-01-01
COINS = ("A", "B", "C", "D")


def life(folder: Path, positions: int, days: int) -> list[str]:
    """A database's arguments: marks a minute of each coin, and positions on them at any time."""
    rng = np.random.default_rng(1)
    minutes = days * 24 * 60
    database = ["--db", str(folder / f"{positions}.db")]
    prices = {
        coin: np.round(100 * np.exp(np.cumsum(rng.normal(0, 0.0005, minutes + 1))), 4) for coin in COINS
    }
    for coin, path in prices.items():
        file = folder / f"{coin}.csv"
        rows = (f"{START + n * MINUTE},{price}" for n, price in enumerate(path.tolist()))
        file.write_text("\n".join(["timestamp,price", *rows]) + "\n")
        asked = ["--instrument", f"{coin}/USDC", "--timeframe", "1m"]
        retro(*database, "ingest", "marks", str(file), *asked)
    events = [{"type": "equity", "id": "e", "at": START, "balances": {"USDC": 1_000_000}}]
    for n in range(positions):
        coin, held = COINS[n % len(COINS)], int(rng.integers(60, 24 * 60))
        first = int(rng.integers(0, minutes - held))
        events += trade(f"p{n}", coin, prices[coin], first, first + held)
    events.append({"type": "decision", "id": "end", "at": START + minutes * MINUTE, "action": "hold"})
    journal = folder / "life.jsonl"
    journal.write_text("".join(json.dumps({"agent": "bench", **event}) + "\n" for event in events))
    retro(*database, "ingest", "journal", str(journal))
    retro(*database, "review", "daily")  # settles the life
    return database


def trade(name: str, coin: str, path: np.ndarray, first: int, last: int) -> list[dict[str, object]]:
    """A position from one minute to another."""
    entry, exit_ = (
        {
            "type": "fill",
            "id": f"{name}-{side}",
            "at": START + minute * MINUTE,
            "position": name,
            "side": side,
            "quantity": 1,
            "price": float(path[minute]),
            "fee": 0.1,
        }
        for side, minute in (("buy", first), ("sell", last))
    )
    at = START + first * MINUTE
    held = {"position": name, "kind": "spot", "instrument": f"{coin}/USDC", "side": "long", "risk": 2}
    decided = {"action": "enter", "position": name, "cites": ["H-1"]}
    return [
        {"type": "position", "id": name, "at": at, **held},
        {"type": "decision", "id": f"{name}-d", "at": at, **decided},
        entry,
        exit_,
    ]


def retro(*words: str) -> tuple[float, float]:
    """Seconds of one process, by the clock and of CPU."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "retro", "-q", *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, worked


def main() -> None:
    """Print the seconds of each question, the least of several runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--days", type=int, default=120, help="of marks")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        many, few = (life(Path(place), positions, asked.days) for positions in (5_000, 1_000))
        for name, words in (
            ("a grid of 24 over 5,000 positions", [*many, "whatif", "--grid"]),
            ("one rule over 5,000 positions", [*many, "whatif", "exit-after 12h"]),
            ("999 twins each of 1,000 positions", [*few, "luck"]),
        ):
            clock, worked = map(min, zip(*(retro(*words) for _ in range(asked.runs)), strict=True))
            print(f"{name:36}{clock:6.2f} s, CPU {worked:.2f} s")


if __name__ == "__main__":
    main()
