"""Executions out of rows: quantity, price, fee and side as the mapping says where they stand."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from retro.ingest.netting import Execution
from retro.ingest.table.readings import joined
from retro.journal import quote

if TYPE_CHECKING:
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.grammar.tables import TableMap
    from retro.ingest.table.grammar.verbs import AmountVerbs
    from retro.ingest.table.readings import Readings

__all__ = ["Executions", "Item", "SidedAmount", "base_of", "is_perp", "quote_of"]

ZERO: Final = Decimal(0)
_NEAR: Final = Decimal("0.001")
Side = Literal["buy", "sell"]


class Item(NamedTuple):
    """A row on its way to events: its instant (microseconds), where it stands, its name, whose it is, its cells."""

    at: int
    line: int
    name: str
    agent: str
    cells: Cells


def quote_of(instrument: str) -> str:
    """The asset that prices of an instrument are in; empty where its name does not say."""
    return instrument.partition("/")[2].partition(":")[0]


def base_of(instrument: str) -> str:
    """The asset that is traded."""
    return instrument.partition("/")[0]


def is_perp(instrument: str) -> bool:
    """Whether a name is that of a contract, BASE/QUOTE:SETTLE; `ValueError` of an inverse one."""
    pair, colon, settle = instrument.partition(":")
    if colon and settle == base_of(pair):
        raise ValueError(
            f"{quote(instrument)} is an inverse contract, counted in {settle}; those are not read yet"
        )
    return bool(colon)


class SidedAmount:
    """A number of a fill, which may stand in another column for a buy than for a sell."""

    def __init__(self, readings: Readings, verbs: AmountVerbs) -> None:
        if verbs.buy or verbs.sell:
            sides: dict[Side, tuple[str, ...]] = {"buy": verbs.buy, "sell": verbs.sell}
            self._by_side = {
                side: readings.amount(verbs.model_copy(update={"column": names, "buy": (), "sell": ()}))
                for side, names in sides.items()
            }
        else:
            reading = readings.amount(verbs)
            self._by_side = {"buy": reading, "sell": reading}
        self.is_sided = bool(verbs.buy or verbs.sell)

    def of(self, cells: Cells, side: Side) -> Decimal | None:
        """The number, None where there is none."""
        return self._by_side[side](cells)

    def side(self, cells: Cells) -> Side | None:
        """The side in whose column a number stands."""
        for side in self._by_side:
            if self._by_side[side](cells):
                return side
        return None


class Executions:
    """Reads the executions of one mapping."""

    def __init__(self, rules: TableMap, readings: Readings) -> None:
        fill = rules.fill
        assert fill is not None  # noqa: S101 - looked at by whoever makes one
        assert fill.quantity is not None  # noqa: S101 - the grammar asks for it
        self._id = joined(fill.id) if fill.id else None
        self._instrument = readings.text(fill.instrument) if fill.instrument is not None else None
        self._side = readings.word(fill.side) if fill.side is not None else None
        self._quantity = SidedAmount(readings, fill.quantity)
        self._price = (
            SidedAmount(readings, fill.price) if fill.price is not None and not fill.price.change else None
        )
        self._fee = (
            readings.fee(fill.fee) if fill.fee is not None and not (fill.fee.buy or fill.fee.sell) else None
        )
        self._effect = readings.word(fill.effect) if fill.effect is not None else None
        self._notional = (
            readings.amount(
                fill.quantity.model_copy(update={"column": (fill.quantity.notional,), "abs": True})
            )
            if fill.quantity.notional
            else None
        )
        self._contracts = fill.quantity.contracts
        self._counts_contracts = bool(fill.quantity.notional or self._contracts)
        self._account = readings.text(rules.position.account) if rules.position.account is not None else None
        self._book = joined((rules.position.column,)) if rules.position.column is not None else None
        self._by = rules.position.by
        self._skips_zero = fill.skip_zero

    def name(self, item: Item) -> str:
        """The fill's own id, else the row's."""
        return (self._id(item.cells) if self._id is not None else "") or item.name

    def instrument(self, item: Item) -> str:
        """What is traded; `ValueError` where the row does not say."""
        instrument = self._instrument(item.cells) if self._instrument is not None else ""
        if not instrument:
            raise ValueError("instrument: the row names none")
        return instrument

    def side(self, cells: Cells) -> Side:
        """Buy or sell, by its word, else by the column the quantity stands in, else by its sign."""
        word = self._side(cells) if self._side is not None else ""
        if word:
            if word.lower() not in {"buy", "sell", "long", "short"}:
                raise ValueError(
                    f"side: {quote(word)} is neither buy nor sell; write what it means in side.map"
                )
            return "buy" if word.lower() in {"buy", "long"} else "sell"
        if self._side is not None:
            raise ValueError("side: the row has none")
        if self._quantity.is_sided:
            side = self._quantity.side(cells)
            if side is None:
                raise ValueError("quantity: the row has neither a bought nor a sold one")
            return side
        return "sell" if (self._quantity.of(cells, "buy") or ZERO) < 0 else "buy"

    def price(self, cells: Cells) -> Decimal | None:
        """The price of a row; None where it has none."""
        return self._price.of(cells, self.side(cells)) if self._price is not None else None

    def execution(self, item: Item) -> Execution | None:
        """The execution of a row; None of a quantity of 0 where those are left out; `ValueError` says what is wrong."""
        cells = item.cells
        side = self.side(cells)
        quantity = self._quantity.of(cells, side)
        if quantity is None:
            raise ValueError("quantity: the row has none")
        if not quantity and self._skips_zero:
            return None
        price = self._price.of(cells, side) if self._price is not None else None
        if price is None:
            raise ValueError("price: the row has none")
        instrument = self.instrument(item)
        quantity = abs(quantity) if self._side is None else quantity
        if quantity <= 0:
            raise ValueError(f"quantity: {quantity:f} is not above 0")
        if self._counts_contracts:
            quantity = self._in_units(quantity, price, cells, instrument)
        fee, asset = self.fee(cells, instrument)
        effect = self._effect(cells) if self._effect is not None else ""
        book = self._book(cells) if self._book is not None else ""
        account = self._account(cells) if self._account is not None else ""
        if self._by == "column" and book:
            account, book = f"{account}-{book}" if account else book, ""
        elif self._by == "side":
            book = {"long": "long", "short": "short", "buy": "long", "sell": "short"}.get(book.lower(), "")
        return Execution(
            self.name(item), item.at, instrument, side, quantity, price, fee, asset, account,
            cast('Literal["", "long", "short"]', book),
            cast('Literal["open", "close"]', effect) if effect in {"open", "close"} else None,
        )  # fmt: skip

    def _in_units(self, quantity: Decimal, price: Decimal, cells: Cells, instrument: str) -> Decimal:
        """A quantity that may be one of contracts, in units; `ValueError` where nothing says what one of them holds."""
        if instrument in self._contracts:
            return quantity * self._contracts[instrument]
        notional = self._notional(cells) if self._notional is not None else None
        if notional and price:
            return _by_notional(quantity, price, notional)
        # what is traded at the spot has no contracts
        if self._notional is not None and ":" not in instrument:
            return quantity
        raise ValueError(
            f"quantity: {quantity:f} contracts of {quote(instrument)}, and nothing says what one of them holds; write"
            f" contracts = {{ {quote(instrument)} = 0.01 }}, with their size, into quantity of the mapping's [fill]"
        )

    def fee(self, cells: Cells, instrument: str) -> tuple[Decimal, str | None]:
        """What was paid (> 0) and in what; None is the quote."""
        if self._fee is None:
            return ZERO, None
        amount, asset, default = self._fee
        fee = amount(cells)
        if not fee:
            return ZERO, None
        name = asset(cells) or default
        if name == "base":
            return fee, base_of(instrument)
        return fee, None if name in {"quote", quote_of(instrument)} else name


def _by_notional(contracts: Decimal, price: Decimal, notional: Decimal) -> Decimal:
    """Contracts as units of the base asset; a contract's size is a number of two digits, exact where it nearly is one."""
    size = notional / (contracts * price)
    rounded = Decimal(f"{size:.1e}")
    return contracts * (rounded if abs(size - rounded) <= _NEAR * rounded else size)
