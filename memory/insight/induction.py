"""When a pattern among episodes is more than the agent's luck: a strategy in one value of one category of its situation.

An agent looks at its patterns for as long as it lives. What is asked of one is therefore a bet that luck wins seldom
however often it is looked at, not a test that luck passes one time in twenty at every look.
Sources: H. Robbins, "Statistical methods related to the law of the iterated logarithm" (1970); J. Ville (1939).
tests/memory/test_induction.py holds it by simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from memory.episodic.results import results_of
from memory.insight.evidence import Claim, Mask, classes
from memory.situation.context import MISSING_CODE, Codes, Floats, Registry

if TYPE_CHECKING:
    from memory.episodic.columns import EpisodeColumns

LEAST: Final = 10
"""Episodes with a shared pattern before anything is induced from them."""
ODDS: Final = 10.0
"""What E must reach for each pattern looked at: 10 to 1, so that all together mislead one life in ten at most."""
LOWEST_RATE, HIGHEST_RATE = 0.01, 0.99
"""A base rate beyond these is taken for the nearer one: who never lost yet has not shown that losing is impossible."""
_GREATEST: Final = 690.0  # exp of it is still a float
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Induction:
    """A pattern that became a belief.

    `field` the category; `members` the places of its outcomes, in order of time; `first` how many of them it took;
    `claim` whether it was won more (`wins`) or less often than the base rate; `patterns` how many were looked at then.
    """

    field: str
    members: Codes
    first: int
    claim: Claim
    patterns: int


def inductions(
    columns: EpisodeColumns, outcomes: Codes, rates: Floats, registry: Registry
) -> list[Induction]:
    """Every pattern of ten outcomes or more that became a belief.

    `outcomes` are the places of all the agent's decided outcomes, in order of time, `rates` its base rate after each.
    """
    results = results_of(columns)
    patterns = _patterns(columns, outcomes, registry)
    tenths = np.sort([members[LEAST - 1] for _, members in patterns])
    grown = []
    for field, members in patterns:
        won = results[members] > 0
        so_far = rates[np.searchsorted(outcomes, members)]
        looked_at = np.searchsorted(tenths, members, side="right")
        first = induced_after(won, so_far, looked_at)
        if first is not None:
            above = np.count_nonzero(won[:first]) > so_far[first - 1] * first
            claim: Claim = "wins" if above else "loses"
            grown.append(Induction(field, members, first, claim, int(looked_at[first - 1])))
    return grown


def _patterns(columns: EpisodeColumns, outcomes: Codes, registry: Registry) -> list[tuple[str, Codes]]:
    """(category, places) of every strategy in every value of every category with ten of these outcomes or more."""
    usable = outcomes[columns.strategy[outcomes] != MISSING_CODE]
    strategies, _ = classes(columns, "strategy", columns.strategy)
    patterns = []
    for position, item in enumerate(registry.fields):
        if item.kind != "category":
            continue
        values = columns.context[position]
        kinds, count = classes(columns, f"context.{item.name}", values)
        for places in groups(strategies[usable].astype(np.int64) * count + kinds[usable]):
            members = usable[places]
            if values[members[0]] != MISSING_CODE:
                patterns.append((item.name, members))
    return patterns


def groups(keys: npt.NDArray[np.integer[Any]]) -> list[Codes]:
    """The positions of each key that occurs at least `LEAST` times, each in ascending order."""
    if len(keys) < LEAST:
        return []
    small = keys.astype(np.uint16) if int(keys.max()) < 2**16 else keys  # 16 bits sort in linear time
    order = np.argsort(small, kind="stable")
    edges = np.flatnonzero(np.diff(small[order])) + 1
    return [piece for piece in np.split(order, edges) if len(piece) >= LEAST]


def base_rates(won: Mask) -> Floats:
    """The share won so far after each of an agent's decided outcomes, shape (n,), clipped to [.01, .99]."""
    share = np.cumsum(won) / np.arange(1, len(won) + 1)
    return np.asarray(np.clip(share, LOWEST_RATE, HIGHEST_RATE))


def induced_after(won: Mask, rates: Floats, looked_at: Codes) -> int | None:
    """After how many of a pattern's outcomes (at least 10) E reaches 10 to 1 for each pattern looked at; None: never.

    All of shape (n,), in order of time: what the pattern won, the agent's base rate after each of these outcomes, and
    how many patterns had ten outcomes by then, this one among them.
    """
    n = np.arange(1, len(won) + 1)
    wins = np.cumsum(won)
    losses = n - wins
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, len(won) + 2)))))  # ln k! for k from 0
    wealth = factorials[wins] + factorials[losses] - factorials[n + 1]
    wealth -= wins * np.log(rates) + losses * np.log1p(-rates)
    asked = np.log(ODDS * np.maximum(looked_at, 1))
    for count in n[(n >= LEAST) & (wealth > asked - _ROUNDING)].tolist():
        exact = log_e(int(wins[count - 1]), int(losses[count - 1]), float(rates[count - 1]))
        if exact >= asked[count - 1]:
            return int(count)
    return None


def log_e(wins: int, losses: int, rate: float) -> float:
    """Logarithm of E of a bet, spread evenly over all chances of winning, against the chance `rate` in (0, 1).

    E = B(1 + w, 1 + l) / (B(1, 1) p^w (1 - p)^l) (Robbins 1970): 1 without an outcome. Where each outcome, given those
    before it, is won with the chance p, E ever reaches 1/a in at most a share a of lives (Ville 1939).
    """
    spread = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(wins + losses + 2)
    return spread - wins * math.log(rate) - losses * math.log1p(-rate)


def e_value(wins: int, losses: int, rate: float) -> float:
    """E of `log_e`, above 0 and at most e^690."""
    return math.exp(min(_GREATEST, log_e(wins, losses, rate)))
