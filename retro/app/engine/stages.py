"""One review, in named stages that can be resumed: its figures, its words, and in the end all consequences at once.

Figures are stored before anybody is asked for words, words before anything is sent. What a killed process had stored is
not made again, so the model is not paid twice; the last step (done, deliveries, consequences) is one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.app.engine.summaries import summary_of
from retro.app.reviews import documents
from retro.app.settlement.twins import compare_with_twins
from retro.kinds import KINDS, WEEKLY
from retro.report import PositionRetrospective, RetrospectiveReport, dump
from retro.report.document import digest_of, read, with_revision
from retro.safe import clean
from retro.store.jobs import claims, outbox, reviews
from retro.store.jobs.results import keep_summaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection

    from retro.app.context import ReviewPolicy, WorkContext
    from retro.app.engine.open_book import OpenBook
    from retro.app.settlement.book import SettledBook
    from retro.report.document import Document
    from retro.store.jobs.reviews import Review, StoredRevision

__all__ = [
    "STAGES",
    "Figures",
    "Stage",
    "StagedReview",
    "StoppedError",
    "commit_all",
    "compute",
    "figures_of",
    "moved_figures",
    "twins_of",
    "with_twins",
]


class StoppedError(Exception):
    """The service is stopping; what is stored is kept, and the review is given back."""


@dataclass(frozen=True, slots=True)
class StagedReview:
    """A review on its way through the stages, and the book it is made from.

    `document` None after the figures: it was looked at again and nothing has changed. `digest` is of figures that the
    last step has yet to store, None where a checkpoint has. `is_worded`: the document stands as it will be shown.
    `twins`: of a closed trade what its twins made, as it is stored.
    """

    review: Review
    book: OpenBook
    document: Document | None = None
    facts: str | None = None
    digest: str | None = None
    is_worded: bool = False
    twins: str | None = None

    @property
    def size(self) -> int:
        """How many positions its document tells of."""
        return len(self.document.positions) if isinstance(self.document, RetrospectiveReport) else 1


class Figures(NamedTuple):
    """A document whose words are empty, as the revision it will be, and the digest of its figures."""

    document: Document
    digest: str


class Stage(NamedTuple):
    """A step before the last one, by its name. It writes in short transactions of its own, each behind the fence."""

    name: str
    run: Callable[[WorkContext, StagedReview], StagedReview]


def compute(bench: WorkContext, review: Review, book: OpenBook) -> StagedReview:
    """Every stage up to the last step, from wherever a killed process had come."""
    staged = StagedReview(review, book)
    for stage in STAGES:
        staged = stage.run(bench, staged)
    return staged


def _figures(bench: WorkContext, staged: StagedReview) -> StagedReview:
    """The figures: as a checkpoint has them, or computed. Backfill is cheap to repeat: the last step alone stores it."""
    review = staged.review
    # one state of the database for what is stored, the facts and the figures: what comes after it is seen as late
    with staged.book.reading(review) as book:
        stored = book.life.revision_of(review)
        if stored is not None and stored.document is not None and stored.done_at is None:
            # killed between the words and the last step: the words may have been paid for, and are taken as they are
            return replace(staged, document=read(stored.document, review.kind), is_worded=True)
        if stored is not None and stored.numbers is not None:
            # killed between the figures and the words: had the facts changed since, the review would be noted as stale
            return replace(staged, document=read(stored.numbers, review.kind))
        facts = book.life.facts_digest(review)
        if _has_nothing_new(review, stored, facts):
            return replace(staged, facts=facts)
        moved = figures_of(bench.terms, book, review, stored, bench.clock())
    if moved is None:
        # something arrived and no figure moved: a revision that says nothing new would only cost mails and words
        return replace(staged, facts=facts)
    document, digest = moved
    again, revision = stored is not None, review.revision + (stored is not None)
    bench.beat()
    if review.backfill and not again:
        return replace(staged, document=document, facts=facts, digest=digest)
    staged.book.close()
    with bench.store.write() as conn:
        checkpoint = claims.keep_numbers(
            conn, review, revision=revision, facts=facts, digest=digest, text=dump(document)
        )
    return replace(staged, review=checkpoint, document=document)


def moved_figures(
    terms: ReviewPolicy, book: SettledBook, review: Review, stored: StoredRevision, now: int
) -> Figures | None:
    """The figures of a finished review that nothing asks for; None where none has moved, or its position is withdrawn."""
    if _is_withdrawn(review, book.life.facts_digest(review)):
        return None
    return figures_of(terms, book, review, stored, now)


def figures_of(
    terms: ReviewPolicy, book: SettledBook, review: Review, stored: StoredRevision | None, now: int
) -> Figures | None:
    """The figures of a review as a function of its book and of now; None where they are those of a revision `stored`.

    A finished revision stays as it is: whatever is new gets a revision of its own, which says what has changed.
    """
    weeks = terms.dormant_weeks if review.kind == terms.tells_silence else 0
    document = clean(documents.numbers_of(book, review, now, dormant_weeks=weeks))
    digest = digest_of(document)
    if stored is not None and digest == stored.digest:
        return None
    before = (
        read(stored.document, review.kind) if stored is not None and stored.document is not None else None
    )
    return Figures(with_revision(document, review.revision + (stored is not None), before), digest)


def _has_nothing_new(review: Review, stored: StoredRevision | None, facts: str) -> bool:
    """Whether a finished review stands without a look at its figures."""
    if stored is None:
        return False
    if _is_withdrawn(review, facts):
        return True
    # facts touched the period and it has the ones it had, such as a correction taken back: spare the figures
    return review.late.checks_facts_alone and facts == review.facts


def _is_withdrawn(review: Review, facts: str) -> bool:
    """Whether its position was withdrawn, with the source that told of it: what was said of it stands."""
    return facts == reviews.NO_FACTS and KINDS[review.kind].scope == "position"


def _words(bench: WorkContext, staged: StagedReview) -> StagedReview:
    """The words, which may cost money: stored at once where they did."""
    if staged.document is None or staged.is_worded:
        return staged
    has_checkpoint = staged.digest is None
    if has_checkpoint:
        staged.book.close()
        # a model may take minutes; backfill is worded by code, and its batch is stopped between its reviews
        bench.beat()
        if bench.stopping():
            raise StoppedError
    worded_document, paid = bench.words(staged.review, staged.document, staged.book.settings)
    worded_document = clean(worded_document)
    if paid and has_checkpoint:
        with bench.store.write() as conn:
            claims.keep_document(conn, staged.review, dump(worded_document))
    return replace(staged, document=worded_document, is_worded=True)


STAGES: Final = (Stage("figures", _figures), Stage("words", _words))
"""In their order; each finds out by itself what of it a killed process had stored."""


def commit_all(
    conn: Connection, bench: WorkContext, staged_reviews: Sequence[StagedReview], now: int
) -> None:
    """The last step, in the caller's transaction: stored, done, and every consequence drawn, or none of it."""
    # backfill has no checkpoint: all of it is stored here
    wholes = [
        (staged.review, claims.Whole(staged.facts, staged.digest, dump(staged.document)))
        for staged in staged_reviews
        if staged.document is not None and staged.digest is not None and staged.facts is not None
    ]
    claims.finish_wholes(conn, wholes, now)
    finished = {review.key for review, _ in wholes}
    for review, document, facts in (
        (staged.review, staged.document, staged.facts)
        for staged in staged_reviews
        if staged.review.key not in finished
    ):
        if document is not None:
            claims.keep_document(conn, review, dump(document))
        claims.finish(conn, review, now, facts=facts if document is None else None)
    claims.keep_twins(
        conn, {(s.review.key, s.review.revision): s.twins for s in staged_reviews if s.twins is not None}
    )
    told = [(staged.review, staged.document) for staged in staged_reviews if staged.document is not None]
    keep_summaries(conn, [summary_of(review, document) for review, document in told])
    _owe_deliveries(conn, bench, told, now)
    for review, document in told:
        for consequence in () if review.repeats_history else bench.consequences:
            consequence.draw(conn, review, document)


