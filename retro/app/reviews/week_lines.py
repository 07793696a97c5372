"""What sums up a week's review is stored beside it, in the transaction that finishes it: a page of all agents reads no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.context import Consequence
from retro.kinds import WEEKLY
from retro.report import RetrospectiveReport, dump
from retro.report.fleet import line_of
from retro.store.jobs import fleet

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.report.document import Document
    from retro.store.jobs.reviews import Review

__all__ = ["summing_up"]


def summing_up() -> Consequence:
    """Keep the line of each finished week."""

    def draw(conn: Connection, review: Review, document: Document) -> None:
        if review.kind == WEEKLY.name and isinstance(document, RetrospectiveReport):
            fleet.keep_line(conn, review.key, review.revision, dump(line_of(document), indent=None))

    return Consequence("line", draw)
