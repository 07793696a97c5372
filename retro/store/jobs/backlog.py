"""How much waits, for whoever watches: counted by the partial indexes of what is open, never by what is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import and_, func, select, text

from retro.store.jobs.claims import QUEUE
from retro.store.jobs.reviews import IS_PARKED
from retro.store.jobs.tables import outbox, reviews

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Backlog", "backlog_of", "count_due", "count_parked", "newest_done_at", "parked"]

_COUNTED: Final = 1000

_UNSENT = tuple(text(f"outbox.state = '{state}'") for state in ("pending", "sending", "failed"))


class Backlog(NamedTuple):
    """What of the ledger waits now. Instants are microseconds of the wall clock; None where nothing waits.

    `due` counts the reviews that can be made, by kind; `oldest_due_at` is since when the oldest of them can; `letters`
    counts what is not sent, by channel and state, and `oldest_letter_at` is when the oldest of what waits was written.
    """

    due: dict[str, int]
    running: int
    parked: int
    oldest_due_at: int | None
    letters: dict[tuple[str, str], int]
    oldest_letter_at: int | None


def backlog_of(conn: Connection, now: int) -> Backlog:
    """Count what waits."""
    c, o = reviews.c, outbox.c
    ripe = and_(QUEUE.is_free, c.not_before <= now)
    by_kind = select(c.kind, func.count(), func.min(c.due_at)).where(ripe).group_by(c.kind)
    due = {kind: (number, since) for kind, number, since in conn.execute(by_kind)}
    running = conn.execute(select(func.count()).select_from(reviews).where(QUEUE.is_leased))
    parked = conn.execute(select(func.count()).select_from(reviews).where(text("reviews.state = 'parked'")))
    letters: dict[tuple[str, str], tuple[int, int]] = {}
    for unsent in _UNSENT:
        counts = select(o.channel, o.state, func.count(), func.min(o.written_at)).where(unsent)
        for channel, state, number, since in conn.execute(counts.group_by(o.channel, o.state)):
            letters[channel, state] = (number, since)
    return Backlog(
        due={kind: number for kind, (number, _) in sorted(due.items())},
        running=running.scalar_one(),
        parked=parked.scalar_one(),
        oldest_due_at=min((since for _, since in due.values()), default=None),
        letters={key: number for key, (number, _) in sorted(letters.items())},
        oldest_letter_at=min(
            (since for (_, state), (_, since) in letters.items() if state != "failed"), default=None
        ),
    )


def newest_done_at(conn: Connection) -> int | None:
    """When a review was last made."""
    newest: int | None = conn.execute(select(func.max(reviews.c.done_at))).scalar_one()
    return newest


def count_due(conn: Connection, now: int) -> int:
    """How many reviews can be made now, counted to a thousand."""
    some = select(reviews.c.key).where(QUEUE.is_free, reviews.c.not_before <= now).limit(_COUNTED).subquery()
    return conn.execute(select(func.count()).select_from(some)).scalar_one()


def count_parked(conn: Connection) -> int:
    """How many reviews need a person."""
    total: int = conn.execute(select(func.count()).select_from(reviews).where(IS_PARKED)).scalar_one()
    return total


def parked(conn: Connection, limit: int) -> tuple[list[str], int]:
    """The ids of reviews that need a person, oldest first up to `limit`, and how many there are."""
    total = count_parked(conn)
    if not total:
        return [], 0
    query = select(reviews.c.id).where(IS_PARKED).order_by(reviews.c.period_end, reviews.c.key).limit(limit)
    return list(conn.execute(query).scalars()), total
