"""Replay one position's facts, in order, into a `PositionHistory`: every settlement rule of `journal.md` stands here once.

Within an instant: deposits and opening fills, accruals, funding and costs, snapshots, withdrawals and closing fills,
exit. Fills and flows settle in base currency with the wallet; `funded_with` replaces that at entry.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from retro.accounting.fills import terms_of
from retro.accounting.funding import entry_shares, given_up
from retro.accounting.holdings import ZERO, Holdings, LotMethod, realised
from retro.accounting.liquidity import LiquidityBook
from retro.accounting.loans import LoanBook
from retro.accounting.movements import Booking, Closing, Effect, OpeningFill, SignedFill
from retro.accounting.openings import ImpliedDeposits, first_fact, implied_deposits, opened_at
from retro.accounting.order import in_order, natural_key, opening_side
from retro.accounting.track import PositionHistory, StatePoint
from retro.kernels.lots import LotBook
from retro.model import Cost, Decision, Exit, Fill, Flow, Position, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from retro.accounting.prices import Prices
    from retro.kernels.average_lots import Match
    from retro.model import Fact

__all__ = ["natural_key", "replay"]

_FUNDING: Final = frozenset({"funding_received", "funding_paid"})


def replay(facts: list[Fact], prices: Prices, method: LotMethod) -> PositionHistory | None:
    """The track of one position; None when no `position` event tells what it is."""
    positions = [fact for fact in facts if isinstance(fact, Position)]
    if not positions:
        return None
    position = positions[0]
    if len(positions) > 1:
        position = min(positions, key=lambda fact: (fact.at, natural_key(fact.id)))
    began = first_fact(facts)
    # told after its first fact, it was that position all the time
    if began is not None and began < position.at:
        declared = msgspec.structs.replace(position, at=began)
        facts = [declared if fact is position else fact for fact in facts]
    else:
        declared = position
    side = opening_side(position, facts)
    ordered = in_order(facts, side)
    track = _Replay(declared, side, prices, method).run(ordered)
    track.position = position  # what it stated as its risk is judged by when that was said
    return track


class _MarkedExit(NamedTuple):
    """What an exit sent away at its marks, kept in case the agent tells the real settlement later.

    `lots` and `holdings` as they were before it, at the instant `at` with the mark `price`; `bookings` what it booked,
    `closings` from where on its closings stand, `cash` what the wallet got.
    """

    at: int
    price: float
    lots: LotBook
    holdings: Holdings
    bookings: list[Booking]
    closings: int
    cash: float

    def matched(self) -> tuple[int, Sequence[Match]]:
        """When it closed pieces of opening fills, and which."""
        return self.at, self.lots.copy().trade(-self.lots.quantity, self.price).matched


class _Replay:
    def __init__(self, position: Position, side: str | None, prices: Prices, method: LotMethod) -> None:
        self.position = position
        self.side = side
        self.prices = prices
        self.track = PositionHistory(position=position, opened_at=position.at)
        self.method: LotMethod = method
        self.lots = LotBook(method)
        self.cash = 0.0
        self.gas = 0.0
        self.closed = False
        self.exited = False
        self.marked_exit: _MarkedExit | None = None
        self.shares: dict[int, float] = {}
        self.implied = ImpliedDeposits(position, ())
        self.holdings: Holdings = (
            LiquidityBook(position, prices, method)
            if position.kind == "lp"
            else LoanBook(position, prices, method)
        )

    def run(self, ordered: list[Fact]) -> PositionHistory:
        if not self.track.is_fill_based:
            missing = implied_deposits(self.position, self.holdings, ordered)
            self.implied = ImpliedDeposits(self.position, missing)
            ordered = in_order([*missing, *ordered], self.side)
        self.track.opened_at = opened_at(self.position, ordered)
        if self.position.funded_with and self.position.kind != "perp":  # a perp's margin stays the agent's
            self.shares = entry_shares(self.position, self.side, ordered, self.prices)
        for at, group in groupby(ordered, key=lambda fact: fact.at):
            self._instant(at, list(group))
        if self._is_flat() and self.track.closed_at is None:
            self.track.closed_at = self.track.fills[-1].at
        if self.marked_exit is not None:  # nothing took it back
            self.track.matches.append(self.marked_exit.matched())
        self.track.undecided = self.implied.undecided
        if self.marked_exit is not None and self.marked_exit.lots.quantity:
            self.track.warnings.append("closed with a quantity left; the rest is valued at its mark")
        elif (
            self.exited
            and self.marked_exit is not None
            and abs(self.marked_exit.cash) > 1e-6 * max(1.0, abs(self.track.cash_in))
        ):
            self.track.warnings.append("closed with assets left inside; they are valued at their marks")
        return self.track

    # -- one instant ---------------------------------------------------------------------------------------------

    def _instant(self, at: int, group: list[Fact]) -> None:
        flows = [fact for fact in group if isinstance(fact, Flow)]
        exits = [fact for fact in group if isinstance(fact, Exit)]
        settles = any(isinstance(f, Fill) for f in group) or any(f.kind not in _FUNDING for f in flows)
        if settles and self.closed:
            self._reopen(at, group)
        # `funded_with` pays for the entry in kind: what its fills and deposits cost is collected here and settled at
        # once below, against what the assets given up were worth
        share = self.shares.get(at, 0.0)
        spent = 0.0
        deposits = [flow for flow in flows if flow.kind == "deposit"]
        for fact in group:
            if isinstance(fact, Fill):
                spent += self._fill(fact, funded=share > 0 and fact.side == self.side)
            elif isinstance(fact, Cost):
                self._cost(fact)
            elif isinstance(fact, Snapshot) and not self.closed and not self.exited:
                self._snapshot(fact)
            elif isinstance(fact, Decision):
                self.track.decisions.append(fact)
            elif isinstance(fact, Flow) and fact.kind not in {"deposit", "withdrawal"}:
                self._flow(fact)
            # all deposits of an instant are one event: a pool takes both tokens at once, or its ratio would be wrong
            elif isinstance(fact, Flow) and fact is (deposits[0] if deposits else None):
                spent += self._deposit(at, deposits, funded=share > 0)
        if share:
            self._settle_funding(at, share, spent)
        withdrawals = [flow for flow in flows if flow.kind == "withdrawal"]
        if withdrawals:
            # the rest of an LP may follow in another transaction after the exit
            self._withdraw(at, withdrawals, final=bool(exits) or (self.exited and self.position.kind != "lp"))
        if exits:
            self.track.extremes = exits[-1].extremes
            self._exit(at, exits[-1].reason)
        elif settles and self.exited:  # told after its exit: closed again, with what is left now at its marks
            self._exit(at, "")
        if self._is_flat() and not self.closed:
            # what accrued and was never withdrawn leaves with the last fill, or when it accrues, if that is later
            self.closed = self._leave(at)
        self._knot(at)

    def _snapshot(self, snapshot: Snapshot) -> None:
        if self.implied.undecided:
            self._put_in_after_all(snapshot.at, snapshot.holdings, decides=True)
            self.track.deposits.add(snapshot.at)  # what it shows is not what was there just before
        self.track.snapshots.append(snapshot)
        self._book(snapshot.at, self.holdings.snapshot(snapshot))

    def _put_in_after_all(self, at: int, balances: Mapping[str, Decimal], *, decides: bool) -> None:
        """A state shows whether a deposit that was taken for a name of what was there has added something."""
        added = self.implied.seen(at, self.holdings.inside(at), balances, decides=decides)
        if added:
            self._deposit(at, added, funded=False)

    def _reopen(self, at: int, group: list[Fact]) -> None:
        """More is told of a closed position: what left at its marks comes back first, as if it had stayed."""
        self.closed, self.track.closed_at = False, None
        if any(
            getattr(fact, "kind", "") == "deposit" or getattr(fact, "side", "") == self.side for fact in group
        ):
            self.exited = False  # put to use again
        if self.marked_exit is None:
            return
        # reversed at this instant, not erased at that one: the days between keep their figures
        self.track.bookings.extend(Booking(at, b.component, -b.amount) for b in self.marked_exit.bookings)
        self._pay(at, -self.marked_exit.cash)
        self.lots, self.holdings = self.marked_exit.lots, self.marked_exit.holdings
        del self.track.closings[self.marked_exit.closings :]  # a closed position has closed nothing since
        self.marked_exit = None

    def _knot(self, at: int) -> None:
        principal, claims, bundle, pool, basis = self.holdings.view()
        quantity = float(self.lots.quantity)
        if quantity:
            principal = {**principal, self.position.instrument: quantity}
        self.track.knots.append(
            StatePoint(at, principal, claims, bundle, pool, basis + self.lots.basis, self.cash, self.gas)
        )

    def _book(self, at: int, bookings: Iterable[tuple[str, float]]) -> None:
        self.track.bookings.extend(Booking(at, name, amount) for name, amount in bookings if amount)

    def _realise(self, at: int, pnl: float) -> None:
        self._book(at, realised(pnl))

    def _pay(self, at: int, cash: float) -> None:
        """Base currency the wallet receives (> 0) or gives."""
        self.cash += cash
        self.track.effects.append(Effect(at, self.prices.base_currency, cash, cash))

    # -- fills ---------------------------------------------------------------------------------------------------

    def _fill(self, fill: Fill, *, funded: bool) -> float:
        """Trade; gives the cost when `funded_with` pays for it, else settles with the wallet."""
        terms = terms_of(fill, fill.instrument or self.position.instrument, self.prices)
        self.track.trades.append(
            SignedFill(fill.at, float(terms.quantity), terms.told_price, terms.paid, terms.requested)
        )
        done = self.lots.trade(terms.quantity, terms.price, terms.fee, len(self.track.fills))
        if done.matched:
            self.track.matches.append((fill.at, done.matched))
        self._note_trade(fill, terms.price, terms.fee, done.opened_qty, done.closed_qty, done.pnl)
        self.track.fills.append(fill)
        fee = terms.fee
        if terms.fee_asset is not None:
            # it leaves the wallet as that asset and counts against the position, whatever pays for the entry
            self.track.effects.append(Effect(fill.at, terms.fee_asset, -float(fill.fee or 0), -fee))
            self.cash -= fee
            fee = 0.0
        if funded:
            return fee - terms.proceeds
        self._pay(fill.at, terms.proceeds - fee)
        return 0.0

    def _note_trade(
        self, fill: Fill, price: float, fee: float, opened: Decimal, closed: Decimal, pnl: float
    ) -> None:
        size = float(abs(opened) + abs(closed)) or 1.0
        if opened:
            share = float(abs(opened)) / size
            self.track.openings.append(
                OpeningFill(fill.at, float(abs(opened)), price, fee * share, len(self.track.fills))
            )
        if closed:
            share = float(abs(closed)) / size
            sign = -1.0 if closed > 0 else 1.0
            self.track.closings.append(Closing(fill.at, float(abs(closed)), price, fee * share, pnl, sign))
            self._realise(fill.at, pnl)

    # -- flows, costs, exit --------------------------------------------------------------------------------------

    def _deposit(self, at: int, deposits: list[Flow], *, funded: bool) -> float:
        if self.implied.names(deposits):
            return 0.0
        self.track.flows.extend(deposits)
        self.track.deposits.add(at)
        for flow in deposits:
            self._note_sold(flow, -float(flow.quantity))
        value, realized = self.holdings.deposit(at, deposits)
        for pnl in realized:
            self._realise(at, pnl)
        if funded:
            return value
        self.track.cash_in += value
        self._pay(at, -value)
        return 0.0

    def _settle_funding(self, at: int, share: float, spent: float) -> None:
        given = 0.0
        for asset, quantity, worth in given_up(self.position, min(self.shares), self.prices):
            given += share * worth
            self.track.effects.append(Effect(at, asset, -share * quantity, -share * worth))
        self.cash -= given
        self.track.cash_in += given
        self._realise(at, spent - given)

    def _flow(self, flow: Flow) -> None:
        self.track.flows.append(flow)
        value = self._value_of(flow)
        if flow.kind in _FUNDING:
            signed = value if flow.kind == "funding_received" else -value
            self._book(flow.at, [("funding", signed)])
            self._pay(flow.at, signed)
            return
        self._book(flow.at, self.holdings.accrue(flow, value))

    def _value_of(self, flow: Flow) -> float:
        if flow.value is not None:
            return float(flow.value)
        return float(flow.quantity) * self.prices.price(flow.asset, flow.at)

    def _withdraw(self, at: int, withdrawals: list[Flow], *, final: bool) -> None:
        self.track.flows.extend(withdrawals)
        if self.implied.undecided:
            leaving: dict[str, Decimal] = {}
            for flow in withdrawals:
                leaving[flow.asset] = leaving.get(flow.asset, ZERO) + flow.quantity
            self._put_in_after_all(at, leaving, decides=final)
        self.implied.close()
        removal = self.holdings.withdraw(at, withdrawals, final=final)
        self._removal(at, removal.value - self._keep(at, withdrawals), removal.realized, removal.il)
        if removal.emptied and not self.closed:
            self.closed = True
            self.track.closed_at = at

    def _keep(self, at: int, withdrawals: list[Flow]) -> float:
        """Hand the wallet what stays as it is; gives its worth, which is no cash. Of the others it is told what was sold."""
        in_kind = 0.0
        for flow in withdrawals:
            if flow.kept:
                in_kind += (worth := self._value_of(flow))
                self.track.effects.append(Effect(at, flow.asset, float(flow.quantity), worth))
            elif flow.kept is None:
                self._note_sold(flow, float(flow.quantity))
        self.cash += in_kind
        return in_kind

    def _note_sold(self, flow: Flow, quantity: float) -> None:
        if flow.asset != self.prices.base_currency:
            self.track.effects.append(Effect(flow.at, flow.asset, quantity, 0.0, sold=True))

    def _removal(self, at: int, value: float, realized: float, il: float) -> None:
        self._pay(at, value)
        self._book(at, [("impermanent_loss", il)])
        self._realise(at, realized)
        self.track.closings.append(Closing(at, 0.0, 0.0, 0.0, realized - il))

    def _cost(self, cost: Cost) -> None:
        base = self.prices.base_currency
        if cost.amount is not None:
            worth, asset, quantity = float(cost.amount), base, float(cost.amount)
        else:
            asset, quantity = str(cost.asset), float(cost.quantity or 0)
            worth = quantity * self.prices.price(asset, cost.at)
        self.track.effects.append(Effect(cost.at, asset, -quantity, -worth))
        booking = Booking(cost.at, f"{cost.kind}_costs", worth)
        if cost.kind == "gas":
            self.gas += worth
            self.track.bookings.append(booking)
        else:
            self.track.portfolio.append(booking)

    def _exit(self, at: int, reason: str) -> None:
        self.track.exit_reason = reason or self.track.exit_reason
        if self._is_flat():
            return  # its last fill has closed it
        self.exited = True
        self._book(at, self.holdings.untold(at))
        self._leave(at)
        if not self.closed:
            self.closed = True
            self.track.closed_at = at

    def _leave(self, at: int) -> bool:
        """What is still inside a closed position leaves at its mark; whether there was anything."""
        principal, claims, bundle, _, _ = self.holdings.view()
        if not (self.lots.quantity or principal or claims or bundle):
            return False
        # a later event may take this exit back, so the state before it is kept
        lots, holdings, cash, price = self.lots, self.holdings, self.cash, 0.0
        self.lots, self.holdings = LotBook(self.method), holdings.copy()
        booked, closed = len(self.track.bookings), len(self.track.closings)
        if quantity := lots.quantity:
            price = self.prices.price(self.position.instrument, at)
            pnl = lots.result_of_closing(price)
            sign = -1.0 if quantity < 0 else 1.0
            self.track.closings.append(Closing(at, float(abs(quantity)), price, 0.0, pnl, sign))
            self._realise(at, pnl)
            self._pay(at, float(quantity) * price)
        removal = self.holdings.leave(at)
        if removal is not None:
            self._removal(at, removal.value, removal.realized, removal.il)
        self.marked_exit = _MarkedExit(
            at, price, lots, holdings, self.track.bookings[booked:], closed, self.cash - cash
        )
        return True

    def _is_flat(self) -> bool:
        """Whether fills have sold all that fills had bought."""
        return bool(self.track.fills) and self.track.is_fill_based and not self.lots.quantity
