"""Questions about the database itself, for `retro doctor` and for whoever watches a fleet; they change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["ServerPressure", "damage", "server_pressure", "server_version"]

_PRESSURE: Final = """
SELECT
    (SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::float8 FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()),
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'),
    (SELECT CASE WHEN count(*) > 0 THEN coalesce(extract(epoch FROM max(replay_lag)), 0)::float8 END
        FROM pg_stat_replication)
"""
_DEAD_ROWS: Final = """
SELECT relname, n_dead_tup FROM pg_stat_user_tables
WHERE (schemaname = current_schema() AND relname = 'reviews') OR (schemaname = %s AND relname = 'procrastinate_jobs')
ORDER BY relname
"""


class ServerPressure(NamedTuple):
    """What slows a PostgreSQL down before anything fails; of other users' sessions a server says only what its role may see.

    `oldest_snapshot_s`: for how long the oldest open transaction keeps dead rows from being cleaned up, None without one.
    `standby_lag_s`: how far the slowest standby is behind, None without one. `lock_waits`: sessions that wait for a lock.
    `dead_rows`: of the ledger's reviews and of the engine's knocks, by table.
    """

    oldest_snapshot_s: float | None
    lock_waits: int
    standby_lag_s: float | None
    dead_rows: dict[str, int]


def damage(conn: Connection) -> str | None:
    """The first thing wrong with the pages of a SQLite file; None when it is sound, or another kind of database."""
    if conn.dialect.name != "sqlite":
        return None
    verdict = str(conn.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    return None if verdict == "ok" else verdict.splitlines()[0]


def server_version(conn: Connection) -> str:
    """The version of the library or server that keeps the data."""
    sqlite = conn.dialect.name == "sqlite"
    query = "SELECT sqlite_version()" if sqlite else "SHOW server_version"
    return str(conn.exec_driver_sql(query).scalar_one())


def server_pressure(conn: Connection, engine: str) -> ServerPressure:
    """Asked of a PostgreSQL, in time that goes by its sessions, not by what is stored; `engine`: the schema of a fleet's."""
    snapshot_s, waits, lag_s = conn.exec_driver_sql(_PRESSURE).one()
    dead_rows: dict[str, int] = dict(conn.exec_driver_sql(_DEAD_ROWS, (engine,)).all())
    return ServerPressure(snapshot_s, waits, lag_s, dead_rows)
