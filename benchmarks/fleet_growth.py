"""What each statement of a knock and of a claim costs beside 1,000 and beside 30,000 agents.

    python -m benchmarks.fleet_growth [URL] [--few 1000] [--many 30000]

The database (a PostgreSQL of its own; or at URL, an empty schema or a new SQLite file) gets a crowd in which every agent has a week that is
due and a letter that waits, first the few, then the many. Every statement is asked at both sizes and rolled back. Bars:
1.3 times as much, and 20 ms for one shared mark told. Times are of the clock: run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.fleet import server
from retro.model import MarkSeries
from retro.periods import HOUR, SECOND, parse_instant
from retro.store.database import Store, open_store
from retro.store.facts import agents, faults, marks
from retro.store.jobs import backlog, claims, enrolments, outbox, reviews
from retro.store.locks import bucket_of
from tests.store.crowd import FIRST_KEY, grow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

NOW = parse_instant("2026-06-01T02:00:00Z")
BAR = 1.3
ROUNDS = 30


def _mark(conn: Connection) -> None:
    series = MarkSeries(None, "ETH/USDC", np.array([NOW + HOUR]), np.array([2000.0]), None, None)
    marks.add(conn, series, where="candles")


def asked() -> dict[str, Callable[[Connection], object]]:
    """What is asked, by name; each is rolled back."""
    name = f"crowd-{FIRST_KEY + 1}"
    bucket = bucket_of(name)
    return {
        "claim 25 reviews": lambda conn: claims.claim(conn, "a", NOW, 90 * SECOND, limit=25),
        "claim a letter": lambda conn: outbox.claim(conn, "a", NOW, 90 * SECOND, "mail", digest=outbox.ALONE),
        "anything to do": lambda conn: enrolments.anything_to_do(conn, NOW),
        "any unsettled": lambda conn: enrolments.any_unsettled(conn, NOW),
        "unsettled": lambda conn: enrolments.unsettled(conn, NOW),
        "count what is due": lambda conn: backlog.count_due(conn, NOW),
        "make due": lambda conn: reviews.mark_due(conn, NOW),
        "expired leases": lambda conn: claims.QUEUE.has_expired_leases(conn, NOW, alone=False),
        "leases of the future": lambda conn: claims.QUEUE.has_future_leases(conn, NOW, SECOND, HOUR),
        "letters to send": lambda conn: outbox.ripe(conn, NOW),
        "recipients": outbox.pending_recipients,
        "find an agent": lambda conn: agents.agent(conn, name),
        "faults of an agent": lambda conn: faults.count(conn, name),
        "tell a shared mark": _mark,
        "claim in a bucket": lambda conn: claims.claim(conn, "a", NOW, 90 * SECOND, bucket=bucket),
        "anything to do in it": lambda conn: enrolments.anything_to_do(conn, NOW, bucket),
        "unsettled in it": lambda conn: enrolments.unsettled(conn, NOW, bucket),
        "make due in it": lambda conn: reviews.mark_due(conn, NOW, bucket=bucket),
        "buckets with work": lambda conn: backlog.ripe_buckets(conn, NOW),
        "buckets with letters": lambda conn: backlog.letter_buckets(conn, NOW),
    }


def measure(store: Store) -> dict[str, float]:
    """Milliseconds of each, the median of some rounds."""
    medians = {}
    for name, question in asked().items():
        times = []
        for _ in range(ROUNDS):
            with store.write() as conn:
                started = time.perf_counter()
                question(conn)
                times.append(1000 * (time.perf_counter() - started))
                conn.rollback()
        medians[name] = sorted(times)[len(times) // 2]
    return medians


def main() -> int:
    """Print milliseconds at both sizes and the ratio; 1 where one is above the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", nargs="?")
    parser.add_argument("--few", type=int, default=1000)
    parser.add_argument("--many", type=int, default=30_000)
    given = parser.parse_args()
    with ExitStack() as stack:
        store = open_store(given.url or stack.enter_context(server()).url)
        with store.write() as conn:
            series = MarkSeries(None, "ETH/USDC", np.array([NOW - HOUR]), np.array([1990.0]), None, None)
            marks.add(conn, series, where="candles")
        grow(store, given.few, NOW, due=True)
        few = measure(store)
        grow(store, given.many - given.few, NOW, due=True, first=FIRST_KEY + given.few)
        many = measure(store)
        store.close()
    worst = 0.0
    print(f"{'':24}{given.few:>10,}{given.many:>10,}     ratio   (ms, median of {ROUNDS})")
    for name, before in few.items():
        ratio = many[name] / before
        worst = max(worst, ratio)
        print(f"{name:24}{before:10.2f}{many[name]:10.2f}{ratio:10.2f}")
    return int(worst > BAR or many["tell a shared mark"] > 20)


if __name__ == "__main__":
    sys.exit(main())
