"""One rule alone over every position: what each would have made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.evaluate.whatif.exits import earlier_exits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.exits import EarlierExits
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["Replay", "replays"]

_BASIS_POINT: Final = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What a rule made of each position (n,).

    `pnl` is the real one exactly where it is not `touched`. `counted` are those that the rule can speak of; `share` is
    what it leaves of the size, 0 of those that would not have been. `at` and `price` say where it leaves: -1 and NaN
    where it does not.
    """

    rule: WhatIfRule
    pnl: Floats
    change: Floats
    touched: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    share: Floats
    at: Integers
    price: Floats

    def left_at(self, lives: EnteredLives) -> Integers:
        """When each is over (n,): where the rule leaves, else at its own exit."""
        return np.where(self.at >= 0, self.at, lives.left_at)


def replays(lives: EnteredLives, rules: Sequence[WhatIfRule], slippage_bps: float = 0.0) -> list[Replay]:
    """Each rule alone, over all positions."""
    exits = earlier_exits(lives, rules, slippage_bps * _BASIS_POINT)
    return [_replay(lives, rule, exits.get(rule)) for rule in rules]


def _replay(lives: EnteredLives, rule: WhatIfRule, exits: EarlierExits | None) -> Replay:
    n = len(lives)
    at, price = np.full(n, -1, dtype=np.int64), np.full(n, np.nan)
    share, counted = np.ones(n), np.ones(n, dtype=np.bool_)
    if exits is not None:
        at, price, touched, pnl = exits.at, exits.price, exits.at >= 0, exits.pnl
        counted = ~np.isnan(lives.entered.risk) if rule.in_risks else counted
    else:
        if rule.kind == "size-cap":
            touched = lives.notional > rule.amount
            np.divide(rule.amount, lives.notional, out=share, where=touched)
        else:
            touched = lives.having(rule.trait or "heuristic", rule.name)
            share[touched] = 0.5 if rule.kind == "half-size" else 0.0
        pnl = lives.real * share
    pnl = np.where(touched, pnl + 0.0, lives.real)
    change = np.where(touched, pnl - lives.real, 0.0)
    return Replay(rule, pnl, change, touched, counted, share, at, price)
