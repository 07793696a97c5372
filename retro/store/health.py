"""Questions about the database itself, for `retro doctor`; they change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["damage", "server_version"]


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
