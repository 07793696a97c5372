"""Positions of one account out of its fills, in the order in which they really happened."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from retro.checks import SourceCheck
from retro.ingest.hyperliquid.records import IN_KIND
from retro.ingest.netting import Execution, FillLeg, NetHolding, Netting, write_legs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from retro.ingest.batches import BatchWriter
    from retro.ingest.hyperliquid.records import Funding, Transfer, VenueFill

__all__ = ["Book", "BookStanding"]

ZERO: Final = Decimal(0)
_VENUE: Final = "hyperliquid"
_SAME: Final = Decimal("1e-7")
_ROUNDING: Final = (Decimal("0.002"), Decimal("0.001"))
"""How far a stated result of a fill may lie from ours: USDC, and that share of it (measured on real exports).

Besides the last digit of its price for each unit: the venue keeps average entries to so many digits.
"""
_TOKENS: Final = {"@107": "HYPE", "@142": "UBTC", "@151": "UETH", "@156": "USOL"}
"""The spot pairs against USDC that most accounts trade, where a file shows only their numbers."""
_FORCED: Final = {
    "Liquidated": "liquidation",
    "Auto-Deleveraging": "auto_deleveraging",
    "Settlement": "settlement",
}


@dataclass(slots=True)
class _Life:
    """One open position: signed quantity, average entry price, and what the venue says it realised so far."""

    quantity: Decimal = ZERO
    entry: Decimal = ZERO
    stated: Decimal = ZERO
    tolerance: Decimal = ZERO

    def take(self, leg: FillLeg) -> bool:
        """Move with a leg; whether it took something off."""
        signed = leg.quantity if leg.side == "buy" else -leg.quantity
        before, self.quantity = self.quantity, self.quantity + signed
        if before * signed < 0:
            return True
        self.entry = (self.entry * abs(before) + leg.price * leg.quantity) / abs(self.quantity)
        return False


class BookStanding(msgspec.Struct):
    """What an account has open: perps and tokens by instrument, as position and signed quantity, and lives by position."""

    perps: dict[str, tuple[str, Decimal]]
    spot: dict[str, tuple[str, Decimal]]
    lives: dict[str, _Life]


@dataclass(slots=True)
class Book:
    """Takes an account's records in order and writes its events.

    `tokens` says of a numbered spot pair what it trades, as fees have shown.
    """

    agent: str
    writer: BatchWriter
    tokens: Mapping[str, tuple[str, str]]
    _perps: Netting = field(default_factory=lambda: Netting("hl"))
    _spot: Netting = field(default_factory=lambda: Netting("hl", can_be_short=False))
    _gaps: list[str] = field(default_factory=list)
    _unseen: int = 0
    _lives: dict[str, _Life] = field(default_factory=lambda: defaultdict(_Life))
    _funded: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def standing(self) -> BookStanding:
        """What is open after all that was taken."""
        return BookStanding(_held_in(self._perps), _held_in(self._spot), dict(self._lives))

    def go_on_from(self, standing: BookStanding) -> None:
        """Begin with what was open."""
        for netting, held in ((self._perps, standing.perps), (self._spot, standing.spot)):
            netting.holdings |= {("", name, ""): NetHolding(*holding) for name, holding in held.items()}
        self._lives |= standing.lives

    def take_fills(self, group: Sequence[VenueFill]) -> None:
        """The fills of one instant."""
        by_coin: dict[str, list[VenueFill]] = defaultdict(list)
        for fill in group:
            by_coin[fill.coin].append(fill)
        for fills in by_coin.values():
            ordered = list(self._chained(_wash_trades(fills))) if len(fills) > 1 else fills
            spread = len({fill.side for fill in fills}) > 1
            for place, fill in enumerate(ordered):
                self._take(fill, fill.at + (place * fill.step if spread else 0))

    def take_funding(self, funding: Funding) -> None:
        """A payment for an hour: of the position that is open then, else of the wallet."""
        if not funding.payment:
            return
        holding = self._perps.holdings.get(("", _perp(funding.coin), ""))
        if holding and funding.is_long is not None and (holding.quantity > 0) != funding.is_long:
            holding = None
        key = f"funding-{funding.coin}-{funding.at // 1000}"
        self._funded[key] += 1
        self.writer.event(
            "flow", key if self._funded[key] == 1 else f"{key}-{self._funded[key]}", self.agent, funding.at,
            line=funding.line,
            kind="funding_received" if funding.payment > 0 else "funding_paid",
            asset="USDC",
            quantity=abs(funding.payment),
            position=holding.position if holding else None,
        )  # fmt: skip

    def take_transfer(self, transfer: Transfer) -> None:
        """Money of the owner that came or went, and what the venue charged for it."""
        is_base = transfer.asset == "USDC"
        self.writer.event(
            "external", transfer.id, self.agent, transfer.at,
            line=transfer.line,
            quantity=transfer.amount,
            asset=None if is_base else transfer.asset,
            value=None if is_base else transfer.value,
        )  # fmt: skip
        if transfer.fee > 0:
            self.writer.event(
                "cost", f"{transfer.id}-fee", self.agent, transfer.at,
                line=transfer.line, kind="gas", amount=transfer.fee,
            )  # fmt: skip

    def tell_gaps(self) -> None:
        """Say what the files do not show of this account."""
        if self._unseen:
            self.writer.notice(
                f"{self.agent}: {self._unseen} positions hold what no file shows the purchase or sale of; it is opened at the entry"
                " price that the venue's results give away"
            )
        if self._gaps:
            self.writer.notice(
                f"{self.agent}: {len(self._gaps)} fills say that more or less was held before them than the files make"
                f" (first: {self._gaps[0]}); parts of the history are missing, read them too"
            )

    def _chained(self, fills: Sequence[VenueFill]) -> Iterator[VenueFill]:
        """Fills of one coin and instant in the order their start positions tell, where they do."""
        waiting: dict[str, deque[int]] = defaultdict(deque)
        for place, fill in enumerate(fills):
            if fill.start is not None:
                waiting[_rounded(fill.start)].append(place)
        pending = dict(enumerate(fills))
        position = self._held(fills[0])
        while pending:
            fitting = waiting.get(_rounded(position), deque())
            while fitting and fitting[0] not in pending:
                fitting.popleft()
            fill = pending.pop(fitting.popleft() if fitting else next(iter(pending)))
            signed = fill.size if fill.side == "buy" else -fill.size
            position = (position if fill.start is None else fill.start) + signed
            if (
                fill.is_spot
                and fill.side == "buy"
                and self._fee_asset(fill) == self._instrument(fill).partition("/")[0]
            ):
                position -= fill.fee
            yield fill

    def _take(self, fill: VenueFill, at: int) -> None:
        position = self._held(fill)
        side = fill.side or ("sell" if position > 0 else "buy" if position < 0 else None)
        if side is None:
            self._fault(
                fill, f"{fill.direction[:40]!r} does not say whether it bought or sold, and nothing is held"
            )
            return
        execution = Execution(
            fill.id, at, self._instrument(fill), side, fill.size, fill.price, fill.fee, self._fee_asset(fill)
        )
        try:
            self._reconcile(fill, execution, position)
            self._write(fill, execution, self._netting(fill).take(execution))
        except (ValueError, ArithmeticError) as error:
            self._fault(fill, str(error))

    def _reconcile(self, fill: VenueFill, execution: Execution, position: Decimal) -> None:
        """Bring what we hold to what must have been held just before a fill; `ValueError` where that cannot be known."""
        start = None if fill.is_spot else fill.start
        if start is not None and abs(start - position) > _SAME * max(abs(start), abs(position), Decimal(1)):
            self._gaps.append(f"{fill.where}, row {fill.line}")
            if position and position * start <= 0:
                self._abandon(execution)
                position = ZERO
        sign = 1 if execution.side == "sell" else -1
        have = max(ZERO, position * sign)
        before = have if start is None else max(ZERO, start * sign)
        closed = self._closed(fill, before)
        if fill.crosses and not 0 < closed < fill.size:
            raise ValueError(
                f"it crosses from a position that the files do not show whole ({position:f} is known)"
            )
        needed = closed if have else max(before, closed)
        if closed and needed - have > _SAME * needed:
            self._open_unseen(fill, execution, have, closed, needed - have)

    def _closed(self, fill: VenueFill, have: Decimal) -> Decimal:
        """How much of a fill closes: by what it says of itself, else by what is held; 0 where it opens."""
        if fill.direction.startswith(("Open ", "Buy")):
            return ZERO
        if fill.direction.startswith(("Close ", "Sell", "Spot Dust", "Liquidated")):
            return fill.size
        return min(have, fill.size)

    def _abandon(self, execution: Execution) -> None:
        """End a position that the venue no longer has: what closed it is not in the files."""
        holding = self._perps.holdings.pop(("", execution.instrument, ""))
        self._lives.pop(holding.position, None)
        self.writer.event(
            "exit", f"{execution.id}-before", self.agent, execution.at - 1,
            position=holding.position, reason="closed outside the files",
        )  # fmt: skip

    def _open_unseen(
        self, fill: VenueFill, execution: Execution, have: Decimal, closed: Decimal, missing: Decimal
    ) -> None:
        """Open what was held before the files begin, at the entry price that the result of this close gives away.

        The result is by average cost: that of `missing` and of the `have` whose entry is known.
        """
        gross = fill.closed_pnl + (fill.fee if fill.is_net else ZERO)
        average = fill.price - gross / closed * (1 if execution.side == "sell" else -1)
        holding = self._netting(fill).holdings.get(("", execution.instrument, ""))
        entry = (
            self._lives[holding.position].entry if holding and holding.position in self._lives else average
        )
        basis = (average * (have + missing) - entry * have) / missing
        if basis <= 0:
            raise ValueError(
                "it closes what was opened before the files begin, at a price they do not give away"
            )
        self._unseen += 1
        opening = execution._replace(
            id=f"{execution.id}-opening", side="buy" if execution.side == "sell" else "sell",
            quantity=missing, price=basis, fee=ZERO, fee_asset=None,
        )  # fmt: skip
        self._write(fill, opening, [leg._replace(opening=True) for leg in self._netting(fill).take(opening)])

    def _write(self, fill: VenueFill, execution: Execution, legs: list[FillLeg]) -> None:
        """The events of a fill's legs, and of a contract what the venue says they realised."""
        write_legs(
            self.writer, self.agent, execution, legs,
            kind="spot" if fill.is_spot else "perp", venue=_VENUE, line=fill.line,
        )  # fmt: skip
        reason = next((word for name, word in _FORCED.items() if fill.direction.startswith(name)), None)
        for leg in legs:
            if leg.closes and reason:
                self.writer.event(
                    "exit", f"{leg.id}-exit", self.agent, execution.at,
                    line=fill.line, position=leg.position, reason=reason,
                )  # fmt: skip
            if not fill.is_spot:
                self._compare(fill, execution.at, leg, legs)

    def _compare(self, fill: VenueFill, at: int, leg: FillLeg, legs: list[FillLeg]) -> None:
        """Tell what the venue says a leg realised, and at the end its position; of a crossing the opening part is 0.

        A fill's figure is told as it stands, net of the whole fee where it is net of fees; a position's has its part.
        """
        life = self._lives[leg.position]
        reduces = life.take(leg)
        net_of: tuple[Literal["fees"], ...] = ("fees",) if fill.is_net else ()
        stated = ZERO if leg.opening else fill.closed_pnl
        if len(legs) == 2:
            other_fee = legs[1].fee if fill.is_net else ZERO
            stated = -other_fee if leg is legs[1] else stated + other_fee
        tolerance = _ROUNDING[0] + _ROUNDING[1] * abs(stated) + leg.quantity * _last_digit(fill.price)
        life.stated += stated
        life.tolerance += tolerance
        if reduces:
            self._check(leg.position, at, fill.closed_pnl, tolerance, leg.id, net_of)
        if leg.closes:
            self._check(leg.position, at, life.stated, life.tolerance, None, net_of)
            del self._lives[leg.position]

    def _check(
        self, position: str, at: int, stated: Decimal, tolerance: Decimal, fill: str | None, net_of: tuple[Literal["fees"], ...]
    ) -> None:  # fmt: skip
        self.writer.check(
            SourceCheck(self.agent, "realized_pnl", position, at, stated, tolerance, fill, net_of)
        )

    def _netting(self, fill: VenueFill) -> Netting:
        return self._spot if fill.is_spot else self._perps

    def _held(self, fill: VenueFill) -> Decimal:
        holding = self._netting(fill).holdings.get(("", self._instrument(fill), ""))
        return holding.quantity if holding else ZERO

    def _instrument(self, fill: VenueFill) -> str:
        if not fill.is_spot:
            return _perp(fill.coin)
        if "/" in fill.coin:
            return fill.coin
        base, quote = self.tokens.get(fill.coin, ("", ""))
        return f"{base or _TOKENS.get(fill.coin, fill.coin)}/{quote or 'USDC'}"

    def _fee_asset(self, fill: VenueFill) -> str | None:
        """The token a fee was charged in; None: the quote asset."""
        base, _, quote = self._instrument(fill).partition("/")
        if fill.fee_token == IN_KIND:
            return base
        return fill.fee_token if fill.fee_token and fill.fee_token != quote.partition(":")[0] else None

    def _fault(self, fill: VenueFill, reason: str) -> None:
        self.writer.fault(f"fill: {reason}", fill.line, where=fill.where, agent=self.agent)


