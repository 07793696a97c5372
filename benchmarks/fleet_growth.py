"""What each statement of a knock and of a claim costs beside 1,000 and beside 30,000 agents.

    python -m benchmarks.fleet_growth [--few 1000] [--many 30000]

Two databases of one PostgreSQL get a crowd each, the few and the many, in which every agent has a week that is due and a
letter that waits, and is to be looked at anew. Every statement is asked of one and of the other in turn and rolled back, so
that whatever else the machine does meanwhile falls on both. Bars: 1.3 times as much (or a millisecond more, which no clock here tells apart), and
20 ms for one shared mark told. What a sweep asks once in half a minute is a step for each bucket that has work, of which a
thousand agents have 635 and the many all 1,024: it is held against its cost a bucket.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import psycopg
from sqlalchemy import make_url

from benchmarks.fleet import Server, server
from retro.model import MarkSeries
from retro.periods import HOUR, SECOND, parse_instant
from retro.store.database import Store, open_store
from retro.store.facts import agents, faults, marks
from retro.store.jobs import backlog, claims, enrolments, outbox, reviews
from retro.store.locks import bucket_of
from retro.store.rework import next_of_bucket
from tests.store.crowd import FIRST_KEY, enlist_crowd, grow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

NOW = parse_instant("2026-06-01T02:00:00Z")
BAR = 1.3
TOLD_APART_MS = 1.0
BY_BUCKET = ("buckets with work", "buckets with letters", "buckets to rework")
SHARED_MS = 20
ROUNDS = 40


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
        "next to rework in it": lambda conn: next_of_bucket(conn, bucket),
        "buckets with work": lambda conn: backlog.ripe_buckets(conn, NOW),
        "buckets with letters": lambda conn: backlog.letter_buckets(conn, NOW),
        "buckets to rework": backlog.rework_buckets,
    }


def measure(few: Store, many: Store) -> dict[str, tuple[float, float]]:
    """Milliseconds of each in both, medians."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in asked()}
    for _ in range(ROUNDS):
        for name, question in asked().items():
            for store, taken in zip((few, many), times[name], strict=True):
                with store.write() as conn:
                    started = time.perf_counter()
                    question(conn)
                    taken.append(1000 * (time.perf_counter() - started))
                    conn.rollback()
    return {name: (float(np.median(own)), float(np.median(theirs))) for name, (own, theirs) in times.items()}


def crowded(place: Server, name: str, agents: int) -> Store:
    """A database of its own with so many agents and one shared series."""
    with psycopg.connect(place.url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}")
    store = open_store(make_url(place.url).set(database=name).render_as_string(hide_password=False))
    with store.write() as conn:
        series = MarkSeries(None, "ETH/USDC", np.array([NOW - HOUR]), np.array([1990.0]), None, None)
        marks.add(conn, series, where="candles")
    grow(store, agents, NOW, due=True)
    enlist_crowd(store)
    return store


def _filled(agents: int) -> int:
    """How many buckets so many agents of a crowd lie in."""
    return len({bucket_of(f"crowd-{FIRST_KEY + number}") for number in range(agents)})


def main() -> int:
    """Print milliseconds at both sizes and the ratio; 1 where one is above the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--few", type=int, default=1000)
    parser.add_argument("--many", type=int, default=30_000)
    given = parser.parse_args()
    with server() as place:
        stores = crowded(place, "few", given.few), crowded(place, "many", given.many)
        medians, buckets = measure(*stores), _filled(given.many) / _filled(given.few)
        for store in stores:
            store.close()
    passed = medians["tell a shared mark"][1] <= SHARED_MS
    print(f"{'':24}{given.few:>10,}{given.many:>10,}     ratio   (ms, median of {ROUNDS})")
    for name, (few, many) in medians.items():
        more = buckets if name in BY_BUCKET else 1.0
        fits = many <= max(BAR * more * few, more * few + TOLD_APART_MS)
        passed &= fits
        print(f"{name:24}{few:10.2f}{many:10.2f}{many / few:10.2f}{'' if fits else '   above'}")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
