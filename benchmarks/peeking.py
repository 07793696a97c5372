"""What looking every week does to the words of the audit: simulated lives of rules, before and after.

    python -m benchmarks.peeking [--lives 4000] [--processes 2]

Each life is a year of weekly looks at rules whose worth is known, after thirteen weeks of another label of their agent.
*Before* is Student's t by day of entry with Benjamini-Hochberg over the rules, at each look as if it were the only one;
*after* is `audit_of`: bets on week sums, chosen by e-BH. Shares are of lives (of rules, where a life has many) in which
the word `supported` is ever said, with 3 standard errors. Money is in units of 10 USD, a standard deviation of one trade.

1. Six sorts of worthless trades, three a week: supported as bad, as good.
2. The same sorts at -0.4 sd: demoted within the year, and in which week.
3. Many rules: 12 worthless, 4 at -0.3 sd, 4 at +0.3 sd: lives with any false word, with a false demotion, the share of
   words that are false (what e-BH bounds), of rules judged right; and one at -0.4 sd among ten worthless ones.
4. Six ways to close positions on driftless prices: three entries a week, marked money and resolved money.
5. A demotion that was merged: called validated or refuted by the sixty citations since.
6. A stated confidence that is exactly right; and the wealth of confseq's betting martingale beside ours.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.rule_lives import (
    A_WEEK,
    EARLIER,
    EXITS,
    LOOKS,
    SORTS,
    Flags,
    Floats,
    Tally,
    Weeks,
    positions,
    trades,
)
from retro.evaluate.audit.bets import bets_of
from retro.evaluate.audit.history import RECORD, WEEK, History
from retro.evaluate.audit.rules import AuditRules
from retro.kernels import betting
from retro.kernels.special import t_quantile
from retro.periods import week_start
from tests.worlds.places import GOLDEN

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEMOTE: Final = -0.1
"""The threshold of -1 USD, where one trade has a standard deviation of 10."""
FIRST: Final = 105_000
"""The number of the week in which a life's rules begin: in 2012."""
PATIENCE: Final = 60
"""Later citations after which a merged change stays undecided."""
CLIPPED: Final = 0.2
"""The share of all gains that may lie beyond the bound, uncounted, where a rule is demoted."""


@dataclass(frozen=True)
class Looks:
    """Which rules are supported as bad and as good at each look, (rules, weeks), and which of the bad may be demoted."""

    against: Flags
    in_favour: Flags
    demoted: Flags


# What says `supported`


def audit_of(weeks: Weeks) -> Looks:
    """The audit itself: what a review at the end of each week says of each rule, from records as the book has them."""
    bets = bets_of(history_of(weeks), AuditRules(), week_start(FIRST + LOOKS, None))
    rows = [bets.keys.index((rule_name(rule), "entry")) for rule in range(len(weeks.money))]
    begins = FIRST - bets.grid.first
    supported = bets.grades[rows, begins:] == betting.GRADES.index("supported")
    tally = weeks.resolved.so_far()
    units = betting.bet_weeks(bets.grid, bets.bound)[rows, begins:]
    gains = np.cumsum(np.where(units, np.maximum(weeks.money, 0.0), 0.0), axis=1)
    size = np.where(units, bets.bound.size[rows, None], np.inf)
    beyond = np.cumsum(np.fmax(weeks.money - size, 0.0), axis=1)
    return Looks(
        against=supported & (tally.total < 0),
        in_favour=supported & (tally.total > 0),
        demoted=supported & (tally.total < DEMOTE * tally.count) & (beyond <= CLIPPED * gains),
    )


def rule_name(rule: int) -> str:
    return f"H-{rule + 1}"


