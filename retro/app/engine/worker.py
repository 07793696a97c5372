"""A knock: read the sources, bring the ledger up to date, make what is due, send what is written.

The same code serves the daemon, `retro run --once` and cron.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import TYPE_CHECKING, Final

from retro.app.context import PassSummary, backoff
from retro.app.engine import delivery
from retro.app.engine.leases import renewing_leases
from retro.app.engine.obligations import enqueue_due
from retro.app.engine.open_book import OpenBook
from retro.app.engine.stages import StagedReview, StoppedError, commit_all, compute, with_twins
from retro.app.engine.summaries import sum_up_earlier
from retro.app.estate.retention import purge, tidy
from retro.app.intake import sources
from retro.app.settlement.grid import grid_differs
from retro.errors import LostClaimError, ModelAwayError, StoreError, WithheldError
from retro.periods import DAY, SECOND, format_instant
from retro.safe import plain_text
from retro.secret import redact
from retro.store.facts import agents
from retro.store.jobs import backlog, claims, enrolments, outbox, reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retro.app.context import WorkContext
    from retro.store.jobs.queue import LeaseQueue
    from retro.store.jobs.reviews import Review

__all__ = ["bring_up_to_date", "make_due", "recover", "run_once", "run_pass"]

_AT_ONCE: Final = 25
_MOST_POSITIONS: Final = 2_000
"""Positions that documents may tell of while they wait for the others of their share; a few kilobytes each."""
_LONGEST_REASON: Final = 500
_LONGEST_WAIT: Final = DAY


def run_pass(bench: WorkContext, *, all_agents: bool = False) -> PassSummary:
    """Do everything that can be done now."""
    tally = PassSummary()
    tidy(bench)
    recover(bench, tally)  # before anything is claimed: what the dead held may be the oldest that is due
    bench.beat()
    sources.read_all(bench, tally)
    bench.beat()
    if not bench.stopping():
        bring_up_to_date(bench, tally, all_agents=all_agents)
        make_due(bench, tally)
        sum_up_earlier(bench)
    # deliveries are rows by now: whoever comes next sends what a stopped pass leaves
    if not bench.stopping():
        delivery.send_all(bench, tally)
        tally.amiss = bench.look_back()
        if tally.done:  # texts grow old where new ones come
            purge(bench)
    return tally


def bring_up_to_date(bench: WorkContext, tally: PassSummary, *, all_agents: bool = False) -> None:
    """Write down what is owed, to all agents or to those of the bucket at hand."""
    if all_agents:
        _say_grids(bench)
    try:
        enqueue_due(
            bench.store,
            bench.settings_for,
            bench.terms,
            bench.clock(),
            all_agents=all_agents,
            bucket=bench.bucket,
        )
    except WithheldError as error:  # one agent's reviews; what is owed already can be made
        tally.failed += 1
        bench.log("obligations_withheld", level="error", reason=str(error))


def _say_grids(bench: WorkContext) -> None:
    """Say of whom the configuration names another grid: it changes nothing by itself."""
    with bench.store.read() as conn:
        known_agents = agents.agents(conn)
    for agent in known_agents:
        if difference := grid_differs(agent, bench.config):
            bench.log("grid_kept", level="warning", agent=agent.name, reason=difference)


def run_once(bench: WorkContext, sleep: Callable[[float], None]) -> PassSummary:
    """A knock, and another after what a dead predecessor held has become free: its lease ends unless it is renewed.

    Where a model was away there are two more, half a knock apart: who runs from a timer comes back too late to ask again.
    """
    delivery.ask_again(bench)
    tally = run_pass(bench, all_agents=True)
    away = tally.unworded
    while away and not bench.stopping():
        for _ in range(ceil(_between_tries(bench) / SECOND) + 1):
            sleep(1.0)
            bench.beat()
        following = run_pass(bench)
        away = following.unworded
        tally += following
    until = bench.clock() + bench.lease + 5 * SECOND
    leases = _foreign_leases(bench)
    while leases and bench.clock() < until and not bench.stopping():
        sleep(min(1.0, bench.lease / SECOND / 4))
        bench.beat()
        now, still = bench.clock(), _foreign_leases(bench)
        leases = {key: end for key, end in still.items() if leases.get(key) == end}  # others live: they renew
        if any(end <= now for end in leases.values()):
            tally += run_pass(bench)
            leases = _foreign_leases(bench)
    return tally


def _foreign_leases(bench: WorkContext) -> dict[tuple[str, int], int]:
    """What other processes hold, and until when: it is free then, unless they live and renew it."""
    if bench.alone:
        return {}
    with bench.store.read() as conn:
        review_leases = claims.QUEUE.leases_of_others(conn, bench.owner)
        letter_leases = outbox.QUEUE.leases_of_others(conn, bench.owner)
    return {("review", key): end for key, end in review_leases.items()} | {
        ("letter", key): end for key, end in letter_leases.items()
    }


# what others left behind


def recover(
    bench: WorkContext, tally: PassSummary, queues: Sequence[LeaseQueue] = (claims.QUEUE, outbox.QUEUE)
) -> None:
    """Make the leases of these queues fit the present: clamp those of a clock that went back, rescue those of the dead.

    Who holds a bucket rescues what is left of those that held it before, at once.
    """
    now, lease = bench.clock(), bench.lease
    with bench.store.read() as conn:  # nearly every pass finds nothing: it must not cost a write
        has_future_leases = any(
            queue.has_future_leases(conn, now, lease, _LONGEST_WAIT) for queue in (claims.QUEUE, outbox.QUEUE)
        )
        with_orphans = [
            queue
            for queue in queues
            if queue.has_expired_leases(conn, now, alone=bench.alone, holder=bench.holder)
        ]
    if has_future_leases:
        _clamp_leases(bench, now, lease)
        with_orphans = [*queues]
    if claims.QUEUE in with_orphans:
        _rescue_reviews(bench, now, tally)
    if outbox.QUEUE in with_orphans:
        _rescue_letters(bench, now)


def _clamp_leases(bench: WorkContext, now: int, lease: int) -> None:
    """First of all: a lease of next year's would not end before a dead process's reviews can be rescued."""
    with bench.store.write() as conn:
        count = sum(
            queue.clamp_leases(conn, now, lease, _LONGEST_WAIT) for queue in (claims.QUEUE, outbox.QUEUE)
        )
    bench.log("clock_went_back", level="warning", now=format_instant(now), freed=count)


def _rescue_reviews(bench: WorkContext, now: int, tally: PassSummary) -> None:
    """Free the reviews that dead processes were making."""
    attempts = bench.config.service.max_attempts
    with bench.store.write() as conn:
        orphans = claims.rescue(conn, now, attempts, alone=bench.alone, holder=bench.holder)
    tally.parked += sum(review.state == "parked" for review in orphans)
    for review in orphans:
        _tell(bench, "review_taken_over", review)


def _rescue_letters(bench: WorkContext, now: int) -> None:
    """Free the letters that dead processes were sending. They may have arrived, and a person should know."""
    with bench.store.write() as conn:
        uncertain_count = outbox.rescue(conn, now, alone=bench.alone, holder=bench.holder)
    if uncertain_count:
        bench.log("letters_uncertain", level="warning", letters=uncertain_count)


# making


def make_due(bench: WorkContext, tally: PassSummary, *, until: int | None = None) -> None:
    """Make what is due; after the instant `until` nothing more is begun."""
    is_announced = bench.bucket is not None
    # one claim after another, each short: a signal waits for one review, not for years
    while not bench.stopping():
        now = bench.clock()
        if until is not None and now >= until:
            return
        with bench.store.read() as conn:
            if not enrolments.anything_to_do(conn, now, bench.bucket):
                return
            due = 0 if is_announced else backlog.count_due(conn, now)
        if due > _AT_ONCE:
            bench.log("much_is_due", level="info", reviews=due)
        is_announced = True
        with bench.store.write() as conn:
            reviews.mark_due(conn, now, bucket=bench.bucket)
            claimed = claims.claim(
                conn,
                bench.owner,
                now,
                bench.lease,
                limit=_AT_ONCE,
                singly=bench.worded_kinds,
                bucket=bench.bucket,
            )
        if not claimed:  # another process was faster; what is due and delayed comes with the next knock
            return
        _make_in_turn(bench, claimed, tally)


def _make_in_turn(bench: WorkContext, claimed: Sequence[Review], tally: PassSummary) -> None:
    """Make what was claimed, agent by agent: the backfill of one in one transaction, everything else by itself.

    So no agent waits for another's transaction, and no review is made before what its agent has just learned.
    """
    shares = _shares(claimed)
    try:
        with renewing_leases(bench, claimed) as step_ended:
            while shares and not bench.stopping():
                _make_all(bench, shares.popleft(), tally)
                step_ended()
    finally:
        _release(bench, [review for share in shares for review in share])


def _shares(claimed: Sequence[Review]) -> deque[list[Review]]:
    """What is made in one transaction each, in order: an agent's reviews stay in theirs."""
    shares: deque[list[Review]] = deque()
    open_shares: dict[str, list[Review]] = {}
    for review in claimed:
        share = open_shares.get(review.agent)
        if share is None or not review.backfill:
            share = []
            shares.append(share)
        share.append(review)
        if review.backfill:
            open_shares[review.agent] = share
        else:
            open_shares.pop(review.agent, None)
    return shares


