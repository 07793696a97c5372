"""An LP position: the deposited bundle, the principal it has become, and unclaimed fees."""

from __future__ import annotations

import math
from collections import defaultdict
from copy import copy
from decimal import Decimal
from typing import TYPE_CHECKING, Final

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
from retro.accounting.track import Pool
from retro.invariant import invariant
from retro.kernels.liquidity import amounts, liquidity_from_amounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.accounting.prices import Prices
    from retro.model import Flow, Position, Snapshot

__all__ = ["LiquidityBook"]

_WHOLE: Final = 1.0 - 1e-9


class LiquidityBook:
    """An LP position: the deposited bundle, the principal (pool formula or last snapshot) and unclaimed fees."""

    def __init__(self, position: Position, prices: Prices, method: LotMethod) -> None:
        self.position = position
        self.prices = prices
        self.claims = Claims(method)
        self.bundle: dict[str, float] = defaultdict(float)
        self.principal: dict[str, float] = defaultdict(float)
        self.bundle_basis = 0.0
        self.liquidity = 0.0
        self.by_formula = True
        self.fees_told = False
        self.early: dict[str, Decimal] = defaultdict(Decimal)

    def copy(self) -> LiquidityBook:
        """The same state, that can move on by itself; position and prices are shared."""
        twin = copy(self)
        twin.claims = self.claims.copy()
        twin.bundle, twin.principal, twin.early = self.bundle.copy(), self.principal.copy(), self.early.copy()
        return twin

    def _range(self) -> tuple[float, float]:
        lower, upper = self.position.lower, self.position.upper
        return (0.0 if lower is None else float(lower), math.inf if upper is None else float(upper))

    def _tokens(self) -> tuple[str, str]:
        return str(self.position.token0), str(self.position.token1)

    def _pool_price(self, at: int) -> float:
        token0, token1 = self._tokens()
        quoted = self.prices.price(token1, at)
        return self.prices.price(token0, at) / quoted if quoted else 0.0

    def first_state(self, at: int) -> dict[str, Decimal]:
        """The tokens that the stated liquidity holds at the entry price."""
        price = self._pool_price(at)
        if self.position.liquidity is None or not price:
            return {}
        token0, token1 = self._tokens()
        x, y = amounts(float(self.position.liquidity), price, *self._range())
        return {token0: Decimal(repr(float(x))), token1: Decimal(repr(float(y)))}

    def deposit(self, at: int, deposits: Sequence[Flow]) -> tuple[float, list[float]]:
        """Enlarge the bundle, and the liquidity by what these amounts make at the current price."""
        first = not self.bundle
        total = 0.0
        put: dict[str, float] = defaultdict(float)
        for asset, (quantity, value) in by_asset(deposits, self.prices).items():
            put[asset] += float(quantity)
            total += value
        for asset, amount in put.items():
            self.bundle[asset] += amount
            self.principal[asset] += amount
        self.bundle_basis += total
        if self.by_formula:
            token0, token1 = self._tokens()
            stated = self.position.liquidity
            if first and stated is not None:
                self.liquidity = float(stated)
            elif price := self._pool_price(at):
                liquidity = liquidity_from_amounts(put[token0], put[token1], price, *self._range())
                self.liquidity += float(liquidity)
        return total, []

    def accrue(self, flow: Flow, value: float) -> list[Amount]:
        """Fees and rewards are claimable until withdrawn; those a snapshot showed before are not added again."""
        component, asset = ACCRUALS[flow.kind], flow.asset
        if flow.kind in {"slash", "borrow_interest"}:
            signed = -value if flow.kind == "slash" else value
            return [(component, signed), *realised(self.claims.add(asset, -flow.quantity, value))]
        self.fees_told = True
        early = min(flow.quantity, self.early[asset])
        self.early[asset] -= early
        remainder, share = flow.quantity - early, value / float(flow.quantity)
        gained = self.claims.add(asset, remainder, share * float(remainder))
        return [(component, value), ("lp_fees_earned", -share * float(early)), *realised(gained)]

    def snapshot(self, snapshot: Snapshot) -> list[Amount]:
        """Principal as told; fees nobody told are the growth of the claimable amounts.

        Without a stated liquidity the last snapshot holds from the first one on; until then, the pool formula.
        """
        self.by_formula = self.position.liquidity is not None
        self.principal = defaultdict(
            float, {asset: float(quantity) for asset, quantity in snapshot.holdings.items()}
        )
        bookings: list[Amount] = []
        if snapshot.claimable is not None and not self.fees_told:
            for asset, quantity in sorted(snapshot.claimable.items()):
                growth = quantity - self.claims.quantity(asset)
                self.early[asset] = max(ZERO, self.early[asset] + growth)
                value = float(abs(growth)) * self.prices.price(asset, snapshot.at)
                bookings += realised(self.claims.add(asset, growth, value))
                bookings.append(("lp_fees_earned", value if growth > 0 else -value))
        return bookings

    def _principal(self, at: int) -> dict[str, float]:
        price = self._pool_price(at) if self.by_formula else 0.0
        if not price:
            return dict(self.principal)
        token0, token1 = self._tokens()
        x, y = amounts(self.liquidity, price, *self._range())
        return {token0: float(x), token1: float(y)}

    def _worth(self, quantities: dict[str, float], at: int) -> float:
        return sum(
            quantity * self.prices.price(asset, at) for asset, quantity in quantities.items() if quantity
        )

    def withdraw(self, at: int, withdrawals: Sequence[Flow], *, final: bool) -> Removal:
        """Claims first; the principal's share of its worth realises as much of the bundle and of the IL."""
        total = realized = removed = 0.0
        before = self._worth(self._principal(at), at)
        for asset, (quantity, value) in by_asset(withdrawals, self.prices).items():
            total += value
            claimed = min(quantity, max(self.claims.quantity(asset), ZERO))
            share = value / float(quantity)
            realized += self.claims.add(asset, -claimed, share * float(claimed))
            principal = float(quantity - claimed)
            removed += share * principal
            self.principal[asset] -= principal
        fraction = (
            1.0 if final else min(1.0, max(0.0, removed / before)) if before > 0 else float(removed > 0)
        )
        if fraction > _WHOLE:
            fraction = 1.0
        gained, il = self._scale(fraction, removed, at)
        emptied = fraction == 1.0 and not self.claims.view()
        return Removal(total, realized + gained, il, emptied and not final)

    def _scale(self, fraction: float, removed: float, at: int) -> tuple[float, float]:
        """Take a fraction out of bundle, basis and liquidity; gives price result and IL realised."""
        hold = fraction * self._worth(self.bundle, at)
        gained = hold - fraction * self.bundle_basis
        keep = 1.0 - fraction
        self.bundle = defaultdict(
            float, {asset: amount * keep for asset, amount in self.bundle.items() if keep}
        )
        self.bundle_basis *= keep
        self.liquidity *= keep
        if not keep:
            self.principal.clear()
        return gained, hold - removed

    def leave(self, at: int) -> Removal | None:
        """Principal and claims at their marks."""
        value = realized = il = 0.0
        for asset in sorted(self.claims.view()):
            quantity = self.claims.quantity(asset)
            worth = float(quantity) * self.prices.price(asset, at)
            realized += self.claims.add(asset, -quantity, abs(worth))
            value += worth
        if self.bundle:
            principal = self._worth(self._principal(at), at)
            gained, il = self._scale(1.0, principal, at)
            value, realized = value + principal, realized + gained
        return Removal(value, realized, il, emptied=True) if value or realized or il else None

    def untold(self, at: int) -> list[Amount]:  # noqa: ARG002  # fees withdrawn are principal or told
        """Nothing: an LP's surplus shows as a smaller loss against its bundle."""
        return []

    def inside(self, at: int) -> dict[str, float]:
        """The tokens of the pool position."""
        return self._principal(at)

    def view(self) -> View:
        """The bundle beside the principal, by formula or as held."""
        if not self.liquidity >= 0:
            invariant(holds=False, name="a pool's liquidity is never negative", detail=f"{self.liquidity}")
        pool = None
        if self.by_formula and self.liquidity:
            pool = Pool(self.liquidity, *self._range(), *self._tokens())
        principal = {asset: amount for asset, amount in self.principal.items() if amount}
        if self.by_formula and pool is not None:
            principal = {}
        return principal, self.claims.view(), dict(self.bundle), pool, self.bundle_basis + self.claims.basis
