"""The points of a position's path that a review prints: at fixed offsets after entry and exit, and thinned for drawing."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.accounting.prices import MAX_AGE
from retro.figures import moment
from retro.kernels.regret import ruin_index
from retro.kernels.series import fresh_for
from retro.periods import SECOND, format_instant
from retro.report import Checkpoint, PathPoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retro.evaluate.position.life import PositionPath

__all__ = ["drawn", "post_exit", "trajectory"]

_DRAWN: Final = 160


def trajectory(life: PositionPath) -> list[Checkpoint]:
    """Pnl at the offsets before the exit (or now), and then always the end itself."""
    points = []
    for name, offset in life.horizon.offsets:
        at = life.track.opened_at + offset
        if at < life.exit_at:
            points.append(_checkpoint(life, name, at, offset))
    age = life.mark_age(life.exit_at)
    final_age = 0.0 if life.closed else None if age is None else age / SECOND
    duration = life.exit_at - life.track.opened_at
    late = not life.closed and (
        age is None or age > float(fresh_for(np.nan if life.gap is None else life.gap, duration))
    )
    points.append(
        Checkpoint(
            offset="exit", at=format_instant(life.exit_at), pnl=life.final, mark_age_s=final_age, stale=late
        )
    )
    if any(point.pnl is None for point in points):
        life.reasons["pnl_trajectory"] = "no mark, or none younger than 24 h, at the points without a pnl"
    return points


def _checkpoint(life: PositionPath, name: str, at: int, offset: int) -> Checkpoint:
    age = life.mark_age(at)
    if age is None or age > MAX_AGE:
        return Checkpoint(offset=name, at=format_instant(at), pnl=None, mark_age_s=None, stale=True)
    stale = age > float(fresh_for(np.nan if life.gap is None else life.gap, offset))
    pnl = life.track.state(at, at, life.prices).pnl
    return Checkpoint(offset=name, at=format_instant(at), pnl=pnl, mark_age_s=age / SECOND, stale=stale)


def post_exit(life: PositionPath) -> list[Checkpoint]:
    """Pnl at the same offsets after the exit, had it been held; points without a mark younger than a day are left out.

    A perp ends at the mark of its ruin, as `hold_on` does: the points after it stand there, and a reason says so.
    """
    if not life.closed or not life.track.is_fill_based:
        return []
    points, ruined_at = [], _ruined_at(life)
    for name, offset in life.horizon.offsets:
        at = life.exit_at + offset
        if life.horizon.after_until is not None and at > life.horizon.after_until:
            break
        i = life.line.index(at)
        age = None if i < 0 else at - int(life.line.t[i])
        if age is None or age > MAX_AGE:
            continue
        held_until = at if ruined_at is None else min(at, ruined_at)
        pnl = float(life.gross_if_held(np.array([held_until], dtype=np.int64))[0]) - life.exit_costs
        stale = age > float(fresh_for(np.nan if life.gap is None else life.gap, offset))
        points.append(
            Checkpoint(offset=name, at=format_instant(at), pnl=pnl, mark_age_s=age / SECOND, stale=stale)
        )
    return points


def _ruined_at(life: PositionPath) -> int | None:
    """The mark at which the position kept would have lost all there was to lose, up to the last point of the table."""
    until = life.exit_at + max((offset for _, offset in life.horizon.offsets), default=0)
    if life.horizon.after_until is not None:
        until = min(until, life.horizon.after_until)
    times = life.line.t[life.line.index(life.exit_at) + 1 : life.line.index(until) + 1]
    if life.terms.ruin is None or not len(times):
        return None
    ruined = ruin_index(life.gross_if_held(times) - life.exit_costs - life.final, life.terms.ruin)
    if ruined is None:
        return None
    ruined_at = int(times[ruined])
    life.reasons["post_exit_trajectory"] = (
        f"kept, it would have lost all there was to lose by {moment(format_instant(ruined_at))} UTC: held no further"
    )
    return ruined_at


def drawn(life: PositionPath, times: NDArray[np.int64], gross: NDArray[np.float64]) -> list[PathPoint]:
    """The path thinned for drawing: of each stretch its lowest and highest point.

    It begins at 0: the entry's fee is paid at the entry and not before, as in `mae`. It ends at the result.
    """
    chosen: Sequence[int]
    if len(times) <= _DRAWN:
        chosen = range(len(times))
    else:
        edges = np.linspace(0, len(times), _DRAWN // 2 + 1).astype(int)
        picks = set()
        for a, b in pairwise(edges):
            picks |= {int(a + gross[a:b].argmin()), int(a + gross[a:b].argmax())}
        chosen = sorted(picks)
    start = PathPoint(at=format_instant(life.track.opened_at), pnl=0.0)
    middle = [PathPoint(at=format_instant(int(times[i])), pnl=float(gross[i])) for i in chosen]
    return [start, *middle, PathPoint(at=format_instant(life.exit_at), pnl=life.final)]
