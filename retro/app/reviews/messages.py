"""A stored review as the message that channels send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.reviews.notices import PERSONAL, notices_of
from retro.app.settlement.settings import base_currency_of
from retro.deliver.channel import Message
from retro.errors import UnknownError
from retro.periods import parse_instant
from retro.report import RetrospectiveReport
from retro.report.document import read
from retro.store.facts import agents
from retro.store.jobs import reviews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from retro.config import Config
    from retro.report.document import Document
    from retro.store.jobs.outbox import Delivery


__all__ = ["message_of"]


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    document: Document
    previous: Document | None = None


def message_of(conn: Connection, config: Config, letter: Delivery, older: Sequence[Delivery] = ()) -> Message:
    """The message of a letter, and of the older ones that go with it, from the documents as they are stored."""
    review = reviews.by_key(conn, letter.review)
    stored_document = _stored_document(conn, letter)
    digest = tuple(_stored_document(conn, older_letter).document for older_letter in older)
    return Message(
        review_id=letter.review_id,
        agent=letter.agent,
        kind=letter.kind,
        revision=letter.revision,
        period_key=review.period_key,
        subject_line="",
        document=stored_document.document,
        generated_at_us=_generated_at(stored_document.document),
        recipient=letter.recipient,
        digest_of=digest,
        previous=stored_document.previous,
        currencies=_currencies(conn, config, (stored_document.document, *digest)),
        notices=notices_of(conn, config, review) if letter.channel in PERSONAL else (),
    )


def _currencies(conn: Connection, config: Config, documents: Sequence[Document]) -> dict[str, str]:
    """The unit of each agent whose positions are among the documents; a report says its own."""
    silent = {document.agent for document in documents if not isinstance(document, RetrospectiveReport)}
    named = (agents.agent(conn, name) for name in sorted(silent))
    return {agent.name: base_currency_of(config, agent) for agent in named if agent is not None}


def _stored_document(conn: Connection, letter: Delivery) -> _StoredDocument:
    stored_revision = reviews.revision_of(conn, letter.review, letter.revision)
    if stored_revision is None or stored_revision.document is None:
        raise UnknownError(f"revision {letter.revision} of {letter.review_id} is not stored")
    before = reviews.revision_of(conn, letter.review, letter.revision - 1) if letter.revision > 1 else None
    previous = None if before is None or before.document is None else read(before.document, letter.kind)
    return _StoredDocument(read(stored_revision.document, letter.kind), previous)


def _generated_at(document: Document) -> int:
    """The date of a review: a property of it, not of its sending."""
    if isinstance(document, RetrospectiveReport):
        return parse_instant(document.generated_at)
    return parse_instant(document.exit_at or document.entry_at)