def history_of(weeks: Weeks) -> History:
    """A life as the settled book keeps it: one position a rule and week, its outcomes of one size."""
    names = [rule_name(rule) for rule in range(len(weeks.money))]
    changes = [
        (rule, FIRST + week, weeks.money[rule, week])
        for rule, week in zip(*np.nonzero(weeks.money), strict=True)
    ]
    changes += [
        (len(names), FIRST + week, change)
        for week, change in zip(weeks.pool_week, weeks.pool_sum, strict=True)
    ]
    rule, week, change = (np.array(column) for column in zip(*changes, strict=True))
    marked = np.zeros(len(changes), WEEK)
    marked["name"], marked["week"], marked["change"] = rule, week, change
    marked["position"] = np.arange(len(changes))
    marked["held_at"] = marked["told_at"] = [week_start(int(number), None) for number in week]
    count = weeks.resolved.count.astype(np.int64)
    rule, week = np.nonzero(count)
    outcomes = np.zeros(int(count.sum()), RECORD)
    mean = np.repeat(weeks.resolved.total[rule, week] / count[rule, week], count[rule, week])
    outcomes["name"], outcomes["value"] = np.repeat(rule, count[rule, week]), mean
    outcomes["position"] = np.arange(len(outcomes))
    starts = np.array([week_start(FIRST + int(number), None) for number in week], np.int64)
    outcomes["resolved_at"] = outcomes["told_at"] = np.repeat(starts, count[rule, week])
    return History([*names, "earlier"], outcomes, marked)


def one_look(weeks: Weeks) -> Looks:
    """The audit as it was: p of t at each look, the spread of the role beside it below 15 days, q at most 0.10."""
    tally, role = weeks.resolved.so_far(), weeks.role.so_far()
    n = np.maximum(tally.count, 2)
    mean = tally.total / n
    own = np.sqrt(np.maximum(tally.squares / n - mean**2, 1e-24) / (n - 1))
    everything = [getattr(role, part)[0] + getattr(tally, part).sum(axis=0) for part in Tally.__annotations__]
    m = np.maximum(everything[0], 2)
    pooled = np.sqrt(np.maximum(everything[2] / m - (everything[1] / m) ** 2, 1e-24) * m / (m - 1) / n)
    t = np.abs(mean) / np.where(n < 15, np.maximum(own, pooled), own)
    supported = _step_up(t, n) & (tally.count >= betting.SUPPORTED_FROM)
    return Looks(supported & (mean < 0), supported & (mean > 0), supported & (mean < DEMOTE))


def _step_up(t: Floats, n: Floats) -> Flags:
    """Benjamini-Hochberg at 0.10 by critical values: all rules of a look have as many outcomes."""
    rules, looks = t.shape
    critical = np.array([[critical_t(k / rules, int(days)) for days in n[0]] for k in range(1, rules + 1)])
    passing = -np.sort(-t, axis=0) >= critical
    last = np.where(passing, np.arange(1, rules + 1)[:, None], 0).max(axis=0)
    least = np.where(last > 0, critical[last - 1, np.arange(looks)], np.inf)
    return np.asarray(t >= least)


@cache
def critical_t(share: float, days: int) -> float:
    return t_quantile(1 - betting.FALSE_DISCOVERIES * share / 2, days - 1)


# Counting


@dataclass(frozen=True)
class Scenario:
    """What lives are made of: sort of trades and means of the rules, or the exits and the money that is bet on."""

    sort: str = "normal"
    means: tuple[float, ...] = (0.0,)
    earlier: int = EARLIER
    exits: str = ""
    source: str = "marked"

    def life(self, seed: int) -> Weeks:
        rng = np.random.default_rng([seed, 10])
        if self.exits:
            return positions(rng, self.exits, self.source)
        return trades(rng, self.sort, self.means, self.earlier)


def first_looks(task: tuple[Scenario, range]) -> NDArray[np.int64]:
    """The first look, 1 .. 52 or 0 for never, at which a rule is supported: (lives, rules, 3 words, before and after).

    The words: bad, good, and demoted (bad, its average beyond the threshold, not too many gains uncounted).
    """
    scenario, seeds = task
    lives = []
    for seed in seeds:
        weeks = scenario.life(seed)
        audits = one_look(weeks), audit_of(weeks)
        said = np.stack([np.stack((a.against, a.in_favour, a.demoted), axis=1) for a in audits], axis=2)
        lives.append(np.where(said.any(axis=-1), said.argmax(axis=-1) + 1, 0))
    return np.array(lives)


