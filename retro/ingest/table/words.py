"""What a row says beside its fills: decisions, equity, prices, money that came and went, figures the source computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.checks import SourceCheck
from retro.ingest.prose import prose, without_keys
from retro.ingest.table.cells import entries_of, path_reading, value_at
from retro.ingest.table.executions import Item, base_of
from retro.ingest.table.readings import DroppedRowError, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from decimal import Decimal

    from retro.ingest.batches import BatchWriter
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.grammar.tables import (
        CostMap,
        DecisionMap,
        EquityMap,
        ExternalMap,
        FlowMap,
        MarkMap,
        StatedMap,
    )
    from retro.ingest.table.grammar.verbs import FilterMap, OmissionMap, StatedVerbs
    from retro.ingest.table.readings import Readings
    from retro.ingest.table.tellers import Deed

__all__ = [
    "CostTeller",
    "DecisionTeller",
    "EquityTeller",
    "ExternalTeller",
    "FlowTeller",
    "MarkTeller",
    "OmissionTeller",
    "StatedTeller",
    "spread",
]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_AFTER: Final = 1_000
_LONGEST_TAG: Final = 200


def spread(item: Item, rules: FilterMap, counts: Callable[[Cells], bool] | None) -> Iterator[Item]:
    """The rows a table of the mapping speaks of: the row, or its entries at `each`, those that count."""
    if not rules.each:
        if counts is None or counts(item.cells):
            yield item
        return
    for number, cells in enumerate(entries_of(item.cells, rules.each), 1):
        if counts is None or counts(cells):
            yield item._replace(cells=cells, name=f"{item.name}-{number}")


class DecisionTeller:
    """Writes what was decided, and why: in a row of its own, or with the fill that it led to."""

    def __init__(self, rules: DecisionMap, readings: Readings, prefix: str) -> None:
        self._rules, self._prefix = rules, prefix
        self._counts = readings.filter(rules)
        self._id = joined(rules.id) if rules.id else None
        self._action = readings.word(rules.action) if rules.action is not None else None
        self._instrument = readings.text(rules.instrument) if rules.instrument is not None else None
        self._reasoning = readings.text(rules.reasoning) if rules.reasoning is not None else None
        self._strategy = readings.text(rules.strategy) if rules.strategy is not None else None
        self._trace = readings.text(rules.trace) if rules.trace is not None else None
        self._confidence = readings.amount(rules.confidence) if rules.confidence is not None else None
        self._cites = [path_reading(path) for path in rules.cites]
        self._context = [(path, tuple(path.split("."))) for path in rules.context]

    def tell(self, item: Item, deeds: Sequence[Deed], writer: BatchWriter) -> None:
        """Write the decisions of a row; `ValueError` says what is wrong with one."""
        if self._action is None:
            if self._counts is None or self._counts(item.cells):
                for deed in deeds:
                    self._write(item._replace(at=deed.at), deed.id, deed.action, deed, writer)
            return
        for entry in spread(item, self._rules, self._counts):
            try:
                action = self._action(entry.cells)
            except DroppedRowError:
                continue
            if action:
                name = (self._id(entry.cells) if self._id is not None else "") or entry.name
                self._write(entry, f"{self._prefix}-{name}", action, deeds[0] if deeds else None, writer)

    def _write(self, item: Item, name: str, action: str, deed: Deed | None, writer: BatchWriter) -> None:
        cells = item.cells
        instrument = self._instrument(cells) if self._instrument is not None else ""
        confidence = self._confidence(cells) if self._confidence is not None else None
        cites = [without_keys(tag)[:_LONGEST_TAG] for reading in self._cites if (tag := reading(cells))]
        writer.event(
            "decision", name, item.agent, item.at, line=item.line,
            action=action,
            position=deed.position if deed is not None else None,
            instrument=instrument or (deed.instrument if deed is not None else None),
            reasoning=prose(self._reasoning(cells) if self._reasoning is not None else "") or None,
            confidence=float(confidence) if confidence is not None else None,
            cites=cites if self._cites else None,
            strategy=(self._strategy(cells) if self._strategy is not None else "") or None,
            trace=(self._trace(cells) if self._trace is not None else "") or None,
            context=self._situation(cells) or None,
        )  # fmt: skip

    def _situation(self, cells: Cells) -> dict[str, Any]:
        """The columns that describe the situation, those that say something; nested ones by their last name."""
        context: dict[str, Any] = {}
        for path, parts in self._context:
            value = value_at(cells, path, parts)
            if value is not None and value != "":
                context[parts[-1]] = _decode(without_keys(_encode(value).decode()))
        return context


class EquityTeller:
    """Writes what the account says it is worth. What is so after a row is told a millisecond later."""

    def __init__(self, rules: EquityMap, readings: Readings, prefix: str) -> None:
        self._rules, self._prefix = rules, prefix
        self._value, self._counts = readings.amount(rules.value), readings.filter(rules)
        self._delay = _AFTER if rules.when == "after" else 0

    def tell(self, item: Item, writer: BatchWriter) -> None:
        """Write a row's equity, where it states one."""
        for entry in spread(item, self._rules, self._counts):
            value = self._value(entry.cells)
            if value is not None:
                at = entry.at + self._delay
                writer.event(
                    "equity", f"{self._prefix}-{entry.name}", entry.agent, at, line=entry.line, value=value
                )


