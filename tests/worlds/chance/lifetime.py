"""One position in the ledger of balances: what was inside it after each instant, and what that did to the wallet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby

from tests.worlds.chance.inside import Balances, Inside, quantities_of
from tests.worlds.chance.market import ZERO, Event, Market, micros, number
from tests.worlds.chance.purse import Movement

HOUR = 3_600_000_000
DAY = 24 * HOUR
SAME = Decimal("1e-9")
FUNDING = {"funding_received": 1, "funding_paid": -1}


def natural(text: str) -> list[tuple[int, str]]:
    """e2 before e10."""
    return [
        (len(p.lstrip("0")) + 1, p.lstrip("0")) if p.isdigit() else (0, p) for p in re.split(r"(\d+)", text)
    ]


def order(event: Event, opening: str | None) -> tuple[int, int, list[tuple[int, str]]]:
    """By instant, within it by what it does."""
    kind = event.get("kind", "")
    ranks = {"position": 0, "cost": 3, "snapshot": 4, "exit": 6}
    rank = ranks.get(event["type"], 7)
    if event["type"] == "fill":
        rank = 1 if event["side"] == opening else 5
    elif event["type"] == "flow":
        rank = {"deposit": 1, "withdrawal": 5, **dict.fromkeys(FUNDING, 3)}.get(kind, 2)
    return micros(event), rank, natural(event["id"])


def value_of(event: Event, market: Market) -> Decimal:
    """A flow's own word on its worth, else its mark."""
    if event.get("value") is not None:
        return number(event["value"])
    return number(event["quantity"]) * market.price(event["asset"], micros(event))