class Bench:
    """Runs scenarios in so many processes."""

    def __init__(self, pool: ProcessPoolExecutor, lives: int) -> None:
        self.pool, self.lives = pool, lives

    def run(self, scenario: Scenario) -> NDArray[np.int64]:
        parts = [range(at, min(at + 250, self.lives)) for at in range(0, self.lives, 250)]
        return np.concatenate(list(self.pool.map(first_looks, [(scenario, part) for part in parts])))


def share(said: NDArray[np.int64], lives: int) -> str:
    """A share with 3 standard errors; of many rules in a life the lives are what varies."""
    p = float((said > 0).mean())
    return f"{p:.3f} ±{3 * math.sqrt(p * (1 - p) / lives):.3f}"


def median_look(said: NDArray[np.int64]) -> str:
    weeks = np.sort(np.where(said > 0, said, LOOKS + 1))
    middle = int(weeks[len(weeks) // 2])
    return f"{middle:4}" if middle <= LOOKS else "   -"


def verdicts(said: NDArray[np.int64], lives: int) -> str:
    """Shares and median weeks, before and after, of (lives, 2)."""
    return "  ".join(f"{share(said[:, when], lives)} {median_look(said[:, when])}" for when in (0, 1))


def head(name: str, *cells: str) -> None:
    print()
    line(name, *cells)


def line(name: str, *cells: str) -> None:
    print(f"{name:38}" + "  ".join(f"{cell:12}" for cell in cells).rstrip())


def worthless(bench: Bench) -> None:
    head("WORTHLESS, 3 A WEEK", "bad: before", "after", "good: before", "after")
    for sort in SORTS:
        said = bench.run(Scenario(sort))[:, 0]
        line(sort, *(share(said[:, word, when], bench.lives) for word in (0, 1) for when in (0, 1)))


def losing(bench: Bench) -> None:
    head("-0.4 SD A TRADE, 3 A WEEK", "demoted: before", "     after, weeks")
    for sort in SORTS:
        line(sort, verdicts(bench.run(Scenario(sort, (-0.4,)))[:, 0, 2], bench.lives))
    alone = bench.run(Scenario(means=(-0.4,), earlier=0))[:, 0, 2]
    line("normal, nothing known of its agent", verdicts(alone, bench.lives))
    for mean in (-0.2, -0.1):
        line(f"normal, {mean} sd", verdicts(bench.run(Scenario(means=(mean,)))[:, 0, 2], bench.lives))


def families(bench: Bench) -> None:
    heads = ("any false: was", "after", "demotions", "share of words", "right: before", "after")
    head("12 WORTHLESS, 4 AT -0.3, 4 AT +0.3", *heads)
    means = np.array((0.0,) * 12 + (-0.3,) * 4 + (0.3,) * 4)
    bad, good = means < 0, means > 0
    for sort in SORTS:
        said = bench.run(Scenario(sort, tuple(means.tolist()))) > 0
        false = said[:, ~bad, 0].sum(axis=1) + said[:, ~good, 1].sum(axis=1)
        words = np.maximum(said[..., :2, :].sum(axis=(1, 2)), 1)
        demoted = said[:, ~bad, 2].any(axis=1).astype(np.int64)
        right = np.concatenate((said[:, bad, 0], said[:, good, 1]), axis=1).astype(np.int64)
        cells = [share(column, bench.lives) for column in (false[:, 0], false[:, 1], demoted[:, 1])]
        cells.append(f"{(false / words)[:, 1].mean():.3f}".ljust(14))
        line(sort, *cells, *(share(right[..., when], bench.lives) for when in (0, 1)))
    head("ONE AT -0.4 AMONG TEN WORTHLESS", "demoted: before", "     after, weeks")
    for sort in SORTS:
        line(sort, verdicts(bench.run(Scenario(sort, (-0.4, *(0.0,) * 10)))[:, 0, 2], bench.lives))


def ways_out(bench: Bench) -> None:
    heads = ("before: bad", "good", "marked: bad", "good", "resolved: bad", "good")
    head("DRIFTLESS PRICES, POSITIONS CLOSED", *heads)
    for exits in EXITS:
        scenario = Scenario(exits=exits)
        marked = bench.run(scenario)[:, 0]
        resolved = bench.run(replace(scenario, source="resolved"))[:, 0]
        columns = [marked[:, word, 0] for word in (0, 1)] + [marked[:, word, 1] for word in (0, 1)]
        columns += [resolved[:, word, 1] for word in (0, 1)]
        line(exits, *(share(column, bench.lives) for column in columns))


def later_verdicts(lives: int) -> None:
    """A demotion that was merged, judged by the citations since: at three a week, by which side first has 10 to 1."""
    head("A MERGED DEMOTION IS CALLED", "validated", "refuted")
    for mean, rules in ((0.0, tuple(SORTS)), (-0.4, ("normal",)), (0.3, ("normal",))):
        for sort in rules:
            said = np.array([_verdict(sort, mean, seed) for seed in range(lives)])
            cells = [share((said == side).astype(np.int64), lives) for side in (1, 2)]
            line(f"{sort}, {mean} sd" if mean else f"{sort}, worthless", *cells)


def _verdict(sort: str, mean: float, seed: int) -> int:
    weeks = trades(np.random.default_rng([seed, 11]), sort, (mean,))
    size = betting.BOUND_WIDTH * math.sqrt(float(np.mean(np.square(weeks.pool_sum))))
    looks = PATIENCE // A_WEEK
    grid = betting.WeekGrid(0, weeks.money[:, :looks], weeks.resolved.count[:, :looks].astype(np.int64))
    wealth = betting.wealth(grid, betting.Bounds(np.array([size]), np.array([0]), 0))
    first = [
        np.append(np.flatnonzero(log_e[0] >= math.log(betting.TEN_TO_ONE)), looks)[0]
        for log_e in (wealth.log_against, wealth.log_for)
    ]
    return 0 if min(first) == looks else 1 if first[0] <= first[1] else 2


def confidences(lives: int) -> None:
    """A stated confidence that is right, looked at after each week of three outcomes: E ever at 10."""
    rng = np.random.default_rng(10)
    head("A CONFIDENCE THAT IS EXACTLY RIGHT", "changed")
    for stated in (0.3, 0.5, 0.6, 0.9):
        won = np.cumsum(rng.binomial(A_WEEK, stated, size=(lives, LOOKS)), axis=1)
        n = A_WEEK * np.arange(1, LOOKS + 1)
        table = [np.array([betting.bernoulli_e(w, int(k) - w, stated) for w in range(int(k) + 1)]) for k in n]
        ever = np.any([e[won[:, look]] >= betting.TEN_TO_ONE for look, e in enumerate(table)], axis=0)
        line(f"{stated}", share(ever.astype(np.int64), lives))


def beside_confseq() -> None:
    """The largest relative difference of our E from that of confseq, whose answers are stored."""
    worst = 0.0
    for case in json.loads((GOLDEN / "betting.json").read_text()):
        x = np.array(case["x"])
        for sums, wealth in ((x, case["e_against"]), (-x, case["e_for"])):
            logs = betting.log_wealth(np.cumsum(betting.log_factors(sums, case["bound"]), axis=0))
            ours = np.exp(logs[[*range(0, len(x), 6), -1]])
            worst = max(worst, float(np.abs(ours / np.array(wealth) - 1).max()))
    print(f"\nE beside confseq's betting martingale: largest relative difference {worst:.0e}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lives", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.processes) as pool:
        bench = Bench(pool, options.lives)
        for table in (worthless, losing, families, ways_out):
            table(bench)
    later_verdicts(options.lives)
    confidences(options.lives)
    beside_confseq()
    print(f"{options.lives} lives of {LOOKS} weekly looks in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
