"""The tables of the engine that knocks for a fleet: they are its own, in a schema of their own beside ours.

Nothing in them is needed: whoever drops or empties them loses knocks, and the next sweep asks for those again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.store.migrations.runner import APPLICATION_ID

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["EngineState", "engine_schema", "engine_state", "has_engine", "make_engine"]

_STALE_S = 20


class EngineState(NamedTuple):
    """What an engine says of itself: knocks that wait and that are answered, by queue; its workers.

    `stalled`: knocks whose worker gave no sign of life for 20 seconds, which the next sweep asks for again.
    """

    waiting: dict[str, int]
    answered: dict[str, int]
    stalled: int
    workers: int


def engine_schema(conn: Connection) -> str:
    """Where its tables lie: `fleet`, or beside a schema of ours that is called otherwise than `public` by its name."""
    ours: str = conn.exec_driver_sql("SELECT current_schema()").scalar_one()
    return "fleet" if ours == "public" else f"{ours}_fleet"


def has_engine(conn: Connection) -> bool:
    """Whether the tables are there."""
    query = "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename = 'procrastinate_jobs'"
    return bool(conn.exec_driver_sql(query, (engine_schema(conn),)).scalar_one())


def make_engine(conn: Connection, statements: str) -> bool:
    """Make the schema and, by the engine's own statements, its tables; whether there were none before."""
    conn.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (APPLICATION_ID,))
    if has_engine(conn):
        return False
    schema = engine_schema(conn)
    ours: str = conn.exec_driver_sql("SHOW search_path").scalar_one()
    conn.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    conn.exec_driver_sql(f'SET LOCAL search_path = "{schema}"')
    conn.exec_driver_sql(statements.replace("%", "%%"))
    conn.exec_driver_sql(f"SET LOCAL search_path = {ours}")
    return True


def engine_state(conn: Connection) -> EngineState:
    """What waits and who works, of tables that are there."""
    schema = engine_schema(conn)
    jobs, workers = (f'"{schema}".procrastinate_{name}' for name in ("jobs", "workers"))
    counted = f"SELECT status::text, queue_name, count(*) FROM {jobs} GROUP BY 1, 2 ORDER BY 1, 2"  # noqa: S608  a name of ours
    rows = conn.exec_driver_sql(counted).all()
    alive = f"last_heartbeat >= now() - interval '{_STALE_S} seconds'"
    stalled = (
        f"SELECT count(*) FROM {jobs} AS job WHERE status = 'doing' AND NOT EXISTS"  # noqa: S608  as above
        f" (SELECT 1 FROM {workers} AS worker WHERE worker.id = job.worker_id AND {alive})"
    )
    return EngineState(
        waiting={queue: number for status, queue, number in rows if status == "todo"},
        answered={queue: number for status, queue, number in rows if status == "doing"},
        stalled=conn.exec_driver_sql(stalled).scalar_one(),
        workers=conn.exec_driver_sql(f"SELECT count(*) FROM {workers} WHERE {alive}").scalar_one(),  # noqa: S608  as above
    )
