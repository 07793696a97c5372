"""The points of a position's path that a review prints: at fixed offsets after entry and exit, and thinned for drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.accounting.prices import MAX_AGE
from retro.figures import moment
from retro.kernels.regret import ruin_index
from retro.kernels.series import extremes, fresh_for
from retro.periods import SECOND, format_instant
from retro.report import Checkpoint, PathPoint
from retro.report.slotted import new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retro.evaluate.position.life import PositionPath

__all__ = ["Sample", "Samples", "drawn", "has_after", "last_after", "post_exit", "sampled", "trajectory"]

_DRAWN: Final = 160


class Sample(NamedTuple):
    """How a position stood at an offset: pnl in base currency, age of its mark in microseconds, whether that is stale."""

    pnl: float
    age: int
    stale: bool


class Samples(NamedTuple):
    """A position at the offsets of its tables, one each: None where the table has no such point, or no mark tells it.

    `age` and `stale` are those of its last mark, at the exit or now; `ruined_at` is the mark at which it would have lost
    all there was to lose, had it been kept.
    """

    before: Sequence[Sample | None]
    after: Sequence[Sample | None]
    age: int | None
    stale: bool
    ruined_at: int | None


def sampled(life: PositionPath) -> Samples:
    """The points of one position, looked up one by one."""
    begin, offsets = life.track.opened_at, life.horizon.offsets
    age = life.mark_age(life.exit_at)
    duration = life.exit_at - begin
    stale = age is None or age > float(fresh_for(np.nan if life.gap is None else life.gap, duration))
    ruined_at = _ruined_at(life)
    before = [_sample(life, offset) if begin + offset < life.exit_at else None for _, offset in offsets]
    after = [_sample_after(life, offset, ruined_at) for _, offset in offsets]
    return Samples(before, after, age, stale, ruined_at)


def _sample(life: PositionPath, offset: int) -> Sample | None:
    at = life.track.opened_at + offset
    age = life.mark_age(at)
    if age is None or age > MAX_AGE:
        return None
    stale = age > float(fresh_for(np.nan if life.gap is None else life.gap, offset))
    return Sample(life.track.state(at, at, life.prices).pnl, age, stale)


def _sample_after(life: PositionPath, offset: int, ruined_at: int | None) -> Sample | None:
    at = life.exit_at + offset
    if not has_after(life) or at > life.marks_after:
        return None
    i = life.line.index(at)
    age = None if i < 0 else at - int(life.line.t[i])
    if age is None or age > MAX_AGE:
        return None
    held_until = at if ruined_at is None else min(at, ruined_at)
    pnl = float(life.gross_if_held(np.array([held_until], dtype=np.int64))[0]) - life.exit_costs
    stale = age > float(fresh_for(np.nan if life.gap is None else life.gap, offset))
    return Sample(pnl, age, stale)


def has_after(life: PositionPath) -> bool:
    """Whether there is a time after the exit to tell of."""
    return life.closed and life.track.is_fill_based


def last_after(life: PositionPath) -> int:
    """The last instant of the table after the exit."""
    return min(
        life.exit_at + max((offset for _, offset in life.horizon.offsets), default=0), life.marks_after
    )


def _ruined_at(life: PositionPath) -> int | None:
    """The mark at which the position kept would have lost all there was to lose, up to the last point of the table."""
    if life.terms.ruin is None or not has_after(life):
        return None
    times = life.line.t[life.line.index(life.exit_at) + 1 : life.line.index(last_after(life)) + 1]
    if not len(times):
        return None
    ruined = ruin_index(life.gross_if_held(times) - life.exit_costs - life.final, life.terms.ruin)
    return None if ruined is None else int(times[ruined])


def trajectory(life: PositionPath, samples: Samples) -> list[Checkpoint]:
    """Pnl at the offsets before the exit (or now), and then always the end itself."""
    points = []
    for (name, offset), sample in zip(life.horizon.offsets, samples.before, strict=True):
        at = life.track.opened_at + offset
        if at < life.exit_at:
            points.append(_checkpoint(name, at, sample))
    final_age = 0.0 if life.closed else None if samples.age is None else samples.age / SECOND
    points.append(
        new(
            Checkpoint,
            offset="exit",
            at=format_instant(life.exit_at),
            pnl=life.final,
            mark_age_s=final_age,
            stale=not life.closed and samples.stale,
        )
    )
    if any(point.pnl is None for point in points):
        life.reasons["pnl_trajectory"] = "no mark, or none younger than 24 h, at the points without a pnl"
    return points


def _checkpoint(name: str, at: int, sample: Sample | None) -> Checkpoint:
    if sample is None:
        return new(Checkpoint, offset=name, at=format_instant(at), pnl=None, mark_age_s=None, stale=True)
    return new(
        Checkpoint,
        offset=name,
        at=format_instant(at),
        pnl=sample.pnl,
        mark_age_s=sample.age / SECOND,
        stale=sample.stale,
    )


def post_exit(life: PositionPath, samples: Samples) -> list[Checkpoint]:
    """Pnl at the same offsets after the exit, had it been held; points without a mark younger than a day are left out.

    A perp ends at the mark of its ruin, as `hold_on` does: the points after it stand there, and a reason says so.
    """
    if samples.ruined_at is not None:
        life.reasons["post_exit_trajectory"] = (
            "kept, it would have lost all there was to lose by"
            f" {moment(format_instant(samples.ruined_at))} UTC: held no further"
        )
    return [
        _checkpoint(name, life.exit_at + offset, sample)
        for (name, offset), sample in zip(life.horizon.offsets, samples.after, strict=True)
        if sample is not None
    ]


def drawn(life: PositionPath, times: NDArray[np.int64], gross: NDArray[np.float64]) -> list[PathPoint]:
    """The path thinned for drawing: of each stretch its lowest and highest point.

    It begins at 0: the entry's fee is paid at the entry and not before, as in `mae`. It ends at the result.
    """
    start = PathPoint(at=format_instant(life.track.opened_at), pnl=0.0)
    middle = [
        PathPoint(at=format_instant(int(times[i])), pnl=float(gross[i])) for i in extremes(gross, _DRAWN)
    ]
    return [start, *middle, PathPoint(at=format_instant(life.exit_at), pnl=life.final)]
