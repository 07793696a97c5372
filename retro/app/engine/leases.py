"""Keeping what is held: where several processes share a database, leases are renewed from a thread during long work."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from retro.errors import StoreError
from retro.periods import SECOND
from retro.store.jobs import claims

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.app.context import WorkContext
    from retro.store.jobs.reviews import Review

__all__ = ["renewing_leases"]

_PATIENCE_S: Final = 600.0
"""A step that takes longer hangs: its lease is let go, and somebody else begins it again."""


@contextmanager
def renewing_leases(bench: WorkContext, reviews: Sequence[Review]) -> Iterator[None]:
    """Renew the leases of these reviews while the block runs; not where nobody else could take them."""
    if bench.alone:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_renew, args=(bench, list(reviews), over), name="leases", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew(bench: WorkContext, reviews: list[Review], over: threading.Event) -> None:
    every = bench.lease / SECOND / 3
    until = time.monotonic() + _PATIENCE_S
    while not over.wait(every) and time.monotonic() < until:
        try:
            with bench.store.write() as conn:
                ours = claims.renew(conn, reviews, bench.clock() + bench.lease)
        except StoreError as error:
            bench.log("lease_not_renewed", level="warning", reason=str(error))
            continue
        if not ours:
            return
