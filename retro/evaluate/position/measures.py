"""What marks tell of positions, of many at once: excursions and regret, the time after the exit, the points of tables.

Positions that held one quantity of one instrument from entry to exit are measured together, by kernels that see all of
them; any other walks its own path from mark to mark. Who asks for one, a page or a row of a spreadsheet, asks for a batch
of one: its figures are those of the review of its period, to the last digit.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.accounting.prices import MAX_AGE
from retro.evaluate.position.after_exit import holding_on, stop_of, unknown_after
from retro.evaluate.position.checkpoints import Sample, Samples, has_after, last_after, sampled
from retro.evaluate.position.excursions import hindsight, walked
from retro.kernels.regret import AfterExit, after_exits, regrets, ruin_instants
from retro.kernels.series import bundle, stale
from retro.kernels.trajectory import Positions, sample
from retro.periods import DAY, WEEK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.accounting.prices import PriceLine
    from retro.evaluate.position.excursions import Hindsight
    from retro.evaluate.position.life import PositionPath
    from retro.kernels.series import BoolArray, FloatArray, IntArray

__all__ = ["Measures", "endings_of", "measures_of"]

_LEAST: Final = 1e-60
_MOST: Final = 1e50
"""Quantities by which a price may be divided and whose squares are numbers; what is told reaches beyond."""


class Measures(NamedTuple):
    """What the marks tell of one position: of its way, of the time after its exit, and at the offsets of its tables."""

    ending: Hindsight
    after: AfterExit
    samples: Samples


def measures_of(lives: Sequence[PositionPath]) -> list[Measures]:
    """The measures of each position, in order."""
    batch, rest = _split(lives)
    out = dict(zip(batch.places, batch.measures(), strict=True))
    for place in rest:
        life = lives[place]
        ending = walked(life)
        out[place] = Measures(ending, holding_on(life, ending.regret.mae), sampled(life))
    return [out[place] for place in range(len(lives))]


def endings_of(lives: Sequence[PositionPath]) -> list[Hindsight]:
    """Of each position, in order, what its end knows of its way, and no more."""
    batch, rest = _split(lives)
    out = dict(zip(batch.places, batch.endings(), strict=True))
    out |= {place: walked(lives[place]) for place in rest}
    return [out[place] for place in range(len(lives))]


def _split(lives: Sequence[PositionPath]) -> tuple[_Batch, list[int]]:
    """The positions of constant quantity, and the places of all others."""
    held = [_held(life) for life in lives]
    constant = [place for place, holding in enumerate(held) if holding is not None]
    rest = [place for place, holding in enumerate(held) if holding is None]
    return _Batch(
        constant, [lives[place] for place in constant], [holding for holding in held if holding is not None]
    ), rest


class _Holding(NamedTuple):
    """What was held from entry to exit, signed, and the cash it had brought by then; base currency."""

    quantity: float
    cash: float


def _held(life: PositionPath) -> _Holding | None:
    """The one quantity a position held; None where that changed, or is not priced by the marks of one instrument."""
    track, instrument = life.track, life.track.position.instrument
    if not track.is_fill_based or track.snapshots or life.horizon.use_highs_lows or not life.state.is_priced:
        return None
    inside = [knot for knot in track.knots if track.opened_at <= knot.at < life.exit_at]
    t = life.line.t
    if (
        not inside
        or not len(t)
        or int(t[-1]) < track.opened_at - MAX_AGE
        or not life.prices.marked(instrument)
    ):
        return None
    first = inside[0]
    if [*first.principal] != [instrument] or first.claims:
        return None
    if not _LEAST < abs(first.principal[instrument]) < _MOST:
        return None
    for knot in inside[1:]:
        if (knot.principal, knot.claims, knot.cash, knot.gas) != (first.principal, {}, first.cash, first.gas):
            return None
    return _Holding(first.principal[instrument], first.cash - first.gas)


class _Batch:
    """Positions of constant quantity as columns, a row each, and the marks of their instruments.

    `places` says where each stands among all that were asked for.
    """

    def __init__(
        self, places: Sequence[int], lives: Sequence[PositionPath], held: Sequence[_Holding]
    ) -> None:
        self.places = places
        self._lives = lives
        self._offsets = _instants(offset for _, offset in lives[0].horizon.offsets) if lives else _NONE
        lines = {life.track.position.instrument: life.line for life in lives}
        number = {symbol: i for i, symbol in enumerate(lines)}
        entry, end = (
            _instants(life.track.opened_at for life in lives),
            _instants(life.exit_at for life in lives),
        )
        self._marks = bundle([_around(line, entry, end, self._offsets) for line in lines.values()])
        self._final = _floats(life.final for life in lives)
        self._exit_costs = _floats(life.exit_costs for life in lives)
        self._positions = Positions(
            instrument=_instants(number[life.track.position.instrument] for life in lives),
            entry=entry,
            exit=end,
            quantity=_floats(holding.quantity for holding in held),
            cash=_floats(holding.cash for holding in held),
            notional=_floats(life.sizes.notional or 0.0 for life in lives),
            costs=_floats(life.entry_fees for life in lives),
        )
        self._gap = np.empty(0)

    def endings(self) -> list[Hindsight]:
        """Excursions and regret of each."""
        if not self._lives:
            return []
        columns = regrets(self._marks, self._positions, self._final, self._exit_costs)
        self._gap = columns.gap
        for life, gap in zip(self._lives, columns.gap.tolist(), strict=True):
            life.gap = None if isnan(gap) else gap
        return [
            hindsight(life, columns.row(i), inside)
            for i, (life, inside) in enumerate(zip(self._lives, columns.inside.tolist(), strict=True))
        ]

    def measures(self) -> list[Measures]:
        """All there is to measure, of each."""
        endings = self.endings()
        kept = replace(
            self._positions,
            cash=_floats(
                cash + life.settled_since
                for cash, life in zip(self._positions.cash.tolist(), self._lives, strict=True)
            ),
        )
        return list(map(Measures, endings, self._after(endings, kept), self._samples(kept)))

    def _after(self, endings: Sequence[Hindsight], kept: Positions) -> list[AfterExit]:
        """What holding on would have brought each; what `kept` would have had funding of others walks alone."""
        out: dict[int, AfterExit] = {}
        for i, (life, ending) in enumerate(zip(self._lives, endings, strict=True)):
            why = unknown_after(life)
            if why is not None:
                out[i] = AfterExit(None, None, None, why)
            elif life.terms.funding:
                out[i] = holding_on(life, ending.regret.mae)
        rows = _instants(i for i in range(len(self._lives)) if i not in out)
        if rows.size:
            stop = _floats(stop_of(self._lives[i], endings[i].regret.mae) for i in rows)
            final, costs, ruin = self._final[rows], self._exit_costs[rows], self._ruin()[rows]
            columns = after_exits(self._marks, kept.take(rows), final, costs, self._gap[rows], stop, ruin)
            out |= {int(i): columns.row(k) for k, i in enumerate(rows)}
        return [out[i] for i in range(len(self._lives))]

    def _ruin(self) -> FloatArray:
        """What there was to lose after each exit; infinite where nothing bounds it."""
        return _floats(inf if life.terms.ruin is None else life.terms.ruin for life in self._lives)

    def _samples(self, kept: Positions) -> list[Samples]:
        """The points of the tables of each."""
        if not self._lives:
            return []
        due = (self._positions.entry[:, None] + self._offsets) < self._positions.exit[:, None]
        at = np.minimum(self._positions.entry[:, None] + self._offsets, self._positions.exit[:, None])
        pnl, age = sample(
            self._marks, self._positions, np.concatenate([at, self._positions.exit[:, None]], axis=1)
        )
        duration = self._positions.exit - self._positions.entry
        stale_at_end = (age[:, -1] < 0) | stale(age[:, -1], self._gap, duration)
        before = _points(np.where(due, pnl[:, :-1], np.nan), age[:, :-1], self._stale(age[:, :-1]))
        after, ruined = self._samples_after(kept)
        ages = [None if last < 0 else last for last in age[:, -1].tolist()]
        ends = zip(before, after, ages, stale_at_end.tolist(), ruined, strict=True)
        return [
            sampled(life) if life.terms.funding else Samples(*row)
            for life, row in zip(self._lives, ends, strict=True)
        ]

    def _samples_after(self, kept: Positions) -> tuple[list[list[Sample | None]], list[int | None]]:
        """The points after each exit, and the mark at which what is kept has lost all."""
        told = np.array([has_after(life) for life in self._lives])
        until = _instants(last_after(life) for life in self._lives)
        ruined = ruin_instants(self._marks, kept, until, self._final, self._exit_costs, self._ruin())
        ruined = np.where(told, ruined, -1)
        at = kept.exit[:, None] + self._offsets
        _, age = sample(self._marks, kept, at)
        pnl, _ = sample(self._marks, kept, np.where(ruined[:, None] < 0, at, np.minimum(at, ruined[:, None])))
        pnl -= self._exit_costs[:, None]
        limit = _instants(life.marks_after for life in self._lives)[:, None]
        known = told[:, None] & (at <= limit) & (age >= 0) & (age <= MAX_AGE)
        points = _points(np.where(known, pnl, np.nan), age, self._stale(age))
        return points, [None if mark < 0 else mark for mark in ruined.tolist()]

    def _stale(self, age: IntArray) -> BoolArray:
        return stale(age, self._gap[:, None], self._offsets)


def _points(pnl: FloatArray, age: IntArray, late: BoolArray) -> list[list[Sample | None]]:
    """Rows of columns (N, K) as points, none where pnl is NaN."""
    return [
        [Sample(*cell) if cell[0] == cell[0] else None for cell in zip(*row, strict=True)]
        for row in zip(pnl.tolist(), age.tolist(), late.tolist(), strict=True)
    ]


def _around(
    line: PriceLine, entry: IntArray, end: IntArray, offsets: IntArray
) -> tuple[IntArray, FloatArray]:
    """The marks that positions of these lives look at: from the last one a day before the first entry on."""
    beyond = max(WEEK, int(offsets.max(initial=0)))
    first = max(int(np.searchsorted(line.t, int(entry.min()) - DAY)) - 1, 0)
    stop = int(np.searchsorted(line.t, int(end.max()) + beyond, side="right"))
    return line.t[first:stop], line.price[first:stop]


def _floats(values: Iterable[float]) -> FloatArray:
    return np.array(list(values), dtype=np.float64)


def _instants(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)


_NONE: Final[IntArray] = np.empty(0, np.int64)
