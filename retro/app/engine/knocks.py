"""Answers to an engine that knocks for a fleet of workers: the ledger decides what is due.

A knock names a bucket of agents and carries nothing else. It may be lost, and may come twice: whoever answers asks the
ledger what is to be done there. An engine sees to it that of one bucket one knock is answered at a time.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.app.context import Knock, PassSummary
from retro.app.engine import delivery
from retro.app.engine.rework import rework_bucket
from retro.app.engine.summaries import sum_up_earlier
from retro.app.engine.worker import bring_up_to_date, make_due, recover
from retro.app.estate.retention import purge, tidy
from retro.periods import SECOND
from retro.store.books import shared_marks
from retro.store.jobs import claims, outbox
from retro.store.jobs.backlog import letter_buckets, rework_buckets, ripe_buckets
from retro.store.jobs.queue import HOLDER

if TYPE_CHECKING:
    from retro.app.context import Queue, WorkContext

__all__ = ["answer", "ripe_knocks"]

_TURN: Final = 20 * SECOND
"""After so long a knock begins nothing more of its bucket and asks for another, so that no bucket waits for a large one."""


def answer(bench: WorkContext, knock: Knock) -> PassSummary:
    """Do what there is to do where it was knocked; what is left after a while is asked for again.

    The caller answers one knock of a bucket and queue at a time: what earlier answers have left held is freed at once.
    """
    tally = PassSummary()
    if knock.bucket is None:
        _answer_for_all(bench, knock.queue, tally)
        return tally
    mine = replace(bench, bucket=knock.bucket, owner=f"{HOLDER}{bench.owner}:{uuid.uuid4().hex[:12]}")
    if knock.queue == "letters":
        recover(mine, tally, [outbox.QUEUE])
        delivery.send_all(mine, tally, (outbox.ALONE, outbox.AGENT))
        return tally
    until = bench.clock() + _TURN
    if knock.queue == "rework":
        rework_bucket(mine, tally, until)
    else:
        recover(mine, tally, [claims.QUEUE])
        bring_up_to_date(mine, tally)
        make_due(mine, tally, until=until)
    if bench.clock() >= until or bench.stopping():
        bench.ask(knock)
    if tally.done:
        bench.ask(Knock("letters", knock.bucket))
    return tally


def _answer_for_all(bench: WorkContext, queue: Queue, tally: PassSummary) -> None:
    """What is no bucket's: letters of all agents together, or what the house owes itself."""
    if queue == "letters":
        delivery.send_all(bench, tally, (outbox.FLEET,))
        return
    tidy(bench)
    recover(bench, tally)
    with bench.store.write() as conn:
        shared_marks.forget_tellings(conn)
    sum_up_earlier(bench)
    purge(bench)
    tally.amiss = bench.look_back()


def ripe_knocks(bench: WorkContext) -> list[Knock]:
    """A knock wherever the ledger has anything to do: who asks for these now and then makes up for every one that was lost."""
    now = bench.clock()
    with bench.store.read() as conn:
        knocks = [Knock("stream", bucket) for bucket in ripe_buckets(conn, now)]
        knocks += [Knock("letters", bucket) for bucket in letter_buckets(conn, now)]
        knocks += [Knock("rework", bucket) for bucket in rework_buckets(conn)]
        if outbox.ripe_channels(conn, now, bench.channels, digest=outbox.FLEET):
            knocks.append(Knock("letters", None))
    return knocks
