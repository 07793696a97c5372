"""A thousand random worlds against the laws of sums and bytes: closure, additivity, any order of telling.

    python -m benchmarks.worlds [--worlds 1000] [--first 0] [--processes 2] [--journals DIR]

Each world is a life of 7 to 14 days made from its seed (`tests/worlds/chance`), reviewed and held to a ledger of balances
that knows nothing of our attribution. One table of laws; where one breaks, the seed and the smallest journal that still
breaks it, and exit 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tests.worlds.chance.acts import live
from tests.worlds.chance.laws import LAWS, Breach, broken
from tests.worlds.chance.shrink import smallest
from tests.worlds.chance.world import lines_of

if TYPE_CHECKING:
    from tests.worlds.chance.world import WorldFacts

REVIEWED = "every life can be reviewed"


def judged(world: WorldFacts, *, pieces: bool = True) -> list[Breach]:
    """The laws a world breaks, a crash among them."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return broken(world, Path(folder), pieces=pieces)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a world that cannot be reviewed
            return [Breach(REVIEWED, type(error).__name__, str(error)[:200], "a review")]


def judge(seed: int) -> list[Breach]:
    return judged(live(seed))


def reduce(seed: int, law: str, folder: Path) -> Path:
    """Write the smallest journal of a world that still breaks a law, with its shared marks beside it."""
    pieces = not any(breach.law == law for breach in judged(live(seed), pieces=False))
    world = smallest(
        live(seed), lambda some: any(breach.law == law for breach in judged(some, pieces=pieces))
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{seed}-{law.partition(',')[0].replace(' ', '-')}.jsonl"
    path.write_bytes(lines_of(world.events))
    for series in world.shared:
        rows = zip(series.t.tolist(), series.price.tolist(), strict=True)
        marks = "".join(f"{t / 1e6},{price}\n" for t, price in rows)
        path.with_suffix(f".{series.instrument.replace('/', '-')}.csv").write_text(
            f"timestamp,price\n{marks}"
        )
    return path


def main() -> int:
    """Judge the worlds, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--journals", type=Path, default=Path(tempfile.gettempdir()) / "broken-worlds")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.worlds)
    started, found = time.perf_counter(), defaultdict(list)
    with ProcessPoolExecutor(options.processes) as pool:
        for seed, breaches in zip(seeds, pool.map(judge, seeds, chunksize=5), strict=True):
            for law in {breach.law for breach in breaches}:
                found[law].append((seed, next(b for b in breaches if b.law == law)))
    print(f"{len(seeds)} worlds in {time.perf_counter() - started:.0f} s")
    for law in (*LAWS, REVIEWED):
        print(f"  {law:58}{len(found[law]):6} broken")
    for rows in filter(None, found.values()):
        seed, breach = rows[0]
        print(f"\n{breach}\n  seeds {', '.join(str(s) for s, _ in rows[:20])}")
        print(f"  smallest journal of seed {seed}: {reduce(seed, breach.law, options.journals)}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
