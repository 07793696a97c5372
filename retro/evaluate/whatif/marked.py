"""What rules changed by the days on which the market moved it.

Positions that were held over several days at once met the same moves: by the day of their exits one move is counted as
many, and chance looks like skill. By the days of the marks it is counted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.replay import Replay
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["marked_sums"]


class _MarkedDays(NamedTuple):
    """What each position had made by the end of each of its days (k,), position by position; the last is all it made.

    `before` is what it had made by the end of the day before.
    """

    position: Integers
    day: Integers
    worth: Floats
    before: Floats


def marked_sums(lives: EnteredLives, rows: Sequence[Replay]) -> Floats:
    """What each rule changed by the day on which it came, shape (rules, days); a rule's days add up to its difference."""
    marked = _marked_days(lives)
    place = np.unique(marked.day, return_inverse=True)[1]
    days = int(place.max()) + 1 if len(place) else 0
    sums = np.zeros((len(rows), days))
    for row, replay in zip(sums, rows, strict=True):
        row[:] = np.bincount(place, _changes(lives, marked, replay), days)
    return sums


def _changes(lives: EnteredLives, marked: _MarkedDays, replay: Replay) -> Floats:
    """What a rule changed on each of the days (k,): all that came after its exit, and what its exit cost."""
    real = marked.worth - marked.before
    acts = replay.at >= 0
    if not acts.any():
        return (replay.share - 1)[marked.position] * real
    left = (lives.days(replay.left_at(lives)) + ~acts)[marked.position]
    on_the_day = replay.pnl[marked.position] - marked.worth
    return np.where(marked.day < left, 0.0, np.where(marked.day == left, on_the_day, -real))


def _marked_days(lives: EnteredLives) -> _MarkedDays:
    last_day = lives.days(lives.left_at)
    first_day = lives.days(lives.entered.at)
    position, day, at, price = [], [], [], []
    for i in np.flatnonzero(first_day < last_day).tolist():
        line = lives.marks[i]
        days = lives.days(line.at)
        ends = np.flatnonzero(np.diff(days, append=last_day[i]))  # the last mark of each day but the last
        position.append(np.full(len(ends), i))
        day.append(days[ends])
        at.append(line.at[ends])
        price.append(line.price[ends])
    every = np.arange(len(lives))
    positions = np.concatenate([*position, every]).astype(np.int64)
    days = np.concatenate([*day, last_day]).astype(np.int64)
    worth = np.concatenate([_worth(lives, position, at, price), lives.real])
    order = np.lexsort((days, positions))
    positions, days, worth = positions[order], days[order], worth[order]
    first = np.diff(positions, prepend=-1) != 0
    return _MarkedDays(positions, days, worth, np.where(first, 0.0, np.concatenate([[0.0], worth[:-1]])))


def _worth(lives: EnteredLives, position: list[Integers], at: list[Integers], price: list[Floats]) -> Floats:
    """What positions had made at marks of theirs."""
    if not position:
        return np.empty(0)
    which, instant = np.concatenate(position), np.concatenate(at)
    cash, quantity = lives.states.as_of(which, instant)
    return cash + quantity * np.concatenate(price)