@dataclass
class PositionLedger:
    """One position: what was inside after each instant, what it paid (-) or brought, and what that did to the wallet."""

    name: str
    events: list[Event]
    market: Market
    states: list[tuple[int, Inside, Decimal]] = field(default_factory=list)
    moves: list[Movement] = field(default_factory=list)
    overheads: list[tuple[int, str, Decimal]] = field(default_factory=list)

    def __post_init__(self) -> None:
        events = sorted(self.events, key=lambda e: (micros(e), natural(e["id"])))
        self.position = next(e for e in events if e["type"] == "position")
        fills = [e for e in events if e["type"] == "fill"]
        side = self.position.get("side")
        self.opening = {"long": "buy", "short": "sell"}[side] if side else fills[0]["side"] if fills else None
        self.inside, self.cash = Inside(self.position), ZERO
        self.closed_at: int | None = None
        self.exited = self.traded = False
        self.marked_exit: tuple[Inside, Decimal] | None = None
        self.snapshots: dict[int, Balances] = {}
        self.openings: set[int] = set()
        ordered = sorted(events, key=lambda e: order(e, self.opening))
        implied = self._implied(ordered)
        self.unnamed = {e["asset"]: number(e["quantity"]) for e in implied}
        self.undecided: Balances = {}
        ordered = sorted([*implied, *ordered], key=lambda e: order(e, self.opening))
        self.shares = self._shares(ordered)
        for at, group in groupby(ordered, key=micros):
            self._instant(at, list(group))
            self.states.append((at, self.inside.copy(), self.cash))

    def _pay(self, at: int, money: Decimal) -> None:
        self.cash += money
        self.moves.append(Movement(at, self.market.base, money, Decimal(1)))

    # before anything

    def _implied(self, ordered: list[Event]) -> list[Event]:
        """Deposits that nobody told: what the first state shows, unless one was told by then."""
        if self.position["kind"] in {"spot", "perp"}:
            return []
        seen = next(
            (
                e
                for e in ordered
                if e["type"] == "snapshot" and any(quantities_of(e.get("holdings")).values())
            ),
            None,
        )
        put = next((e for e in ordered if e["type"] == "flow" and e["kind"] == "deposit"), None)
        if put is not None and (seen is None or micros(seen) >= micros(put)):
            return []
        at, held = self.position["at"], {}
        if self.position.get("liquidity") is not None:
            self.inside.liquidity = number(self.position["liquidity"])
            held = self.inside.held(self.market, micros(self.position))
            self.inside.liquidity = ZERO
        elif seen is not None:
            at, held = seen["at"], quantities_of(seen["holdings"])
        return [
            {"type": "flow", "kind": "deposit", "id": f"{a}~", "at": at, "asset": a, "quantity": q}
            for a, q in held.items()
            if q > 0
        ]

    def _shares(self, ordered: list[Event]) -> dict[int, Decimal]:
        """The share of `funded_with` that leaves at each instant of the entry: as its cost, within an hour."""
        given = self.position.get("funded_with")
        costs: dict[int, Decimal] = {}
        if not given or self.position["kind"] == "perp":
            return {}
        for event in ordered:
            if event["type"] == "fill" and event["side"] == self.opening:
                rate = self.market.rate(event["instrument"], micros(event))
                cost = number(event["quantity"]) * number(event["price"]) * rate
            elif event["type"] == "flow" and event["kind"] == "deposit":
                cost = value_of(event, self.market)
            elif event["type"] == "fill" or event.get("kind") == "withdrawal":
                break
            else:
                continue
            if costs and micros(event) > min(costs) + HOUR:
                break
            costs[micros(event)] = costs.get(micros(event), ZERO) + cost
        if not costs:
            return {}
        worth = sum((number(q) * self.market.price(a, min(costs)) for a, q in given.items()), ZERO)
        sums = [sum(list(costs.values())[: k + 1], ZERO) for k in range(len(costs))]
        count = min(range(len(sums)), key=lambda k: abs(sums[k] - worth)) + 1
        return {at: cost / sums[count - 1] for at, cost in list(costs.items())[:count]}

    # one instant

    def _instant(self, at: int, group: list[Event]) -> None:
        by_kind = {k: [e for e in group if e.get("kind") == k] for k in ("deposit", "withdrawal")}
        exits = any(e["type"] == "exit" for e in group)
        settles = any(
            e["type"] == "fill" or (e["type"] == "flow" and e["kind"] not in FUNDING) for e in group
        )
        if settles and self.closed_at is not None:
            self._reopen(at, group)
        share = self.shares.get(at, ZERO)
        for event in group:
            self._one(at, event, by_kind["deposit"], funded=bool(share))
        if share:
            first = min(self.shares)
            for asset, quantity in self.position["funded_with"].items():
                price = self.market.price(asset, first)
                self.moves.append(Movement(at, asset, -share * number(quantity), price))
                self.cash -= share * number(quantity) * price
        if by_kind["withdrawal"]:
            final = exits or (self.exited and self.position["kind"] != "lp")
            self._withdraw(at, by_kind["withdrawal"], final=final)
        if exits or (settles and self.exited):
            self._exit(at)
        if self.is_flat and self.closed_at is None:
            self._leave(at)

    def _one(self, at: int, event: Event, deposits: list[Event], *, funded: bool) -> None:
        match event["type"]:
            case "fill":
                self._fill(at, event, funded=funded and event["side"] == self.opening)
            case "cost":
                self._cost(at, event)
            case "snapshot" if self.closed_at is None and not self.exited:
                self._snapshot(at, event)
            case "flow" if event["kind"] in FUNDING:
                self._pay(at, FUNDING[event["kind"]] * value_of(event, self.market))
            case "flow" if event["kind"] == "deposit" and event is deposits[0]:
                self._deposit(at, deposits, funded=funded)
            case "flow" if event["kind"] not in {"deposit", "withdrawal"}:
                self.inside.accrue(event["kind"], event["asset"], number(event["quantity"]))

    def _reopen(self, at: int, group: list[Event]) -> None:
        self.closed_at = None
        if any(e.get("kind") == "deposit" or e.get("side") == self.opening for e in group):
            self.exited = False
        if self.marked_exit is not None:
            self.inside, money = self.marked_exit
            self._pay(at, -money)
            self.marked_exit = None

    def _fill(self, at: int, fill: Event, *, funded: bool) -> None:
        base, _, quote = fill["instrument"].partition(":")[0].partition("/")
        rate, sign = self.market.rate(fill["instrument"], at), 1 if fill["side"] == "buy" else -1
        quantity, fee = number(fill["quantity"]), number(fill.get("fee") or 0)
        proceeds = -sign * quantity * number(fill["price"]) * rate
        asset = fill.get("fee_asset") or quote
        if asset == base and sign > 0:
            quantity -= fee
        elif asset in {quote, self.market.base}:
            proceeds -= fee * (1 if asset == self.market.base else rate)
        elif fee:
            price = self.market.price(asset, at)
            self.moves.append(Movement(at, asset, -fee, price))
            self.cash -= fee * price
        self.traded = self.traded or self.position["kind"] in {"spot", "perp"}
        self.inside.quantity += sign * quantity
        if not funded:
            self._pay(at, proceeds)

    def _deposit(self, at: int, deposits: list[Event], *, funded: bool) -> None:
        put: Balances = {}
        for flow in deposits:
            put[flow["asset"]] = put.get(flow["asset"], ZERO) + number(flow["quantity"])
        implied = deposits[0]["id"].endswith("~") or not self.unnamed
        if not implied and all(abs(self.unnamed.get(a, ZERO) - q) <= SAME * q for a, q in put.items()):
            self.undecided |= {a: self.unnamed.pop(a) for a in put}
            return
        self.openings.add(at)
        self.inside.deposit(put, self.market, at)
        self.moves += [Movement(at, a, -q, ZERO, sold=True) for a, q in put.items() if a != self.market.base]
        if not funded:
            self._pay(at, -sum((value_of(flow, self.market) for flow in deposits), ZERO))

    def _snapshot(self, at: int, snapshot: Event) -> None:
        held, debt = quantities_of(snapshot.get("holdings")), quantities_of(snapshot.get("debt"))
        if self.undecided:
            self._decide(at, held)
            self.openings.add(at)
        self.snapshots[at] = {a: held.get(a, ZERO) - debt.get(a, ZERO) for a in sorted({*held, *debt})}
        self.inside.see(snapshot)

    def _decide(self, at: int, held: Balances) -> None:
        """A deposit that was taken for a name was one after all if the state has grown by more than half of it."""
        before = self.inside.held(self.market, at)
        for asset, quantity in self.undecided.items():
            growth = held.get(asset, ZERO) - before.get(asset, ZERO)
            if growth > quantity / 2:
                put = min(growth, quantity)
                self.inside.principal[asset] = self.inside.principal.get(asset, ZERO) + put
                self._pay(at, -put * self.market.price(asset, at))
                self.moves.append(Movement(at, asset, -put, ZERO, sold=True))
        self.undecided = {}

    def _withdraw(self, at: int, withdrawals: list[Event], *, final: bool) -> None:
        out: Balances = {}
        values: Balances = {}
        for flow in withdrawals:
            asset, quantity = flow["asset"], number(flow["quantity"])
            worth = value_of(flow, self.market)
            out[asset] = out.get(asset, ZERO) + quantity
            values[asset] = values.get(asset, ZERO) + worth
            if flow.get("kept"):
                self.cash += worth
                self.moves.append(Movement(at, asset, quantity, worth / quantity))
                continue
            self._pay(at, worth)
            if flow.get("kept") is None and asset != self.market.base:
                self.moves.append(Movement(at, asset, quantity, ZERO, sold=True))
        if self.undecided:
            self._decide(at, {})
        self.unnamed = {}
        if self.inside.withdraw(out, values, self.market, at, final=final) and not final:
            self.closed_at = at

    def _cost(self, at: int, cost: Event) -> None:
        if cost.get("amount") is not None:
            asset, quantity, price = self.market.base, number(cost["amount"]), Decimal(1)
        else:
            asset, quantity = cost["asset"], number(cost["quantity"])
            price = self.market.price(asset, at)
        self.moves.append(Movement(at, asset, -quantity, price))
        if cost["kind"] == "gas":
            self.cash -= quantity * price
        else:
            self.overheads.append((at, cost["kind"], quantity * price))

    def _exit(self, at: int) -> None:
        if self.is_flat:
            return
        self.exited = True
        self._leave(at)
        self.closed_at = at if self.closed_at is None else self.closed_at

    @property
    def is_flat(self) -> bool:
        """Whether its fills so far have sold what they had bought."""
        return self.traded and not self.inside.quantity

    def _leave(self, at: int) -> None:
        """What is left inside goes at its marks, until more is told."""
        if not self.inside.is_empty:
            before = self.inside.copy()
            money = self.inside.leave(self.market, at)
            self.marked_exit = (before, money)
            self._pay(at, money)
            self.closed_at = at if self.closed_at is None else self.closed_at

    # what it was worth

    def _before(self, at: int) -> tuple[Inside, Decimal] | None:
        past = [(inside, cash) for t, inside, cash in self.states if t < at]
        return past[-1] if past else None

    def worth(self, at: int) -> Decimal:
        """Before the events of an instant, at its marks; a snapshot of just then tells what was inside."""
        state = self._before(at)
        if state is None:
            return ZERO
        return state[0].worth(self.market, min(at, self.market.until), self._shown(at))

    def unpriced(self, at: int) -> bool:
        """Whether nothing says what it is worth: of something held no mark is known since a day before its entry."""
        state = self._before(at)
        if state is None:
            return False
        shown = self._shown(at)
        held = state[0].held(self.market, at) if shown is None else shown
        opened = next((t for t, inside, _ in self.states if not inside.is_empty), at)
        assets = {self.market.asset(name) for name, q in [*held.items(), *state[0].claims.items()] if q}
        known_until = min(at, self.market.until)
        return not all(self.market.priced(asset, opened - DAY, known_until) for asset in assets)

    def _shown(self, at: int) -> Balances | None:
        """The principal that a snapshot of an instant tells of the state before it."""
        speaks = at not in self.openings and (self.closed_at or at) >= at
        return self.snapshots.get(at) if speaks else None

    def coins(self, at: int) -> Balances:
        """What lies inside before the events of an instant, without what is owed; in a perp lie none but its claims."""
        coins: Balances = {}
        state = self._before(at)
        if state is None:
            return coins
        shown = self._shown(at)
        principal = state[0].held(self.market, at) if shown is None else shown
        parts = [state[0].claims, {} if self.position["kind"] == "perp" else principal]
        for name, quantity in [row for part in parts for row in part.items()]:
            asset = self.market.asset(name)
            coins[asset] = coins.get(asset, ZERO) + max(ZERO, quantity)
        return coins

    def owed(self, at: int) -> Decimal:
        """What it has borrowed and not paid back, before the events of an instant, at its marks."""
        state = self._before(at)
        if state is None or self.position["kind"] in {"perp", "lp"}:
            return ZERO
        shown = self._shown(at)
        principal = state[0].held(self.market, at) if shown is None else shown
        net: Balances = {}
        for name, quantity in [*principal.items(), *state[0].claims.items()]:
            asset = self.market.asset(name)
            net[asset] = net.get(asset, ZERO) + quantity
        return sum((-q * self.market.price(asset, at) for asset, q in net.items() if q < 0), ZERO)

    def pnl(self, at: int) -> Decimal:
        """Made so far: worth and what was taken out less what was put in."""
        state = self._before(at)
        return ZERO if state is None else self.worth(at) + state[1]
