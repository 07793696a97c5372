"""What rests on the bets: the interval that holds at every look, what was not counted, and how long a verdict takes.

All of it is of the weeks bet on (`betting.bet_weeks`), a row a rule; rules without a bound have None. Sources:
Waudby-Smith and Ramdas, JRSS-B 2024 (the interval as the means no bet rejects); Shin, Ramdas and Rinaldo 2023
(e-detectors); Hoenig and Heisey 2001 (why a verdict's date must not come from the average that was seen).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from retro.kernels.betting import (
    STAKES,
    TEN_TO_ONE,
    Booleans,
    Bounds,
    Floats,
    WeekGrid,
    bet_weeks,
    e_value,
    log_factors,
    log_wealth,
    packed,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ALARM = 520.0
"""Wealth at which a rule is said to have stopped working: ten years of weeks, on average, before a false alarm."""
HORIZON = 520
"""Weeks beyond which a verdict is never."""

_PRECISION = 1e-12  # of the bound
_BISECTIONS = 200  # more than any two floats need
_NEWTON = 30
_SETTLED = 1e-8  # a last step of Newton's that is no longer leaves its square


@dataclass(frozen=True, slots=True)
class AnytimeInterval:
    """Where the mean outcome may lie, whenever one looks; an end that no bet could reject is None (unbounded).

    There is no upper end while no week bet on was below +B (their clipped sums cannot say how much higher), no lower
    end while none was above -B. With a `reason` there is no interval: `no_bound`, `no_outcome` in the weeks bet on, or
    `empty`, when so much lies beyond B that the two ends, which clip different sides, passed each other.
    """

    low: float | None = None
    high: float | None = None
    reason: Literal["no_bound", "no_outcome", "empty"] | None = None


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The single gain that would bring a losing rule's sum to 0 (> 0), and its `largest` gain so far, if any."""

    gain: float
    largest: float | None


@dataclass(frozen=True, slots=True)
class Ripening:
    """How many weeks until a rule can be judged; None with its reason.

    `no_bound`: its scale is not known. `one_week`: a single week bet on says nothing of how weeks scatter.
    `no_outcome`: none resolved in the weeks bet on. `never`: in more than 520 weeks, or no stake would gain at all.
    """

    bets: int
    weeks: int | None
    reason: Literal["no_bound", "one_week", "no_outcome", "never"] | None = None


@dataclass(frozen=True, slots=True)
class StoppedWorking:
    """The detector of a rule: its wealth `m` now, whether it ever came to 520, and the week where that run began."""

    alarm: bool
    since: int | None
    m: float


def mean_intervals(grid: WeekGrid, bound: Bounds, level: float = 0.05) -> list[AnytimeInterval]:
    """All means per outcome that no bet rejects at `level` (half a side) after the weeks so far, one product a mean.

    The ends are those of a week's sum, by bisection to 1e-12 of B, divided by the mean number of outcomes of the weeks
    bet on.
    """
    ends = np.full((2, len(bound.size)), np.nan)
    for weeks in packed(bet_weeks(grid, bound)):
        x, size = weeks.of(grid.sums), bound.size[weeks.rows]
        for side, sums in enumerate((x, -x)):
            ends[side, weeks.rows] = _upper_ends(sums, weeks.bet, size, level / 2)
    high, low = ends[0].tolist(), (-ends[1]).tolist()
    intervals = []
    for row, rate in enumerate(_outcomes_a_week(grid, bound)):
        if bound.column[row] < 0:
            intervals.append(AnytimeInterval(reason="no_bound"))
        elif not rate:
            intervals.append(AnytimeInterval(reason="no_outcome"))
        elif low[row] > high[row]:
            intervals.append(AnytimeInterval(reason="empty"))
        else:
            intervals.append(AnytimeInterval(_finite(low[row] / rate), _finite(high[row] / rate)))
    return intervals


def clipped_shares(grid: WeekGrid, bound: Bounds) -> tuple[Floats, Floats]:
    """Shares of all gains and of all losses that lie beyond B, (rows,) each: what the bets did not count.

    Gains matter for the bets against a rule, losses for those for it. 0 without any, NaN without a bound.
    """
    x = np.where(bet_weeks(grid, bound), grid.sums, 0.0)
    return _beyond(x, bound.size), _beyond(-x, bound.size)


def break_even(outcomes: ArrayLike) -> BreakEven | None:
    """What would bring outcomes (n,) to nothing; None unless their sum is below 0."""
    values = np.asarray(outcomes, dtype=np.float64).tolist()
    total = math.fsum(values)
    if not total < 0:
        return None
    return BreakEven(-total, max((value for value in values if value > 0), default=None))


