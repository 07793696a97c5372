"""What a row of a report is, by the shape of its cells and never by its words: the terminal's language names all headings."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from retro.ingest.amounts import amount_of

if TYPE_CHECKING:
    from retro.ingest.rows.row import GridRow

__all__ = [
    "BalanceMove",
    "BalanceSummary",
    "Deal",
    "ReportRow",
    "RoundTrip",
    "is_time",
    "row_of",
    "summary_of",
]

ZERO: Final = Decimal(0)
Side = Literal["buy", "sell"]
Direction = Literal["in", "out", "in/out", "out by"]
_TIME: Final = re.compile(r"\d{4}\.\d{2}\.\d{2} \d{2}:\d{2}(:\d{2})?")
_NUMBER: Final = re.compile(r"[-+\u2212]?[\s\u00a0]*\d[\d\s\u00a0\u202f,.']*")
_DIRECTIONS: Final[dict[str, Direction]] = {"in": "in", "out": "out", "in/out": "in/out", "out by": "out by"}
_SIDES: Final[dict[str, Side]] = {"buy": "buy", "sell": "sell"}


class RoundTrip(msgspec.Struct, frozen=True, tag=True):
    """A position with its entry and exit; `closed` is None of one still open, whose `exit` is the market's price.

    Prices as quoted, `lots` > 0. `commission`, `swap` and `profit` are in the account's currency, what was paid below 0.
    """

    line: int
    ticket: str
    symbol: str
    side: Side
    lots: Decimal
    opened: datetime
    entry: Decimal
    closed: datetime | None
    exit: Decimal
    commission: Decimal
    swap: Decimal
    profit: Decimal
    remark: str

    @property
    def move(self) -> Decimal:
        """How far its price went its way, times its lots."""
        return (self.exit - self.entry) * self.lots * (1 if self.side == "buy" else -1)


class Deal(msgspec.Struct, frozen=True, tag=True):
    """An execution; `charge` is commission and fee, paid below 0; `balance` is that of the account after it."""

    line: int
    ticket: str
    at: datetime
    symbol: str
    side: Side
    direction: Direction
    lots: Decimal
    price: Decimal
    charge: Decimal
    swap: Decimal
    profit: Decimal
    balance: Decimal
    remark: str


class BalanceMove(msgspec.Struct, frozen=True, tag=True):
    """Money that came (above 0) or went without a trade, `kind` in the report's word; `balance`: after it, if told."""

    line: int
    ticket: str
    at: datetime
    kind: str
    amount: Decimal
    balance: Decimal | None


class BalanceSummary(msgspec.Struct, frozen=True, tag=True):
    """What the account came to when a statement was written, and what its closed positions made."""

    line: int
    balance: Decimal
    closed: Decimal


ReportRow = RoundTrip | Deal | BalanceMove | BalanceSummary


def is_time(text: str) -> bool:
    """Whether a cell is a time as MetaTrader writes it."""
    return _TIME.fullmatch(text) is not None


def row_of(row: GridRow, columns: int) -> ReportRow | None:
    """What a row tells; None of headings, sums, orders and whatever else is no event.

    `columns` counts the heading cells above it. `ValueError` where it has the shape of an event and cannot be read.
    """
    cells = row.cells
    if len(cells) < 12:
        return None
    if is_time(cells[0]) and cells[1].isdigit():
        return _of_five(row, columns)
    if cells[0].isdigit() and is_time(cells[1]):
        return _of_four(row)
    return None


def summary_of(row: GridRow, before: GridRow | None) -> BalanceSummary | None:
    """The sums of a statement: balance, equity and free margin, below closed and floating result and margin.

    They are known by what they come to: free margin is equity less margin, equity balance, floating result and a credit.
    """
    numbers, above = _sums(row), _sums(before) if before else []
    if len(numbers) != 3 or len(above) != 3:
        return None
    balance, equity, free = numbers
    closed, floating, margin = above
    fits = abs(equity - margin - free) < 1 and equity >= balance + floating - 1
    return BalanceSummary(row.line, balance, closed) if fits else None


def _sums(row: GridRow) -> list[Decimal]:
    """The figures of a row of three labels with a figure each."""
    texts = row.texts
    if len(texts) != 6 or any(_is_number(label) for label in texts[::2]):
        return []
    return [amount_of(text) for text in texts[1::2] if _is_number(text)]


