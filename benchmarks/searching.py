"""How often the best of a grid of twenty-four rules is called better where no rule can be: simulated lives.

    python -m benchmarks.searching [--worlds 400] [--processes 2]

Prices go nowhere on average (Student's t of 4 degrees, half a percent an hour). A row is a sort of life: the share of
worlds in which p_max is at most .05, with 2 standard errors, and that in which the least p of the 24 is, which is what
the best looks like when nobody counts the search. The last sort has a real edge: leaving earlier is better.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Final

from retro.evaluate.whatif.rule import GRID, parse_rule
from retro.evaluate.whatif.search import what_if
from tests.worlds.chance.driftless import driftless_lives

SORTS: Final[dict[str, dict[str, Any]]] = {
    "one at a time, 20 hours": {"a_day": 0.8, "hours": 20, "positions": 120},
    "ten at once, 60 hours": {"a_day": 4, "hours": 60, "positions": 200},
    "forty at once, 100 hours": {"a_day": 10, "hours": 100, "positions": 300},
    "one at a time, leaving late costs": {"a_day": 0.8, "hours": 20, "positions": 120, "edge": 0.002},
}


def searched(seed: int, life: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a world's search is called better at .05, and whether the best rule alone is."""
    report = what_if(
        driftless_lives(seed, **life), [parse_rule(text) for text in GRID], seed, with_rows=False
    )
    alone = min((row.p for row in report.rules if row.p is not None), default=1.0)
    return (report.search.p_max or 1.0) <= 0.05, alone <= 0.05


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    print(f"{'sort of life':36}{'search counted':>22}{'best alone':>14}")
    with ProcessPoolExecutor(options.processes) as pool:
        for name, life in SORTS.items():
            rows = list(pool.map(partial(searched, life=life), range(options.worlds), chunksize=10))
            called, alone = (sum(flags) / len(rows) for flags in zip(*rows, strict=True))
            error = 200 * (called * (1 - called) / len(rows)) ** 0.5
            print(f"{name:36}{100 * called:13.1f} % +- {error:3.1f}{100 * alone:12.1f} %")


if __name__ == "__main__":
    main()
