"""How long a person waits: cold `retro` processes over small and large histories, one figure a line.

`weekly` is a cold `retro review weekly` over 10,000 trades. `history` is a daily review at 1, 10 and 100 times the
history (same trades a day), as ratios to the first. Bars: 1.5 s; ratios up to 1.2; `retro --help` 150 ms.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HOUR = 3_600_000  # ms
START = 1_577_836_800_000  # 2020-01-01


Tell = Callable[..., None]
"""Writes one event: type, id, instant, further fields."""


def journal(path: Path, trades: int, days: int) -> None:
    """A spot trader: entry and exit fills with decisions, hourly marks of ten instruments."""
    rng = random.Random(1)
    prices = {f"C{i}/USDC": 100.0 * (i + 1) for i in range(10)}
    with path.open("w") as out:

        def tell(event_type: str, number: str, at: int, **fields: object) -> None:
            event = {"type": event_type, "id": number, "agent": "bench", "at": at, **fields}
            out.write(json.dumps(event, separators=(",", ":")) + "\n")

        tell("equity", "e0", START, balances={"USDC": 100000})
        marks = {name: walk(tell, rng, name, start, days * 24) for name, start in prices.items()}
        for n in range(trades):
            name = rng.choice(list(prices))
            hour = int(n / trades * (days * 24 - 40))
            trade(tell, n, name, marks[name], hour, hour + rng.randint(1, 30))
        tell("decision", "end", START + days * 24 * HOUR, action="hold")


def walk(tell: Tell, rng: random.Random, name: str, start: float, hours: int) -> list[float]:
    """One instrument's hourly marks, told and returned."""
    path = [start]
    for _ in range(hours):
        path.append(round(path[-1] * (1 + rng.gauss(0, 0.004)), 4))
    for hour, price in enumerate(path):
        tell("mark", f"{name}-{hour}", START + hour * HOUR, instrument=name, price=price)
    return path


def trade(tell: Tell, n: int, name: str, path: list[float], first: int, last: int) -> None:
    """Trade n, about 500 USDC of an instrument, from one hour to another."""
    key, p0, p1 = f"p{n}", path[first], path[last]
    q = round(500 / p0, 6)
    at, end = (START + hour * HOUR + n % 1000 for hour in (first, last))
    fees = [round(q * price * 0.001, 6) for price in (p0, p1)]
    why = {"cites": [f"H-{n % 7}"], "reasoning": "because"}
    why_not = {"cites": [f"X-{n % 3}"], "reasoning": "enough"}
    tell("position", key, at, position=key, kind="spot", instrument=name, side="long", risk=15)
    tell("fill", f"a{n}", at, position=key, side="buy", quantity=q, price=p0, fee=fees[0])
    tell("decision", f"d{n}", at, position=key, action="enter", **why)
    tell("fill", f"b{n}", end, position=key, side="sell", quantity=q, price=p1, fee=fees[1])
    tell("decision", f"x{n}", end, position=key, action="exit", **why_not)


def retro(*words: str) -> float:
    """Seconds of one cold process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "retro", "-q", *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def median(runs: int, *words: str) -> float:
    """Median seconds of several cold processes."""
    return statistics.median(retro(*words) for _ in range(runs))


def main() -> None:
    """Print each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    print(f"retro --help                                {median(runs, '--help') * 1000:8.0f} ms")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        journal(folder / "t.jsonl", 10_000, 365)
        print(
            f"ingest, 10,000 trades and their marks       {retro('--db', f'{folder}/t.db', 'ingest', 'journal', f'{folder}/t.jsonl'):8.2f} s"
        )
        for form in ("text", "json", "html"):
            seconds = median(runs, "--db", f"{folder}/t.db", "review", "weekly", "--format", form)
            print(f"cold weekly review over 10,000 trades, {form:4}  {seconds:8.2f} s")
        first = None
        for times in (1, 10, 100):
            journal(folder / f"{times}.jsonl", 60 * times, 12 * times)
            retro("--db", f"{folder}/{times}.db", "ingest", "journal", f"{folder}/{times}.jsonl")
            seconds = median(runs, "--db", f"{folder}/{times}.db", "review", "daily")
            first = first or seconds
            print(
                f"daily review, {times:3}x history                 {seconds:8.2f} s   ratio {seconds / first:.2f}"
            )


if __name__ == "__main__":
    main()