def _of_five(row: GridRow, columns: int) -> ReportRow | None:
    cells = row.cells
    kind = cells[3].strip().lower()
    direction = _DIRECTIONS.get(cells[4].strip().lower())
    if kind in _SIDES and direction:
        return _deal(row, columns, _SIDES[kind], direction)
    if (
        kind in _SIDES
        and _is_number(cells[4])
        and _is_number(cells[8] if not is_time(cells[8]) else cells[9])
    ):
        return _position(row, _SIDES[kind])
    if kind and not cells[2] and not cells[4]:
        money = _money(cells, columns)
        return BalanceMove(row.line, cells[1], _time(cells[0]), kind, money[-2], money[-1])
    return None


def _position(row: GridRow, side: Side) -> RoundTrip:
    """A row of closed or open positions: what follows its price is commission, fees, swap and profit, or swap and profit."""
    cells = row.cells
    is_closed = is_time(cells[8])
    tail = [cell for cell in cells[10 if is_closed else 9 : 14 if is_closed else 12] if cell]
    amounts = [amount_of(cell) for cell in tail if _is_number(cell)]
    if len(amounts) < (3 if is_closed else 2):
        raise ValueError("its commission, swap or profit is no number")
    remark = row.title or ("" if is_closed else cells[12] if len(cells) > 12 else "")
    return RoundTrip(
        row.line, cells[1], _symbol(cells[2]), side, _lots(cells[4]), _time(cells[0]), amount_of(cells[5]),
        _time(cells[8]) if is_closed else None, amount_of(cells[9] if is_closed else cells[8]),
        sum(amounts[:-2], ZERO), amounts[-2], amounts[-1], remark,
    )  # fmt: skip


def _deal(row: GridRow, columns: int, side: Side, direction: Direction) -> Deal:
    cells = row.cells
    *charges, swap, profit, balance = _money(cells, columns)
    place = 8 + len(charges) + 3
    return Deal(
        row.line, cells[1], _time(cells[0]), _symbol(cells[2]), side, direction, _lots(cells[5]), amount_of(cells[6]),
        sum(charges, ZERO), swap, profit, balance, row.title or (cells[place] if len(cells) > place else ""),
    )  # fmt: skip


def _money(cells: tuple[str, ...], columns: int) -> list[Decimal]:
    """Commission, fees, swap, profit and balance: the tester has no fee, and all but the last heading are theirs."""
    count = columns - 9 if 4 <= columns - 9 <= 7 else 5
    amounts = [amount_of(cell) if cell else ZERO for cell in cells[8 : 8 + count]]
    if len(amounts) < count:
        raise ValueError("its amounts are not all there")
    return amounts


def _of_four(row: GridRow) -> ReportRow | None:
    cells = row.cells
    kind = cells[2].strip().lower()
    if len(cells) < 14 or not _is_number(cells[13]):
        return None
    if kind not in _SIDES:
        return (
            None
            if " " in kind
            else BalanceMove(row.line, cells[0], _time(cells[1]), kind, amount_of(cells[13]), None)
        )
    commission, taxes, swap, profit = (amount_of(cell) if cell else ZERO for cell in cells[10:14])
    closed = cells[8].strip()
    return RoundTrip(
        row.line, cells[0], _symbol(cells[4]), _SIDES[kind], _lots(cells[3]), _time(cells[1]), amount_of(cells[5]),
        _time(closed) if closed else None, amount_of(cells[9]), commission + taxes, swap, profit, row.title,
    )  # fmt: skip


def _symbol(text: str) -> str:
    if not text.strip():
        raise ValueError("it names no symbol")
    return text.strip()


def _lots(text: str) -> Decimal:
    """Lots; of `0.05 / 0.10` the first, what was filled."""
    lots = amount_of(text.partition("/")[0])
    if lots <= 0:
        raise ValueError("its lots are not above 0")
    return lots


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip()) is not None


def _time(text: str) -> datetime:
    layout = "%Y.%m.%d %H:%M:%S" if len(text) > 16 else "%Y.%m.%d %H:%M"
    try:
        return datetime.strptime(text.strip(), layout)  # noqa: DTZ007 - server time, whose zone the caller names
    except ValueError:
        raise ValueError(f"{text[:20]!r} is no time") from None
