"""The positions a what-if is about, as columns: what they were as entered, what they held when, the marks they met."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from math import copysign, fsum, nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from playbook.citation import resolve
from retro.evaluate.position.foresight import ENTRY_ACTIONS, cites_of
from retro.kernels.evaluators.counterfactual import EnteredPositions, HeldStates
from retro.periods import day_of, hour_of, midnight

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory, StatePoint
    from retro.evaluate.position.life import PositionPath
    from retro.evaluate.whatif.rule import Trait
    from retro.kernels.uncertainty import Floats, Integers
    from retro.model import Decision

__all__ = ["Beside", "EnteredLives", "MarkLine", "days_of", "entered_lives"]


class MarkLine(NamedTuple):
    """Marks of one position: instants and prices, both (m,), views into the line of its instrument."""

    at: Integers
    price: Floats


class Beside(NamedTuple):
    """What a position holds besides its instrument: interest that accrued, as its life and the prices say."""

    track: PositionHistory
    prices: Prices

    def worth(self, at: int) -> float:
        """Its worth after everything that happened up to an instant."""
        knot = self.track.knot_before(at + 1)
        if knot is None:
            return 0.0
        held = [*_other_principal(self.track, knot).items(), *knot.claims.items()]
        return fsum(quantity * self.prices.price(asset, at) for asset, quantity in held if quantity)


@dataclass(frozen=True, slots=True, eq=False)
class EnteredLives:
    """Believed spot and perp positions (n,), oldest first, open ones at K. Money in base currency.

    `left_at` is the exit, K of an open one; `cost_rate` what leaving cost, as a share of what left. `marks` are those
    strictly between entry and exit, of an open one up to K. `cites` are the heuristics that the entry rests on, `labels`
    what it cited as written, `hours` those of the entries in the owner's zone. `unpriced` counts those left out because
    nothing says what they are worth at K.
    """

    zone: ZoneInfo
    names: tuple[str, ...]
    real: Floats
    left_at: Integers
    closed: NDArray[np.bool_]
    notional: Floats
    cost_rate: Floats
    entered: EnteredPositions
    states: HeldStates
    marks: tuple[MarkLine, ...]
    beside: Mapping[int, Beside]
    cites: tuple[frozenset[str], ...]
    labels: tuple[frozenset[str], ...]
    regimes: tuple[str | None, ...]
    hours: tuple[int, ...]
    unpriced: int = 0

    def __len__(self) -> int:
        return len(self.names)

    def days(self, at: Integers) -> Integers:
        """The number of the owner's day that contains each instant (m,)."""
        return days_of(at, self.zone)

    def having(self, trait: Trait, name: str) -> NDArray[np.bool_]:
        """Which of them (n,) have a trait."""
        columns: dict[Trait, Sequence[Collection[str | None]]] = {
            "heuristic": self.cites,
            "tag": self.labels,
            "regime": [(regime,) for regime in self.regimes],
            "hour": [(str(hour),) for hour in self.hours],
        }
        return np.array([name in traits for traits in columns[trait]], dtype=np.bool_)


