"""A stored review as the message that channels send."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

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
    from retro.store.jobs.reviews import Review, StoredRevision

__all__ = ["MessageReader", "message_of"]


class _StoredDocument(NamedTuple):
    document: Document
    previous: Document | None = None


_Named = tuple[int, int]
"""A review by its key, and a revision."""
_AT_ONCE: Final = 8_000_000
"""Characters of stored documents that are read ahead: of a life of thousands of positions one is larger."""


def message_of(conn: Connection, config: Config, letter: Delivery, older: Sequence[Delivery] = ()) -> Message:
    """The message of a letter, and of the older ones that go with it, from the documents as they are stored."""
    return MessageReader(conn, config).message(letter, older)


class MessageReader:
    """Makes messages of stored reviews in one read transaction; what many letters ask of it is read at once."""

    def __init__(self, conn: Connection, config: Config) -> None:
        self._conn = conn
        self._config = config
        self._reviews: dict[int, Review] = {}
        self._revisions: dict[_Named, StoredRevision] = {}
        self._currencies: dict[str, str] = {}

    def read_ahead(self, letters: Sequence[Delivery]) -> list[Delivery]:
        """Read what these letters speak of; those from the first on for which that was not too much, and one at least."""
        keys = sorted({letter.review for letter in letters})
        self._reviews |= {review.key: review for review in reviews.by_keys(self._conn, keys)}
        size = 0
        for review, revision in reviews.revisions_of(
            self._conn, {letter.review: letter.revision for letter in letters}
        ):
            size += len(revision.document or "")
            if size > _AT_ONCE:
                break
            self._revisions[review, revision.revision] = revision
        ready = takewhile(lambda letter: (letter.review, letter.revision) in self._revisions, letters)
        return [*ready] or [*letters[:1]]

    def message(self, letter: Delivery, older: Sequence[Delivery] = ()) -> Message:
        """The message of a letter, and of the older ones that go with it."""
        review = self._reviews.get(letter.review) or reviews.by_key(self._conn, letter.review)
        stored_document = self._stored_document(letter)
        digest = tuple(self._stored_document(older_letter).document for older_letter in older)
        is_personal = letter.channel in PERSONAL
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
            currencies=self._currencies_of((stored_document.document, *digest)),
            notices=notices_of(self._conn, self._config, review) if is_personal else (),
        )

    def _currencies_of(self, documents: Sequence[Document]) -> dict[str, str]:
        """The unit of each agent whose positions are among the documents; a report says its own."""
        silent = {document.agent for document in documents if not isinstance(document, RetrospectiveReport)}
        for name in sorted(silent - self._currencies.keys()):
            if (agent := agents.agent(self._conn, name)) is not None:
                self._currencies[name] = base_currency_of(self._config, agent)
        return {name: self._currencies[name] for name in sorted(silent) if name in self._currencies}

    def _stored_document(self, letter: Delivery) -> _StoredDocument:
        key, number = letter.review, letter.revision
        stored = self._revisions.get((key, number)) or reviews.revision_of(self._conn, key, number)
        if stored is None or stored.document is None:
            raise UnknownError(f"revision {number} of {letter.review_id} is not stored")
        before = reviews.revision_of(self._conn, key, number - 1) if number > 1 else None
        previous = None if before is None or before.document is None else read(before.document, letter.kind)
        return _StoredDocument(read(stored.document, letter.kind), previous)


def _generated_at(document: Document) -> int:
    """The date of a review: a property of it, not of its sending."""
    if isinstance(document, RetrospectiveReport):
        return parse_instant(document.generated_at)
    return parse_instant(document.exit_at or document.entry_at)
