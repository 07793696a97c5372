"""Do the workers of a fleet keep up: who gives signs of life, whose knocks hang, and what waits for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.periods import HOUR
from retro.store.jobs.backlog import overdue_buckets
from retro.store.migrations.engine import engine_state, has_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "fleet"]

_OVERDUE_H: Final = 2


def fleet(house: Installation) -> Iterator[Check]:
    """Whether somebody answers the knocks of a database that has a fleet, and nobody's reviews wait for hours."""
    store = house.store
    if store is None or store.dialect != "postgresql":
        return
    with store.read() as conn:
        if not has_engine(conn):
            return
        state = engine_state(conn)
        overdue = len(overdue_buckets(conn, house.now - _OVERDUE_H * HOUR))
    waits = f"buckets of agents that wait for more than {_OVERDUE_H} hours: {overdue:,}"
    if state.stalled:
        yield note(
            "fleet", f"knocks whose worker is silent: {state.stalled:,}; a living worker takes them over"
        )
    if not state.workers:
        remedy = "no worker gives a sign of life; start `retro worker`"
        yield broken("fleet", f"{remedy}; {waits}") if overdue else note("fleet", remedy)
    elif overdue:
        yield broken("fleet", f"{waits}; {_living(state.workers)}: start more (docs/fleet.md)")
    else:
        yield ok("fleet", f"{_living(state.workers)}; no bucket of agents waits for long")


def _living(workers: int) -> str:
    return f"workers that give signs of life: {workers:,}"


CHECKS: Final = (Examination("fleet", fleet),)
"""In the order in which they are told."""
