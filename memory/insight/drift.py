"""Drift of a habit: whether its weeks have been losing, or gaining, for so long that chance no longer explains it.

Two e-detectors over complete UTC weeks, one against "its weeks come to no less than nothing", one against "to no more".
Trades of one week move together and trades of one day more so; a week is therefore one bet, however many trades it has.
Sources: J. Shin, A. Ramdas, A. Rinaldo, "E-detectors" (2023): a restarted product of bets reaches A on average no sooner
than after A steps without a change; J. Ville (1939). tests/memory/test_drift.py holds it by simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from memory.instants import DAY, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.situation.context import Codes, Floats

Direction = Literal["improving", "degrading"]

WEEK: Final = 7 * DAY
"""Microseconds of a week."""
MONDAY: Final = -3 * DAY
"""The Monday 00:00 UTC before instant 0, a Thursday."""
STAKES: Final = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""c: the shares of the wealth that are bet on a week."""
STAKE: Final = math.fsum(STAKES) / len(STAKES)
"""The mean of 1 - c x/B over the stakes is 1 - 31/70 x/B."""
ALARM: Final = 520.0
"""Ten years of weeks, on average, before a false alarm in one direction."""
SCALE: Final = 13
"""Weeks that fix the bound and carry no bet."""
QUIET: Final = 26
"""Weeks without a further alarm, after which one no longer stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Where the two detectors stand after the complete weeks of a life.

    `detected`: an alarm stands. `degrading`: its weeks from `start_at` on lost, under "they come to no less than
    nothing"; `improving`: they gained, under "to no more"; neither says worse or better than before. Instants are
    microseconds UTC: `start_at` the Monday from which the winning run counts, `alarm_at` and `cleared_at` the ends of
    the weeks that raised the alarm and that let it fall. A further alarm in its direction while one stands prolongs
    it: the dates are the first one's. `mean_r_before` is mean R per trade of the complete weeks before `start_at`,
    `mean_r_since` from it on until `cleared_at`. `clipped` is the share of what its weeks gained (`improving`: lost)
    over the same time that lay beyond the bound and was not counted against the alarm: 0 to 1, 0 where they gained
    nothing. `alarms` counts all. `weeks` are the complete weeks with an outcome, `bets` those bet on, `weeks_missing`
    how many more until one is.
    """

    detected: bool | None = None
    direction: Direction | None = None
    start_at: int | None = None
    alarm_at: int | None = None
    cleared_at: int | None = None
    mean_r_before: float | None = None
    mean_r_since: float | None = None
    clipped: float | None = None
    alarms: int | None = None
    weeks: int
    bets: int = 0
    weeks_missing: int = 0

    @property
    def reason(self) -> str | None:
        """Why nothing can be said; None where something is."""
        if not self.weeks_missing:
            return None
        if self.weeks < SCALE:
            return f"its scale is not known yet: {self.weeks} of {SCALE} weeks, {self.weeks_missing} missing"
        return f"its scale is not known yet: all {self.weeks} weeks came to nothing, 1 more is missing"

    @property
    def words(self) -> str:
        """One sentence that claims what was tested and no more."""
        if self.reason is not None:
            return f"unknown: {self.reason}"
        if self.start_at is None or self.alarm_at is None:
            weeks = "1 week" if self.bets == 1 else f"{self.bets} weeks"
            return f"no alarm in {weeks} bet on: nothing says that it loses or gains"
        verb, past = ("losing", "lost") if self.direction == "degrading" else ("gaining", "gained")
        week, noticed = f"the week of {_date(self.start_at)}", f"noticed on {_date(self.alarm_at)}"
        if self.cleared_at is None:
            text = f"it has been {verb} since {week}, {noticed}"
        else:
            text = f"it {past} from {week} on, {noticed}, cleared on {_date(self.cleared_at)}"
        other = "gains" if self.direction == "degrading" else "losses"
        share = f"{100 * (self.clipped or 0.0):.0f} %"
        return text if share == "0 %" else f"{text}, not counting {share} of its {other}"


def _date(at: int) -> str:
    return written(at)[:10]


