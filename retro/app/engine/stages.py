"""One review, in stages that can be resumed: its figures, its words, and everything that follows from them at once.

Figures are stored before anybody is asked for words, words before anything is sent. What a killed process had stored is
not made again, so the model is not paid twice; the last step (done, letters, consequences) is one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.reviews import documents
from retro.app.settlement.settle import settled_book
from retro.kinds import KINDS
from retro.report import dump
from retro.report.document import digest_of, read, with_revision
from retro.safe import clean
from retro.store.facts import agents
from retro.store.jobs import claims, outbox, reviews

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.context import WorkContext
    from retro.app.settlement.settings import AgentSettings
    from retro.report.document import Document
    from retro.store.jobs.reviews import Review

__all__ = ["StagedReview", "StoppedError", "commit", "compute"]


class StoppedError(Exception):
    """The service is stopping; what is stored is kept, and the review is given back."""


@dataclass(frozen=True, slots=True)
class StagedReview:
    """A review ready to be finished. `document` None: it was looked at again and nothing has changed."""

    review: Review
    document: Document | None
    facts: str | None = None
    digest: str | None = None


def compute(bench: WorkContext, review: Review) -> StagedReview:
    """Everything up to the last step. Backfill is cheap to repeat, and is stored in that step alone."""
    with bench.store.read() as conn:
        agent = agents.existing_agent(conn, review.agent)
    settings = bench.settings_for(agent)
    with bench.store.read() as conn:
        stored = reviews.revision_of(conn, review.key, review.revision)
    if stored is not None and stored.document is not None and stored.done_at is None:
        return StagedReview(review, read(stored.document, review.kind))
    if stored is not None and stored.numbers is not None:
        return _narrate(bench, review, read(stored.numbers, review.kind), settings)
    again = stored is not None
    with bench.store.read() as conn:  # before the figures: what comes in between is then seen as late
        facts = reviews.facts_digest(conn, review)
    if again and review.late.checks_facts_alone and facts == review.facts:
        return StagedReview(review, None, facts)
    with settled_book(bench.store, review.agent, settings) as book:
        document = clean(documents.numbers_of(book, review, bench.clock()))
    digest = digest_of(document)
    if stored is not None and digest == stored.digest:
        return StagedReview(review, None, facts)
    revision = review.revision + again
    document = with_revision(document, revision)
    bench.beat()
    if review.backfill and not again:
        worded_document, _ = bench.words(review, document, settings)
        return StagedReview(review, clean(worded_document), facts, digest)
    with bench.store.write() as conn:
        checkpoint = claims.keep_numbers(
            conn, review, revision=revision, facts=facts, digest=digest, text=dump(document)
        )
    return _narrate(bench, checkpoint, document, settings)


def _narrate(bench: WorkContext, review: Review, document: Document, settings: AgentSettings) -> StagedReview:
    bench.beat()
    if bench.stopping():
        raise StoppedError
    worded_document, paid = bench.words(review, document, settings)
    worded_document = clean(worded_document)
    if paid:
        with bench.store.write() as conn:
            claims.keep_document(conn, review, dump(worded_document))
    return StagedReview(review, worded_document)


def commit(conn: Connection, bench: WorkContext, staged: StagedReview, now: int) -> None:
    """The last step, in the caller's transaction: stored, done, letters written, consequences drawn."""
    review, document = staged.review, staged.document
    if document is None:
        claims.finish(conn, review, now, facts=staged.facts)
        return
    if staged.digest is not None and staged.facts is not None:
        review = claims.keep_numbers(
            conn, review, revision=review.revision, facts=staged.facts, digest=staged.digest, text=""
        )
    claims.keep_document(conn, review, dump(document))
    claims.finish(conn, review, now)
    overtaken = reviews.newer_than(conn, review, now)
    to = [
        (name, recipient)
        for name, channel in bench.channels.items()
        if _goes(bench, name, review, overtaken=overtaken)
        for recipient in channel.recipients(bench.config)
    ]
    gathered = [name for name in bench.channels if name in {"mail", "notify"}] if overtaken else []
    outbox.write(conn, review.key, review.revision, to, now, digest=gathered)
    for consequence in bench.consequences:
        consequence(conn, review, document)


def _goes(bench: WorkContext, channel: str, review: Review, *, overtaken: bool) -> bool:
    """Whether people are told: of the kinds they chose, and of history only by its newest week."""
    if channel == "records":
        return KINDS[review.kind].records
    quiet = review.backfill and (overtaken or not KINDS[review.kind].tells_history)
    if channel == "pull_request":
        return KINDS[review.kind].requests and not quiet
    kinds = {"mail": bench.config.mail.kinds, "notify": bench.config.notify.kinds}.get(channel)
    return kinds is None or (review.kind in kinds and not quiet)
