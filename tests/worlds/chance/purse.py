"""The wallet in the ledger of balances."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from tests.worlds.chance.market import ZERO

if TYPE_CHECKING:
    from tests.worlds.chance.inside import Balances
    from tests.worlds.chance.market import Market


class Movement(NamedTuple):
    """What the wallet received (> 0) or gave of an asset, at a price; `sold`: it came out in kind, and may have stayed."""

    at: int
    asset: str
    quantity: Decimal
    price: Decimal
    sold: bool = False


class Purse:
    """The wallet. It is never short of an asset: what it has not got is bought at the mark."""

    def __init__(self, base: str) -> None:
        self.base, self.cash = base, ZERO
        self.coins: Balances = {}
        self.open: Balances = {}

    def balances(self) -> Balances:
        return {self.base: self.cash, **self.coins}

    def receive(self, asset: str, quantity: Decimal, price: Decimal) -> None:
        if asset == self.base:
            self.cash += quantity * price
        else:
            self.coins[asset] = self.coins.get(asset, ZERO) + quantity

    def give(self, asset: str, quantity: Decimal, price: Decimal) -> None:
        if asset == self.base:
            self.cash -= quantity * price
            return
        here = min(self.coins.get(asset, ZERO), quantity)
        self.coins[asset] = self.coins.get(asset, ZERO) - here
        self.cash -= (quantity - here) * price

    def move(self, movement: Movement) -> None:
        """What a position did to it."""
        _, asset, quantity, price, sold = movement
        if sold:
            self.open[asset] = max(ZERO, self.open.get(asset, ZERO) + quantity)
        elif quantity < 0:
            self.give(asset, -quantity, price)
        else:
            self.receive(asset, quantity, price)

    def show(self, balances: Balances, inside: Balances, market: Market, at: int) -> None:
        """Stated balances show which tokens that came out of positions stayed: those beyond what is `inside` others."""
        for asset, quantity in self.open.items():
            elsewhere = self.coins.get(asset, ZERO) + inside.get(asset, ZERO)
            stayed = min(quantity, balances.get(asset, ZERO) - elsewhere)
            if stayed > 0:
                self.coins[asset] = self.coins.get(asset, ZERO) + stayed
                self.cash -= stayed * market.price(asset, at)
        self.open = {}
