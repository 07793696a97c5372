"""Sessions of agent graphs: LangGraph's own savers on our database, in tables of their own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from retro.errors import UsageError
from retro.store.database import open_store

if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType

    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.sqlite import SqliteSaver

    from retro.store.database import Store

__all__ = ["saver_on"]

_WAL: Final = "PRAGMA journal_mode=WAL;"


def saver_on(url: str) -> SqliteSaver | PostgresSaver:
    """The saver of the database at a path or URL; `UsageError` where LangGraph is not installed."""
    store = open_store(url)
    try:
        return _sqlite_saver(store) if store.dialect == "sqlite" else _postgres_saver(store)
    finally:
        store.close()


def _sqlite_saver(store: Store) -> SqliteSaver:
    library = _library("langgraph.checkpoint.sqlite")
    conn = store.detached()
    # what a kill cuts short is taken back whole: without a transaction each row would stand alone
    conn.isolation_level = "IMMEDIATE"
    made: SqliteSaver = library.SqliteSaver(conn)
    made.conn = _RollbackJournal(conn)  # type: ignore[assignment]  # for `setup` alone
    made.setup()
    made.conn = conn
    return made


def _postgres_saver(store: Store) -> PostgresSaver:
    library = _library("langgraph.checkpoint.postgres")
    rows = import_module("psycopg.rows")
    conn = store.detached()
    # as the library opens its own: each of its statements is whole, and it says itself what belongs together
    conn.autocommit, conn.prepare_threshold, conn.row_factory = True, 0, rows.dict_row
    made: PostgresSaver = library.PostgresSaver(conn)
    made.setup()
    return made


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError('agent graphs need LangGraph: pip install "slow-mirror[langgraph]"') from error


class _RollbackJournal:
    """A connection that keeps its journal mode: one in WAL would lock every other connection of ours out."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def executescript(self, script: str) -> Any:
        return self._conn.executescript(script.replace(_WAL, ""))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conn, name)
