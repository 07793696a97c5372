"""The wallet: base currency, other assets in lots, and what came from or went to the owner."""

from __future__ import annotations

import math
from decimal import Decimal
from math import fsum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from retro.accounting.movements import Booking
from retro.invariant import invariant
from retro.kernels.lots import LotBook
from retro.model import Cost, Equity, External, Flow
from retro.report.lines import WALLET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.accounting.coins import CoinsInside
    from retro.accounting.movements import Effect
    from retro.accounting.prices import Prices
    from retro.model import Fact

__all__ = ["ExternalFlow", "Statement", "Wallet", "statements"]

_INCOME: Final = {
    "lp_fee": "lp_fees_earned",
    "interest": "lending_interest_earned",
    "reward": "staking_rewards",
    "funding_received": "funding",
}
_CHARGE: Final = {
    "borrow_interest": ("borrow_interest", 1.0),
    "slash": ("staking_rewards", -1.0),
    "funding_paid": ("funding", -1.0),
}
_ROUNDING: Final = Decimal("1e-9")


class ExternalFlow(NamedTuple):
    """Money from (> 0) or to the owner, in base currency."""

    at: int
    value: float


class Statement(NamedTuple):
    """The agent's own word on its equity just before the events of an instant."""

    at: int
    value: float
    by_balances: bool = False


