"""Trades out of states: rows that say what is held after each of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from retro.checks import SourceCheck
from retro.ingest.netting import Execution
from retro.ingest.table.cells import text_of, value_at

if TYPE_CHECKING:
    from retro.ingest.batches import BatchWriter
    from retro.ingest.table.executions import Item
    from retro.ingest.table.grammar.tables import TableMap
    from retro.ingest.table.numerals import Numerals
    from retro.ingest.table.readings import Readings

__all__ = ["StateTrades"]

ZERO: Final = Decimal(0)
_ROUNDING: Final = Decimal("0.0001")
Holdings = dict[str, Decimal]


class StateTrades:
    """Makes executions of what has changed from one state of an agent to the next; its first state opens the wallet."""

    def __init__(self, rules: TableMap, readings: Readings, numerals: Numerals, prefix: str) -> None:
        self._path = rules.position.holdings or ""
        self._parts = tuple(self._path.split("."))
        self._cash = rules.money
        self._number, self._prefix = numerals.number, prefix
        fill = rules.fill
        self._instrument = readings.text(fill.instrument) if fill and fill.instrument is not None else None
        self._price = (
            readings.amount(fill.price) if fill and fill.price is not None and not fill.price.change else None
        )
        self.latest: dict[str, Holdings] = {}
        """By agent, its last state."""

    def of(self, item: Item, writer: BatchWriter) -> list[Execution]:
        """The executions between an agent's state before and the row's; `ValueError` says what is wrong with it."""
        after = self._holdings(item.cells)
        before = self.latest.get(item.agent)
        if before is None:
            self.latest[item.agent] = after
            balances = {asset: quantity for asset, quantity in after.items() if quantity > 0}
            writer.event(
                "equity",
                f"{self._prefix}-{item.name}",
                item.agent,
                item.at,
                line=item.line,
                balances=balances,
            )
            return []
        changes = {
            asset: change
            for asset in sorted(before.keys() | after.keys())
            if asset != self._cash and (change := after.get(asset, ZERO) - before.get(asset, ZERO))
        }
        executions = [
            self._execution(item, asset, change, self._price_of(item, before, after, changes))
            for asset, change in changes.items()
        ]
        self.latest[item.agent] = after
        for asset in changes:
            writer.check(
                SourceCheck(item.agent, "holding", asset, item.at, after.get(asset, ZERO), _ROUNDING)
            )
        return executions

    def _holdings(self, cells: dict[str, Any]) -> Holdings:
        node = value_at(cells, self._path, self._parts)
        if not isinstance(node, dict):
            raise ValueError(f"{self._path}: the row has no holdings there")  # noqa: TRY004 - foreign data
        holdings: Holdings = {}
        for asset, value in node.items():
            quantity = self._number(text_of(value))
            if quantity is not None:
                holdings[str(asset)] = quantity
        return holdings

    def _price_of(self, item: Item, before: Holdings, after: Holdings, changes: Holdings) -> Decimal:
        """The row's price, else what the cash has changed by for one unit; `ValueError` where neither says it."""
        if self._price is not None and (price := self._price(item.cells)):
            return price
        if len(changes) > 1 or self._cash is None:
            raise ValueError(f"price: {len(changes)} holdings changed in one row, and it names no price")
        paid = after.get(self._cash, ZERO) - before.get(self._cash, ZERO)
        (change,) = changes.values()
        if paid * change >= 0:
            raise ValueError("price: holdings and cash changed, but not against each other")
        return abs(paid) / abs(change)

    def _execution(self, item: Item, asset: str, change: Decimal, price: Decimal) -> Execution:
        instrument = self._instrument({**item.cells, "key": asset}) if self._instrument is not None else ""
        return Execution(
            f"{item.name}-{asset}", item.at, instrument or f"{asset}/{self._cash or 'USD'}",
            "buy" if change > 0 else "sell", abs(change), price,
        )  # fmt: skip
