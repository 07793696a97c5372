"""The messages to people: what is on its way, and what a review's message would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.reviews.messages import message_of
from retro.store.jobs import outbox

if TYPE_CHECKING:
    from retro.app.questions.reviews import Stored
    from retro.config import Config
    from retro.deliver.channel import Message
    from retro.store.database import Store
    from retro.store.jobs.outbox import Delivery

__all__ = ["deliveries", "delivery_document", "message"]


def deliveries(store: Store) -> list[Delivery]:
    """Every message of the outbox, in the order they were written."""
    with store.read() as conn:
        return outbox.listed(conn)


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
