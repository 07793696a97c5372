"""What a report's rows come to as events: positions in the account's currency, charges, swaps, and money of the owner."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from retro.checks import SourceCheck
from retro.ingest.netting import Execution, FillLeg, Netting, write_legs

if TYPE_CHECKING:
    from datetime import datetime

    from retro.ingest.batches import BatchWriter
    from retro.ingest.metatrader.rates import AccountRates
    from retro.ingest.metatrader.rows import BalanceMove, Deal, RoundTrip
    from retro.ingest.times import Clock

__all__ = ["Ledger"]

ZERO: Final = Decimal(0)
_CENT: Final = Decimal("0.01")
_REASONS: Final = {"tp": "take_profit", "sl": "stop_loss", "so": "stop_out"}
_REASON: Final = re.compile(r"\[(tp|sl|so)\b[^\]]*\]|^(so):", re.IGNORECASE)
_MAGIC: Final = re.compile(r"^#(\d+)\s*")
_CHAIN: Final = re.compile(r"(?:to|from) #\d+")
_CHARGES: Final = ("commission", "charge", "fee", "tax", "interest")


def _reason_of(remark: str) -> str | None:
    """Why a position was closed, by the terminal's own mark; None where it has none."""
    match = _REASON.search(remark)
    return _REASONS[(match[1] or match[2]).lower()] if match else None


def _strategy_of(remark: str) -> str | None:
    """What an expert or its owner called a trade: the comment, else the expert's number; None without either."""
    magic = _MAGIC.match(remark)
    name = _CHAIN.sub("", _REASON.sub("", _MAGIC.sub("", remark))).strip()
    if name.startswith("[") or name in {"cancelled", ""}:
        return f"magic {magic[1]}" if magic else None
    return name[:120]


@dataclass(slots=True)
class _Lot:
    """An open book of deals: signed lots, and their average entry price in the account's currency."""

    lots: Decimal = ZERO
    entry: Decimal = ZERO


