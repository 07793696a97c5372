"""What the evaluators add to a weekly review: CPU of the whole review and of that part, at 1x and 100x the history.

The same trades and claims a week, however long the life; 1x is 3 weeks. Bar: at most 1.25 of a review
without them, at both. CPU time of this process, not the clock; the least of several runs.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.review import HOUR, START, trade
from retro.app.reviews.build import review_period
from retro.app.reviews.evaluators import evaluators_of
from retro.app.reviews.window import Window, grid_of
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settings import settings_of
from retro.app.settlement.settle import settled_book
from retro.config import Config
from retro.store.database import open_store
from retro.store.facts import agents
from retro.surface.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable

WEEK = 7 * 24
TRADES, CLAIMS = 10, 56
"""A week."""


def journal(path: Path, weeks: int) -> None:
    """Trades that cite rules, and claims in two categories and three regimes, of which each resolves six hours later."""
    rng = random.Random(1)
    with path.open("w") as out:

        def tell(event_type: str, number: str, at: int, **fields: object) -> None:
            event = {"type": event_type, "id": number, "agent": "bench", "at": at, **fields}
            out.write(json.dumps(event, separators=(",", ":")) + "\n")

        tell("equity", "e0", START, balances={"USDC": 100000})
        price = [100.0]
        for hour in range(weeks * WEEK):
            price.append(round(price[-1] * (1 + rng.gauss(0, 0.004)), 4))
            if hour % 4 == 0:
                tell("mark", f"m{hour}", START + hour * HOUR, instrument="C/USDC", price=price[hour])
        for n in range(weeks * TRADES):
            first = n * WEEK // TRADES
            trade(tell, n, "C/USDC", price, first, first + rng.randint(1, 10))
        for n in range(weeks * CLAIMS - 2):
            at = START + n * WEEK * HOUR // CLAIMS
            about = {
                "category": rng.choice(["price", "yield"]),
                "regime": rng.choice(["ranging", "up", "down"]),
            }
            sure = rng.choice([0.6, 0.65, 0.7, 0.8, 0.9])
            tell("prediction", f"q{n}", at, predicted=rng.gauss(0, 1), confidence=sure, **about)
            tell("resolution", f"r{n}", at + 6 * HOUR, prediction=f"q{n}", actual=rng.gauss(0.2, 1))
        tell("decision", "end", START + weeks * WEEK * HOUR, action="hold")


def least(runs: int, work: Callable[[], object]) -> float:
    """The least CPU seconds of several runs."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    """Print the cost of both, and the ratio, at each length of life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=3, help="weeks at 1x")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    for times in (1, 100):
        with tempfile.TemporaryDirectory() as place:
            weeks = asked.weeks * times
            path, database = Path(place, "j.jsonl"), f"{place}/r.db"
            journal(path, weeks)
            run(["-q", "--db", database, "ingest", "journal", str(path)])
            whole, part = costs(database, asked.runs)
        print(
            f"{times:3}x: {weeks:,} weeks, {weeks * CLAIMS:,} claims: review {whole * 1000:.1f} ms, of it"
            f" evaluators {part * 1000:.1f} ms, ratio {whole / (whole - part):.3f}"
        )


def costs(database: str, runs: int) -> tuple[float, float]:
    """CPU seconds of the last weekly review, and of its evaluators."""
    store = open_store(database)
    with store.read() as conn:
        agent = agents.existing_agent(conn, "bench")
    settings = settings_of(Config(), agent, None)
    period = choose_period(agent, settings, "weekly")
    with settled_book(store, "bench", settings) as book:
        window = Window(period, grid_of(period, settings), book.known_until, period.end)
        both = (
            least(runs, lambda: review_period(book, period)),
            least(runs, lambda: evaluators_of(book, window)),
        )
    store.close()
    return both


if __name__ == "__main__":
    main()
