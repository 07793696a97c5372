"""Cycle after cycle of one trader into events: equity, marks, decisions, and what became of positions.

A cycle is told once the next one shows what came of it: quantity and price of an entry stand only there. So of the
last cycle its entries wait for the next reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.ingest.nofx.names import ACTIONS, instrument_of, quote_of, side_of
from retro.ingest.nofx.positions import OpenTrade, PositionChange, changes
from retro.journal import quote
from retro.periods import format_instant

if TYPE_CHECKING:
    from retro.ingest.batches import BatchWriter
    from retro.ingest.nofx.record import Act, Cycle, Intention

__all__ = ["Follower", "write_decision"]

_LEAST_SHARE: Final = Decimal("0.01")
_LEAST: Final = Decimal("0.5")
"""Money that leaves while nothing is traded is the owner's from 1 % of what is open and half a unit on; less is
funding, and the moment's difference between two prices of one snapshot."""
_SAME: Final = Decimal("0.01")
_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a cycle was read."""

    where: str
    line: int | None


class Follower:
    """Follows one trader through its cycles, which come in the order of time."""

    def __init__(self, writer: BatchWriter, agent: str, venue: str) -> None:
        self._writer = writer
        self._agent = agent
        self._venue = venue
        self._trades: dict[tuple[str, str], OpenTrade] = {}
        self._foreign: set[tuple[str, str]] = set()
        self._before: tuple[Cycle, _Place] | None = None
        self._counts: Counter[str] = Counter()
        self._quotes: Counter[str] = Counter()
        self._transfers: list[str] = []
        self.unknown: Counter[str] = Counter()

    def take(self, cycle: Cycle, where: str, line: int | None) -> None:
        """The next cycle: what happened since the one before it, and how things stand."""
        place = _Place(where, line)
        self._writer.where = where
        if cycle.equity is None:
            self._decisions(cycle, place, {})
            return
        if self._before is None:
            self._begin(cycle, place)
        else:
            before, its_place = self._before
            self._transfer(before, cycle)
            self._foreign -= {
                (act.symbol, side_of(act.action) or "") for act in before.acts if _is(act, {"exit"})
            }
            self._settle(before, its_place, list(changes(before, cycle, self._trades, self._foreign)))
            self._foreign &= cycle.holdings.keys()
        self._state(cycle, place)
        self._before = (cycle, place)

    def end(self) -> None:
        """No further cycle: of the last one, what needs none; and what its reader should know, in sentences."""
        if self._before:
            cycle, place = self._before
            closes = [
                PositionChange(act.at, replace(trade, quantity=Decimal(0)), False, trade.quantity, act.price, "decision", act)
                for act in cycle.acts
                if _is(act, {"exit"}) and act.price
                and (trade := self._trades.get((act.symbol, side_of(act.action) or "")))
            ]  # fmt: skip
            waiting = [act for act in cycle.acts if _is(act, {"enter", "increase"})]
            self._counts["waiting"] = len(waiting)
            self._settle(
                replace(cycle, acts=tuple(act for act in cycle.acts if act not in waiting)), place, closes
            )
            self._writer.base_currency(self._agent, self._currency())
        self._sentences()

    def _currency(self) -> str:
        return min(self._quotes, key=lambda quote: (-self._quotes[quote], quote), default="USDT")

    def _begin(self, cycle: Cycle, place: _Place) -> None:
        """Positions that were open before the log begins are left out: earlier records would name them otherwise."""
        for (symbol, side), stated in sorted(cycle.holdings.items()):
            self._foreign.add((symbol, side))
            self._writer.fault(
                f"{symbol} {side} {stated.quantity:f} was open before these records begin, and is left out; ingest the "
                "earlier records together with these",
                place.line, where=place.where, agent=self._agent,
            )  # fmt: skip

    def _state(self, cycle: Cycle, place: _Place) -> None:
        stamp = format_instant(cycle.written)
        self._writer.event(
            "equity", f"equity-{stamp}", self._agent, cycle.at, line=place.line, value=cycle.equity
        )
        for holding in cycle.holdings.values():
            if holding.mark > 0:
                self._writer.mark(
                    self._agent, instrument_of(holding.symbol), cycle.at, holding.mark, line=place.line
                )

    def _settle(self, cycle: Cycle, place: _Place, happened: list[PositionChange]) -> None:
        """A cycle's decisions, with the positions they opened or touched, then its fills."""
        opened = {change.act: change.trade for change in happened if change.act and change.opens}
        self._decisions(cycle, place, opened)
        for change in happened:
            self._change(change, place)
        for act in cycle.acts:
            self._move_stops(cycle, act)

    def _move_stops(self, cycle: Cycle, act: Act) -> None:
        wish = cycle.intention(act.symbol, act.action)
        if not wish or not _is(act, {"adjust"}):
            return
        for key, trade in self._trades.items():
            if key[0] == act.symbol:
                self._trades[key] = replace(
                    trade, stop=wish.stop or trade.stop, target=wish.target or trade.target
                )

    def _change(self, change: PositionChange, place: _Place) -> None:
        trade, act = change.trade, change.act
        key = (trade.symbol, trade.side)
        self._quotes[quote_of(trade.symbol)] += 1
        instrument, line = instrument_of(trade.symbol), place.line
        if change.opens and key not in self._trades:
            self._writer.event(
                "position", trade.position, self._agent, change.at, line=line, position=trade.position, kind="perp",
                instrument=instrument, venue=self._venue or None, side=trade.side, risk=_risk(trade),
            )  # fmt: skip
        kind = "buy" if change.opens == (trade.side == "long") else "sell"
        self._writer.event(
            "fill", f"{trade.position}-{kind}-{change.at // _MS}", self._agent, change.at, line=line,
            position=trade.position, instrument=instrument, side=kind, quantity=change.quantity, price=change.price,
            order=act.order if act else None,
            requested=act.price if act and change.opens and act.price > 0 else None,
        )  # fmt: skip
        self._counts[change.reason] += 1
        self._trades[key] = trade
        if change.closed:
            del self._trades[key]
            reason = "closed by the exchange" if change.reason == "exchange" else change.reason
            self._writer.event(
                "exit", f"exit-{trade.position}", self._agent, change.at, line=line, position=trade.position,
                reason=reason,
            )  # fmt: skip

    def _decisions(self, cycle: Cycle, place: _Place, opened: dict[Act, OpenTrade]) -> None:
        if cycle.error and not cycle.acts:
            self._failures(cycle, place)
        for number, act in enumerate(cycle.acts):
            if act.trigger:  # the exchange's doing, not the model's
                continue
            trade = opened.get(act) or self._touched(act)
            wish = cycle.intention(act.symbol, act.action)
            if ACTIONS.get(act.action) is None:
                self.unknown[act.action] += 1
                continue
            ident = f"{format_instant(cycle.written)}-{number + 1}"
            position = trade.position if trade else None
            write_decision(self._writer, self._agent, ident, act, wish, cycle.thoughts, position, place.line)

    def _touched(self, act: Act) -> OpenTrade | None:
        sides = (side_of(act.action),) if side_of(act.action) else ("long", "short")
        return next((trade for side in sides if (trade := self._trades.get((act.symbol, side or "")))), None)

    def _failures(self, cycle: Cycle, place: _Place) -> None:
        """A cycle in which nothing was done: what was wanted, or that nothing came."""
        self._counts["failed"] += 1
        stamp = format_instant(cycle.written)
        wishes: list[Intention | None] = [wish for wish in cycle.intentions if wish.action in ACTIONS]
        for number, wish in enumerate(wishes or [None]):
            wanted = ACTIONS[wish.action] if wish else None
            self._writer.event(
                "decision", f"{stamp}-failed-{number + 1}", self._agent, cycle.at, line=place.line, action="skip",
                instrument=instrument_of(wish.symbol) if wish and wish.symbol else None,
                reasoning=(wish.reasoning if wish else "") or cycle.thoughts or None,
                confidence=wish.confidence if wish else None,
                context={"error": cycle.error, **({"wanted": wanted} if wanted else {})},
            )  # fmt: skip

    def _transfer(self, before: Cycle, after: Cycle) -> None:
        """Money that came or went while nothing was traded: the line that says so, for the owner to confirm."""
        if before.available is None or after.available is None or _differ(before, after):
            return
        moved = after.wallet - before.wallet
        value = sum((line.quantity * line.mark for line in after.holdings.values()), Decimal(0))
        if (
            abs(moved) < max(_LEAST, _LEAST_SHARE * value)
            or abs(after.available - before.available - moved) > _SAME
        ):
            return
        moved = moved.quantize(Decimal("0.01"))
        at = format_instant(after.at - _MS)
        self._transfers.append(
            f'{{"type": "external", "id": "transfer-{after.at // _MS}", "agent": "{self._agent}", "at": "{at}", '
            f'"quantity": "{moved}"}}'
        )

    def _sentences(self) -> None:
        counts, agent = self._counts, self._agent
        if closed := counts["stop_loss"] + counts["take_profit"] + counts["exchange"]:
            self._writer.notice(
                f"{agent}: exits of the exchange, without a decision: {closed}; {closed - counts['exchange']} at the stop or "
                f"target asked for, {counts['exchange']} at what the account says"
            )
        if counts["manual"]:
            self._writer.notice(
                f"{agent}: fills without a decision in the log, made by hand: {counts['manual']}"
            )
        if counts["waiting"]:
            self._writer.notice(
                f"{agent}: entries of the last cycle that wait for a next one, which says quantity and price: "
                f"{counts['waiting']}"
            )
        if self._before:
            self._writer.notice(
                f"{agent}: decision logs hold neither fees nor funding; both are part of what the review calls unattributed"
            )
        for line in self._transfers:
            self._writer.notice(
                f"{agent}: money came or went while nothing was traded; if it was you, put this line into a journal and "
                f"ingest it: {line}"
            )
        for word, count in sorted(self.unknown.items()):
            self._writer.notice(f"{agent}: unknown actions, left out: {count} x {quote(word)}")


