"""What the evaluators add to a weekly review: CPU of the whole review and of that part, at 1x and 100x the history.

The same trades and claims a week, however long the life; 1x is 3 weeks. Forecasts are made by two tiers of inference, a
`[[shadow]]` rule runs since the first day, the agent tells of a strategy of its own, and a playbook has rules that the trades
cite. Bar: at most 1.25 of a review without them, at both. CPU time of this process, not the clock; the least of several runs.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import playbook
from benchmarks.review import HOUR, START, trade
from retro.app.reviews.build import inputs_of, review_period
from retro.app.reviews.evaluators import evaluators_of
from retro.app.reviews.window import Window, grid_of
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settings import settings_of
from retro.app.settlement.settle import settled_book
from retro.config import Config
from retro.store.books import positions
from retro.store.database import open_store
from retro.store.facts import agents
from retro.surface.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable

WEEK = 7 * 24
TRADES, CLAIMS = 10, 56
"""A week."""
FIRST = date(2020, 1, 1).toordinal()
CONFIGURATION = {
    "shadow": [{"name": "tight", "agent": "bench", "rule": "stop -1%", "since": date(2020, 1, 1)}]
}
PLAYBOOK = "## Global\n" + "".join(
    f"- H-{n} [0.50] rule {'abcdefg'[n]} {{since: 2020-01-01; status: active}}\n" for n in range(7)
)


def journal(path: Path, weeks: int, *, words: bool) -> None:
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
            tier, paid = rng.choice([("T1", 0.01), ("T2", 0.05)])
            tell("decision", f"c{n}", at, action="hold", tier=tier)
            tell("cost", f"i{n}", at, kind="inference", tier=tier, amount=paid)
            tell(
                "prediction",
                f"q{n}",
                at,
                decision=f"c{n}",
                predicted=rng.gauss(0, 1),
                confidence=sure,
                **about,
            )
            tell("resolution", f"r{n}", at + 6 * HOUR, prediction=f"q{n}", actual=rng.gauss(0.2, 1))
        for day in range(weeks * 7 - 1) if words else ():
            at, name = START + (24 * day + 23) * HOUR, date.fromordinal(FIRST + day).isoformat()
            tell("shadow", f"w{day}", at, shadow="paper", day=name, pnl=round(rng.gauss(0, 3), 2))
        tell("decision", "end", START + weeks * WEEK * HOUR, action="hold")


def least(runs: int, *works: Callable[[], object]) -> list[float]:
    """The least CPU seconds of each of several works; they take turns, so that a busy machine weighs on all alike."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, taken in zip(works, seconds, strict=True):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in seconds]


def main() -> None:
    """Print the cost of both, and the ratio, at each length of life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=3, help="weeks at 1x")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--without-words", action="store_true", help="no strategy that the agent tells of itself"
    )
    asked = parser.parse_args()
    for times in (1, 100):
        with tempfile.TemporaryDirectory() as place:
            weeks = asked.weeks * times
            path, database = Path(place, "j.jsonl"), f"{place}/r.db"
            journal(path, weeks, words=not asked.without_words)
            run(["-q", "--db", database, "ingest", "journal", str(path)])
            settling, whole, part = costs(database, asked.runs)
        print(
            f"{times:3}x: {weeks:,} weeks, {weeks * CLAIMS:,} claims: review {whole * 1000:.1f} ms, of it"
            f" evaluators {part * 1000:.1f} ms, ratio {whole / (whole - part):.3f}; settled whole in {settling:.2f} s"
        )


def costs(database: str, runs: int) -> tuple[float, float, float]:
    """CPU seconds of settling the life under its settings, of its last weekly review, and of the evaluators in it."""
    store = open_store(database)
    with store.read() as conn:
        agent = agents.existing_agent(conn, "bench")
    settings = settings_of(Config.model_validate(CONFIGURATION), agent, playbook.parse(PLAYBOOK.encode()))
    period = choose_period(agent, settings, "weekly")
    start = time.process_time()
    with settled_book(store, "bench", settings) as book:
        settling = time.process_time() - start
        window = Window(period, grid_of(period, settings), book.known_until, period.end)
        names = positions.alive(book.conn, "bench", window.start, period.end)
        inputs = inputs_of(book, window, names, at_marks=True)
        whole, part = least(
            runs, lambda: review_period(book, period), lambda: evaluators_of(book, window, inputs)
        )
    store.close()
    return settling, whole, part


if __name__ == "__main__":
    main()
