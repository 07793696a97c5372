"""Positions out of snapshots: a decision log says what was held before each cycle, and what was done in it.

Quantity and entry price are the next snapshot's (the log's own quantities are not rounded to lots, up to 21 % off);
an exit's price is the last price its decision saw. What is gone without a decision was closed by the exchange: at the
stop or target its model had asked for, whichever the account's change comes nearest to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from retro.ingest.nofx.record import Act, Cycle, HoldingSnapshot

__all__ = ["OpenTrade", "PositionChange", "changes"]

ZERO: Final = Decimal(0)
NEAR: Final = Decimal("0.01")
"""A stop or target further than this share from where the account says the exit was did not close the position."""
FEE: Final = Decimal("0.0001")
"""Of the value: less than any exchange takes for opening and closing a position."""
_DIGITS: Final = Context(prec=12)
"""Of prices that we compute; the exchange's own keep every digit."""
_MS: Final = 1_000

Key = tuple[str, str]
"""Symbol and side: an account in hedge mode holds both sides of one symbol."""


@dataclass(frozen=True, slots=True)
class OpenTrade:
    """A position while it is open; `stop` and `target` as last asked for."""

    position: str
    symbol: str
    side: str
    quantity: Decimal
    entry: Decimal
    stop: Decimal | None = None
    target: Decimal | None = None


@dataclass(frozen=True, slots=True)
class PositionChange:
    """A fill of a position at an instant; `trade` as it is afterwards (closed: quantity 0).

    `reason`: why it happened ("decision", "stop_loss", "take_profit", "exchange", "manual");
    `act`: what the log says was done.
    """

    at: int
    trade: OpenTrade
    opens: bool
    quantity: Decimal
    price: Decimal
    reason: str
    act: Act | None = None

    @property
    def closed(self) -> bool:
        """Whether nothing is left of the position."""
        return not self.trade.quantity


def changes(
    before: Cycle, after: Cycle, trades: dict[Key, OpenTrade], foreign: Collection[Key] = ()
) -> Iterator[PositionChange]:
    """What happened to positions between two snapshots, given those open at the first; quantities from the second.

    `foreign` positions, which nobody saw opened, are passed over.
    """
    acts = {kind: _successes(before, kind) for kind in ("open", "close", "reduce")}
    vanished: list[OpenTrade] = []
    unseen: dict[OpenTrade, Act] = {}
    realised = ZERO
    for key in sorted({*trades, *after.holdings, *acts["open"]} - {*foreign}):
        trade, stated = trades.get(key), after.holdings.get(key)
        close, begin = acts["close"].get(key), acts["open"].get(key)
        if trade and close and not (stated and not begin and _is_untouched(trade, stated)):
            realised += _gain(trade, close.price) * trade.quantity
            yield PositionChange(
                close.at, replace(trade, quantity=ZERO), False, trade.quantity, close.price,
                close.trigger or "decision", close,
            )  # fmt: skip
            trade = None
        if trade and stated:
            yield from _resized(trade, stated, begin or acts["reduce"].get(key), after.at)
        elif stated:
            yield _opened(key, stated, begin, before, after.at)
        elif trade:
            vanished.append(trade)
        elif begin and begin.quantity and begin.price:
            unseen[_begun(key, begin.quantity, begin.price, begin, before)] = begin
    change = after.wallet - before.wallet - realised
    triggers = {
        (act.symbol, act.action.rpartition("_")[2]): act for act in after.acts if act.trigger and act.price
    }
    for trade in (*vanished, *unseen):
        if act := unseen.get(trade):
            if not vanished and len(unseen) == 1 and abs(change) < FEE * trade.quantity * trade.entry:
                return  # not even a fee was paid: the order was never filled
            yield PositionChange(act.at, trade, True, trade.quantity, trade.entry, "decision", act)
        last = before.holdings.get((trade.symbol, trade.side))
        seen_at = last.mark if last else trade.entry
        if len(vanished) + len(unseen) == 1:
            seen_at = trade.entry + (change if trade.side == "long" else -change) / trade.quantity
        price, reason = _exit(trade, seen_at)
        if trigger := triggers.get((trade.symbol, trade.side)):
            price, reason = trigger.price, trigger.trigger
        yield PositionChange(
            after.at - _MS, replace(trade, quantity=ZERO), False, trade.quantity, price, reason
        )


def _successes(cycle: Cycle, kind: str) -> dict[Key, Act]:
    """Symbol and side -> the act of that kind that went through."""
    done: dict[Key, Act] = {}
    for act in cycle.acts:
        word, _, side = act.action.removeprefix("auto_").partition("_")
        if not act.success:
            continue
        if (word in {"open", "close"} and word == kind) or (kind == "open" and word == "add"):
            done[act.symbol, side] = act
        elif kind == "reduce" and word == "partial":
            for side_word in ("long", "short"):
                done[act.symbol, side_word] = act
    return done


def _is_untouched(trade: OpenTrade, stated: HoldingSnapshot) -> bool:
    """Whether a close that was reported as done changed nothing."""
    return stated.quantity == trade.quantity and stated.entry == trade.entry


def _opened(key: Key, stated: HoldingSnapshot, act: Act | None, before: Cycle, at: int) -> PositionChange:
    if act is None:
        trade = OpenTrade(_name(key, at - _MS), *key, stated.quantity, stated.entry)
        return PositionChange(at - _MS, trade, True, stated.quantity, stated.entry, "manual")
    trade = _begun(key, stated.quantity, stated.entry, act, before)
    return PositionChange(act.at, trade, True, stated.quantity, stated.entry, "decision", act)


def _begun(key: Key, quantity: Decimal, entry: Decimal, act: Act, before: Cycle) -> OpenTrade:
    wish = before.intention(act.symbol, act.action)
    stop, target = (wish.stop, wish.target) if wish else (None, None)
    return OpenTrade(_name(key, act.at), *key, quantity, entry, stop, target)


def _resized(trade: OpenTrade, stated: HoldingSnapshot, act: Act | None, at: int) -> Iterator[PositionChange]:
    difference = stated.quantity - trade.quantity
    if not difference:
        return
    happened = act.at if act else at - _MS
    reason = "decision" if act else "manual"
    if difference > 0:  # the exchange's average tells at what price it was added
        price = (stated.entry * stated.quantity - trade.entry * trade.quantity) / difference
        price = _DIGITS.plus(price) if price > 0 else stated.mark
        grown = replace(trade, quantity=stated.quantity, entry=stated.entry)
        yield PositionChange(happened, grown, True, difference, price, reason, act)
    else:
        price = act.price if act and act.price else stated.mark
        yield PositionChange(
            happened, replace(trade, quantity=stated.quantity), False, -difference, price, reason, act
        )


def _exit(trade: OpenTrade, seen_at: Decimal) -> tuple[Decimal, str]:
    """Price and reason of an exit that nobody decided, given where the account or the last mark puts it."""
    asked = [
        (price, reason)
        for price, reason in ((trade.stop, "stop_loss"), (trade.target, "take_profit"))
        if price is not None and abs(price - seen_at) <= NEAR * price
    ]
    if asked:
        return min(asked, key=lambda choice: abs(choice[0] - seen_at))
    return (_DIGITS.plus(seen_at) if seen_at > 0 else trade.entry), "exchange"


def _gain(trade: OpenTrade, price: Decimal) -> Decimal:
    return price - trade.entry if trade.side == "long" else trade.entry - price


def _name(key: Key, at: int) -> str:
    return f"nofx-{key[0]}-{key[1]}-{at // _MS}"
