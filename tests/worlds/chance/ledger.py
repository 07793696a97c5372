"""A ledger of balances: what an agent was worth at any instant, from its journal and the marks.

Written from docs/journal.md: who holds how much of what, and what that is worth. It knows no lots and no components,
so what it comes to is independent of how a review splits the money. Decimals of 28 digits.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.worlds.chance.inside import Balances, quantities_of
from tests.worlds.chance.lifetime import PositionLedger
from tests.worlds.chance.market import ZERO, Event, Market, micros, number
from tests.worlds.chance.purse import Movement, Purse

INCOME = {"lp_fee", "interest", "reward", "funding_received"}
Flows = list[tuple[int, Decimal]]


class Ledger:
    """An agent's balances through its life, from the events of its journal (no two of them told differently)."""

    def __init__(
        self, events: list[Event], market: Market, base: str = "USDC", capital: Decimal | None = None
    ) -> None:
        self.market, self.base = market, base
        facts = [e for e in events if e["type"] != "mark"]
        self.birth = min((micros(e) for e in facts), default=0)
        named = sorted({e["position"] for e in facts if e["type"] == "position"})
        by_position = {n: [e for e in facts if e.get("position") == n] for n in named}
        self.positions = {n: PositionLedger(n, es, market) for n, es in by_position.items()}
        kinds = {"flow", "cost", "external", "equity"}
        self.facts = [
            e for e in facts if e["type"] in kinds and (e.get("position") is None or self._orphan(e, named))
        ]
        self.owner: Flows = []
        self.costs: Flows = []
        self.incomes: Flows = []
        self.states: list[tuple[int, Balances]] = []
        self.statements = sorted((micros(e), e) for e in self.facts if e["type"] == "equity")
        self.opened = self._opening(capital)
        self._run()

    @staticmethod
    def _orphan(event: Event, named: list[str]) -> bool:
        """The gas of a position that never came to be is paid all the same."""
        return event["type"] == "cost" and event["position"] not in named

    def _opening(self, capital: Decimal | None) -> tuple[Balances, int | None]:
        """How the wallet began, and the instant of the balances that said so."""
        moves = [m.at for p in self.positions.values() for m in p.moves]
        moves += [micros(e) for e in self.facts if e["type"] != "equity"]
        if self.statements:
            at, first = self.statements[0]
            if first.get("balances") is not None and at <= min(moves, default=at):
                return quantities_of(first["balances"]), at
        if capital is not None:
            return {self.base: capital}, None
        return {}, None

    def _run(self) -> None:
        self._walk()
        gaps = self._gaps()
        if gaps and not self.opened[0]:
            self.opened = ({self.base: gaps[0][1]}, None)
            self._walk()

    def _walk(self) -> None:
        purse = Purse(self.base)
        self.owner, self.costs, self.incomes = [], [], []
        opening = sum((q * self.market.price(a, self.birth) for a, q in self.opened[0].items()), ZERO)
        self.owner.append((self.birth, opening))
        for asset, quantity in self.opened[0].items():
            purse.receive(asset, quantity, Decimal(1) if asset == self.base else ZERO)
        self.states = [(self.birth - 1, {}), (self.birth - 1, purse.balances())]
        steps: list[tuple[tuple[int, int, str, str], Any]] = [
            ((m.at, int(m.quantity < 0), m.asset, name), m)
            for name, position in self.positions.items()
            for m in position.moves
        ]
        steps += [((micros(e), 0, "", e["id"]), e) for e in self.facts]
        for key, step in sorted(steps, key=lambda s: s[0]):
            if isinstance(step, Movement):
                purse.move(step)
            else:
                self._tell(purse, step)
            self.states.append((key[0], purse.balances()))
        for position in self.positions.values():
            self.costs += [(at, amount) for at, _, amount in position.overheads]

    def _tell(self, purse: Purse, fact: Event) -> None:
        at = micros(fact)
        if fact["type"] == "equity":
            if fact.get("balances") is not None:
                purse.show(quantities_of(fact["balances"]), self._inside(at), self.market, at)
            return
        asset = fact.get("asset") or self.base
        if fact["type"] == "cost" and fact.get("amount") is not None:
            purse.cash -= number(fact["amount"])
            self.costs.append((at, number(fact["amount"])))
            return
        quantity = abs(number(fact["quantity"]))
        price = self.market.price(asset, at)
        if fact.get("value") is not None and not (fact["type"] == "external" and asset == self.base):
            price = abs(number(fact["value"])) / quantity
        if fact["type"] == "cost":
            purse.give(asset, quantity, self.market.price(asset, at))
            self.costs.append((at, quantity * self.market.price(asset, at)))
        elif fact["type"] == "external":
            incoming = number(fact["quantity"]) > 0
            (purse.receive if incoming else purse.give)(asset, quantity, price)
            self.owner.append((at, quantity * price * (1 if incoming else -1)))
        elif fact["kind"] in INCOME:
            purse.receive(asset, quantity, price)
            self.incomes.append((at, quantity * price))
        elif fact["kind"] not in {"deposit", "withdrawal"}:
            purse.give(asset, quantity, price)
            self.incomes.append((at, -quantity * price))

    def _inside(self, at: int) -> Balances:
        """The coins in all positions before the events of an instant."""
        coins: Balances = {}
        for position in self.positions.values():
            for asset, quantity in position.coins(at).items():
                coins[asset] = coins.get(asset, ZERO) + quantity
        return coins

    # what it was worth

    def wallet(self, at: int) -> Balances:
        """Balances of the wallet before the events of an instant; the opening counts from its own."""
        past = [balances for t, balances in self.states if t < at]
        return past[-1] if past else {}

    def equity(self, at: int) -> Decimal:
        """Before the events of an instant, at its marks."""
        marks = min(at, self.market.until)
        inside = sum((p.worth(at) for p in self.positions.values()), ZERO)
        return inside + sum((q * self.market.price(a, marks) for a, q in self.wallet(at).items()), ZERO)

    def _stated(self, at: int, statement: Event) -> Decimal | None:
        """What it says it is worth; balances of which one has no price say nothing."""
        if statement.get("value") is not None:
            return number(statement["value"])
        priced = {a: (q, self.market.price(a, at)) for a, q in quantities_of(statement["balances"]).items()}
        if any(quantity and not price for quantity, price in priced.values()):
            return None
        return sum((quantity * price for quantity, price in priced.values()), ZERO)

    def _gaps(self) -> list[tuple[int, Decimal, bool]]:
        """Stated less computed equity at each statement, and whether it is nothing but the opening."""
        stated = [
            (at, self._stated(at, event), self._computed(at, event), self._opens(at, event))
            for at, event in self.statements
        ]
        return [(at, worth - computed, opens) for at, worth, computed, opens in stated if worth is not None]

    def _computed(self, at: int, statement: Event) -> Decimal:
        """What a statement should say: balances count what was borrowed, and cannot say that it was."""
        by_balances = statement.get("value") is None
        debts = sum((p.owed(at) for p in self.positions.values()), ZERO) if by_balances else ZERO
        return self.equity(at) + debts

    def gap(self, at: int) -> Decimal:
        """Stated less computed equity at the last statement at or before an instant, less that of the first."""
        gaps = self._gaps()
        past = [gap for stated_at, gap, opens in gaps if stated_at <= at and not opens]
        if not past:
            return ZERO
        return past[-1] - (ZERO if gaps[0][2] else gaps[0][1])

    def _opens(self, at: int, statement: Event) -> bool:
        return at == self.opened[1] and statement.get("value") is None
