"""Keeping what is held: where several processes share a database, leases are renewed from a thread during long work."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.errors import StoreError
from retro.periods import SECOND
from retro.store.jobs import claims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from retro.app.context import WorkContext
    from retro.store.jobs.reviews import Review

__all__ = ["renewing_leases"]

_PATIENCE_S: Final = 600.0
"""A step that takes longer hangs: its lease is let go, and somebody else begins it again."""


@contextmanager
def renewing_leases(bench: WorkContext, reviews: Sequence[Review]) -> Iterator[Callable[[], None]]:
    """Renew the leases of these reviews while the block runs; not where nobody else could take them.

    What it gives is called whenever a step has ended: it is the single step that must not hang, however many there are.
    """
    if bench.alone:
        yield lambda: None
        return
    renewal = _Renewal(threading.Event(), time.monotonic())
    thread = threading.Thread(target=_renew, args=(bench, list(reviews), renewal), name="leases", daemon=True)
    thread.start()
    try:
        yield renewal.step_ended
    finally:
        renewal.over.set()
        thread.join()


@dataclass(slots=True)
class _Renewal:
    """`over` ends it; `stepped_at` (monotonic seconds) is when a step ended last."""

    over: threading.Event
    stepped_at: float

    def step_ended(self) -> None:
        """A step has ended, and the next one begins."""
        self.stepped_at = time.monotonic()


def _renew(bench: WorkContext, reviews: list[Review], renewal: _Renewal) -> None:
    every = bench.lease / SECOND / 3
    while not renewal.over.wait(every) and time.monotonic() < renewal.stepped_at + _PATIENCE_S:
        try:
            with bench.store.write() as conn:
                ours = claims.renew(conn, reviews, bench.clock() + bench.lease)
        except StoreError as error:
            bench.log("lease_not_renewed", level="warning", reason=str(error))
            continue
        if not ours:
            return
