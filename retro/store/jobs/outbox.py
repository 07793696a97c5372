"""The second ledger: every message that a review owes to somebody, written with the review itself.

`pending` -> `sending` -> `sent` or `failed`. A row is taken by one conditional update before anything is sent, so that
a message whose sender died stands as `sending`: it may have arrived, and is sent again under the same identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from sqlalchemy import Select, and_, bindparam, func, or_, select, text, update

from retro.errors import LostClaimError
from retro.store.facts.agents import key_query
from retro.store.jobs.queue import LeaseQueue, any_row
from retro.store.jobs.tables import outbox, reviews
from retro.store.locks import in_bucket
from retro.store.schema import agents, insert_into

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

    from retro.store.jobs.queue import BucketHolder

__all__ = [
    "AGENT",
    "ALONE",
    "FLEET",
    "QUEUE",
    "Delivery",
    "Letter",
    "Which",
    "ask_again",
    "claim",
    "claim_digest_group",
    "count",
    "counts",
    "fail_all",
    "listed",
    "pending_recipients",
    "record",
    "rescue",
    "resend",
    "ripe",
    "ripe_channels",
    "wake",
    "wake_all",
    "write",
]

ALONE, AGENT, FLEET = 0, 1, 2
"""What a letter goes out with: nothing, the others that wait of its agent, or those of all agents."""
_AT_ONCE: Final = 10_000
QUEUE: Final = LeaseQueue(outbox, free_state="pending", leased_state="sending")
"""The leases of deliveries."""
Which = Literal["all", "unsent", "people"]
"""All letters, those that did not arrive yet or never will, or those to people."""
_QUIET: Final = ("file", "records")
_IS_PENDING: Final = QUEUE.is_free
_IS_GATHERED: Final = text("outbox.state = 'pending' AND outbox.digest = 1")
_AT_WORK: Final = reviews.alias("at_work")
"""As the partial indexes spell them, so that the database finds that they apply."""
_UNCERTAIN: Final = "sent again: its sender died, and whether it had arrived is not known"


class Delivery(NamedTuple):
    """A row of the outbox, with the review it speaks of. `digest`: ALONE, or together with those of AGENT or FLEET."""

    key: int
    review: int
    revision: int
    channel: str
    recipient: str
    state: str
    digest: int
    attempts: int
    not_before: int
    owner: str | None
    written_at: int
    reason: str | None
    review_id: str
    agent: str
    kind: str
    period_end: int


class Letter(NamedTuple):
    """A delivery that is to be owed: a revision of a review (its key), for one recipient. `digest` as in `Delivery`."""

    review: int
    revision: int
    channel: str
    recipient: str
    digest: int = ALONE


def _letters() -> Select[Any]:
    own = outbox.c
    return (
        select(
            own.key,
            own.review,
            own.revision,
            own.channel,
            own.recipient,
            own.state,
            own.digest,
            own.attempts,
            own.not_before,
            own.owner,
            own.written_at,
            own.reason,
            reviews.c.id,
            agents.c.name,
            reviews.c.kind,
            reviews.c.period_end,
        )
        .join(reviews, reviews.c.key == own.review)
        .join(agents, agents.c.key == reviews.c.agent)
    )


def write(conn: Connection, letters: Iterable[Letter], now: int) -> None:
    """Owe revisions to recipients, each once."""
    of_review = {
        name: select(reviews.c[name]).where(reviews.c.key == bindparam("of")).scalar_subquery()
        for name in ("agent", "period_end", "bucket")
    }
    rows = [
        {
            **letter._asdict(),
            "of": letter.review,
            "state": "pending",
            "attempts": 0,
            "not_before": now,
            "written_at": now,
        }
        for letter in letters
    ]
    if rows:
        conn.execute(insert_into(conn, outbox).values(of_review).on_conflict_do_nothing(), rows)


def claim(
    conn: Connection,
    owner: str,
    now: int,
    lease: int,
    channel: str,
    *,
    digest: int,
    limit: int = 1,
    bucket: int | None = None,
) -> list[Delivery]:
    """Take up to `limit` letters of a channel (and bucket) that can be sent, of the oldest reviews first.

    What is gathered for one agent is not complete while reviews of it are being made or can be: it waits. The row is
    `sending` before a byte leaves the house: whoever finds it so after a crash knows that it may have arrived.
    """
    ripe = and_(
        _IS_PENDING,
        outbox.c.not_before <= now,
        outbox.c.digest == int(digest),
        outbox.c.channel == channel,
        *in_bucket(outbox, bucket),
    )
    query = _letters().where(ripe).order_by(outbox.c.period_end, outbox.c.key).limit(limit)
    if digest == AGENT:
        query = query.where(~_catching_up(now))
    return _take(conn, query, owner, now + lease)


def _catching_up(now: int) -> ColumnElement[bool]:
    """Whether the agent of a letter has reviews that are being made or can be."""
    columns = _AT_WORK.c
    at_work = or_(columns.state == "running", columns.not_before <= now)
    mine = and_(columns.agent == outbox.c.agent, text("at_work.state IN ('due', 'running')"), at_work)
    return select(columns.key).where(mine).exists()


def claim_digest_group(
    conn: Connection, letter: Delivery, owner: str, now: int, lease: int
) -> list[Delivery]:
    """Take everything else that waits to go out together with a gathered letter: same channel and recipient.

    Of its agent, or of all agents where it is a letter of the fleet. Whatever its `not_before`: one message goes out, so what was postponed goes with it.
    """
    group = and_(
        outbox.c.digest == letter.digest,
        outbox.c.channel == letter.channel,
        outbox.c.recipient == letter.recipient,
        *(() if letter.digest == FLEET else (_IS_GATHERED, outbox.c.agent == key_query(letter.agent))),
        _IS_PENDING,
    )
    query = _letters().where(group).order_by(outbox.c.period_end, outbox.c.key)
    return _take(conn, query, owner, now + lease)


def _take(conn: Connection, query: Select[Any], owner: str, until: int) -> list[Delivery]:
    letters = [Delivery._make(row) for row in QUEUE.candidates(conn, query)]
    if not letters:
        return []
    leased: set[int] = set()
    for first in range(0, len(letters), _AT_ONCE):  # a statement takes so many parameters and no more
        keys = [letter.key for letter in letters[first : first + _AT_ONCE]]
        leased |= QUEUE.take(
            conn, keys, outbox.c.state == "pending", owner, until, attempts=outbox.c.attempts + 1
        ).keys()
    return [
        letter._replace(state="sending", owner=owner, attempts=letter.attempts + 1)
        for letter in letters
        if letter.key in leased
    ]


def record(conn: Connection, letters: Sequence[Delivery], state: str, **values: object) -> None:
    """What became of letters that are still ours; `LostClaimError` when one is not.

    Of many letters one message speaks for so many at a time: all agents' are thousands.
    """
    ordered = sorted(letters, key=lambda letter: letter.key)  # in one order, so that nobody deadlocks
    for first in range(0, len(ordered), _AT_ONCE):
        part = ordered[first : first + _AT_ONCE]
        # without the attempt: one process sends one message after another, so a lease of its name is the newest
        head, keys = part[-1], [letter.key for letter in part]
        number = QUEUE.write_all(conn, keys, head.owner, state=state, owner=None, leased_until=None, **values)
        if number != len(part):
            raise LostClaimError(f"the {head.channel} of {head.review_id} was taken over by another process")


def rescue(conn: Connection, now: int, *, alone: bool, holder: BucketHolder | None = None) -> int:
    """Letters whose sender is dead are pending again, and say that they may have arrived; how many.

    They are sent again: a review that arrives twice under one identity is better than one that never does.
    """
    free = QUEUE.expired_keys(now, alone=alone, holder=holder).with_for_update(skip_locked=True)
    values = {
        "state": "pending",
        "owner": None,
        "leased_until": None,
        "not_before": now,
        "reason": _UNCERTAIN,
    }
    return conn.execute(update(outbox).where(outbox.c.key.in_(free)).values(values)).rowcount


def wake(
    conn: Connection, now: int, channel: str, recipient: str | None = None, *, without: Iterable[int] = ()
) -> None:
    """A channel is open: what waits for another try there goes at once, but for some keys and where a time was named."""
    waiting = and_(
        _IS_PENDING,
        outbox.c.not_before > now,
        func.coalesce(outbox.c.asked_until, 0) <= now,
        outbox.c.channel == channel,
        outbox.c.key.not_in(list(without)),
    )
    if recipient is not None:
        waiting = and_(waiting, outbox.c.recipient == recipient)
    conn.execute(update(outbox).where(waiting).values(not_before=now))


def ask_again(conn: Connection, now: int, channel: str, recipient: str | None = None) -> None:
    """One letter of those that wait for another try at a channel goes at once, unless a time was named: it asks for all."""
    waiting = and_(
        _IS_PENDING,
        outbox.c.not_before > now,
        func.coalesce(outbox.c.asked_until, 0) <= now,
        outbox.c.channel == channel,
    )
    if recipient is not None:
        waiting = and_(waiting, outbox.c.recipient == recipient)
    oldest = select(outbox.c.key).where(waiting).order_by(outbox.c.not_before, outbox.c.key).limit(1)
    conn.execute(
        update(outbox)
        .where(outbox.c.key.in_(oldest.with_for_update(skip_locked=True)))
        .values(not_before=now)
    )


def wake_all(conn: Connection, now: int) -> None:
    """The owner has changed something: whatever waits for another try goes at once."""
    waiting = and_(_IS_PENDING, outbox.c.not_before > now)
    conn.execute(update(outbox).where(waiting).values(not_before=now, asked_until=None))


def ripe(conn: Connection, now: int) -> bool:
    """Whether anything can be sent, or was left behind by a dead sender."""
    pending = select(outbox.c.key).where(_IS_PENDING, outbox.c.not_before <= now)
    return any_row(conn, pending.order_by(outbox.c.not_before), QUEUE.expired_keys(now, alone=False))


def pending_recipients(conn: Connection) -> list[tuple[str, str]]:
    """(channel, recipient) of everything that waits: a step through the index for each pair, however many wait."""
    c = outbox.c
    query = select(c.channel, c.recipient).where(_IS_PENDING).order_by(c.channel, c.recipient).limit(1)
    pairs: list[tuple[str, str]] = []
    row = conn.execute(query).one_or_none()
    while row is not None:
        pairs.append((row.channel, row.recipient))
        # two questions: SQLite steps through an index by one column of a pair and would read all letters of a channel
        following = query.where(c.channel == row.channel, c.recipient > row.recipient)
        row = (
            conn.execute(following).one_or_none()
            or conn.execute(query.where(c.channel > row.channel)).one_or_none()
        )
    return pairs


def fail_all(conn: Connection, channel: str, recipient: str, reason: str) -> int:
    """Give up everything that waits for a recipient; how many letters that were."""
    mine = and_(_IS_PENDING, outbox.c.channel == channel, outbox.c.recipient == recipient)
    return conn.execute(update(outbox).where(mine).values(state="failed", reason=reason)).rowcount


def ripe_channels(
    conn: Connection, now: int, among: Iterable[str], *, digest: int, bucket: int | None = None
) -> list[str]:
    """Those of these channels that have something (of a bucket) to send now, alone or gathered, in order of name."""
    mine = in_bucket(outbox, bucket)
    can = and_(_IS_PENDING, outbox.c.not_before <= now, outbox.c.digest == int(digest), *mine)
    oldest = select(outbox.c.key).where(can).order_by(outbox.c.period_end, outbox.c.key)
    return [name for name in sorted(among) if any_row(conn, oldest.where(outbox.c.channel == name))]


def listed(
    conn: Connection,
    review: str | None = None,
    *,
    which: Which = "all",
    after: int | None = None,
    limit: int | None = None,
    newest: bool = False,
) -> list[Delivery]:
    """Letters, or those of one review by its id, in the order they were written: after a number, at most `limit`."""
    own = outbox.c
    query = _letters().order_by(own.key.desc() if newest else own.key).limit(limit)
    if review is not None:
        query = query.where(reviews.c.id == review)
    if which != "all":
        query = query.where(own.state != "sent" if which == "unsent" else own.channel.not_in(_QUIET))
    if after is not None:
        query = query.where(own.key < after if newest else own.key > after)
    return [Delivery._make(row) for row in conn.execute(query)]


def counts(conn: Connection) -> dict[tuple[str, str], int]:
    """How many letters there are of each (channel, state)."""
    query = select(outbox.c.channel, outbox.c.state, func.count()).group_by(outbox.c.channel, outbox.c.state)
    return {(channel, state): number for channel, state, number in conn.execute(query)}


def resend(conn: Connection, which: str, now: int) -> int:
    """Send again: one letter by its number, or all of the newest revision of a review by its id; how many."""
    chosen: ColumnElement[bool] = (
        outbox.c.key == int(which)
        if which.isascii() and which.isdigit()
        else outbox.c.key.in_(
            select(outbox.c.key)
            .join(reviews, and_(reviews.c.key == outbox.c.review, reviews.c.revision == outbox.c.revision))
            .where(reviews.c.id == which)
        )
    )
    ready = chosen & (outbox.c.state != "sending")  # its holder will record an outcome: that must not be lost
    values = {
        "state": "pending",
        "digest": 0,
        "attempts": 0,
        "not_before": now,
        "written_at": now,
        "reason": None,
    }
    return conn.execute(update(outbox).where(ready).values(values)).rowcount


def count(conn: Connection, state: str) -> int:
    """How many letters are in a state."""
    return conn.execute(select(func.count()).select_from(outbox).where(outbox.c.state == state)).scalar_one()