def weeks_to_verdict(
    grid: WeekGrid, bound: Bounds, threshold: ArrayLike, log_e: ArrayLike = 0.0
) -> list[Ripening]:
    """How many weeks more until E would come to 10, if a rule's mean per outcome were exactly `threshold`.

    A threshold below 0 asks for the bets against, above 0 for those for a rule; (rows,) or one number. log 10, less
    `log_e` of the wealth in hand ((rows,) or one number), over the mean log growth of the best stake on its own week
    sums, shifted to the threshold times its mean number of outcomes a week; at its rate of weeks bet on since the bound.
    Not from the average that was seen: that would be circular.
    """
    units = bet_weeks(grid, bound)
    rates, columns = _outcomes_a_week(grid, bound), bound.column.tolist()
    reached, limits = (
        np.broadcast_to(np.asarray(given, dtype=np.float64), (len(units),)).tolist()
        for given in (log_e, threshold)
    )
    answers = []
    for row, bets in enumerate(units.sum(axis=1).tolist()):
        if columns[row] < 0:
            answers.append(Ripening(bets, None, "no_bound"))
        elif bets < 2:
            answers.append(Ripening(bets, None, "one_week"))
        elif not rates[row]:
            answers.append(Ripening(bets, None, "no_outcome"))
        else:
            growth = _growth(grid.sums[row][units[row]], float(bound.size[row]), limits[row] * rates[row])
            needed = max(0.0, math.log(TEN_TO_ONE) - reached[row])
            elapsed = units.shape[1] - columns[row]
            weeks = math.ceil(needed / growth * elapsed / bets) if growth > 0 else HORIZON + 1
            late = weeks > HORIZON
            answers.append(Ripening(bets, None if late else weeks, "never" if late else None))
    return answers


def stopped_working(grid: WeekGrid, bound: Bounds) -> list[StoppedWorking | None]:
    """Whether a rule has stopped working: M = max(M before, 1) times what the stakes make of the week on average.

    An alarm stays until the text changes; `since` is the week in which the run that raised it began. Sharper than E
    against where a rule was worth something for long: E has those gains to undo first.
    """
    m, since = np.ones(len(bound.size)), np.full(len(bound.size), -1)
    for weeks in packed(bet_weeks(grid, bound)):
        size = bound.size[weeks.rows][:, None]
        factors = np.log1p(-STAKES.mean() * np.minimum(weeks.of(grid.sums), size) / size)
        log_m = np.zeros(len(size))
        began, alarm = np.full(len(size), -1), np.full(len(size), -1)
        for place, (bet, column) in enumerate(zip(weeks.bet.T, weeks.column.T, strict=True)):
            began = np.where(bet & ((log_m <= 0) | (began < 0)), column, began)
            log_m = np.where(bet, np.maximum(log_m, 0.0) + factors[:, place], log_m)
            alarm = np.where((alarm < 0) & (log_m >= math.log(ALARM)), began, alarm)
        m[weeks.rows], since[weeks.rows] = e_value(log_m), alarm
    return [
        StoppedWorking(begin >= 0, grid.first + begin if begin >= 0 else None, wealth)
        if column >= 0
        else None
        for begin, column, wealth in zip(since.tolist(), bound.column.tolist(), m.tolist(), strict=True)
    ]


def _upper_ends(x: Floats, units: Booleans, size: Floats, alpha: float) -> Floats:
    """The mean week sum at which E against "the mean is that" comes to 1/alpha, (rows,): E rises with the mean.

    Infinite where all weeks are at the bound or beyond. Each row stops by itself, so that no row depends on its
    neighbours. E is asked only for means near the end: on which side of it all others lie is known (`_near_the_ends`).
    """
    goal = -math.log(alpha)
    clipped = np.minimum(x, size[:, None])
    low = np.where(units, clipped, np.inf).min(axis=1, initial=np.inf)  # all shares are >= 0 there, E <= 1
    high = size.copy()
    endless = low >= high
    with np.errstate(all="ignore"):  # where floats end nothing is certain, and the end is halved for
        below, above = _near_the_ends(clipped, units, low, size, goal)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        active = (high - low > _PRECISION * size) & (low < middle) & (middle < high)
        if not active.any():
            break
        beyond = middle >= above
        asked = np.flatnonzero(active & (below < middle) & (middle < above))
        if len(asked):
            beyond[asked] = _log_e(clipped[asked], units[asked], size[asked], middle[asked]) >= goal
        high = np.where(active & beyond, middle, high)
        low = np.where(active & ~beyond, middle, low)
    return np.where(endless, np.inf, (low + high) / 2)


