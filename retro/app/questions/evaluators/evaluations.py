"""What evaluators saw of an agent's claims, epoch by epoch, as statistics that outlive every ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.settlement.evaluations import epoch_at, epochs_of, read_summaries
from retro.app.settlement.settle import settled_book
from retro.evaluate.claims.record import ClaimHistory
from retro.evaluate.claims.summaries import merged, summaries_of
from retro.periods import format_instant
from retro.report.evaluators.summaries import EvaluationSummary
from retro.store.books.claims import claims_of
from retro.store.books.evaluations import evaluations_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.claims.summaries import KeySummary
    from retro.store.database import Store

__all__ = ["EvaluationsQuestion", "evaluations", "of_the_life"]


@dataclass(frozen=True, slots=True)
class EvaluationsQuestion:
    """Whose evaluations, and what had resolved before when (microseconds; None: all that was told)."""

    store: Store
    agent: str
    settings: AgentSettings
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class _Epoch:
    start: int
    end: int
    summaries: Sequence[KeySummary]


def evaluations(question: EvaluationsQuestion) -> list[EvaluationSummary]:
    """One row an epoch, evaluator and key, in order of time; of the epoch that `as_of` lies in what it knew by then."""
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        epochs = _epochs(book, question.as_of)
    return [
        EvaluationSummary.model_validate(
            {
                "agent": question.agent,
                "evaluator": summary.evaluator,
                "key": summary.key,
                "from": format_instant(epoch.start),
                "to": format_instant(epoch.end),
                "n": summary.n,
                "statistics": summary.statistics,
            }
        )
        for epoch in epochs
        for summary in epoch.summaries
    ]


def of_the_life(question: EvaluationsQuestion) -> list[KeySummary]:
    """The epochs as one, by evaluator and key."""
    with settled_book(question.store, question.agent, question.settings, measured=False) as book:
        epochs = _epochs(book, question.as_of)
    whole: dict[tuple[str, tuple[str, str]], KeySummary] = {}
    for summary in (summary for epoch in epochs for summary in epoch.summaries):
        name = summary.evaluator, summary.key
        before = whole.get(name)
        ring = question.settings.claims.ring.size
        whole[name] = summary if before is None else merged(before, summary, ring)
    return list(whole.values())


def _epochs(book: SettledBook, as_of: int | None) -> list[_Epoch]:
    """The epochs of the book; those that were over at `as_of` as they stand, the one it cuts folded once more."""
    rows = evaluations_of(book.conn, book.name)
    stored = [
        _Epoch(row.start, row.end, read_summaries(row.summaries))
        for row in rows
        if as_of is None or row.end <= as_of
    ]
    if as_of is None:
        return stored
    begins = epoch_at(book.agent, book.settings, as_of).start
    claims = claims_of(book.conn, book.name).before(as_of)
    running = ClaimHistory(claims.names, claims.records[claims.records["resolved_at"] >= begins])
    ring = book.settings.claims.ring.size
    return stored + [
        _Epoch(epoch.start, epoch.end, summaries_of(part, ring))
        for epoch, part in epochs_of(book.agent, book.settings, running)
    ]
