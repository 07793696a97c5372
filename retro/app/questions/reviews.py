"""The reviews: which are owed or made, one as it was written, and what changed between two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from retro.app.questions.bounds import EVERYTHING, part_of, rows_of
from retro.errors import UnknownError, UsageError
from retro.periods import format_instant
from retro.present.page.revision import changes
from retro.report.document import read
from retro.report.evaluators.luck import TwinSpread
from retro.report.overviews import ReviewOverview
from retro.safe import clean
from retro.store.conditions import EVERY_ROW
from retro.store.jobs import pages
from retro.store.jobs import reviews as ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from retro.app.questions.bounds import ListBounds, ListPart
    from retro.present.page.revision import Change
    from retro.report.document import Document
    from retro.store.conditions import Selection
    from retro.store.database import Store
    from retro.store.jobs.reviews import Review, StoredRevision

__all__ = [
    "ReviewsQuestion",
    "Stored",
    "compare",
    "count_reviews",
    "every_review",
    "neighbours",
    "overview_of",
    "reviews",
    "stored",
]


class Stored(NamedTuple):
    """A revision of a review: the text exactly as it was written, and what it says.

    `twins`: of a closed trade what its twins made, where that was stored.
    """

    review: Review
    revision: int
    text: str
    document: Document
    twins: TwinSpread | None = None


@dataclass(frozen=True, slots=True)
class ReviewsQuestion:
    """The reviews of one agent or of all, in one state or in any, as selected; the cursor of its bounds is a review's id.

    As of an instant a review is what its newest revision of then made it; what was owed then nobody knows any more.
    """

    agent: str | None = None
    state: str | None = None
    bounds: ListBounds = EVERYTHING
    selection: Selection = EVERY_ROW


def reviews(store: Store, question: ReviewsQuestion) -> ListPart[Review]:
    """Reviews that are owed or made, in order of their period's end."""
    bounds = question.bounds
    with store.read() as conn:
        place = None if bounds.after is None else ledger.by_id(conn, bounds.after)
        rows = pages.reviews_after(
            conn,
            place,
            bounds.with_one_more,
            agent=question.agent,
            state=question.state,
            newest=bounds.newest,
            selection=question.selection,
        )
        if question.selection.as_of is not None:
            rows = _as_made(conn, rows, question.selection.as_of)
    return part_of(rows, bounds, lambda review: review.id)


def _as_made(conn: Connection, rows: list[Review], as_of: int) -> list[Review]:
    """Reviews as they were made by an instant."""
    made = pages.revisions_by(conn, [review.key for review in rows], as_of)
    return [
        review._replace(state="done", reason=None, revision=made[review.key][0], done_at=made[review.key][1])
        for review in rows
    ]


def every_review(store: Store, question: ReviewsQuestion) -> Iterator[Review]:
    """The same, all within the bounds, however many."""
    return rows_of(lambda bounds: reviews(store, replace(question, bounds=bounds)), question.bounds)


def count_reviews(store: Store, question: ReviewsQuestion) -> int:
    """How many there are, whatever the bounds."""
    with store.read() as conn:
        return pages.count_reviews(conn, question.agent, question.state, question.selection)


def neighbours(store: Store, review: Review) -> tuple[Review | None, Review | None]:
    """The reviews of its agent and kind that are done before it and after it."""
    with store.read() as conn:
        return pages.next_of_kind(conn, review, earlier=True), pages.next_of_kind(conn, review)


def overview_of(review: Review) -> ReviewOverview:
    """A row of the ledger as it is listed."""
    return ReviewOverview(
        id=review.id,
        agent=review.agent,
        kind=review.kind,
        subject=review.subject,
        period_start=review.period_start,
        period_end=review.period_end,
        state=review.state,
        revision=review.revision,
        attempts=review.attempts,
        backfill=review.backfill,
        reason=review.reason,
        result=review.result,
        against_nothing=review.against_nothing,
    )


def stored(store: Store, id: str, agent: str | None = None, *, as_of: int | None = None) -> Stored:  # noqa: A002  the field's name
    """The newest revision of a review, or the one that `ID@2` names; `UnknownError` says in what state it is.

    `agent`: whose it must be; another's is as if it were not there. `as_of`: the newest that was finished by then.
    """
    name, _, number = id.rpartition("@")
    revision = int(number) if name and number.isascii() and number.isdigit() else None
    with store.read() as conn:
        review = ledger.by_id(conn, name if revision is not None else id, agent)
        if as_of is not None:
            made = pages.revisions_by(conn, [review.key], as_of).get(review.key)
            if made is None or made[0] < (revision or 0):
                raise UnknownError(f"{review.id} was not made by {format_instant(as_of)}")
            revision = made[0] if revision is None else revision
        stored_revision = ledger.revision_of(conn, review.key, revision)
    if stored_revision is not None and stored_revision.purged_at is not None:
        raise UnknownError(_purged(review, stored_revision))
    if stored_revision is None or stored_revision.document is None or stored_revision.done_at is None:
        if revision is not None:
            raise UnknownError(f"{review.id} has no revision {revision}; the newest is {review.revision}")
        why = f": {review.reason}" if review.reason else ""
        raise UnknownError(f"{review.id} is {review.state}{why}; there is nothing to show yet")
    return Stored(
        review,
        stored_revision.revision,
        stored_revision.document,
        read(stored_revision.document, review.kind),
        None
        if stored_revision.twins is None
        else clean(TwinSpread.model_validate_json(stored_revision.twins)),
    )


def _purged(review: Review, revision: StoredRevision) -> str:
    """What became of a text that was put away, and how to have it again."""
    since = format_instant(revision.purged_at or 0)[:10]
    name = f"revision {revision.revision} of {review.id}"
    sentence = f"{name} was put away on {since} ([service] keep_daily_reviews, keep_documents); its row stays"
    if revision.revision != review.revision:
        return f"{sentence}; a newer one is there: `retro show {review.id}`"
    if review.state == "done":
        return f"{sentence}; `retro reviews remake {review.id}` has it made again at the next knock"
    return f"{sentence}; it lay on an earlier grid of its agent, and is not made again"


def compare(before: Stored, after: Stored, currency: str = "") -> tuple[Change, ...]:
    """What differs in a reader's eyes; `UsageError` for two documents that cannot be held against each other."""
    if type(before.document) is not type(after.document):
        raise UsageError("a position and a period cannot be compared; name two reviews of a kind")
    return changes(before.document, after.document, currency)
