"""Many agents at once, by bulk SQL: what a database holds beside the agent that a test looks at, and what is asked of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from sqlalchemy import event, insert

from retro.periods import DAY, FOREVER, HOUR
from retro.store.books.positions import book
from retro.store.books.shared_marks import book_marks
from retro.store.database import Store
from retro.store.jobs.tables import documents, enrolments, outbox, reviews
from retro.store.locks import bucket_of
from retro.store.schema import agents, events, faults, source_agents

__all__ = ["Statement", "enlist_crowd", "grow", "plans", "watched"]

FIRST_KEY = 10_000_000
"""Keys of the crowd: beyond those that a database hands out by itself here."""
_MANY = 5000
WEEKS = 8
_SEARCHED = (
    "agents",
    "book",
    "book_marks",
    "enrolments",
    "events",
    "outbox",
    "reviews",
    "rework_agents",
    "faults",
    "review_documents",
)

Statement = tuple[str, Any]
Rows = Iterator[dict[str, Any]]


def grow(
    store: Store, count: int, now: int, *, due: bool = False, version: int = 1, first: int = FIRST_KEY
) -> None:
    """So many agents that lived eight weeks: everything reviewed, and (`due`) a week that is due and a letter that waits.

    Each noted two shared series, of which ETH/USDC is told in `version`.
    """
    crowd = _Crowd(range(first, first + count), now, due=due, version=version)
    tables = (
        (agents, crowd.agents()),
        (enrolments, crowd.enrolments()),
        (book, crowd.books()),
        (book_marks, crowd.notes()),
        (events, crowd.events()),
        (faults, crowd.faults()),
        (source_agents, crowd.sources()),
        (reviews, crowd.reviews()),
        (documents, crowd.documents()),
        (outbox, crowd.letters()),
    )
    with store.write() as conn:
        for table, rows in tables:
            while some := list(islice(rows, _MANY)):
                conn.execute(insert(table), some)
        for table, _ in tables:
            conn.exec_driver_sql(f"ANALYZE {table.name}")


def enlist_crowd(store: Store) -> None:
    """Have workers look anew at the reviews of every agent there is."""
    with store.write() as conn:
        conn.exec_driver_sql(
            "INSERT INTO rework_agents (agent, unit, since, at, bucket, by_workers)"
            " SELECT key, key / 100, 0, 0, bucket, 1 FROM agents"
        )
        conn.exec_driver_sql("ANALYZE rework_agents")


class _Crowd:
    """The rows of agents by their keys."""

    def __init__(self, keys: range, now: int, *, due: bool, version: int) -> None:
        self.keys, self.now, self.due, self.version = keys, now, due, version
        self.born = now // DAY * DAY - 7 * WEEKS * DAY

    def agents(self) -> Rows:
        for key in self.keys:
            yield {
                "key": key, "name": f"crowd-{key}", "first_at": self.born, "last_at": self.now - HOUR, "events": 9,
                "time_zone": "UTC", "epoch_days": 42, "day_grid": 1, "epoch_grid": 1, "watched": 1,
                "bucket": bucket_of(f"crowd-{key}"),
            }  # fmt: skip

    def enrolments(self) -> Rows:
        for key in self.keys:
            bucket = bucket_of(f"crowd-{key}")
            yield {
                "agent": key, "enrolled_at": self.born, "next_at": self.now + DAY, "losses_from": None, "bucket": bucket,
            }  # fmt: skip

    def books(self) -> Rows:
        for key in self.keys:
            yield {"agent": key, "dirty_from": None, "settings": "as they were", "opening": "{}"}

    def notes(self) -> Rows:
        for key in self.keys:
            for name in ("ETH/USDC", "ETH"):
                yield {"agent": key, "instrument": name, "version": self.version if name != "ETH" else 0}

    def events(self) -> Rows:
        for key in self.keys:
            for n in range(5):
                yield {
                    "seq": key * 10 + n, "agent": key, "type": "decision", "id": f"d{n}",
                    "at": self.born + n * DAY, "position": f"p{n}", "body": "{}",
                }  # fmt: skip

    def faults(self) -> Rows:
        for key in self.keys:
            yield {
                "key": f"{key}", "seq": key, "source": f"{key}.jsonl", "place": "x", "line": 1, "reason": "?",
                "agent": f"crowd-{key}" if key % 2 else None,
            }  # fmt: skip

    def sources(self) -> Rows:
        for key in self.keys:
            yield {"agent": key, "source": f"{key}.jsonl"}

    def reviews(self) -> Rows:
        for key in self.keys:
            bucket = bucket_of(f"crowd-{key}")
            for n in range(WEEKS + 2):
                start = self.born + 7 * n * DAY
                state = "done" if n < WEEKS else "due" if self.due and n == WEEKS else "waiting"
                yield {
                    "key": key * 100 + n, "agent": key, "id": f"crowd-{key}.weekly.{n}", "kind": "weekly",
                    "subject": "", "period_start": start, "period_end": start + 7 * DAY,
                    "due_at": self.now - HOUR if state == "due" else FOREVER if state == "waiting" else start,
                    "again_at": self.now + DAY if n == WEEKS - 1 else None, "state": state, "revision": 1,
                    "backfill": 0, "attempts": 0, "not_before": 0, "late": 0, "summed": 1,
                    "done_at": self.now if state == "done" else None, "bucket": bucket,
                }  # fmt: skip

    def documents(self) -> Rows:
        for key in self.keys:
            for n in range(WEEKS):
                yield {
                    "review": key * 100 + n, "revision": 1, "digest": "x", "document": "{}", "done_at": self.now,
                }  # fmt: skip

    def letters(self) -> Rows:
        for key in self.keys:
            bucket = bucket_of(f"crowd-{key}")
            for n in range(WEEKS):
                yield {
                    "key": key * 100 + n, "review": key * 100 + n, "revision": 1, "channel": "mail",
                    "recipient": "ada", "state": "pending" if self.due and n == WEEKS - 1 else "sent",
                    "digest": key % 2, "attempts": 0, "not_before": 0, "written_at": self.now, "agent": key,
                    "period_end": self.now, "bucket": bucket,
                }  # fmt: skip


@contextmanager
def watched(store: Store) -> Iterator[list[Statement]]:
    """Every statement that reads or changes rows, with its parameters, as the driver gets it."""
    statements: list[Statement] = []

    def note(_conn: Any, _cursor: Any, text: str, parameters: Any, _context: Any, executemany: bool) -> None:
        if re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT|WITH)", text):
            statements.append((text, parameters[0] if executemany else parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


def plans(store: Store, statements: list[Statement]) -> dict[str, str]:
    """Statement -> its plan, of those that read a table of the fleet, or one of its whole indexes, from end to end."""
    explain = "EXPLAIN" if store.dialect == "postgresql" else "EXPLAIN QUERY PLAN"
    reads = re.compile(
        r"Seq Scan on (\w+)"
        if store.dialect == "postgresql"
        else r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?"
    )
    whole: dict[str, str] = {}
    with store.write() as conn:
        partial = set(
            conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE sql LIKE '%INDEX%WHERE%'").scalars()
            if store.dialect == "sqlite"
            else ()
        )
        for text, parameters in statements:
            plan = "\n".join(str(row[-1]) for row in conn.exec_driver_sql(f"{explain} {text}", parameters))
            read = [(found[1], found[2] if reads.groups > 1 else None) for found in reads.finditer(plan)]
            if any(table in _SEARCHED and index not in partial for table, index in read):
                whole[text] = plan
        conn.rollback()
    return whole
