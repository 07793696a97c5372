"""What a row's fills become: positions from flat to flat or round trips, and what was decided and stated with them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from retro.checks import SourceCheck
from retro.ingest.netting import NetHolding, Netting, write_legs
from retro.ingest.table.executions import Executions, is_perp
from retro.ingest.table.readings import DroppedRowError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retro.checks import PaidPart
    from retro.ingest.batches import BatchWriter
    from retro.ingest.netting import Execution, FillLeg
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.executions import Item
    from retro.ingest.table.grammar.tables import TableMap
    from retro.ingest.table.grammar.verbs import StatedVerbs
    from retro.ingest.table.readings import Readings

__all__ = ["Deed", "FillTeller", "OpenHolding", "StatedResult", "TripTeller", "paid_parts", "stated_result"]

ZERO: Final = Decimal(0)
_TRADES_FROM: Final = 2


class Deed(NamedTuple):
    """What a fill did to a position, as a decision names it."""

    id: str
    action: Literal["enter", "increase", "reduce", "exit"]
    position: str
    instrument: str
    at: int


class OpenHolding(NamedTuple):
    """An open position of an agent, spot or perp, as its fills net: quantity > 0 is long."""

    agent: str
    is_perp: bool
    account: str
    instrument: str
    book: str
    position: str
    quantity: Decimal


class StatedResult(NamedTuple):
    """How to read a figure that the source states: its value, tolerance and what it is net of."""

    value: Callable[[Cells], Decimal | None]
    tolerance: Decimal
    net_of: tuple[PaidPart, ...]


def paid_parts(verbs: StatedVerbs) -> tuple[PaidPart, ...]:
    """What a stated result is net of, in the words of a check."""
    return tuple("fees" if part == "fee" else part for part in verbs.net_of)


def stated_result(verbs: StatedVerbs | None, readings: Readings) -> StatedResult | None:
    """The reading of a stated result; None where the mapping names none."""
    if verbs is None:
        return None
    return StatedResult(readings.amount(verbs), verbs.tolerance, paid_parts(verbs))


class _Descriptions:
    """What a position is told with beside its fills: strategy and risk."""

    def __init__(self, rules: TableMap, readings: Readings) -> None:
        position = rules.position
        self._strategy = readings.text(position.strategy) if position.strategy is not None else None
        self._risk = readings.amount(position.risk) if position.risk is not None else None
        self._stop = readings.amount(position.stop) if position.stop is not None else None

    def of(self, cells: Cells, quantity: Decimal, price: Decimal) -> dict[str, Any]:
        """The fields of the position event."""
        fields: dict[str, Any] = {}
        if self._strategy is not None and (strategy := self._strategy(cells)):
            fields["strategy"] = strategy
        risk = self._risk(cells) if self._risk is not None else None
        if risk is None and self._stop is not None and (stop := self._stop(cells)):
            risk = quantity * abs(price - stop)
        if risk is not None:
            fields["risk"] = abs(risk)
        return fields


class FillTeller:
    """Writes the positions and fills of executions that net, by account, side or position id."""

    def __init__(self, rules: TableMap, readings: Readings, prefix: str) -> None:
        reads = rules.fill is not None and rules.position.by != "state"
        self._executions = Executions(rules, readings) if reads else None
        self._nettings = _Nettings(rules, prefix)
        self._prefix = prefix
        self._kind, self._venue = rules.position.kind, rules.source.venue
        self._descriptions = _Descriptions(rules, readings)
        order = rules.fill.order if rules.fill is not None else None
        self._order = readings.text(order) if order is not None else None
        reason = rules.fill.reason if rules.fill is not None else None
        self._reason = readings.text(reason) if reason is not None else None
        self._realized = stated_result(rules.stated.realized, readings)
        self._opening, self._opening_result = _opening(rules, readings)

    def tell(self, item: Item, writer: BatchWriter) -> list[Deed]:
        """Write what a row's fill did; `ValueError` says why it cannot be used, and nothing is changed by it."""
        assert self._executions is not None  # noqa: S101 - asked of mappings whose rows are fills
        fill = self._executions.execution(item)
        if fill is None:
            return []
        fill = fill._replace(cost_basis=self._cost_basis(item.cells, fill))
        return self.write(item, fill, writer)

    def write(self, item: Item, fill: Execution, writer: BatchWriter) -> list[Deed]:
        """Write an execution of a row."""
        perp = is_perp(fill.instrument) or self._kind == "perp"
        netting = self._nettings.of(item.agent, perp=perp)
        order = self._order(item.cells) if self._order is not None else ""
        description = self._descriptions.of(item.cells, fill.quantity, fill.price)
        # a fill's id is its venue's own in the name of its position, and has the prefix before it as an event's
        legs = [leg._replace(id=f"{self._prefix}-{leg.id}") for leg in netting.take(fill)]
        write_legs(
            writer,
            item.agent,
            fill,
            legs,
            kind="perp" if perp else "spot",
            venue=self._venue,
            line=item.line,
            position_fields=description,
            fill_fields={"order": order or None},
        )
        self._state(item, legs, writer)
        reason = self._reason(item.cells) if self._reason is not None else ""
        for leg in legs:
            if leg.closes and reason:
                writer.event(
                    "exit",
                    leg.position,
                    item.agent,
                    fill.at,
                    line=item.line,
                    position=leg.position,
                    reason=reason,
                )
        holding = netting.holdings.get((fill.account, fill.instrument, fill.book))
        return [
            _deed(leg, fill, holding.quantity if holding is not None else ZERO)
            for leg in legs
            if not leg.opening
        ]

    def change(self, item: Item) -> tuple[str, Decimal, Decimal] | None:
        """The instrument of a row's fill, by how much it changes what is held, and that; None of a row that is no fill."""
        try:
            fill = self._executions.execution(item) if self._executions is not None else None
        except (ValueError, DroppedRowError):
            return None
        if fill is None:
            return None
        netting = self._nettings.of(item.agent, perp=is_perp(fill.instrument) or self._kind == "perp")
        holding = netting.holdings.get((fill.account, fill.instrument, fill.book))
        quantity = fill.quantity if fill.side == "buy" else -fill.quantity
        return fill.instrument, quantity, ZERO if holding is None else holding.quantity

    def holdings(self) -> list[OpenHolding]:
        """What is open now."""
        return self._nettings.open()

    def hold(self, holdings: Sequence[OpenHolding]) -> None:
        """Begin with what was open."""
        for holding in holdings:
            netting = self._nettings.of(holding.agent, perp=holding.is_perp)
            key = (holding.account, holding.instrument, holding.book)
            netting.holdings[key] = NetHolding(holding.position, holding.quantity)

    def open_position(self, agent: str, instrument: str) -> str | None:
        """The position of an instrument that is open now, if there is one."""
        for perp in (True, False):
            for (_, name, _), holding in self._nettings.of(agent, perp=perp).holdings.items():
                if name == instrument:
                    return holding.position
        return None

    def _state(self, item: Item, legs: list[FillLeg], writer: BatchWriter) -> None:
        """The result that a closing fill is stated to have made; of one that crosses zero, its first leg's."""
        if self._realized is None or (stated := self._realized.value(item.cells)) is None:
            return
        closing = next((leg for leg in legs if not (leg.opens or leg.opening)), None)
        if closing is None or any(leg.opening for leg in legs) or not (stated or closing.closes):
            return
        check = SourceCheck(
            item.agent, "realized_pnl", closing.position, item.at, stated, self._realized.tolerance,
            fill=closing.id, net_of=self._realized.net_of,
        )  # fmt: skip
        writer.check(check)

    def _cost_basis(self, cells: Cells, fill: Execution) -> Decimal | None:
        if self._opening_result is not None:
            result = self._opening_result(cells)
            if result is None:
                return None
            gain = result / fill.quantity
            return fill.price - gain if fill.side == "sell" else fill.price + gain
        return self._opening(cells) if self._opening is not None else None


