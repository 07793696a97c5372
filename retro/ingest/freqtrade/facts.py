"""The facts a freqtrade trade tells, as lines of our journal.

An id is built from the trade's id and the exchange's order id, never from a place in a table, so that a database read
again later, or a copy of it made earlier, tells the same facts under the same names.
"""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.checks import SourceCheck
from retro.ingest.freqtrade.trades import instant_of
from retro.journal import LARGEST
from retro.model import EventRow
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from retro.ingest.freqtrade.legs import Legs, SettledLegs
    from retro.ingest.freqtrade.tables import Fields
    from retro.ingest.freqtrade.trades import Leg, Trade

__all__ = ["checks_of", "equity_fact", "facts_of", "unfilled_fact"]

_ENCODE: Final = msgspec.json.Encoder()


def facts_of(trade: Trade, legs: Legs, agent: str) -> Iterator[EventRow]:
    """Position, fills, funding, decisions and exit of one trade; nothing when nothing of it was filled."""
    if not legs:
        return
    position = f"ft-{trade.id}"
    derivative = trade.mode == "FUTURES" or trade.short or trade.leveraged
    first, last = legs[0], legs[-1]
    risk = first.quantity * abs(first.price - trade.stop) if trade.stop else None
    yield _row(
        agent, "position", position, first.at, position,
        kind="perp" if derivative else "spot",
        instrument=trade.pair,
        venue=trade.exchange,
        side="short" if trade.short else "long",
        strategy=trade.strategy,
        **({"risk": risk} if risk else {}),
    )  # fmt: skip
    for leg in legs:
        name = f"{position}-{leg.key}"
        yield _row(
            agent, "fill", name, leg.at, position,
            instrument=trade.pair,
            side="sell" if leg.entry == trade.short else "buy",
            quantity=leg.quantity,
            price=leg.price,
            fee=leg.fee,
            **({"order": leg.order} if leg.order else {}),
            **({"requested": leg.requested} if leg.requested else {}),
        )  # fmt: skip
        if leg.funding:
            yield _row(
                agent, "flow", name, leg.at, position,
                kind="funding_received" if leg.funding > 0 else "funding_paid",
                asset=trade.stake,
                quantity=abs(leg.funding),
                value=abs(leg.funding),
            )  # fmt: skip
        yield _row(
            agent, "decision", name, leg.at, position,
            instrument=trade.pair,
            strategy=trade.strategy,
            **_decision(trade, leg, first=leg is first, last=leg is last and not trade.open),
        )  # fmt: skip
    if not trade.open:
        seen = {"high": trade.high, "low": trade.low} if 0 < trade.low <= trade.high else {}
        yield _row(agent, "exit", position, last.at, position, reason=trade.exit_reason, **seen)


def unfilled_fact(trade: Trade, orders: Iterable[Fields], agent: str) -> EventRow | None:
    """A trade that never came to be, as a decision to skip: its entry was sent and given up. None while one is pending.

    It cites nothing: that an order was not filled is no choice of its tag.
    """
    orders = list(orders)
    instants = [instant_of(order, "order_date") for order in orders]
    sent = min((at for at in instants if at is not None), default=None)
    if sent is None or any(order.get("ft_is_open") for order in orders):
        return None
    why = next((str(order["status"]) for order in reversed(orders) if order.get("status")), "given up")
    return _row(
        agent, "decision", f"ft-{trade.id}-unfilled", sent, None,
        instrument=trade.pair,
        strategy=trade.strategy,
        action="skip",
        reasoning=f"order not filled ({why})",
        cites=[],
        context={"order": "not_filled"},
    )  # fmt: skip


def checks_of(rows: Iterable[EventRow], done: SettledLegs) -> list[SourceCheck]:
    """What the bot says a closed trade made, net of everything; nothing of one that these rows do not see closed."""
    stated = done.stated
    if stated is None:
        return []
    return [
        SourceCheck(
            row.agent, "realized_pnl", row.id, row.at, stated, done.tolerance,
            net_of=("fees", "funding"),
            booked=done.booked,
        )
        for row in rows
        if row.type == "exit"
    ]  # fmt: skip


def _decision(trade: Trade, leg: Leg, *, first: bool, last: bool) -> dict[str, Any]:
    """What the bot decided with an order, why, and which of its own tags it cites."""
    if first:
        action, tag, words = "enter", trade.enter_tag, trade.notes
    elif leg.entry:
        action, tag, words = "increase", leg.tag, ()
    elif last:
        action, tag, words = "exit", trade.exit_reason, trade.later_notes
    else:
        return {"action": "reduce", "reasoning": leg.tag, "cites": []}
    cites = {"cites": [tag]} if tag else {}
    return {"action": action, "reasoning": "\n".join((tag, *words) if tag else words), **cites}


def equity_fact(agent: str, at: int, value: Decimal) -> EventRow:
    """What the bot recorded as the worth of everything it manages."""
    return _row(agent, "equity", f"ft-wallet-{format_instant(at)}", at, None, value=value)


def _row(agent: str, type_: str, name: str, at: int, position: str | None, **fields: Any) -> EventRow:
    event = {"type": type_, "id": name, "agent": agent, "at": format_instant(at)}
    if position is not None:
        event["position"] = position
    if any(
        isinstance(value, Decimal) and not (isfinite(value) and abs(value) <= LARGEST)
        for value in fields.values()
    ):
        raise ValueError("its figures are too large to reckon with")
    spelled_fields = {
        key: f"{value:f}" if isinstance(value, Decimal) else value for key, value in fields.items()
    }
    return EventRow(agent, type_, name, at, position, _ENCODE.encode(event | spelled_fields).decode())
