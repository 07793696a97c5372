"""Where something is: one text looked for in the names of agents, reviews, positions, proposals and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.errors import UsageError
from retro.report.overviews import SearchResult
from retro.store import proposals, search
from retro.store.conditions import ascii_lower

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.store.database import Store

__all__ = ["find"]

_LONGEST: Final = 200
_OF_EACH: Final = 20


def find(store: Store, text: str) -> list[SearchResult]:
    """At most twenty things of each kind, the newest first; `UsageError` for nothing to look for."""
    wanted = text.strip()
    if not wanted or len(wanted) > _LONGEST or any(ord(sign) < ord(" ") for sign in wanted):
        raise UsageError(f"search: what to look for is 1 to {_LONGEST} signs on one line")
    with store.read() as conn:
        named = (
            ("agent", search.agents_named(conn, wanted, _OF_EACH)),
            ("review", search.reviews_named(conn, wanted, _OF_EACH)),
            ("position", search.positions_named(conn, wanted, _OF_EACH)),
        )
        proposed = _proposed(conn, ascii_lower(wanted))
    results = [SearchResult(kind, *thing) for kind, things in named for thing in things]
    return [*results, *proposed[:_OF_EACH]]


def _proposed(conn: Connection, wanted: str) -> list[SearchResult]:
    """Proposals by their id, and by the rules they would change: those are led to, too."""
    results = []
    for row in reversed(proposals.stored(conn)):
        rule = row.amendment.subject
        if wanted in ascii_lower(row.id) or wanted in ascii_lower(rule):
            results.append(SearchResult("proposal", row.agent, row.id, f"{row.amendment.op} {rule}"))
    return results