class MarkTeller:
    """Writes the prices that rows name."""

    def __init__(self, rules: MarkMap, readings: Readings) -> None:
        self._rules = rules
        self._price, self._counts = readings.amount(rules.price), readings.filter(rules)
        self._instrument = readings.text(rules.instrument) if rules.instrument is not None else None

    def tell(self, item: Item, instrument: str, writer: BatchWriter) -> None:
        """Write a row's prices; `instrument` is that of its fill."""
        names: set[str] = set()
        for entry in spread(item, self._rules, self._counts):
            name = self._instrument(entry.cells) if self._instrument is not None else instrument
            price = self._price(entry.cells)
            if name and name not in names and price is not None and price > 0:
                names.add(
                    name
                )  # one price of an instant: a long and a short of one coin may differ in the last digit
                writer.mark(entry.agent, name, entry.at, price, line=entry.line)


class FlowTeller:
    """Writes funding, interest and rewards: to the position they belong to, else to the wallet."""

    def __init__(self, rules: FlowMap, readings: Readings, prefix: str) -> None:
        self._rules, self._prefix = rules, prefix
        self._quantity, self._asset = readings.amount(rules.quantity), readings.text(rules.asset)
        self._counts = readings.filter(rules)
        self._instrument = readings.text(rules.instrument) if rules.instrument is not None else None

    def tell(self, item: Item, position_of: Callable[[str, str], str | None], writer: BatchWriter) -> None:
        """Write a row's flows; `position_of` an agent and instrument is what is open then."""
        for entry in spread(item, self._rules, self._counts):
            quantity, asset = self._quantity(entry.cells), self._asset(entry.cells)
            if not quantity or not asset:
                continue
            instrument = self._instrument(entry.cells) if self._instrument is not None else ""
            writer.event(
                "flow", f"{self._prefix}-{entry.name}", entry.agent, entry.at, line=entry.line,
                kind=self._rules.received if quantity > 0 else self._rules.charged,
                position=position_of(entry.agent, instrument) if instrument else None,
                asset=asset,
                quantity=abs(quantity),
            )  # fmt: skip


