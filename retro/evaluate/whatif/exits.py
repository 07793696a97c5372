"""Where rules would have left: all rules of a search over all positions, a batch of marks at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.kernels.evaluators.counterfactual import MarkPaths, PriceMoves, results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["EarlierExits", "earlier_exits"]

_MARKS: Final = 500_000
"""Marks that are looked at together: 40 MB of them, however long positions were held."""


class EarlierExits(NamedTuple):
    """Where a rule leaves each position (n,): the instant and price of the mark, and the PnL; -1 and NaN where it does not."""

    at: Integers
    price: Floats
    pnl: Floats


def earlier_exits(
    lives: EnteredLives, rules: Sequence[WhatIfRule], slippage: float
) -> dict[WhatIfRule, EarlierExits]:
    """What comes of the rules that leave; what goes pays the position's cost rate and `slippage`, shares of its value."""
    leaving = [rule for rule in dict.fromkeys(rules) if rule.leaves]
    at = {rule: np.full(len(lives), -1, dtype=np.int64) for rule in leaving}
    price = {rule: np.full(len(lives), np.nan) for rule in leaving}
    for first, last in _batches(lives) if leaving else ():
        paths = _paths(lives, first, last)
        moves = PriceMoves(paths, lives.entered.part(first, last))
        for rule in leaving:
            mark = _left_at(moves, rule)
            acts = np.flatnonzero(mark >= 0)
            at[rule][first + acts] = paths.at[mark[acts]]
            price[rule][first + acts] = paths.price[mark[acts]]
    exits = {}
    for rule in leaving:
        pnl = results(lives.states, at[rule], price[rule], lives.cost_rate + slippage)
        for i, beside in lives.beside.items():
            if at[rule][i] >= 0:
                pnl[i] += beside.worth(int(at[rule][i]))
        exits[rule] = EarlierExits(at[rule], price[rule], pnl)
    return exits


def _left_at(moves: PriceMoves, rule: WhatIfRule) -> Integers:
    """The mark (n,) at which each would have left."""
    if rule.kind == "exit-after":
        return moves.held_for(int(rule.amount))
    leave = {"stop": moves.stopped, "take": moves.taken, "trail": moves.trailed}[rule.kind]
    share, risks = (None, rule.amount) if rule.in_risks else (rule.amount, None)
    return leave(share=share, risks=risks)


def _batches(lives: EnteredLives) -> Iterator[tuple[int, int]]:
    """Positions from a first to just before a last, with so many marks together; at least one."""
    first, marks = 0, 0
    for i, line in enumerate(lives.marks):
        if i > first and marks + len(line.at) > _MARKS:
            yield first, i
            first, marks = i, 0
        marks += len(line.at)
    if first < len(lives):
        yield first, len(lives)


def _paths(lives: EnteredLives, first: int, last: int) -> MarkPaths:
    lines = lives.marks[first:last]
    return MarkPaths(
        np.concatenate([line.at for line in lines]),
        np.concatenate([line.price for line in lines]),
        np.cumsum([0, *(len(line.at) for line in lines)]),
    )
