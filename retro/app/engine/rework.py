"""Reviews looked at anew beside the stream: units of agents are computed by whoever has processors, stored by us.

What is computed is a function of what is stored and of one instant; nothing is written for it but books that were behind.
It is stored only where the facts of its agent are still those it was computed from, else the agent is done again; and
where no worker of the stream has taken or changed a review meanwhile. A review of which no figure has moved stays.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.app.context import policy_of
from retro.app.engine.open_book import OpenBook
from retro.app.engine.stages import StagedReview, commit_all, moved_figures, twins_of
from retro.app.engine.wiring import settings_reader
from retro.app.settlement.settle import settled_book
from retro.errors import LostClaimError, RetroError, StoreError
from retro.report import PositionRetrospective, dump
from retro.report.document import read
from retro.safe import clean, plain_text
from retro.secret import redact
from retro.store.database import open_store
from retro.store.facts import agents
from retro.store.jobs import claims, reviews
from retro.store.locks import lock_agents
from retro.store.rework import (
    MOST_TRIES,
    ReworkUnit,
    facts_stamp,
    next_of_bucket,
    note_change,
    note_failure,
    open_units,
    reviews_done_since,
    strike_out,
)
from retro.version import EDITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from sqlalchemy import Connection

    from retro.app.context import PassSummary, ReviewPolicy, WorkContext
    from retro.app.engine.stages import Figures
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.jobs.reviews import Review

__all__ = ["AgentRework", "MovedReview", "ReworkSummary", "commit", "compute", "rework", "rework_bucket"]

_AT_ONCE: Final = 25
"""Reviews that are computed from one transaction: who reads a SQLite file keeps others from writing."""
_LONGEST_REASON: Final = 500


class MovedReview(NamedTuple):
    """A review of which a figure has moved: the revision it was computed beside, digests, its text without words.

    `twins`: of a closed trade what its twins made, as it is stored.
    """

    key: int
    kind: str
    revision: int
    facts: str
    digest: str
    numbers: str
    twins: str | None


@dataclass(frozen=True, slots=True)
class AgentRework:
    """What looking at an agent's reviews came to. `stamp` is of the facts it was computed from; `failure` says why it was not."""

    agent: str
    stamp: str = ""
    reviews: int = 0
    moved: tuple[MovedReview, ...] = ()
    failure: str | None = None


@dataclass(slots=True)
class ReworkSummary:
    """What a rework came to: agents, reviews looked at, new revisions, agents done again, and what went wrong by agent."""

    agents: int = 0
    reviews: int = 0
    revised: int = 0
    again: int = 0
    failures: dict[str, str] = field(default_factory=dict)


# computing: in any process of any machine that reaches the database


def compute(config: Config, unit: ReworkUnit, edition: str) -> list[AgentRework]:
    """The reviews of a unit's agents as they would be made now, where they differ; writes no review.

    `RetroError` where it is asked for by another `edition` of this package, whose figures need not be ours.
    """
    if edition != EDITION:
        raise RetroError(f"a computer has version {EDITION}, not {edition}")
    store = open_store(config.store.url)
    settings_for = settings_reader(config)
    try:
        return [_computed(store, policy_of(config), settings_for, name, unit) for name in unit.agents]
    finally:
        store.close()


def _computed(
    store: Store,
    terms: ReviewPolicy,
    settings_for: Callable[[Agent], AgentSettings],
    name: str,
    unit: ReworkUnit,
) -> AgentRework:
    try:
        with store.read() as conn:
            settings = settings_for(agents.existing_agent(conn, name))
            owed = reviews_done_since(conn, name, unit.since, unit.at)
            stamps = set[str]() if owed else {facts_stamp(conn, name)}
        moved = list[MovedReview]()
        for first in range(0, len(owed), _AT_ONCE):
            some = owed[first : first + _AT_ONCE]
            with settled_book(store, name, settings) as book:
                stamps.add(facts_stamp(book.conn, name))
                moved += _moved(terms, book, some, unit.at)
        # facts that came between two parts of it: no stamp is of both
        return AgentRework(name, stamps.pop() if len(stamps) == 1 else "", len(owed), tuple(moved))
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  one agent must not stop the others
        return AgentRework(name, failure=f"{type(error).__name__}: {error}")


def _moved(terms: ReviewPolicy, book: SettledBook, some: Sequence[Review], at: int) -> Iterator[MovedReview]:
    """Those of some reviews of which a figure has moved."""
    if len(some) > 1:
        book.life.read_ahead(some)
    moved: list[tuple[Review, Figures]] = []
    for review in some:
        stored = book.life.revision_of(review)
        figures = None if stored is None else moved_figures(terms, book, review, stored, at)
        if figures is not None:
            moved.append((review, figures))
    lives = [review.subject for review, made in moved if isinstance(made.document, PositionRetrospective)]
    twins = twins_of(book, lives) if lives else {}
    for review, figures in moved:
        facts, text = book.life.facts_digest(review), dump(figures.document)
        yield MovedReview(
            review.key, review.kind, review.revision, facts, figures.digest, text, twins.get(review.subject)
        )


# storing: here alone