def _opening(
    rules: TableMap, readings: Readings
) -> tuple[Callable[[Cells], Decimal | None] | None, Callable[[Cells], Decimal | None] | None]:
    """The readings of a cost basis: as a column, or by the fill's result."""
    verbs = rules.position.opening
    if verbs.policy != "cost_basis":
        return None, None
    if verbs.result is not None:
        return None, readings.amount(verbs.model_copy(update={"column": (verbs.result,)}))
    return readings.amount(verbs), None


class _Nettings:
    """The open positions of each agent: spot, which is held before it is sold, and what may be sold short."""

    def __init__(self, rules: TableMap, prefix: str) -> None:
        self._prefix, self._opening = prefix, rules.position.opening.policy
        self._short = rules.position.short
        self._by_agent: dict[tuple[str, bool], Netting] = {}

    def of(self, agent: str, *, perp: bool) -> Netting:
        """Those of an agent and kind."""
        if (agent, perp) not in self._by_agent:
            self._by_agent[agent, perp] = Netting(
                self._prefix, opening=self._opening, can_be_short=perp or self._short
            )
        return self._by_agent[agent, perp]

    def open(self) -> list[OpenHolding]:
        """What is open of all."""
        return [
            OpenHolding(agent, perp, *key, holding.position, holding.quantity)
            for (agent, perp), netting in self._by_agent.items()
            for key, holding in netting.holdings.items()
        ]


def _deed(leg: FillLeg, fill: Execution, quantity: Decimal) -> Deed:
    """What a leg did; `quantity` is what is open after the fill, > 0 long."""
    if leg.opens:
        action: Literal["enter", "increase", "reduce", "exit"] = "enter"
    elif leg.closes:
        action = "exit"
    else:
        action = "increase" if (leg.side == "buy") == (quantity > 0) else "reduce"
    return Deed(leg.id, action, leg.position, fill.instrument, fill.at)


