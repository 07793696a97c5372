"""Lent, staked and borrowed assets, and accruals of any position that is no LP."""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from decimal import Decimal
from typing import TYPE_CHECKING

from retro.accounting.holdings import (
    ACCRUALS,
    ZERO,
    Amount,
    Claims,
    LotMethod,
    Removal,
    View,
    by_asset,
    realised,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.accounting.prices import Prices
    from retro.model import Flow, Position, Snapshot

__all__ = ["LoanBook"]


class LoanBook:
    """Lent, staked and borrowed assets (debt is a negative quantity), and accruals of any other position."""

    def __init__(self, position: Position, prices: Prices, method: LotMethod) -> None:
        self.kind = position.kind
        self.prices = prices
        self.principal = Claims(method)
        self.claims = Claims(method)
        self.flow_kinds: set[str] = set()
        self.early_income: dict[str, Decimal] = defaultdict(Decimal)
        self.early_price: dict[str, Decimal] = defaultdict(Decimal)
        self.ever = False
        self.assets_ever: set[str] = set()
        self.borrowed: set[str] = set()

    def copy(self) -> LoanBook:
        """The same state, that can move on by itself; prices are shared."""
        twin = copy(self)
        twin.principal, twin.claims = self.principal.copy(), self.claims.copy()
        twin.early_income, twin.early_price = self.early_income.copy(), self.early_price.copy()
        twin.flow_kinds, twin.assets_ever, twin.borrowed = (
            {*self.flow_kinds},
            {*self.assets_ever},
            {*self.borrowed},
        )
        return twin

    def first_state(self, at: int) -> dict[str, Decimal]:  # noqa: ARG002  # only a snapshot can tell
        """Nothing known."""
        return {}

    def deposit(self, at: int, deposits: Sequence[Flow]) -> tuple[float, list[float]]:  # noqa: ARG002  # as for LPs
        """Lend or stake; an asset that is owed is repaid first."""
        total, realized = 0.0, []
        for asset, (quantity, value) in by_asset(deposits, self.prices).items():
            total += value
            self.assets_ever.add(asset)
            realized.append(self.principal.add(asset, quantity, value))
        self.ever = True
        return total, [pnl for pnl in realized if pnl]

    def accrue(self, flow: Flow, value: float) -> list[Amount]:
        """Interest and rewards are claimable, borrowing cost is owed, a slash takes from the principal.

        Growth that snapshots showed before is what is now told: it is not added again, only called by its name.
        """
        self.assets_ever.add(flow.asset)
        self.flow_kinds.add(flow.kind)
        component, asset = ACCRUALS[flow.kind], flow.asset
        if flow.kind == "slash":
            return [(component, -value), *realised(self.principal.add(asset, -flow.quantity, value))]
        if flow.kind == "borrow_interest":
            return [(component, value), *realised(self.claims.add(asset, -flow.quantity, value))]
        income = min(flow.quantity, self.early_income[asset])
        price = min(flow.quantity - income, self.early_price[asset])
        self.early_income[asset] -= income
        self.early_price[asset] -= price
        remainder, share = flow.quantity - income - price, value / float(flow.quantity)
        gained = self.claims.add(asset, remainder, share * float(remainder))
        named = share * float(price)
        return [(component, value - share * float(income)), ("trading_gains", -named), *realised(gained)]

    def snapshot(self, snapshot: Snapshot) -> list[Amount]:
        """Holdings, claims and debt as told. Growth is an accrual where none was told, else it is price."""
        bookings: list[Amount] = []
        assets = {*snapshot.holdings, *(snapshot.claimable or {}), *(snapshot.debt or {})}
        for asset in sorted({*assets, *self.principal.view(), *self.claims.view()}):
            inside, claimed = self.principal.quantity(asset), self.claims.quantity(asset)
            owed = max(ZERO, -inside) if snapshot.debt is None else snapshot.debt.get(asset, ZERO)
            growth = snapshot.holdings.get(asset, ZERO) - owed - inside
            if snapshot.claimable is not None:
                accrued = snapshot.claimable.get(asset, ZERO) - claimed
            elif growth * claimed > 0:  # what was accrued stands in the holdings now, or in the debt
                accrued = -min(abs(growth), abs(claimed)).copy_sign(claimed)
            else:
                accrued = ZERO
            if growth * accrued < 0:
                moved = min(abs(growth), abs(accrued)).copy_sign(growth)
                price = self.prices.price(asset, snapshot.at)
                bookings += realised(self.claims.move(self.principal, asset, moved, price))
                growth, accrued = growth - moved, accrued + moved
            self._note_early(asset, growth if snapshot.claimable is None else accrued)
            bookings += self._grow(self.claims, asset, accrued, snapshot.at)
            bookings += self._grow(self.principal, asset, growth, snapshot.at)
            self.assets_ever.add(asset)
        return bookings

    def _note_early(self, asset: str, growth: Decimal) -> None:
        """Remember growth that a later accrual may turn out to tell; what shrinks takes it back."""
        income_kinds = self.flow_kinds & {"interest", "reward"}
        book = self.early_price if income_kinds else self.early_income
        book[asset] = max(ZERO, book[asset] + growth)

    def _grow(self, book: Claims, asset: str, growth: Decimal, at: int) -> list[Amount]:
        if not growth:
            return []
        value = float(abs(growth)) * self.prices.price(asset, at)
        new = asset not in self.assets_ever
        component = self._component(book.quantity(asset) + growth, growth, new=new)
        signed = value if growth > 0 else -value
        price = realised(book.add(asset, growth, value))
        if component is None:
            return [*price, *realised(signed)]
        return [*price, (component, -signed if component == "borrow_interest" else signed)]

    def _component(self, after: Decimal, growth: Decimal, *, new: bool) -> str | None:
        """Which accrual untold growth is; None where such accruals are told or the asset just appeared."""
        if after < 0 or (after == 0 and growth > 0):
            return None if new or "borrow_interest" in self.flow_kinds else "borrow_interest"
        if self.kind == "staking":
            return None if self.flow_kinds & {"reward", "slash", "interest"} else "staking_rewards"
        return None if self.flow_kinds & {"interest", "reward"} else "lending_interest_earned"

    def withdraw(self, at: int, withdrawals: Sequence[Flow], *, final: bool) -> Removal:  # noqa: ARG002  # as for LPs
        """Take assets out; at the end, more than was inside is interest nobody told."""
        total, realized = 0.0, 0.0
        for asset, (quantity, value) in by_asset(withdrawals, self.prices).items():
            total += value
            claimed = min(quantity, max(self.claims.quantity(asset), ZERO))
            share = value / float(quantity)
            realized += self.claims.add(asset, -claimed, share * float(claimed))
            principal = quantity - claimed
            realized += self.principal.add(asset, -principal, share * float(principal))
            self.assets_ever.add(asset)
            if self.principal.quantity(asset) < 0 and not final:
                self.borrowed.add(asset)
        emptied = self.ever and not self.principal.view() and not self.claims.view()
        return Removal(total, realized, 0.0, emptied and not final)

    def untold(self, at: int) -> list[Amount]:
        """At the exit: more was withdrawn than was inside, and it was no loan, so it was earned."""
        bookings: list[Amount] = []
        for asset in sorted(self.principal.view()):
            missing = -self.principal.quantity(asset)
            if missing > 0 and asset not in self.borrowed:
                value = float(missing) * self.prices.price(asset, at)
                price = realised(self.principal.add(asset, missing, value))
                component = self._component(ZERO + 1, missing, new=False) or "trading_gains"
                bookings += [(component, value), *price]
        return bookings

    def leave(self, at: int) -> Removal | None:
        """Everything inside at its marks."""
        value = realized = 0.0
        for book in (self.claims, self.principal):
            for asset in sorted(book.view()):
                quantity = book.quantity(asset)
                worth = float(quantity) * self.prices.price(asset, at)
                realized += book.add(asset, -quantity, abs(worth))
                value += worth
        return Removal(value, realized, 0.0, emptied=True) if value or realized else None

    def inside(self, at: int) -> dict[str, float]:  # noqa: ARG002  # as for LPs
        """Principal by asset, what is owed below 0."""
        return self.principal.view()

    def view(self) -> View:
        """Principal and claims; no bundle, no pool."""
        return self.principal.view(), self.claims.view(), None, None, self.principal.basis + self.claims.basis