class Wallet:
    """What is in the wallet, moved forward event by event. Assets never go short: what is not held is bought.

    `sold` is what came out of positions in kind since the last stated balances and was taken as sold.
    """

    def __init__(self, base_currency: str, method: Literal["fifo", "average"]) -> None:
        self.base_currency = base_currency
        self.method = method
        self.cash = 0.0
        self.assets: dict[str, LotBook] = {}
        self.sold: dict[str, Decimal] = {}

    def copy(self) -> Wallet:
        """A wallet that can move on by itself."""
        other = Wallet(self.base_currency, self.method)
        other.cash = self.cash
        other.assets = {asset: book.copy() for asset, book in self.assets.items()}
        other.sold = dict(self.sold)
        return other

    def to_json(self) -> dict[str, Any]:
        """Plain data from which `from_json` makes the same wallet."""
        self.check()
        sold = {asset: str(quantity) for asset, quantity in sorted(self.sold.items()) if quantity > 0}
        return {
            "cash": self.cash,
            "assets": {a: book.to_json() for a, book in sorted(self.assets.items())},
            **({"sold": sold} if sold else {}),
        }

    @classmethod
    def from_json(
        cls, base_currency: str, method: Literal["fifo", "average"], data: dict[str, Any]
    ) -> Wallet:
        """The wallet that was stored."""
        wallet = cls(base_currency, method)
        wallet.cash = data["cash"]
        wallet.assets = {asset: LotBook.from_json(method, book) for asset, book in data["assets"].items()}
        wallet.sold = {asset: Decimal(quantity) for asset, quantity in data.get("sold", {}).items()}
        return wallet

    def check(self) -> None:
        """Hold the wallet to its rules: cash is a number (a debt is one below 0), and no other asset is short."""
        if not math.isfinite(self.cash):
            invariant(holds=False, name="the wallet's cash is a number", detail=f"{self.cash}")
        short = [asset for asset, book in self.assets.items() if book.quantity < 0]
        invariant(not short, "no asset of the wallet is short", ", ".join(short))

    def value(self, at: int, prices: Prices) -> float:
        """Worth in base currency."""
        worths = [
            float(book.quantity) * prices.price(asset, at)
            for asset, book in self.assets.items()
            if book.quantity
        ]
        return fsum([self.cash, *worths])

    def unrealized(self, at: int, prices: Prices) -> float:
        """Worth of the other assets above what they cost."""
        return fsum(
            float(book.quantity) * prices.price(asset, at) - book.basis
            for asset, book in self.assets.items()
            if book.quantity
        )

    def receive(self, asset: str, quantity: Decimal, value: float) -> None:
        """Take in an asset; its value becomes its basis."""
        if asset == self.base_currency:
            self.cash += value
            return
        if not float(quantity):
            return
        book = self.assets.setdefault(asset, LotBook(self.method))
        book.trade(quantity, value / float(quantity), 0.0, 0)

    def give(self, at: int, asset: str, quantity: Decimal, value: float) -> list[Booking]:
        """Hand out an asset worth `value`: a disposal; what is not held is bought at that price first."""
        if asset == self.base_currency:
            self.cash -= value
            return []
        book = self.assets.setdefault(asset, LotBook(self.method))
        price = value / float(quantity) if float(quantity) else 0.0
        balance = max(book.quantity, Decimal(0))
        if balance < quantity:
            self.cash -= float(quantity - balance) * price
            quantity = balance
        if not quantity:
            return []
        pnl = book.trade(-quantity, price, 0.0, 0).pnl
        return [Booking(at, WALLET, pnl)] if pnl else []

    def apply(self, effect: Effect) -> list[Booking]:
        """What a position's event did to the wallet."""
        if effect.asset == self.base_currency:
            self.cash += effect.quantity
            return []
        quantity = Decimal(repr(effect.quantity))
        if effect.sold:
            self.sold[effect.asset] = max(Decimal(0), self.sold.get(effect.asset, Decimal(0)) + quantity)
            return []
        if quantity < 0:
            return self.give(effect.at, effect.asset, -quantity, -effect.value)
        self.receive(effect.asset, quantity, effect.value)
        return []

    def tell(
        self, fact: Fact, prices: Prices, inside: CoinsInside
    ) -> tuple[list[Booking], ExternalFlow | None]:
        """A fact without a position: a flow, a cost, the owner's money, a statement of equity.

        `inside`: the coins that positions hold, which a statement counts too.
        """
        match fact:
            case Flow():
                return self._flow(fact, prices), None
            case Cost():
                return self._cost(fact, prices), None
            case External():
                return self._external(fact, prices)
            case Equity():
                self._show(fact, prices, inside)
                return [], None
            case _:
                return [], None

    def _show(self, fact: Equity, prices: Prices, inside: CoinsInside) -> None:
        """Stated balances show which tokens that came out of positions stayed: the wallet takes them back at their mark.

        Of an asset that is what they count beyond the wallet and open positions. What they do not show was sold; until
        the next withdrawal nothing is open.
        """
        if fact.balances is None:
            return
        counted = [(asset, q) for asset, q in sorted(self.sold.items()) if q > 0 and fact.balances.get(asset)]
        coins = inside(fact.at) if counted else {}
        for asset, quantity in counted:
            stated, book = fact.balances[asset], self.assets.get(asset)
            beyond = stated - (Decimal(0) if book is None else book.quantity) - coins.get(asset, Decimal(0))
            stayed = min(quantity, beyond)
            # a pool's formula is exact to rounding only
            if stayed > _ROUNDING * stated and (quote := prices.quote(asset, fact.at)) is not None:
                worth = float(stayed) * quote.price
                self.receive(asset, stayed, worth)
                self.cash -= worth
        self.sold.clear()

    def _flow(self, flow: Flow, prices: Prices) -> list[Booking]:
        value = (
            float(flow.value)
            if flow.value is not None
            else float(flow.quantity) * prices.price(flow.asset, flow.at)
        )
        if flow.kind in _INCOME:
            self.receive(flow.asset, flow.quantity, value)
            return [Booking(flow.at, _INCOME[flow.kind], value)]
        if flow.kind in _CHARGE:
            component, sign = _CHARGE[flow.kind]
            return [
                *self.give(flow.at, flow.asset, flow.quantity, value),
                Booking(flow.at, component, sign * value),
            ]
        return []

    def _cost(self, cost: Cost, prices: Prices) -> list[Booking]:
        component = f"{cost.kind}_costs"
        if cost.amount is not None:
            self.cash -= float(cost.amount)
            return [Booking(cost.at, component, float(cost.amount))]
        quantity, asset = cost.quantity or Decimal(0), str(cost.asset)
        value = float(quantity) * prices.price(asset, cost.at)
        return [*self.give(cost.at, asset, quantity, value), Booking(cost.at, component, value)]

    def _external(self, fact: External, prices: Prices) -> tuple[list[Booking], ExternalFlow | None]:
        asset = fact.asset or self.base_currency
        size = abs(fact.quantity)
        if asset == self.base_currency:
            value = float(size)
        else:
            value = (
                abs(float(fact.value))
                if fact.value is not None
                else float(size) * prices.price(asset, fact.at)
            )
        if fact.quantity > 0:
            self.receive(asset, size, value)
            return [], ExternalFlow(fact.at, value)
        return self.give(fact.at, asset, size, value), ExternalFlow(fact.at, -value)


def statements(facts: Iterable[Fact], prices: Prices) -> list[Statement]:
    """What the agent stated to be worth, one statement an instant, in time order.

    A `value` speaks for itself, `balances` alone at the marks of their instant. Balances of which one has no price are
    no statement of a worth.
    """
    stated: dict[int, Statement] = {}
    equity = [fact for fact in facts if isinstance(fact, Equity)]
    # a value of an instant before balances of it, and of several the largest: whatever order they are told in
    for fact in sorted(equity, key=lambda fact: (fact.at, fact.value is not None, fact.value or 0, fact.id)):
        if fact.value is not None:
            stated[fact.at] = Statement(fact.at, float(fact.value))
        elif fact.balances is not None and (worth := _worth(fact.balances, fact.at, prices)) is not None:
            stated[fact.at] = Statement(fact.at, worth, by_balances=True)
    return [stated[at] for at in sorted(stated)]


def _worth(balances: Mapping[str, Decimal], at: int, prices: Prices) -> float | None:
    parts = []
    for asset, quantity in balances.items():
        if quantity and prices.quote(asset, at) is None:
            return None
        parts.append(float(quantity) * prices.price(asset, at) if quantity else 0.0)
    return fsum(parts)
