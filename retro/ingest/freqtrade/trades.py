"""A freqtrade trade and its filled orders, read from rows of any age into typed values.

Source: freqtrade's documentation ("SQL cheat-sheet", "Trade object"), and the rows of real databases.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Final

from retro.journal import LARGEST, is_name, quote
from retro.periods import parse_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.ingest.freqtrade.tables import Fields, RawTrade

__all__ = ["ZERO", "Leg", "Trade", "instant_of", "number_of", "owner_of", "positive_of", "trade_of"]

ZERO: Final = Decimal(0)
_LATEST: Final = 253_402_300_800_000
"""Unix milliseconds of the year 10000."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One filled order, its `key` unique in its trade. `quantity` is in base units and unlevered, `fee` and `funding` (+ received) in the stake.

    `requested` is the rate the bot asked for, 0 where the source does not say.
    """

    key: str
    entry: bool
    quantity: Decimal
    price: Decimal
    at: int
    tag: str = ""
    order: str = ""
    fee: Decimal = ZERO
    funding: Decimal = ZERO
    requested: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Trade:
    """A row of the table of trades. `profit` and `realized` are what the row says it made; None when it is silent."""

    id: int
    pair: str
    stake: str
    strategy: str
    exchange: str
    mode: str
    short: bool
    leveraged: bool
    open: bool
    amount: Decimal
    fee_open: Decimal
    fee_close: Decimal
    stop: Decimal
    profit: Decimal | None
    realized: Decimal | None
    funding: Decimal
    close_rate: Decimal
    close_requested: Decimal
    close_at: int | None
    enter_tag: str
    exit_reason: str
    timeframe: str
    notes: tuple[str, ...]
    later_notes: tuple[str, ...]
    legs: tuple[Leg, ...]
    touched: int
    low: Decimal = ZERO
    high: Decimal = ZERO
    """The lowest and highest rate the bot saw while it was open; 0 where the source does not say."""


def number_of(row: Fields, name: str) -> Decimal | None:
    """The number a column holds, every digit of it; `ValueError` when it holds something else or is not finite."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(Decimal(value)):
        raise ValueError(f"{name} is {quote(str(value))}, not a number")
    return Decimal(repr(value))


def instant_of(row: Fields, name: str) -> int | None:
    """Microseconds of a time column: naive text is UTC, a number is Unix milliseconds; `ValueError` otherwise."""
    value = row.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LATEST:
        return round(value * 1000)
    text = str(value).strip()
    try:
        return parse_instant(text if text.endswith(("Z", "z")) or text[-6:-5] in {"+", "-"} else text + "Z")
    except ValueError:
        raise ValueError(f"{name} is {quote(text)}, not a time") from None


def owner_of(row: Fields) -> tuple[str, str]:
    """(strategy, stake currency) of a trade's row; where the schema is too old to say, the stake is the pair's quote."""
    quoted = _text(row, "pair").partition("/")[2].partition(":")[0]
    return _text(row, "strategy"), _text(row, "stake_currency") or quoted


def _text(row: Fields, name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value).strip()


def positive_of(row: Fields, *names: str) -> Decimal:
    """The first of the columns that is neither empty nor zero; 0 when all are; `ValueError` when it is negative."""
    for name in names:
        if value := number_of(row, name):
            if value < 0:
                raise ValueError(f"{name} is negative ({value})")
            return value
    return ZERO


def trade_of(raw: RawTrade, *, latest: int) -> Trade:
    """The trade a row and its orders tell of; `ValueError` says what makes it unusable. `latest`: no time is later."""
    row = raw.row
    pair = _text(row, "pair")
    if "/" not in pair or not is_name(pair):
        raise ValueError(f"its pair is {quote(pair)}")
    strategy, stake = owner_of(row)
    if not is_name(stake):
        raise ValueError(f"its stake currency is {quote(stake)}")
    short = bool(row.get("is_short"))
    opened, closed = instant_of(row, "open_date"), instant_of(row, "close_date")
    is_open = bool(row.get("is_open"))
    legs = _legs(row, raw.orders, short=short, opened=opened, closed=closed, is_open=is_open)
    times = [opened, closed, *(leg.at for leg in legs)]
    if any(at is not None and not 0 <= at <= latest for at in times):
        raise ValueError("it lies in the future, or before 1970")
    for order in raw.orders:
        times += [at for at in _touches(order) if at <= latest]
    fee = number_of(row, "fee") or ZERO
    fee_open, fee_close = number_of(row, "fee_open"), number_of(row, "fee_close")
    note_texts = [
        (str(note.get("cd_value") or "").strip(), note.get("updated_at")) for note in _text_notes(raw.notes)
    ]
    return Trade(
        id=int(row["id"]),
        pair=pair,
        stake=stake,
        strategy=strategy,
        exchange=_text(row, "exchange"),
        mode=_text(row, "trading_mode").upper() or "SPOT",
        short=short,
        leveraged=(number_of(row, "leverage") or 1) != 1,
        open=is_open,
        amount=positive_of(row, "amount"),
        fee_open=fee if fee_open is None else fee_open,
        fee_close=fee if fee_close is None else fee_close,
        stop=_sound(row, "initial_stop_loss"),
        profit=None if is_open else number_of(row, "close_profit_abs"),
        realized=None if is_open else number_of(row, "realized_profit"),
        funding=number_of(row, "funding_fees") or ZERO,
        close_rate=positive_of(row, "close_rate"),
        close_requested=_sound(row, "close_rate_requested"),
        close_at=closed,
        enter_tag=_text(row, "enter_tag"),
        exit_reason=_text(row, "exit_reason"),
        timeframe=_text(row, "timeframe"),
        notes=tuple(text for text, changed in note_texts if text and not changed),
        later_notes=tuple(text for text, changed in note_texts if text and changed),
        legs=tuple(legs),
        low=_sound(row, "min_rate"),
        high=_sound(row, "max_rate"),
        touched=max((at for at in times if at is not None), default=0),
    )


