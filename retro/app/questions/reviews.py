"""Reading the ledger: reviews and letters as rows, a stored review as it was written, what changed between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from retro.app.reviews.messages import message_of
from retro.errors import UnknownError, UsageError
from retro.periods import format_instant
from retro.present.page.revision import changes
from retro.report.document import read
from retro.store.jobs import outbox, reviews

if TYPE_CHECKING:
    from retro.config import Config
    from retro.deliver.channel import Message
    from retro.present.page.revision import Change
    from retro.report.document import Document
    from retro.store.database import Store
    from retro.store.jobs.outbox import Delivery
    from retro.store.jobs.reviews import Review

__all__ = ["Stored", "compare", "deliveries", "message", "row_of", "rows", "stored"]


class Stored(NamedTuple):
    """A revision of a review: the text exactly as it was written, and what it says."""

    review: Review
    revision: int
    text: str
    document: Document


def rows(store: Store, agent: str | None = None) -> list[dict[str, Any]]:
    """Every review that is owed or made, in order of its period's end."""
    with store.read() as conn:
        return [row_of(review) for review in reviews.listed(conn, agent)]


def row_of(review: Review) -> dict[str, Any]:
    """A review as a row for people and programs."""
    return {
        "id": review.id,
        "agent": review.agent,
        "kind": review.kind,
        "subject": review.subject,
        "period_start": format_instant(review.period_start),
        "period_end": format_instant(review.period_end),
        "state": review.state,
        "revision": review.revision,
        "attempts": review.attempts,
        "backfill": review.backfill,
        "reason": review.reason,
    }


def stored(store: Store, id: str) -> Stored:  # noqa: A002  the field's name
    """The newest revision of a review, or the one that `ID@2` names; `UnknownError` says in what state it is."""
    name, _, number = id.rpartition("@")
    revision = int(number) if name and number.isascii() and number.isdigit() else None
    with store.read() as conn:
        review = reviews.by_id(conn, name if revision is not None else id)
        stored_revision = reviews.revision_of(conn, review.key, revision)
    if stored_revision is None or stored_revision.document is None or stored_revision.done_at is None:
        if revision is not None:
            raise UnknownError(f"{review.id} has no revision {revision}; the newest is {review.revision}")
        why = f": {review.reason}" if review.reason else ""
        raise UnknownError(f"{review.id} is {review.state}{why}; there is nothing to show yet")
    return Stored(review, stored_revision.revision, stored_revision.document, read(stored_revision.document))


def compare(before: Stored, after: Stored, currency: str = "") -> tuple[Change, ...]:
    """What differs in a reader's eyes; `UsageError` for two documents that cannot be held against each other."""
    if type(before.document) is not type(after.document):
        raise UsageError("a position and a period cannot be compared; name two reviews of a kind")
    return changes(before.document, after.document, currency)


def deliveries(store: Store) -> list[Delivery]:
    """Every message of the outbox, in the order they were written."""
    with store.read() as conn:
        return outbox.listed(conn)


def message(
    store: Store, config: Config, stored_revision: Stored, recipient: str, channel: str = "mail"
) -> Message:
    """The message that a stored revision would be."""
    review = stored_revision.review
    letter = outbox.Delivery(
        key=0,
        review=review.key,
        revision=stored_revision.revision,
        channel=channel,
        recipient=recipient,
        state="pending",
        digest=False,
        attempts=0,
        not_before=0,
        owner=None,
        written_at=0,
        reason=None,
        review_id=review.id,
        agent=review.agent,
        kind=review.kind,
        period_end=review.period_end,
    )
    with store.read() as conn:
        return message_of(conn, config, letter)
