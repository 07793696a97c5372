"""What lies inside a position: quantities only. No lots, no components: those are the reviews' to get right."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.worlds.chance.market import ZERO, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.worlds.chance.market import Event, Market

Balances = dict[str, Decimal]
WHOLE = Decimal("0.999999999")


def pool_amounts(
    liquidity: Decimal, price: Decimal, lower: Decimal | None, upper: Decimal | None
) -> tuple[Decimal, Decimal]:
    """x and y of a concentrated position, from the roots as the white paper has them."""
    low = (lower or ZERO).sqrt()
    root = max(price.sqrt(), low)
    if upper is not None:
        root = min(root, upper.sqrt())
    return liquidity * (1 / root - (ZERO if upper is None else 1 / upper.sqrt())), liquidity * (root - low)


def pool_liquidity(
    x: Decimal, y: Decimal, price: Decimal, lower: Decimal | None, upper: Decimal | None
) -> Decimal:
    """The liquidity that amounts make: what the scarcer token allows."""
    unit_x, unit_y = pool_amounts(Decimal(1), price, lower, upper)
    return min(q / unit for q, unit in ((x, unit_x), (y, unit_y)) if unit > 0)


def quantities_of(holdings: Mapping[str, Any] | None) -> Balances:
    """Quantities of a snapshot."""
    return {asset: number(quantity) for asset, quantity in (holdings or {}).items()}


@dataclass
class Inside:
    """Quantities inside one position after its events so far."""

    position: Event
    quantity: Decimal = ZERO
    principal: Balances = field(default_factory=dict)
    claims: Balances = field(default_factory=dict)
    liquidity: Decimal = ZERO
    by_formula: bool = True
    fees_told: bool = False
    shown: Balances = field(default_factory=dict)
    owed: set[str] = field(default_factory=set)
    entered: bool = False

    @property
    def is_pool(self) -> bool:
        return bool(self.position["kind"] == "lp")

    @property
    def is_empty(self) -> bool:
        held = [self.quantity, self.liquidity, *self.principal.values(), *self.claims.values()]
        return not any(held)

    def copy(self) -> Inside:
        """The same quantities, to change by themselves."""
        return copy.deepcopy(self)

    def bounds(self) -> tuple[Decimal | None, Decimal | None]:
        """The price range of a pool; None where it has no end."""
        lower, upper = (self.position.get(name) for name in ("lower", "upper"))
        return None if lower is None else number(lower), None if upper is None else number(upper)

    def pool_price(self, market: Market, at: int) -> Decimal:
        """token0 in token1."""
        return market.price(self.position["token0"], at) / market.price(self.position["token1"], at)

    def held(self, market: Market, at: int) -> Balances:
        """Principal by asset; of a pool by its formula at the marks of an instant, unless snapshots speak for it."""
        if self.quantity:
            return {**self.principal, self.position["instrument"]: self.quantity}
        if self.is_pool and self.by_formula and self.liquidity:
            x, y = pool_amounts(self.liquidity, self.pool_price(market, at), *self.bounds())
            return {self.position["token0"]: x, self.position["token1"]: y}
        return dict(self.principal)

    def worth(self, market: Market, at: int, principal: Balances | None = None) -> Decimal:
        """In base currency; `principal` where a snapshot tells it."""
        held = self.held(market, at) if principal is None else principal
        return sum((q * market.price(a, at) for a, q in [*held.items(), *self.claims.items()] if q), ZERO)

    # what events do to it

    def deposit(self, put: Balances, market: Market, at: int) -> None:
        """Put tokens in; a pool takes them as liquidity until snapshots speak for it."""
        for asset, quantity in put.items():
            self.principal[asset] = self.principal.get(asset, ZERO) + quantity
        if self.is_pool and self.by_formula:
            stated = self.position.get("liquidity")
            if not self.entered and stated is not None:
                self.liquidity = number(stated)
            else:
                tokens = [put.get(self.position[name], ZERO) for name in ("token0", "token1")]
                self.liquidity += pool_liquidity(
                    tokens[0], tokens[1], self.pool_price(market, at), *self.bounds()
                )
        self.entered = True

    def accrue(self, kind: str, asset: str, quantity: Decimal) -> None:
        """Income is claimable, unless a snapshot has shown it before; interest owed is a negative claim."""
        if kind == "slash" and not self.is_pool:
            self.principal[asset] = self.principal.get(asset, ZERO) - quantity
        elif kind in {"slash", "borrow_interest"}:
            self.claims[asset] = self.claims.get(asset, ZERO) - quantity
        else:
            self.fees_told = True
            named = min(quantity, self.shown.get(asset, ZERO))
            self.shown[asset] = self.shown.get(asset, ZERO) - named
            self.claims[asset] = self.claims.get(asset, ZERO) + quantity - named

    def see(self, snapshot: Event) -> None:
        """Take over a told state."""
        holdings, debt = quantities_of(snapshot.get("holdings")), quantities_of(snapshot.get("debt"))
        claimable = None if snapshot.get("claimable") is None else quantities_of(snapshot["claimable"])
        if self.is_pool:
            self.by_formula = self.position.get("liquidity") is not None
            self.principal = holdings
            if claimable is not None and not self.fees_told:
                for asset, quantity in claimable.items():
                    self._show(asset, quantity - self.claims.get(asset, ZERO))
                    self.claims[asset] = quantity
            return
        for asset in sorted({*holdings, *(claimable or {}), *debt, *self.principal, *self.claims}):
            before, claimed = self.principal.get(asset, ZERO), self.claims.get(asset, ZERO)
            owed = max(ZERO, -before) if snapshot.get("debt") is None else debt.get(asset, ZERO)
            growth, accrued = holdings.get(asset, ZERO) - owed - before, ZERO
            if claimable is not None:
                accrued = claimable.get(asset, ZERO) - claimed
            elif growth * claimed > 0:
                accrued = -min(abs(growth), abs(claimed)).copy_sign(claimed)
            self._show(asset, growth if claimable is None else accrued)
            self.principal[asset], self.claims[asset] = before + growth, claimed + accrued

    def _show(self, asset: str, growth: Decimal) -> None:
        self.shown[asset] = max(ZERO, self.shown.get(asset, ZERO) + growth)

    def withdraw(self, out: Balances, values: Balances, market: Market, at: int, *, final: bool) -> bool:
        """Claims of an asset leave first; whether nothing is left."""
        before = sum((q * market.price(a, at) for a, q in self.held(market, at).items()), ZERO)
        removed = ZERO
        for asset, quantity in out.items():
            claimed = min(quantity, max(self.claims.get(asset, ZERO), ZERO))
            self.claims[asset] = self.claims.get(asset, ZERO) - claimed
            removed += values[asset] / quantity * (quantity - claimed)
            self.principal[asset] = self.principal.get(asset, ZERO) - (quantity - claimed)
            if self.principal[asset] < 0 and not final:
                self.owed.add(asset)
        if not self.is_pool:
            return self.entered and self.is_empty
        part = Decimal(1) if final else min(Decimal(1), max(ZERO, removed / before)) if before > 0 else ZERO
        if part > WHOLE:
            part = Decimal(1)
            self.principal.clear()
        self.liquidity *= 1 - part
        return part == 1 and not any(self.claims.values())

    def leave(self, market: Market, at: int) -> Decimal:
        """Everything goes at its mark; what was taken out beyond what was inside, and was no loan, had been earned."""
        for asset, quantity in self.principal.items():
            if not self.is_pool and quantity < 0 and asset not in self.owed:
                self.principal[asset] = ZERO
        worth = self.worth(market, at)
        self.quantity = self.liquidity = ZERO
        self.principal, self.claims = {}, {}
        return worth