def _make_all(bench: WorkContext, claimed: Sequence[Review], tally: PassSummary) -> None:
    """Make what was claimed of one agent and finish it in one transaction; whatever comes, nothing stays held by mistake."""
    waiting, staged_reviews = list(claimed), list[StagedReview]()
    book = OpenBook(bench, claimed)
    try:
        for review in claimed:
            try:
                with bench.bound(agent=review.agent, review=review.id, attempt=review.attempts):
                    staged_reviews.append(compute(bench, review, book))
                if sum(staged.size for staged in staged_reviews) > _MOST_POSITIONS:
                    _finish(bench, staged_reviews, tally)
                    waiting = _without(waiting, staged_reviews)
                    staged_reviews.clear()
            except (StoreError, StoppedError):
                raise  # not this review's fault: nothing is noted against it
            except LostClaimError as error:
                waiting.remove(review)  # somebody else makes it now: it is not ours to release
                tally.lost += 1
                bench.log("claim_lost", level="warning", review=review.id, reason=str(error))
            except ModelAwayError as error:
                waiting.remove(review)
                book.close()
                _wait_for_words(bench, review, error, tally)
            except Exception as error:  # noqa: BLE001  one review must not stop the others
                waiting.remove(review)
                book.close()
                _failed(bench, review, error, tally)
    except StoppedError:  # what is computed is finished below, the rest given back: no attempt is counted
        bench.log("stopping", level="info", unfinished=len(waiting) - len(staged_reviews))
    except BaseException:  # a signal, or the database is gone: give back what can be given back, at once
        book.close()
        _release(bench, waiting)
        raise
    try:
        # whatever _finish could not finish it has failed or lost by itself: none of it may be released here
        _finish(bench, staged_reviews, tally)
        waiting = _without(waiting, staged_reviews)
    finally:
        book.close()
        _release(bench, waiting)


