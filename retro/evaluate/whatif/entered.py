"""The positions a what-if is about, as columns: what they were as entered, what they held when, the marks they met."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, nan
from typing import TYPE_CHECKING

import numpy as np

from playbook.citation import resolve
from retro.evaluate.position.foresight import ENTRY_ACTIONS, cites_of
from retro.kernels.evaluators.counterfactual import EnteredPositions, HeldStates, MarkPaths
from retro.periods import hour_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.life import PositionPath
    from retro.evaluate.whatif.rule import Trait
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["EnteredLives", "entered_lives"]


@dataclass(frozen=True, slots=True, eq=False)
class EnteredLives:
    """Believed spot and perp positions (n,), oldest first, open ones at K. Money in base currency.

    `left_at` is the exit, K of an open one; `cost_rate` what leaving cost, as a share of what left. `cites` are the
    heuristics that the entry rests on, `labels` what it cited as written, `hour` that of the entry in the owner's zone.
    """

    names: tuple[str, ...]
    real: Floats
    left_at: Integers
    notional: Floats
    cost_rate: Floats
    entered: EnteredPositions
    states: HeldStates
    paths: MarkPaths
    cites: tuple[frozenset[str], ...]
    labels: tuple[frozenset[str], ...]
    regimes: tuple[str | None, ...]
    hours: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.names)

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
    chosen = [life for life in lives if _is_comparable(life)]
    chosen.sort(key=lambda life: (life.track.opened_at, life.track.position.position))
    states = [_states(life) for life in chosen]
    marks = [_marks(life) for life in chosen]
    entries = [[d for d in life.track.decisions if d.action in ENTRY_ACTIONS] for life in chosen]
    labels = [frozenset(cite for d in decisions for cite in cites_of(d)) for decisions in entries]
    return EnteredLives(
        names=tuple(life.track.position.position for life in chosen),
        real=_floats([life.final for life in chosen]),
        left_at=_instants([life.exit_at for life in chosen]),
        notional=_floats([life.sizes.notional or 0.0 for life in chosen]),
        cost_rate=_floats([_cost_rate(life.track) for life in chosen]),
        entered=EnteredPositions(
            side=_floats([life.track.sign for life in chosen]),
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
        paths=MarkPaths(
            np.concatenate([_NO_INSTANTS, *(path[0] for path in marks)]),
            np.concatenate([_NO_FLOATS, *(path[1] for path in marks)]),
            _starts([len(path[0]) for path in marks]),
        ),
        cites=tuple(frozenset(resolve(sorted(cited), claims)) for cited in labels),
        labels=tuple(labels),
        regimes=tuple(_regime(decisions) for decisions in entries),
        hours=tuple(hour_of(life.track.opened_at, zone) for life in chosen),
    )


def _is_comparable(life: PositionPath) -> bool:
    """Whether fills and marks of one instrument say all of a position, and it is believed."""
    track = life.track
    plain = track.is_fill_based and not track.snapshots and not any(knot.claims for knot in track.knots)
    return plain and track.flagged_at is None and life.state.is_priced and bool(life.sizes.quantity)


def _states(life: PositionPath) -> tuple[Integers, Floats, Floats]:
    """After each of its moves: when, what it had brought, what it held."""
    instrument = life.track.position.instrument
    knots = [knot for knot in life.track.knots if knot.at <= life.exit_at]
    return (
        _instants([knot.at for knot in knots]),
        _floats([knot.cash - knot.gas for knot in knots]),
        _floats([knot.principal.get(instrument, 0.0) for knot in knots]),
    )


def _marks(life: PositionPath) -> tuple[Integers, Floats]:
    """Marks strictly after the entry and strictly before the exit; of an open position up to K."""
    first = int(np.searchsorted(life.line.t, life.track.opened_at, "right"))
    last = int(np.searchsorted(life.line.t, life.exit_at, "left" if life.closed else "right"))
    return life.line.t[first:last], life.line.price[first:last]


def _cost_rate(track: PositionHistory) -> float:
    """All exit fees over all exit notional; of a position that never sold any, entry's."""
    fills = track.closings or track.openings
    notional = fsum(fill.quantity * fill.price for fill in fills)
    return fsum(fill.fee for fill in fills) / notional if notional else 0.0


def _regime(decisions: Sequence[object]) -> str | None:
    contexts = (getattr(decision, "context", None) or {} for decision in decisions)
    return next((str(context["regime"]) for context in contexts if context.get("regime")), None)


def _starts(lengths: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)


def _instants(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


_NO_FLOATS, _NO_INSTANTS = _floats([]), _instants([])
