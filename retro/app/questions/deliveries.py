"""The messages to people: what is on its way, and what a review's message would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.questions.bounds import number_of, part_of, rows_of
from retro.app.reviews.messages import message_of
from retro.report.overviews import LetterOverview
from retro.store.jobs import outbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.questions.bounds import ListBounds, ListPart
    from retro.app.questions.reviews import Stored
    from retro.config import Config
    from retro.deliver.channel import Message
    from retro.store.database import Store
    from retro.store.jobs.outbox import Delivery, Which

__all__ = ["count_deliveries", "deliveries", "delivery_document", "every_delivery", "message", "overview_of"]


def overview_of(letter: Delivery) -> LetterOverview:
    """A row of the outbox as it is listed."""
    return LetterOverview(
        number=letter.key,
        review=letter.review_id,
        revision=letter.revision,
        channel=letter.channel,
        recipient=letter.recipient,
        state=letter.state,
    )


def deliveries(store: Store, bounds: ListBounds, which: Which = "all") -> ListPart[Delivery]:
    """Messages of the outbox, in the order they were written; the cursor is a number.

    `which`: "unsent": those that wait, are being sent or failed; "people": those to a person, not to a file.
    """
    after = number_of(bounds.after)
    with store.read() as conn:
        rows = outbox.listed(conn, which=which, after=after, limit=bounds.with_one_more, newest=bounds.newest)
    return part_of(rows, bounds, lambda letter: str(letter.key))


def every_delivery(store: Store, bounds: ListBounds) -> Iterator[Delivery]:
    """The same, all within the bounds, however many."""
    return rows_of(lambda part: deliveries(store, part), bounds)


def count_deliveries(store: Store) -> dict[tuple[str, str], int]:
    """How many there are of each (channel, state)."""
    with store.read() as conn:
        return outbox.counts(conn)


def delivery_document(delivery: Delivery) -> dict[str, Any]:
    """What `retro deliver --json` prints of it."""
    return {
        "id": delivery.key,
        "review": delivery.review_id,
        "revision": delivery.revision,
        "channel": delivery.channel,
        "recipient": delivery.recipient,
        "state": delivery.state,
    }


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
        digest=outbox.ALONE,
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
