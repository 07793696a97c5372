"""What a position that is told by its state was opened with, and the deposit that is told of it afterwards.

A snapshot before any deposit says that something was put in: what it shows left the wallet at its instant. A deposit
told later of just as much may name what was there or be a second one: it adds nothing, until a state shows both.
Nothing here looks ahead: what a day says does not depend on what was told after it. Only the `position` event itself is
no event of its time: whenever it is told, the position began with its first fact.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.accounting.track import has_holdings
from retro.model import Exit, Fill, Flow, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.accounting.holdings import Holdings
    from retro.model import Fact, Position

__all__ = ["ImpliedDeposits", "first_fact", "implied_deposits", "opened_at"]

_SAME: Final = Decimal("1e-9")
_EVENTS: Final = (Fill, Flow, Exit)


def first_fact(facts: Iterable[Fact]) -> int | None:
    """When the first thing happened to a position: a decision or its gas may come before it, an empty state is nothing."""
    instants = [
        fact.at for fact in facts if isinstance(fact, _EVENTS) or (isinstance(fact, Snapshot) and _says(fact))
    ]
    return min(instants, default=None)


def opened_at(position: Position, ordered: Sequence[Fact]) -> int:
    """When a position opened: at its first fill or deposit, else when it was declared; never after its first fact."""
    put_in = (fact.at for fact in ordered if isinstance(fact, Fill) or _deposits(fact))
    opened, first = next(put_in, position.at), first_fact(ordered)
    return opened if first is None else min(opened, first)


def implied_deposits(position: Position, holdings: Holdings, ordered: Sequence[Fact]) -> list[Flow]:
    """What was put in by the word of a stated liquidity or of the first snapshot; nothing where a deposit came first."""
    snapshot = next((fact for fact in ordered if isinstance(fact, Snapshot) and has_holdings(fact)), None)
    deposited = next((fact.at for fact in ordered if _deposits(fact)), None)
    if deposited is not None and (snapshot is None or snapshot.at >= deposited):
        return []
    at, quantities = position.at, holdings.first_state(position.at)
    if not quantities and snapshot is not None:
        at, quantities = snapshot.at, dict(snapshot.holdings)
    return [
        _deposit(position, at, asset, quantity)
        for asset, quantity in sorted(quantities.items())
        if quantity > 0
    ]


def _deposits(fact: Fact) -> bool:
    return isinstance(fact, Flow) and fact.kind == "deposit"


def _says(snapshot: Snapshot) -> bool:
    parts = (snapshot.holdings, snapshot.claimable or {}, snapshot.debt or {})
    return any(any(quantities.values()) for quantities in parts)


def _deposit(position: Position, at: int, asset: str, quantity: Decimal) -> Flow:
    """A deposit that nobody told, at its mark."""
    return Flow(
        id=f"{position.id}~{asset}",
        agent=position.agent,
        at=at,
        kind="deposit",
        asset=asset,
        quantity=quantity,
        position=position.position,
    )


class ImpliedDeposits:
    """Implied deposits that a told one may yet name, and told ones of which it is not known whether they add anything."""

    def __init__(self, position: Position, implied: Iterable[Flow]) -> None:
        self._position = position
        self._unnamed = {flow.asset: flow.quantity for flow in implied}
        self._undecided: dict[str, Decimal] = {}

    @property
    def undecided(self) -> bool:
        """Whether the next state decides what a deposit was."""
        return bool(self._undecided)

    def names(self, deposits: Sequence[Flow]) -> bool:
        """Whether deposits of one instant are of just what was implied, asset by asset; they are then undecided."""
        if not self._unnamed or any(flow.id.startswith(f"{self._position.id}~") for flow in deposits):
            return False
        sums: dict[str, Decimal] = {}
        for flow in deposits:
            sums[flow.asset] = sums.get(flow.asset, Decimal(0)) + flow.quantity
        if any(abs(self._unnamed.get(asset, Decimal(0)) - q) > _SAME * q for asset, q in sums.items()):
            return False
        for asset in sums:
            self._undecided[asset] = self._unnamed.pop(asset)
        return True

    def seen(
        self, at: int, inside: Mapping[str, float], balances: Mapping[str, Decimal], *, decides: bool
    ) -> list[Flow]:
        """What a state shows more than `inside`: above half of an undecided deposit, and that was put in after all.

        A state that `decides` leaves no doubt: what it does not show was only named.
        """
        added = []
        for asset, quantity in sorted(self._undecided.items()):
            growth = balances.get(asset, Decimal(0)) - Decimal(repr(inside.get(asset, 0.0)))
            if growth > quantity / 2:
                less = growth < quantity * (1 - _SAME)
                added.append(_deposit(self._position, at, asset, growth if less else quantity))
        for asset in [*self._undecided] if decides else [flow.asset for flow in added]:
            del self._undecided[asset]
        return added

    def close(self) -> None:
        """Something left the position: what is put in from now on is new."""
        self._unnamed.clear()