class TripTeller:
    """Writes round trips: an entry, an exit where there is one, and what the source says they made."""

    def __init__(
        self, rules: TableMap, readings: Readings, prefix: str, instant: Callable[[str, Cells], int]
    ) -> None:
        fill, leave = rules.fill, rules.exit
        assert fill is not None  # noqa: S101 - the grammar asks for both
        assert leave is not None  # noqa: S101 - the grammar asks for both
        self.executions = Executions(_with_quantity(rules), readings)
        self._prefix, self._instant = prefix, instant
        self._kind, self._venue = rules.position.kind, rules.source.venue
        self._descriptions = _Descriptions(rules, readings)
        self._time, self._price = readings.text(leave.time), readings.amount(leave.price)
        self._fee = readings.fee(leave.fee)[0] if leave.fee is not None else None
        self._reason = readings.text(leave.reason) if leave.reason is not None else None
        self._counts = readings.filter(leave)
        self._realized = stated_result(rules.stated.realized, readings)
        result = fill.quantity.result if fill.quantity is not None else None
        self._result = (
            readings.amount(fill.quantity.model_copy(update={"column": (result,)}))
            if fill.quantity is not None and result
            else None
        )

    def tell(self, item: Item, writer: BatchWriter) -> list[Deed]:
        """Write a row's round trip, whose words are those of its entry; `ValueError` says why it cannot be used."""
        cells = item.cells
        text = self._time(cells) if self._counts is None or self._counts(cells) else ""
        price = self._price(cells) if text else None
        end = self._instant(text, cells) if price is not None else None
        if self._result is not None:
            cells = cells | {_QUANTITY: f"{self._from_result(cells, price):f}"}
        fill = self.executions.execution(item._replace(cells=cells))
        if fill is None:
            return []
        if end is not None and end < item.at:
            raise ValueError("exit: is before the entry")
        perp = is_perp(fill.instrument) or self._kind == "perp"
        position = f"{self._prefix}-{fill.instrument}-{fill.id}"
        writer.event(
            "position", position, item.agent, item.at, line=item.line, position=position,
            kind="perp" if perp else "spot", instrument=fill.instrument, venue=self._venue,
            side="long" if fill.side == "buy" else "short",
            **self._descriptions.of(cells, fill.quantity, fill.price),
        )  # fmt: skip
        fill = fill._replace(id=f"{self._prefix}-{fill.id}")
        fees = self._fees(cells, fill, closed=end is not None)
        self._fill(writer, item, fill, position, fees[0])
        if end is not None and price is not None:
            end = max(end, item.at + 1_000)
            leaving = fill._replace(id=f"{fill.id}-exit", at=end, price=price)
            leaving = leaving._replace(side="sell" if fill.side == "buy" else "buy")
            self._fill(writer, item, leaving, position, fees[1])
            reason = self._reason(cells) if self._reason is not None else ""
            writer.event(
                "exit", position, item.agent, end, line=item.line, position=position, reason=reason or None
            )
            self._state(item, position, end, writer)
        return [Deed(fill.id, "enter", position, fill.instrument, item.at)]

    def _from_result(self, cells: Cells, price: Decimal | None) -> Decimal:
        """The quantity that a result and two prices make; `ValueError` where they contradict each other."""
        assert self._result is not None  # noqa: S101 - looked at by the caller
        result, entry = self._result(cells), self.executions.price(cells)
        if result is None or price is None or entry is None or price == entry:
            raise ValueError("quantity: cannot be told from the result and the prices")
        gain = price - entry if self.executions.side(cells) == "buy" else entry - price
        if result * gain <= 0:
            raise ValueError("quantity: the result has not the sign of what the prices say")
        return result / gain

    def _fees(self, cells: Cells, fill: Execution, *, closed: bool) -> tuple[Decimal, Decimal]:
        """What the entry and the exit paid: each its own, or half each of what a closed trip states for both."""
        if self._fee is not None:
            return fill.fee, (self._fee(cells) or ZERO) if closed else ZERO
        return (fill.fee / _TRADES_FROM, fill.fee / _TRADES_FROM) if closed else (fill.fee, ZERO)

    def _fill(self, writer: BatchWriter, item: Item, fill: Execution, position: str, fee: Decimal) -> None:
        writer.event(
            "fill", fill.id, item.agent, fill.at, line=item.line, position=position, instrument=fill.instrument,
            side=fill.side, quantity=fill.quantity, price=fill.price, fee=fee,
            fee_asset=fill.fee_asset if fee else None,
        )  # fmt: skip

    def _state(self, item: Item, position: str, at: int, writer: BatchWriter) -> None:
        stated = self._realized.value(item.cells) if self._realized is not None else None
        if stated is not None and self._realized is not None:
            check = SourceCheck(
                item.agent, "realized_pnl", position, at, stated, self._realized.tolerance,
                net_of=self._realized.net_of,
            )  # fmt: skip
            writer.check(check)


_QUANTITY: Final = "quantity by result"


def _with_quantity(rules: TableMap) -> TableMap:
    """The rules with the quantity in a cell of its own, where it is told from the result."""
    fill = rules.fill
    if fill is None or fill.quantity is None or fill.quantity.result is None:
        return rules
    quantity = fill.quantity.model_copy(update={"column": (_QUANTITY,), "result": None})
    return rules.model_copy(update={"fill": fill.model_copy(update={"quantity": quantity})})
