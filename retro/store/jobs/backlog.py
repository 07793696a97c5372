"""How much waits, and in which buckets: asked of the partial indexes of what is open, never of what is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Integer, and_, func, literal, or_, select, text

from retro.store.books.positions import book
from retro.store.books.shared_marks import buckets_behind
from retro.store.jobs.claims import QUEUE
from retro.store.jobs.outbox import FLEET
from retro.store.jobs.outbox import QUEUE as LETTERS
from retro.store.jobs.reviews import IS_AGAIN, IS_DUE, IS_LATE, IS_PARKED, IS_WAITING
from retro.store.jobs.tables import IS_FOR_WORKERS, enrolments, outbox, reviews, rework_agents
from retro.store.locks import BUCKETS
from retro.store.schema import agents

if TYPE_CHECKING:
    from sqlalchemy import CTE, ColumnElement, Connection, Table

__all__ = [
    "Backlog",
    "backlog_of",
    "count_due",
    "count_parked",
    "letter_buckets",
    "newest_done_at",
    "overdue_buckets",
    "parked",
    "rework_buckets",
    "ripe_buckets",
]

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


# by buckets of agents


def ripe_buckets(conn: Connection, now: int) -> list[int]:
    """The buckets in which anybody is to be settled, is owed something, or has a review to be made, in order.

    A step into an index for each bucket and reason, however many agents there are; books that are dirty or left behind by
    shared marks, and agents that are new, by their number.
    """
    e, r, numbers = enrolments.c, reviews.c, _numbers()
    reasons = (
        _some(enrolments, numbers, e.next_at.is_(None)),
        _some(enrolments, numbers, e.next_at <= now),
        _some(enrolments, numbers, e.losses_from.is_not(None)),
        _some(reviews, numbers, IS_WAITING, r.due_at <= now),
        _some(reviews, numbers, IS_DUE, r.not_before <= now),
        _some(reviews, numbers, QUEUE.is_expired(now, alone=False)),
        _some(reviews, numbers, IS_LATE),
        _some(reviews, numbers, IS_AGAIN, r.again_at <= now),
    )
    lived = select(agents.c.bucket).where(agents.c.first_at.is_not(None))
    queries = (
        select(numbers.c.bucket).where(or_(*reasons)),
        lived.where(text("agents.watched = 0")),
        lived.join(book, book.c.agent == agents.c.key).where(book.c.dirty_from.is_not(None)),
    )
    buckets = {bucket for query in queries for bucket in conn.execute(query).scalars()}
    return sorted(buckets | buckets_behind(conn))


def overdue_buckets(conn: Connection, before: int) -> set[int]:
    """The buckets in which a period that ended until then (microseconds) is not written down, or a review not begun.

    History that was told late has been due for years on its first day: it does not count.
    """
    e, r = enrolments.c, reviews.c
    unbegun = select(r.bucket).where(r.due_at <= before, r.backfill == 0).distinct()
    queries = (
        select(e.bucket).where(e.next_at <= before).distinct(),
        unbegun.where(IS_WAITING),
        unbegun.where(IS_DUE, r.not_before <= before),
    )
    return {bucket for query in queries for bucket in conn.execute(query).scalars()}


def letter_buckets(conn: Connection, now: int) -> list[int]:
    """The buckets whose agents have a letter of their own that can be sent, or whose sender is dead, in order."""
    numbers = _numbers()
    reasons = (
        _some(outbox, numbers, LETTERS.is_free, outbox.c.not_before <= now, outbox.c.digest != FLEET),
        _some(outbox, numbers, LETTERS.is_expired(now, alone=False)),
    )
    return sorted(conn.execute(select(numbers.c.bucket).where(or_(*reasons))).scalars())


def rework_buckets(conn: Connection) -> list[int]:
    """The buckets of the agents whose reviews workers are to look at anew, in order.

    A step into the index for each of them, and one where nobody has a rework going on.
    """
    bucket = rework_agents.c.bucket
    first = select(func.min(bucket).label("bucket")).where(IS_FOR_WORKERS).cte("handed", recursive=True)
    following = select(func.min(bucket)).where(IS_FOR_WORKERS, bucket > first.c.bucket).scalar_subquery()
    handed = first.union_all(select(following).where(first.c.bucket.is_not(None)))
    return list(conn.execute(select(handed.c.bucket).where(handed.c.bucket.is_not(None))).scalars())


def _numbers() -> CTE:
    """Every bucket, and -1: rows that were given none are not left lying."""
    first = select(literal(-1, Integer).label("bucket")).cte("numbers", recursive=True)
    return first.union_all(select(first.c.bucket + 1).where(first.c.bucket < BUCKETS - 1))


def _some(table: Table, numbers: CTE, *conditions: Any) -> ColumnElement[bool]:
    """Whether a bucket has such a row."""
    mine = select(table.c.bucket).where(table.c.bucket == numbers.c.bucket, *conditions)
    return mine.correlate(numbers).exists()