def _wash_trades(fills: Sequence[VenueFill]) -> list[VenueFill]:
    """The fills of one coin and instant, those of an account that traded with itself one after the other.

    Both sides state the position before either: what reduces it comes first, and the other begins where that ends.
    """
    ordered: list[VenueFill] = []
    waiting: dict[tuple[Decimal, Decimal, Decimal], int] = {}
    for fill in fills:
        ordered.append(fill)
        if fill.is_spot or not fill.start or fill.side is None:
            continue
        key = (fill.start, fill.size, fill.price)
        place = waiting.pop(key, None)
        if place is None or ordered[place].side == fill.side:
            waiting[key] = len(ordered) - 1
            continue
        first, second = ordered[place], ordered.pop()
        if (first.side == "buy") == (fill.start > 0):
            first, second = second, first
        end = fill.start - fill.size.copy_sign(fill.start)
        ordered[place : place + 1] = [first, msgspec.structs.replace(second, start=end)]
        waiting = {other: at + (at > place) for other, at in waiting.items()}
    return ordered


def _held_in(netting: Netting) -> dict[str, tuple[str, Decimal]]:
    return {name: (held.position, held.quantity) for (_, name, _), held in netting.holdings.items()}


def _perp(coin: str) -> str:
    return f"{coin}/USDC:USDC"


def _rounded(quantity: Decimal) -> str:
    """A quantity to eight digits, as far as spreadsheets leave it whole."""
    return f"{float(quantity):.7e}"


def _last_digit(price: Decimal) -> Decimal:
    """The step of a price there: its fifth digit that matters, and no finer than the sixth decimal."""
    return Decimal(1).scaleb(max(price.adjusted() - 4, -6))
