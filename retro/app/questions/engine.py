"""How a fleet of workers is: what its engine says, and what the ledger has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.periods import SECOND
from retro.report.metrics import EngineCounts, ReworkCounts, WorkersReport
from retro.store.jobs.backlog import backlog_of, letter_buckets, ripe_buckets
from retro.store.locks import BUCKETS
from retro.store.migrations.engine import engine_state, has_engine
from retro.store.rework import count_failures, count_open, failures

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.store.database import Store

__all__ = ["workers"]

_FAILURES: Final = 20
"""So many agents are named."""


def workers(store: Store, now: int) -> WorkersReport:
    """All of it from one state of the database, in a few look-ups for each bucket."""
    with store.read() as conn:
        has_server = store.dialect == "postgresql"
        backlog = backlog_of(conn, now)
        state = engine_state(conn) if has_server and has_engine(conn) else None
        return WorkersReport(
            has_server=has_server,
            engine=None if state is None else EngineCounts(**state._asdict()),
            buckets=BUCKETS,
            ripe=len(ripe_buckets(conn, now)),
            with_letters=len(letter_buckets(conn, now)),
            due=sum(backlog.due.values()),
            lag_s=None if backlog.oldest_due_at is None else max(0.0, (now - backlog.oldest_due_at) / SECOND),
            running=backlog.running,
            parked=backlog.parked,
            rework=_rework(conn),
        )


def _rework(conn: Connection) -> ReworkCounts | None:
    agents = count_open(conn)
    if not agents:
        return None
    return ReworkCounts(left=agents, failed=count_failures(conn), failures=failures(conn, _FAILURES))