def drift(at: Codes, r: Floats, *, until: int) -> Drift:
    """Run both detectors over the weeks that end not after `until`.

    `at`: shape (n,), ascending, the instants in microseconds at which the outcomes became known; `r`: shape (n,), the
    outcomes in R, finite, above 0 gained. The bound B is 3 rms of the sums of the first 13 weeks with an outcome; where
    all of these are 0 the next week tries again.
    """
    weeks = (at - MONDAY) // WEEK
    n = int(np.searchsorted(weeks, (until - MONDAY) // WEEK))
    at, r = at[:n], r[:n]
    numbers, first = np.unique(weeks[:n], return_index=True)
    # exact sums: the same week has the same bytes whatever the order of its trades
    sums = [math.fsum(part.tolist()) for part in np.split(r, first[1:])] if n else []
    scale = _scale(sums)
    if scale is None:
        return Drift(weeks=len(sums), weeks_missing=max(1, SCALE - len(sums)))
    fixed, bound = scale
    alarms = list(_alarms(sums, fixed, bound))
    bets = len(sums) - fixed
    if not alarms:
        return Drift(detected=False, alarms=0, weeks=len(sums), bets=bets)
    last = _standing(alarms)
    quiet = last.prolonged + QUIET
    cleared_at = _end(numbers[quiet]) if quiet < len(sums) else None
    start_at = _end(numbers[last.start]) - WEEK
    before, since = at < start_at, at >= start_at
    if cleared_at is not None:
        since &= at < cleared_at
    return Drift(
        detected=cleared_at is None,
        direction=last.direction,
        start_at=start_at,
        alarm_at=_end(numbers[last.week]),
        cleared_at=cleared_at,
        mean_r_before=_mean(r[before]),
        mean_r_since=_mean(r[since]),
        clipped=_clipped(sums[last.start : quiet + 1], bound, last.direction),
        alarms=len(alarms),
        weeks=len(sums),
        bets=bets,
    )


def _end(number: int) -> int:
    """The instant at which the week of this number ends."""
    return (int(number) + 1) * WEEK + MONDAY


def _mean(r: Floats) -> float:
    """Of at least the 13 weeks before the first bet, or of the week that starts a run."""
    return math.fsum(r.tolist()) / len(r)


def _clipped(sums: Sequence[float], bound: float, direction: Direction) -> float:
    """The share beyond the bound of all that speaks against the alarm."""
    sign = 1.0 if direction == "degrading" else -1.0
    against = [sign * x for x in sums if sign * x > 0.0]
    beyond = math.fsum(x - bound for x in against if x > bound)
    return beyond / math.fsum(against) if against else 0.0


def _scale(sums: Sequence[float]) -> tuple[int, float] | None:
    """(how many weeks fixed the bound, B = 3 rms of them); None where it is not fixed yet."""
    moved = next((place for place, x in enumerate(sums) if x != 0.0), len(sums))
    fixed = max(SCALE, moved + 1)
    if fixed > len(sums):
        return None
    return fixed, 3.0 * math.hypot(*sums[:fixed]) / math.sqrt(fixed)


@dataclass(frozen=True, slots=True)
class _Alarm:
    """Week places: where its run started, the week that raised it, and the last that prolonged it."""

    direction: Direction
    start: int
    week: int
    prolonged: int


def _alarms(sums: Sequence[float], fixed: int, bound: float) -> Iterator[_Alarm]:
    """Each alarm of the weeks from place `fixed` on, in order: M = max(M before, 1) x factor reaches 520."""
    wealth = {"degrading": 1.0, "improving": 1.0}
    start = {"degrading": fixed, "improving": fixed}
    for place in range(fixed, len(sums)):
        # never more than the bound is counted of what speaks against the alarm: a factor stays above 0
        gain = sums[place] / bound
        factors: tuple[tuple[Direction, float], ...] = (
            ("degrading", 1.0 - STAKE * min(gain, 1.0)),
            ("improving", 1.0 + STAKE * max(gain, -1.0)),
        )
        for direction, factor in factors:
            if wealth[direction] <= 1.0:
                wealth[direction], start[direction] = 1.0, place
            wealth[direction] *= factor
        raised = next((direction for direction, _ in factors if wealth[direction] >= ALARM), None)
        if raised is not None:  # never both: what multiplies the one shrinks the other
            yield _Alarm(raised, start[raised], place, place)
            wealth = dict.fromkeys(wealth, 1.0)


def _standing(alarms: Sequence[_Alarm]) -> _Alarm:
    """The last alarm, from its first week on where further ones prolonged it before it was quiet."""
    last = alarms[0]
    for alarm in alarms[1:]:
        prolongs = alarm.direction == last.direction and alarm.week <= last.prolonged + QUIET
        last = _Alarm(last.direction, last.start, last.week, alarm.week) if prolongs else alarm
    return last