def write_decision(
    writer: BatchWriter, agent: str, ident: str, act: Act, wish: Intention | None, thoughts: str,
    position: str | None, line: int | None,
) -> None:  # fmt: skip
    """One act as a decision; what was tried and failed is a skip that says what was wanted."""
    action = ACTIONS[act.action]
    failed = {"wanted": action, "error": act.error or "failed"} if not act.success else None
    writer.event(
        "decision", ident, agent, act.at, line=line,
        action="skip" if failed else action,
        position=None if failed else position,
        instrument=instrument_of(act.symbol) if act.symbol not in {"", "ALL"} else None,
        reasoning=(wish.reasoning if wish else "") or act.reasoning or thoughts or None,
        confidence=(wish.confidence if wish else None) or act.confidence,
        context=failed,
    )  # fmt: skip


def _risk(trade: OpenTrade) -> Decimal | None:
    """Money between entry and the stop asked for, where it lies on the losing side; models' own sums are seldom right."""
    if trade.stop is None:
        return None
    lost = trade.entry - trade.stop if trade.side == "long" else trade.stop - trade.entry
    return lost * trade.quantity if lost > 0 else None


def _differ(before: Cycle, after: Cycle) -> bool:
    """Whether anything was traded between two snapshots."""
    quantities = [{key: line.quantity for key, line in cycle.holdings.items()} for cycle in (before, after)]
    return quantities[0] != quantities[1] or any(
        _is(act, {"enter", "exit", "increase", "reduce"}) for act in before.acts
    )


def _is(act: Act, actions: set[str]) -> bool:
    """Whether an act went through, and is one of these of ours."""
    return act.success and ACTIONS.get(act.action) in actions
