"""What a finished pass leaves to be tidied: texts that the owner does not keep, files whose agents have moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memory.errors import ExperienceError
from retro.app.estate.folders import folders_of, run_errands
from retro.periods import DAY
from retro.store.jobs.retention import purge_daily_reviews, purge_revisions

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.app.context import WorkContext

__all__ = ["purge", "tidy"]

_AT_ONCE: Final = 200
"""Texts a transaction."""


def purge(bench: WorkContext) -> int:
    """Put away the texts that `[service]` keep_daily_reviews and keep_documents do not keep; how many."""
    table, now, count = bench.config.service, bench.clock(), 0
    steps: list[Callable[[Connection], int]] = []
    if table.keep_daily_reviews is not None:
        before = now - table.keep_daily_reviews * DAY
        steps.append(lambda conn: purge_daily_reviews(conn, before, now, _AT_ONCE))
    if table.keep_documents is not None:
        newest = table.keep_documents
        steps.append(lambda conn: purge_revisions(conn, newest, now, _AT_ONCE))
    for step in steps:
        size = _AT_ONCE
        while size == _AT_ONCE and not bench.stopping():
            with bench.store.write() as conn:
                size = step(conn)
            count += size
            bench.beat()
    if count:
        bench.log("texts_put_away", level="info", texts=count)
    return count


def tidy(bench: WorkContext) -> None:
    """Finish what a command that died has left to be done with files; what cannot be done stays, and is said."""
    try:
        for errand in run_errands(bench.store, folders_of(bench.store, bench.config)):
            bench.log("files_settled", level="info", kind=errand.kind, successor=errand.successor)
    except (OSError, ExperienceError) as error:
        bench.log("files_unsettled", level="error", reason=str(error))