def commit(bench: WorkContext, work: AgentRework) -> bool:
    """Store what became of an agent's reviews; False, and nothing is stored, where its facts or reviews have changed."""
    worded = [_worded(bench, moved) for moved in work.moved]
    try:
        with bench.store.write() as conn:
            lock_agents(conn, [work.agent], marks="read")
            if facts_stamp(conn, work.agent) != work.stamp:
                return False
            now = bench.clock()
            wanted = {moved.key: moved.revision for moved in work.moved}
            claimed = claims.claim_done(conn, wanted, bench.owner, now, bench.lease)
            staged = [
                replace(made, review=_checkpoint(conn, claimed[moved.key], moved), twins=moved.twins)
                for moved, made in zip(work.moved, worded, strict=True)
            ]
            commit_all(conn, bench, staged, now)
            strike_out(conn, work.agent)
    except LostClaimError:
        return False
    return True


def _worded(bench: WorkContext, moved: MovedReview) -> StagedReview:
    """The words, before anything is locked: they may take a model minutes."""
    with bench.store.read() as conn:
        review = reviews.by_key(conn, moved.key)._replace(revision=moved.revision + 1)
    book = OpenBook(bench, [review])
    document, _ = bench.words(review, read(moved.numbers, moved.kind), book.settings)
    return StagedReview(review, book, clean(document), is_worded=True)


def _checkpoint(conn: Connection, review: Review, moved: MovedReview) -> Review:
    """Its figures as a revision of their own; the ledger refuses one that is not the next."""
    text, revision = moved.numbers, moved.revision + 1
    return claims.keep_numbers(
        conn, review, revision=revision, facts=moved.facts, digest=moved.digest, text=text
    )


def rework(
    bench: WorkContext,
    executor: Executor,
    at_once: int,
    progress: Callable[[ReworkSummary, int], None] = lambda *_: None,
) -> ReworkSummary:
    """Compute what is written down by `executor`, so many units at once, and store it; what failed stays written down.

    `progress` is told after each agent, with how many are left. `RetroError` where the executor dies: what is stored is
    stored, and another call goes on.
    """
    with bench.store.read() as conn:
        waiting = deque((unit, 1) for unit in open_units(conn))
    summary, left = ReworkSummary(), sum(len(unit.agents) for unit, _ in waiting)
    running: dict[Future[list[AgentRework]], tuple[ReworkUnit, int]] = {}
    try:
        while (waiting or running) and not bench.stopping():
            while waiting and len(running) < at_once:
                unit, tries = waiting.popleft()
                running[executor.submit(compute, bench.config, unit, EDITION)] = (unit, tries)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                unit, tries = running.pop(future)
                changed = []
                for work in _answer(future):
                    if _is_stored(bench, work, summary):
                        left -= 1
                    else:
                        changed.append(work.agent)
                    progress(summary, left)
                if changed and tries < MOST_TRIES:
                    summary.again += len(changed)
                    waiting.append((unit._replace(agents=tuple(changed), at=bench.clock()), tries + 1))
                else:
                    summary.failures |= dict.fromkeys(changed, f"its facts changed {tries} times meanwhile")
    except (BrokenExecutor, CancelledError) as error:  # a cluster whose scheduler is gone cancels what it had
        why = str(error) or "it was cancelled"
        raise RetroError(
            f"what computed died ({why}); what is stored is stored: `retro rework` goes on with {left:,} agents"
        ) from error
    finally:
        for future in running:
            future.cancel()
    return summary


def rework_bucket(bench: WorkContext, tally: PassSummary, until: int) -> None:
    """What a worker of a fleet does of it: the agents of the bucket at hand, one after the other, until an instant.

    An agent is computed and stored as by `rework`, whoever else is at it; what fails is noted, and is begun by no worker again.
    """
    while bench.clock() < until and not bench.stopping():
        with bench.store.write() as conn:
            unit = next_of_bucket(conn, bench.bucket)
        if unit is None:
            return
        (agent,) = unit.agents
        summary = ReworkSummary()
        work = _computed(bench.store, bench.terms, bench.settings_for, agent, unit)
        if not _is_stored(bench, work, summary):
            with bench.store.write() as conn:
                note_change(conn, agent, bench.clock())
        for reason in summary.failures.values():
            with bench.store.write() as conn:
                note_failure(conn, agent, reason)
            bench.log("rework_failed", level="error", agent=agent, reason=reason)
        tally.done += summary.revised
        tally.unchanged += summary.reviews - summary.revised
        tally.failed += len(summary.failures)
        bench.beat()


def _answer(future: Future[list[AgentRework]]) -> list[AgentRework]:
    """What a unit came to; an executor has errors of its own for computers that die, and they end it like those we know."""
    try:
        return future.result()
    except (RetroError, BrokenExecutor, CancelledError):
        raise
    except Exception as error:
        raise BrokenExecutor(f"{type(error).__name__}: {error}") from error


def _is_stored(bench: WorkContext, work: AgentRework, summary: ReworkSummary) -> bool:
    """Whether an agent needs no second look: it is stored, or has failed and no other try would end better now."""
    failure = work.failure
    if failure is None:
        try:
            if not commit(bench, work):
                return False
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  as in computing
            failure = f"{type(error).__name__}: {error}"
    if failure is not None:
        summary.failures[work.agent] = plain_text(str(redact(failure, bench.secrets)))[:_LONGEST_REASON]
        return True
    summary.agents += 1
    summary.reviews += work.reviews
    summary.revised += len(work.moved)
    return True
