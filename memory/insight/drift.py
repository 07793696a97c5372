"""Two-sided Page-Hinkley drift of outcomes, with an alarm that says where it began and a rule by which it clears.

Source: E. S. Page, "Continuous inspection schemes" (1954); D. Hinkley (1971). The threshold was set by simulation so
that unit-variance outcomes without drift give about one false alarm in 500 trades (tests/memory/test_habits.py).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from memory.episodic.factors import LEAST_SCALE, PRIOR_SCALE, PRIOR_WEIGHT, WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence

ALLOWANCE: Final = 0.1
"""delta: how far, in sigmas, the mean may wander unnoticed."""
THRESHOLD: Final = 13.5
"""lambda: the excursion, in sigmas, that raises the alarm."""
LEAST: Final = 30
"""Trades before the first alarm, and trades without one before it clears."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Where the detector stands after a sequence of outcomes.

    `detected`: an alarm was raised and has not cleared. Indices count the outcomes from 0: `start` is where the
    change that raised the last alarm began, `alarm` where it was noticed, `cleared` where it became the new normal.
    `before` and `since` are mean R of the stretch up to `start` and from it on (until `cleared`).
    """

    detected: bool
    direction: Literal["improving", "degrading"] | None
    start: int | None
    alarm: int | None
    cleared: int | None
    before: float | None
    since: float | None
    alarms: int


def drift(r: Sequence[float]) -> Drift:
    """Run the detector over outcomes in R, oldest first.

    Each outcome is divided by sigma of the up to 100 before it, and compared with the running mean since the last
    restart. An alarm restarts the detector there; 30 trades without another one clear it: the level is then normal.
    """
    recent: deque[float] = deque(maxlen=WINDOW)
    squares = 0.0
    run = _Run(0)
    last_alarm: tuple[int, int, int, int] | None = None
    alarms = 0
    for index, value in enumerate(r):
        sigma = max(
            LEAST_SCALE,
            math.sqrt((squares + PRIOR_WEIGHT * PRIOR_SCALE**2) / (len(recent) + PRIOR_WEIGHT)),
        )
        leaving = recent[0] if len(recent) == WINDOW else 0.0
        recent.append(value)
        squares += value * value - leaving * leaving
        if (
            leaving * leaving > squares
        ):  # what is left was the smaller part: add it up afresh, without its rounding
            squares = math.fsum(outcome * outcome for outcome in recent)
        side = run.step(value / sigma)
        if side:
            alarms += 1
            last_alarm = (side, run.split(), index, run.first)
            run = _Run(index + 1)
    return _standing(r, last_alarm, alarms)


class _Run:
    """One stretch of the two sums, from a restart to the next alarm."""

    __slots__ = ("down", "first", "highest", "lowest", "mean", "outcomes", "up")

    def __init__(self, first: int) -> None:
        self.first, self.mean = first, 0.0
        self.outcomes: list[float] = []
        self.up = self.lowest = self.down = self.highest = 0.0

    def step(self, x: float) -> int:
        """+1 when the level has risen, -1 when it has fallen, else 0."""
        self.outcomes.append(x)
        self.mean += (x - self.mean) / len(self.outcomes)
        self.up += x - self.mean - ALLOWANCE
        self.down += x - self.mean + ALLOWANCE
        self.lowest, self.highest = min(self.lowest, self.up), max(self.highest, self.down)
        if len(self.outcomes) < LEAST:
            return 0
        if self.up - self.lowest > THRESHOLD:
            return 1
        return -1 if self.highest - self.down > THRESHOLD else 0

    def split(self) -> int:
        """Where the two levels part best: the index that leaves the least variance on either side."""
        sums, n = np.cumsum(self.outcomes), len(self.outcomes)
        k = np.arange(1, n)
        gain = (sums[:-1] - k * (sums[-1] / n)) ** 2 / (k * (n - k))
        return self.first + int(np.argmax(gain)) + 1


def _standing(r: Sequence[float], last_alarm: tuple[int, int, int, int] | None, alarms: int) -> Drift:
    if last_alarm is None:
        return Drift(False, None, None, None, None, None, None, 0)
    side, start, alarm, origin = last_alarm
    cleared = alarm + LEAST if len(r) > alarm + LEAST else None
    before, since = r[origin:start], r[start:cleared]
    return Drift(
        detected=cleared is None,
        direction="improving" if side > 0 else "degrading",
        start=start,
        alarm=alarm,
        cleared=cleared,
        before=math.fsum(before) / len(before) if before else None,
        since=math.fsum(since) / len(since) if since else None,
        alarms=alarms,
    )