def entered_lives(lives: Sequence[PositionPath], claims: Mapping[str, str], zone: ZoneInfo) -> EnteredLives:
    """The columns of these positions; what no fill opened and what is not believed is left out.

    `claims` says which heuristic a label means.
    """
    believed = [life for life in lives if _is_believed(life)]
    chosen = [life for life in believed if life.state.is_priced]
    chosen.sort(key=lambda life: (life.track.opened_at, life.track.position.position))
    states = [_states(life) for life in chosen]
    entries = [[d for d in life.track.decisions if d.action in ENTRY_ACTIONS] for life in chosen]
    labels = [frozenset(cite for d in decisions for cite in cites_of(d)) for decisions in entries]
    return EnteredLives(
        zone=zone,
        names=tuple(life.track.position.position for life in chosen),
        real=_floats([life.final for life in chosen]),
        left_at=_instants([life.exit_at for life in chosen]),
        closed=np.array([life.closed for life in chosen], dtype=np.bool_),
        notional=_floats([life.sizes.notional or 0.0 for life in chosen]),
        cost_rate=_floats([_cost_rate(life) for life in chosen]),
        entered=EnteredPositions(
            side=_floats([copysign(1.0, life.track.trades[0].quantity) for life in chosen]),
            price=_floats([life.sizes.entry_price or nan for life in chosen]),
            at=_instants([life.track.opened_at for life in chosen]),
            quantity=_floats([life.sizes.quantity or nan for life in chosen]),
            risk=_floats([life.risk or nan for life in chosen]),
        ),
        states=HeldStates(
            np.concatenate([_NO_INSTANTS, *(state[0] for state in states)]),
            np.concatenate([_NO_FLOATS, *(state[1] for state in states)]),
            np.concatenate([_NO_FLOATS, *(state[2] for state in states)]),
            _starts([len(state[0]) for state in states]),
        ),
        marks=tuple(_marks(life) for life in chosen),
        beside={
            i: Beside(life.track, life.prices)
            for i, life in enumerate(chosen)
            if any(knot.claims or _other_principal(life.track, knot) for knot in life.track.knots)
        },
        cites=tuple(frozenset(resolve(sorted(cited), claims)) for cited in labels),
        labels=tuple(labels),
        regimes=tuple(_regime(decisions) for decisions in entries),
        hours=tuple(hour_of(life.track.opened_at, zone) for life in chosen),
        unpriced=len(believed) - len(chosen),
    )


def days_of(at: Integers, zone: ZoneInfo) -> Integers:
    """The number of the owner's day that contains each instant (m,)."""
    if not len(at):
        return at
    first, last = (day_of(int(edge), zone).toordinal() for edge in (at.min(), at.max()))
    return first + np.searchsorted(_midnights(first + 1, last + 1, zone), at, "right")


def _is_believed(life: PositionPath) -> bool:
    """Whether fills opened it, and they are believed."""
    return life.track.is_fill_based and life.track.flagged_at is None and bool(life.sizes.quantity)


def _other_principal(track: PositionHistory, knot: StatePoint) -> dict[str, float]:
    return {asset: held for asset, held in knot.principal.items() if asset != track.position.instrument}


def _states(life: PositionPath) -> tuple[Integers, Floats, Floats]:
    """After each of its moves: when, what it had brought, what it held."""
    instrument = life.track.position.instrument
    knots = [knot for knot in life.track.knots if knot.at <= life.exit_at]
    return (
        _instants([knot.at for knot in knots]),
        _floats([knot.cash - knot.gas for knot in knots]),
        _floats([knot.principal.get(instrument, 0.0) for knot in knots]),
    )


def _marks(life: PositionPath) -> MarkLine:
    """Marks strictly after the entry and strictly before the exit; of an open position up to K."""
    first = int(np.searchsorted(life.line.t, life.track.opened_at, "right"))
    last = int(np.searchsorted(life.line.t, life.exit_at, "left" if life.closed else "right"))
    return MarkLine(life.line.t[first:last], life.line.price[first:last])


def _cost_rate(life: PositionPath) -> float:
    """Fees over money of all its exits; of an open one, and one that nothing closed, of its entries.

    A fee that was taken in the coin itself counts as what it was worth.
    """
    track = life.track
    leaves = life.closed and bool(track.closings)
    fills = track.closings if leaves else track.openings
    notional = fsum(fill.quantity * fill.price for fill in fills)
    entered = track.trades[0].quantity
    fees = fsum(trade.fee for trade in track.trades if (trade.quantity * entered > 0) is not leaves)
    return fees / notional if notional else 0.0


def _regime(decisions: Sequence[Decision]) -> str | None:
    regimes = ((decision.context or {}).get("regime") for decision in decisions)
    return next((regime for regime in regimes if isinstance(regime, str) and regime), None)


@lru_cache(32)
def _midnights(first: int, end: int, zone: ZoneInfo) -> Integers:
    """When the days begin, by number, from `first` to just before `end`."""
    return _instants([midnight(date.fromordinal(day), zone) for day in range(first, end)])


def _starts(lengths: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)


def _instants(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


_NO_FLOATS, _NO_INSTANTS = _floats([]), _instants([])
