"""What a weekly or epoch review says in words, as a lesson of its agent's library, with what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memory.library.intake import add
from memory.library.item import LARGEST_TEXT, LibraryItem
from memory.records import generate_experiment_id
from retro.periods import parse_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from retro.report.period import RetrospectiveReport
    from retro.store.jobs.reviews import Review

__all__ = ["KINDS_WITH_LESSONS", "keep_narrative"]

KINDS_WITH_LESSONS: Final = ("weekly", "epoch")
_MOST_PARENTS: Final = 500


def keep_narrative(
    conn: Connection, review: Review, report: RetrospectiveReport, known_at: int, episodes: Sequence[str]
) -> tuple[str, ...]:
    """Add the review's words to the library, in the caller's transaction; what the library could not take, in words.

    A later revision is a version of the one before. Its vector is made by who searches or adds next: nothing is
    embedded while the transaction is held.
    """
    parts = (report.what_worked, report.what_failed, report.hindsight)
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    if not text:
        return ()
    experiment = generate_experiment_id(parse_instant(report.period_end), report.id)
    item = LibraryItem(
        id=_name(review.id, review.revision),
        agent=review.agent,
        at=known_at,
        text=text.encode("utf-8")[:LARGEST_TEXT].decode("utf-8", "ignore"),
        collection="lessons_learned",
        metadata={
            "review": review.id,
            "kind": review.kind,
            "written_by": "model" if report.narrative.source == "model" else "code",
        },
        parents=tuple(sorted({experiment, *sorted(episodes)[:_MOST_PARENTS]})),
        version_of=_name(review.id, review.revision - 1) if review.revision else None,
        confidence=report.confidence,
    )
    done = add(conn, [item], where=review.id)
    return (*(fault.reason for fault in done.faults), *(conflict.reason for conflict in done.conflicts))


def _name(review: str, revision: int) -> str:
    return f"{review}@{revision}" if revision else review