@dataclass(slots=True)
class Ledger:
    """Writes the events of one account."""

    agent: str
    venue: str
    writer: BatchWriter
    clock: Clock
    rates: AccountRates
    charges: dict[tuple[str, datetime, Decimal], tuple[Decimal, str]] = field(default_factory=dict)
    """(Symbol, time, price) of a deal -> what it was charged, and its comment."""
    written: datetime | None = None
    """When the report was made: the instant of the market's prices in it."""
    _netting: Netting = field(default_factory=lambda: Netting("mt"))
    _books: dict[tuple[str, str], _Lot] = field(default_factory=dict)

    def open_wallet(self, begin: datetime, balance: Decimal) -> None:
        """What the account held when the report begins."""
        at = self._instant(begin)
        if balance >= 0 and at is not None:
            self.writer.event("equity", "opening", self.agent, at, balances={self.rates.currency: balance})

    def take_trip(self, trip: RoundTrip) -> None:
        """A position as the report lists it: entry, exit, swap, and the reason of its end."""
        opened = self.clock.instant(trip.opened)
        closed = None if trip.closed is None else self.clock.instant(trip.closed)
        if closed is not None and closed < opened:
            raise ValueError("it closed before it opened")
        rate = self.rates.rate(trip.symbol, trip.move, trip.profit)
        quantity = trip.lots * self.rates.units(trip.symbol)
        entry = trip.entry * rate
        sign = 1 if trip.side == "buy" else -1
        position = f"mt-{trip.ticket}"
        charge_in, remark = self.charges.get((trip.symbol, trip.opened, trip.entry), (None, ""))
        strategy = _strategy_of(trip.remark) or _strategy_of(remark)
        self._event(
            "position", position, opened, trip.line, position=position, kind="perp",
            instrument=self._instrument(trip.symbol), side="long" if sign > 0 else "short",
            venue=self.venue, strategy=strategy,
        )  # fmt: skip
        fee_in = ZERO if charge_in is None else -charge_in
        if closed is None:
            fee_in = -trip.commission
        self._fill(trip, f"{trip.ticket}-in", opened, trip.side, quantity, entry, fee_in)
        if closed is None or trip.closed is None:
            written = None if self.written is None else self._instant(self.written)
            if written is not None:
                price = entry + sign * trip.profit / quantity
                self.writer.mark(self.agent, self._instrument(trip.symbol), written, price)
            return
        other = "sell" if trip.side == "buy" else "buy"
        leave = entry + sign * trip.profit / quantity
        self._fill(trip, f"{trip.ticket}-out", closed, other, quantity, leave, -trip.commission - fee_in)
        self._swap(trip.ticket, position, closed, trip.line, trip.swap)
        closing = self.charges.get((trip.symbol, trip.closed, trip.exit), (ZERO, ""))[1]
        if reason := _reason_of(trip.remark) or _reason_of(closing):
            self._event("exit", f"{trip.ticket}-exit", closed, trip.line, position=position, reason=reason)
        stated = trip.profit + trip.commission + trip.swap
        self.writer.check(
            SourceCheck(
                self.agent, "realized_pnl", position, closed, stated, _CENT, net_of=("fees", "funding")
            )
        )

    def take_deal(self, deal: Deal, *, is_netting: bool) -> None:
        """A deal of a report that lists no positions: they run from flat to flat, of each side where the account hedges."""
        at = self.clock.instant(deal.at)
        opens = deal.direction == "in"
        book: Literal["", "long", "short"] = (
            "" if is_netting else "long" if (deal.side == "buy") == opens else "short"
        )
        lot = self._books.setdefault((deal.symbol, book), _Lot())
        sign = 1 if deal.side == "buy" else -1
        against = min(abs(lot.lots), deal.lots) if lot.lots * sign < 0 else ZERO
        units = self.rates.units(deal.symbol)
        price = deal.price * self.rates.rate(deal.symbol, ZERO, ZERO)
        instrument = self._instrument(deal.symbol)
        strategy = _strategy_of(deal.remark)
        charge = -deal.charge
        for lots, at_price, name in (
            (against, lot.entry - sign * deal.profit / (against * units) if against else ZERO, deal.ticket),
            (deal.lots - against, price, deal.ticket if not against else f"{deal.ticket}+"),
        ):
            if not lots:
                continue
            execution = Execution(
                name, at, instrument, "buy" if sign > 0 else "sell", lots * units, at_price,
                charge * lots / deal.lots, book=book, effect="close" if name == deal.ticket and not opens else None,
            )  # fmt: skip
            legs = self._netting.take(execution)
            write_legs(
                self.writer, self.agent, execution, legs, kind="perp", venue=self.venue, line=deal.line,
                position_fields={"strategy": strategy},
            )  # fmt: skip
            self._follow(lot, sign * lots, price)
            self._close(deal, legs, at)

    def take_balance(self, move: BalanceMove) -> None:
        """Money without a trade: the owner's, or what the broker charged."""
        at = self.clock.instant(move.at)
        if not move.amount:
            return
        if move.amount < 0 and any(word in move.kind for word in _CHARGES):
            self._event("cost", f"{move.ticket}", at, move.line, kind="data", amount=-move.amount)
        else:
            self._event("external", f"{move.ticket}", at, move.line, quantity=move.amount)

    def check_balance(self, at: datetime, balance: Decimal) -> None:
        """What the account held after the deals of an instant."""
        instant = self._instant(at)
        if instant is not None:
            self.writer.check(
                SourceCheck(self.agent, "balance", self.rates.currency, instant, balance, _CENT)
            )

    def _instant(self, time: datetime) -> int | None:
        """Microseconds since 1970; None of a time that its zone never had, which the row it stands in is told for."""
        try:
            return self.clock.instant(time)
        except (ValueError, ArithmeticError):
            return None

    def _follow(self, lot: _Lot, signed: Decimal, price: Decimal) -> None:
        before, lot.lots = lot.lots, lot.lots + signed
        if before * signed >= 0:
            lot.entry = (lot.entry * abs(before) + price * abs(signed)) / abs(lot.lots)

    def _close(self, deal: Deal, legs: list[FillLeg], at: int) -> None:
        """Swap and reason of the position that a deal takes off."""
        for leg in legs:
            if leg.opens:
                continue
            if leg.id == deal.ticket:
                self._swap(deal.ticket, leg.position, at, deal.line, deal.swap)
            if leg.closes and (reason := _reason_of(deal.remark)):
                self._event("exit", f"{leg.id}-exit", at, deal.line, position=leg.position, reason=reason)

    def _fill(
        self, trip: RoundTrip, name: str, at: int, side: str, quantity: Decimal, price: Decimal, fee: Decimal
    ) -> None:  # fmt: skip
        self._event(
            "fill", name, at, trip.line, position=f"mt-{trip.ticket}", instrument=self._instrument(trip.symbol),
            side=side, quantity=quantity, price=price, fee=fee,
        )  # fmt: skip

    def _swap(self, ticket: str, position: str, at: int, line: int, swap: Decimal) -> None:
        if swap:
            self._event(
                "flow", f"{ticket}-swap", at, line, position=position, asset=self.rates.currency, quantity=abs(swap),
                kind="funding_received" if swap > 0 else "funding_paid",
            )  # fmt: skip

    def _event(self, event: str, name: str, at: int, line: int, /, **fields: object) -> None:
        self.writer.event(event, name, self.agent, at, line=line, **fields)

    def _instrument(self, symbol: str) -> str:
        return f"{symbol}/{self.rates.currency}:{self.rates.currency}"