class ExternalTeller:
    """Writes what the owner put in or took out."""

    def __init__(self, rules: ExternalMap, readings: Readings, prefix: str) -> None:
        self._rules, self._prefix = rules, prefix
        self._quantity, self._counts = readings.amount(rules.quantity), readings.filter(rules)
        self._asset = readings.text(rules.asset) if rules.asset is not None else None
        self._value = readings.amount(rules.value) if rules.value is not None else None

    def tell(self, item: Item, base: str | None, writer: BatchWriter) -> None:
        """Write a row's money; `base` is the agent's base currency, where the mapping says it."""
        for entry in spread(item, self._rules, self._counts):
            quantity = self._quantity(entry.cells)
            if not quantity:
                continue
            asset = self._asset(entry.cells) if self._asset is not None else ""
            value = self._value(entry.cells) if self._value is not None else None
            writer.event(
                "external", f"{self._prefix}-{entry.name}", entry.agent, entry.at, line=entry.line,
                quantity=quantity,
                asset=asset if asset and asset != base else None,
                value=value,
            )  # fmt: skip


class CostTeller:
    """Writes gas, inference and data that were paid for."""

    def __init__(self, rules: CostMap, readings: Readings, prefix: str) -> None:
        self._rules, self._prefix = rules, prefix
        self._quantity, self._counts = readings.amount(rules.quantity), readings.filter(rules)
        self._asset = readings.text(rules.asset) if rules.asset is not None else None

    def tell(self, item: Item, position: str | None, writer: BatchWriter) -> None:
        """Write a row's costs; `position` is that of its fill."""
        for entry in spread(item, self._rules, self._counts):
            quantity = self._quantity(entry.cells)
            if not quantity:
                continue
            asset = self._asset(entry.cells) if self._asset is not None else ""
            paid = {"asset": asset, "quantity": abs(quantity)} if asset else {"amount": abs(quantity)}
            writer.event(
                "cost", f"{self._prefix}-{entry.name}", entry.agent, entry.at, line=entry.line,
                kind=self._rules.kind, position=position, **paid,
            )  # fmt: skip


class OmissionTeller:
    """Counts the rows that a mapping says cannot be used."""

    def __init__(self, rules: OmissionMap, readings: Readings) -> None:
        self._rules, self._counts = rules, readings.filter(rules)
        self._rows, self._first = 0, 0

    def tell(self, item: Item) -> None:
        """Count a row if it is one of them."""
        if self._counts is None or self._counts(item.cells):
            self._first = self._first or item.line
            self._rows += 1

    def conclude(self, writer: BatchWriter) -> None:
        """The one fault of all of them, at the first."""
        if self._rows:
            rows = "a row is" if self._rows == 1 else f"{self._rows:,} rows, this the first, are"
            writer.fault(f"{rows} left out: {self._rules.reason}", self._first)


class StatedTeller:
    """Hands on the balances, holdings and equity that rows state, to be compared with ours."""

    def __init__(self, rules: StatedMap, readings: Readings) -> None:
        self._balance = _figure(rules.balance, readings)
        self._holding = _figure(rules.holding, readings)
        self._equity = _figure(rules.equity, readings)

    def tell(self, item: Item, instrument: str, writer: BatchWriter) -> None:
        """Hand on what a row states; `instrument` is that of its fill."""
        if self._balance is not None:
            value, asset, tolerance = self._balance
            stated, of = value(item.cells), asset(item.cells)
            if stated is not None and of:
                writer.check(SourceCheck(item.agent, "balance", of, item.at, stated, tolerance))
        if self._holding is not None:
            value, asset, tolerance = self._holding
            stated, of = value(item.cells), asset(item.cells) or base_of(instrument)
            if stated is not None and of:
                writer.check(SourceCheck(item.agent, "holding", of, item.at, stated, tolerance))
        if self._equity is not None:
            value, _, tolerance = self._equity
            if (stated := value(item.cells)) is not None:
                writer.check(SourceCheck(item.agent, "equity", "", item.at, stated, tolerance))


def _figure(
    verbs: StatedVerbs | None, readings: Readings
) -> tuple[Callable[[Cells], Decimal | None], Callable[[Cells], str], Decimal] | None:
    if verbs is None:
        return None
    asset = readings.text(verbs.asset) if verbs.asset is not None else (lambda _: "")
    return readings.amount(verbs), asset, verbs.tolerance