def _text_notes(notes: Sequence[Fields]) -> list[Fields]:
    """Custom data in words; numbers, flags and structures are the strategy's state, not its reasons."""
    return [note for note in notes if note.get("cd_type") == "str"]


def _touches(order: Fields) -> Iterator[int]:
    for name in ("order_filled_date", "order_update_date"):
        at = instant_of(order, name)
        if at is not None:
            yield at


def _legs(
    row: Fields, orders: list[Fields], *, short: bool, opened: int | None, closed: int | None, is_open: bool
) -> list[Leg]:
    """The filled orders in the order of their making; of a trade older than the table of orders, its row's entry."""
    entry_side = "sell" if short else "buy"
    filled = [order for order in orders if not order.get("ft_is_open") and _filled(order)]
    sides = [_side(order) == entry_side for order in filled]
    orders_a_side = Counter(_side(order) == entry_side for order in orders)
    legs: list[Leg] = []
    for order, entry in zip(filled, sides, strict=True):
        # before freqtrade kept an order's average price, the rate in its row was what it reckoned with
        rate = positive_of(row, "open_rate" if entry else "close_rate") if sides.count(entry) == 1 else ZERO
        price = positive_of(order, "average") or rate or positive_of(order, "price", "stop_price", "ft_price")
        at = _first(instant_of(order, "order_filled_date"), instant_of(order, "order_date"))
        at = _first(at, opened if entry else closed)
        if at is None or not price:
            raise ValueError(
                f"its order {order.get('id')} is filled but has no {'time' if price else 'price'}"
            )
        if not isfinite(_filled(order) * price):
            raise ValueError(f"its order {order.get('id')} is too large to reckon with")
        name = _text(order, "order_id")
        is_unique = is_name(name) and all(leg.key != name for leg in legs)
        legs.append(
            Leg(
                key=name if is_unique else f"#{len(legs) + 1}",
                entry=entry,
                quantity=_filled(order),
                price=price,
                at=at,
                tag=_text(order, "ft_order_tag"),
                order=name,
                funding=number_of(order, "funding_fee") or ZERO,
                requested=_requested(row, order, entry=entry, alone=orders_a_side[entry] == 1),
            )
        )
    pending = is_open and row.get("open_order_id") and not row.get("close_rate_requested")
    has_entry = any(sides) if legs else (orders and not row.get("close_profit_abs")) or pending
    amount, rate = positive_of(row, "amount"), positive_of(row, "open_rate")
    if not has_entry and amount and rate and opened is not None:
        requested = positive_of(row, "open_rate_requested")
        legs.insert(0, Leg("entry", entry=True, quantity=amount, price=rate, at=opened, requested=requested))
    elif not (has_entry or is_open):
        raise ValueError("it is closed, but neither its orders nor its row say what was bought at what price")
    return legs


def _requested(row: Fields, order: Fields, *, entry: bool, alone: bool) -> Decimal:
    """The rate an order was sent for: what its trade's row says where there is `alone` this one of its side, else its own.

    The row keeps the rate of the latest order of a side only. A market order has a rate of its own only where freqtrade
    wrote one down (`ft_price`): what the exchange calls its price is what it came to.
    """
    if alone and (rate := _sound(row, "open_rate_requested" if entry else "close_rate_requested")):
        return rate
    names = ["ft_price"]
    if "market" not in _text(order, "order_type"):
        names += ["stop_price", "price"] if "stop" in _text(order, "order_type") else ["price"]
    return next((rate for name in names if (rate := _sound(order, name))), ZERO)


def _sound(row: Fields, name: str) -> Decimal:
    """A rate that only tells more: 0 where it is not told, or is nonsense, which costs nobody the trade."""
    try:
        rate = positive_of(row, name)
    except ValueError:
        return ZERO
    return rate if rate <= LARGEST else ZERO


def _side(order: Fields) -> object:
    return order.get("ft_order_side") or order.get("side")


def _first(value: int | None, fallback: int | None) -> int | None:
    return fallback if value is None else value


def _filled(order: Fields) -> Decimal:
    """What the order filled, less a fee that was taken out of the coin."""
    filled = order.get("filled")
    name = "filled" if filled is not None or order.get("status") != "closed" else "amount"
    quantity = positive_of(order, name)
    return max(ZERO, quantity - (number_of(order, "ft_fee_base") or ZERO)) if quantity else ZERO