def with_twins(staged_reviews: Sequence[StagedReview]) -> list[StagedReview]:
    """The reviews of one book, those of closed trades with what their twins made; the book is closed afterwards."""
    book = staged_reviews[0].book
    lives = [s.review for s in staged_reviews if isinstance(s.document, PositionRetrospective)]
    twins: dict[int, str] = {}
    if lives:
        with book.reading(lives[0]) as settled:
            by_position = twins_of(settled, [review.subject for review in lives])
        twins = {life.key: by_position[life.subject] for life in lives if life.subject in by_position}
    book.close()
    return [replace(staged, twins=twins.get(staged.review.key)) for staged in staged_reviews]


def twins_of(book: SettledBook, positions: Sequence[str]) -> dict[str, str]:
    """What the twins of the closed trades among some positions made, by position, as it is stored."""
    return {name: dump(spread, indent=None) for name, spread in compare_with_twins(book, positions).items()}


def _is_alarm(document: Document) -> bool:
    """Whether people are told of it whatever kinds of reviews they chose: their agent has gone silent."""
    return isinstance(document, RetrospectiveReport) and document.silent_since is not None


def _owe_deliveries(
    conn: Connection, bench: WorkContext, finished: Iterable[tuple[Review, Document]], now: int
) -> None:
    """Owe reviews to everybody who is to have them, with the reviews themselves: no crash comes between the two."""
    recipients = {name: channel.recipients(bench.config) for name, channel in bench.channels.items()}
    newest_end = cache(partial(reviews.newest_end, conn, now=now))
    letters = list[outbox.Letter]()
    for review, document in finished:
        # what a newer review has overtaken is no news: people get it gathered, files and records each by itself
        overtaken = newest_end(review.agent, review.kind) > review.period_end
        gathering = dict.fromkeys(("mail", "notify"), outbox.AGENT) if overtaken else {}
        if bench.config.mail.fleet and review.kind == WEEKLY.name:
            gathering["mail"] = outbox.FLEET
        alarm = _is_alarm(document)
        letters += [
            outbox.Letter(review.key, review.revision, name, recipient, gathering.get(name, outbox.ALONE))
            for name in bench.channels
            if _goes(bench, name, review, overtaken=overtaken, alarm=alarm)
            for recipient in recipients[name]
        ]
    outbox.write(conn, letters, now)


def _goes(bench: WorkContext, channel: str, review: Review, *, overtaken: bool, alarm: bool) -> bool:
    """Whether people are told: of the kinds they chose and of alarms, and of history only by its newest week."""
    if review.repeats_history:
        return channel == "file"
    if channel == "records":
        return KINDS[review.kind].records
    quiet = review.backfill and (overtaken or not KINDS[review.kind].tells_history)
    if channel == "pull_request":
        return KINDS[review.kind].requests and not quiet
    kinds = {"mail": bench.config.mail.kinds, "notify": bench.config.notify.kinds}.get(channel)
    return kinds is None or ((review.kind in kinds or (alarm and bool(kinds))) and not quiet)