def _log_e(clipped: Floats, units: Booleans, size: Floats, mean: Floats) -> Floats:
    """Log of E against "the mean week is `mean`", (rows,), after weeks (rows, k) that are cut to B = `size`."""
    share = np.where(units, (clipped - mean[:, None]) / (size - mean)[:, None], 0.0)
    return log_wealth(np.cumsum(np.log1p(-STAKES * share[..., None]), axis=1)[:, -1])


def _near_the_ends(
    clipped: Floats, units: Booleans, low: Floats, size: Floats, goal: float
) -> tuple[Floats, Floats]:
    """Two means a row between which its end lies for certain, (rows,) each; infinite where none are known.

    Newton's method on s, where B - mean falls as exp(-s) from B - `low` on: log E is convex in it. Then a step to either
    side, far enough for E to differ from the goal by more than rounding can make it.
    """
    rows = np.flatnonzero(low < size)
    clipped, units, size, span = clipped[rows], units[rows], size[rows], (size - low)[rows]
    s, slope = np.zeros(len(rows)), np.ones(len(rows))
    moving = np.arange(len(rows))
    for _ in range(_NEWTON):
        width = span[moving] * np.exp(-s[moving])
        value, slope[moving] = _rise(clipped[moving], units[moving], size[moving], width)
        step = np.minimum((goal - value) / slope[moving], 2.0)
        s[moving] += step
        moving = moving[np.abs(step) > _SETTLED]
        if not len(moving):
            break
    rounding = 1e-14 * (10 + units.sum(axis=1)) * (10 + size / (span * np.exp(-s)))
    ends = []
    for side in (-1, 1):
        mean = size - span * np.exp(-s - side * 4 * rounding / slope)
        is_certain = side * (_log_e(clipped, units, size, mean) - goal) > rounding
        end = np.full(len(low), side * np.inf)
        end[rows] = np.where(is_certain, mean, side * np.inf)
        ends.append(end)
    return ends[0], ends[1]


def _rise(clipped: Floats, units: Booleans, size: Floats, width: Floats) -> tuple[Floats, Floats]:
    """About log E at the means B - `width`, and how it rises with s, (rows,) each."""
    missing = np.where(units, (size[:, None] - clipped) / width[:, None], 0.0)
    share = np.where(units, 1 - missing, 0.0)
    log_sums, slopes = np.empty((2, len(size), len(STAKES)))
    for number, stake in enumerate(STAKES.tolist()):
        factors = 1 - stake * share
        log_sums[:, number] = np.log(factors).sum(axis=1)
        slopes[:, number] = stake * (missing / factors).sum(axis=1)
    value = log_wealth(log_sums)
    weights = np.exp(log_sums - value[:, None]) / len(STAKES)
    return value, (weights * slopes).sum(axis=1)


def _outcomes_a_week(grid: WeekGrid, bound: Bounds) -> list[float]:
    """Mean number of outcomes of the weeks bet on; 0 without any."""
    units = bet_weeks(grid, bound)
    counts = np.where(units, grid.outcomes, 0).sum(axis=1).tolist()
    return [n / bets if bets else 0.0 for n, bets in zip(counts, units.sum(axis=1).tolist(), strict=True)]


def _beyond(x: Floats, size: Floats) -> Floats:
    # cumulative sums add from the first week on; numpy's own sum would split them by the length of the grid
    total = np.cumsum(np.maximum(x, 0.0), axis=1)[:, -1]
    excess = np.cumsum(np.maximum(x - size[:, None], 0.0), axis=1)[:, -1]
    return np.where(np.isnan(size), np.nan, excess / np.where(total > 0, total, 1.0))


def _growth(x: Floats, size: float, mean: float) -> float:
    """Mean log growth a week of the best of the seven stakes on week sums (k,) moved to `mean`, against if below 0."""
    shifted = x - math.fsum(x.tolist()) / len(x) + mean
    factors = log_factors(shifted if mean < 0 else -shifted, size)
    about = factors.sum(axis=0)
    near = about >= about.max() - 1e-9 * np.abs(factors).sum()  # of the others none can be the best
    return max(math.fsum(column) for column in factors[:, near].T.tolist()) / len(x)


def _finite(value: float) -> float | None:
    return value + 0.0 if math.isfinite(value) else None  # no -0.0
