"""The steps of the component `memory`, in order: each is a file of SQL that never changes once it was released.

This repeats some lines of `retro.store.migrations.runner`, because memory knows nothing of retro and opening a store
loads nothing of memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

__all__ = ["MIGRATIONS", "SPELLINGS"]

SPELLINGS: Final = {
    "sqlite": {"bytes": "BLOB", "name": "TEXT", "float": "REAL"},
    "postgresql": {"bytes": "BYTEA", "name": 'TEXT COLLATE "C"', "float": "DOUBLE PRECISION"},
}
"""What a {word} of a step becomes on each database: as frozen as the steps that use it."""


def _step(name: str) -> Callable[[Connection], None]:
    """The step in a file, read when it is applied and not before."""

    def apply(conn: Connection) -> None:
        text = Path(__file__).with_name("steps").joinpath(f"{name}.sql").read_text(encoding="utf-8")
        for statement in filter(str.strip, text.split(";")):
            conn.exec_driver_sql(statement.strip().format_map(SPELLINGS[conn.dialect.name]))

    return apply


MIGRATIONS: Final[list[tuple[int, Callable[[Connection], None]]]] = [
    (1, _step("0001_ledgers_and_plans")),
    (2, _step("0002_library")),
]
"""Ordered (version, step) pairs of the component `memory`; the store runs each in a transaction of its own."""