def _without(waiting: Sequence[Review], staged_reviews: Sequence[StagedReview]) -> list[Review]:
    keys = {staged.review.key for staged in staged_reviews}
    return [review for review in waiting if review.key not in keys]


def _finish(bench: WorkContext, staged_reviews: Sequence[StagedReview], tally: PassSummary) -> None:
    """All of them in one transaction, for one sync to the disk; where one cannot be finished each by itself."""
    if not staged_reviews:
        return
    now = bench.clock()
    try:
        staged_reviews = with_twins(staged_reviews)
        with bench.store.write() as conn:
            # several in the order of their keys: an ingest that marks them stale takes them in it too
            if len(staged_reviews) > 1:
                claims.lock(conn, [staged.review for staged in staged_reviews])
            commit_all(conn, bench, staged_reviews, now)
    except LostClaimError as error:
        if len(staged_reviews) == 1:
            tally.lost += 1
            bench.log("claim_lost", level="warning", review=staged_reviews[0].review.id, reason=str(error))
            return
        for staged in staged_reviews:
            _finish(bench, [staged], tally)
        return
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  as above; the transaction is undone, and with it every consequence
        if len(staged_reviews) == 1:
            _failed(bench, staged_reviews[0].review, error, tally)
            return
        for staged in staged_reviews:
            _finish(bench, [staged], tally)
        return
    for staged in staged_reviews:
        tally.done += staged.document is not None
        tally.unchanged += staged.document is None
        if staged.document is not None:
            _tell(bench, "review_done", staged.review._replace(state="done"))


def _wait_for_words(bench: WorkContext, review: Review, error: ModelAwayError, tally: PassSummary) -> None:
    """Its figures are stored; the next knock asks for its words again. The attempt counts: the last one takes what comes."""
    reason = plain_text(str(redact(str(error), bench.secrets)))[:_LONGEST_REASON]
    later = bench.clock() + _between_tries(bench)
    try:
        with bench.store.write() as conn:
            claims.fail(conn, review, reason, not_before=later)
    except LostClaimError:  # as below
        return
    tally.unworded += 1
    bench.log("words_postponed", level="warning", review=review.id, attempt=review.attempts, reason=reason)


def _between_tries(bench: WorkContext) -> int:
    """Half the time to the next knock, so that that one finds it due."""
    return round(bench.config.service.knock_seconds * SECOND / 2)


def _failed(bench: WorkContext, review: Review, error: Exception, tally: PassSummary) -> None:
    """Note a failure in the ledger: again later, or, after too many, never without a person."""
    reason = plain_text(str(redact(f"{type(error).__name__}: {error}", bench.secrets)))[:_LONGEST_REASON]
    # what is withheld does not pass with time, and a person should see it before a model is paid for five more tries
    last = review.attempts >= bench.config.service.max_attempts or isinstance(error, WithheldError)
    later = None if last else bench.clock() + backoff(review.attempts, bench.rng)
    try:
        with bench.store.write() as conn:
            claims.fail(conn, review, reason, not_before=later)
    except LostClaimError:  # its new holder says what becomes of it
        return
    tally.failed += 1
    tally.parked += last
    bench.log(
        "review_parked" if last else "review_failed",
        level="error",
        review=review.id,
        attempt=review.attempts,
        reason=reason,
        exception=error,
    )


def _release(bench: WorkContext, waiting: Sequence[Review]) -> None:
    for review in waiting:
        try:
            with bench.store.write() as conn:
                claims.release(conn, review)
        except (LostClaimError, StoreError) as error:  # its lease will end
            bench.log("not_released", level="warning", review=review.id, reason=str(error))


def _tell(bench: WorkContext, event: str, review: Review) -> None:
    level = "error" if review.state == "parked" else "debug" if review.backfill else "info"
    bench.log(
        event, level=level, agent=review.agent, review=review.id, attempt=review.attempts, state=review.state
    )
