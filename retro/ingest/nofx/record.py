"""One record of a decision log: what nofx saw, what its model asked for, what was done.

Measured on 916 real records: `total_balance` is the equity before the cycle's orders; `timestamp` is when the record
was written, after them; `total_unrealized_profit` is the profit since the start, and is not read. Prompts are skipped
without being decoded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from retro.ingest.amounts import bounded, named
from retro.ingest.prose import prose
from retro.journal import LARGEST
from retro.periods import DAY, parse_instant

__all__ = [
    "Act",
    "Cycle",
    "HoldingSnapshot",
    "Intention",
    "RecordError",
    "cycle_of",
    "cycle_of_row",
    "instant_of",
]

_YEARS: Final = 30 * 365 * DAY


class RecordError(ValueError):
    """This is no record of a decision log; the text says why."""


@dataclass(frozen=True, slots=True)
class HoldingSnapshot:
    """A position as the exchange states it before the cycle's orders; `quantity` > 0, in base units."""

    symbol: str
    side: str
    quantity: Decimal
    entry: Decimal
    mark: Decimal
    unrealised: Decimal


@dataclass(frozen=True, slots=True)
class Intention:
    """What the model asked for, of one symbol."""

    symbol: str
    action: str
    reasoning: str
    confidence: float | None
    stop: Decimal | None
    target: Decimal | None
    risk: Decimal | None


@dataclass(frozen=True, slots=True)
class Act:
    """What was done, or was tried (`error`), at an instant in microseconds.

    `trigger`: what closed the position where nobody decided it ("stop_loss", "take_profit", "exchange"), else "".
    """

    at: int
    symbol: str
    action: str
    price: Decimal
    quantity: Decimal
    order: str | None
    success: bool
    error: str
    reasoning: str
    confidence: float | None
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Cycle:
    """One record. `at`: the instant of its state, before its first act; `written`: its own, which no other has.

    `equity` is None where the account could not be read; then nothing is known of positions either.
    """

    at: int
    written: int
    equity: Decimal | None
    available: Decimal | None
    holdings: dict[tuple[str, str], HoldingSnapshot]
    acts: tuple[Act, ...]
    intentions: tuple[Intention, ...]
    thoughts: str
    error: str

    @property
    def wallet(self) -> Decimal:
        """Equity without what open positions have gained, in the account's currency."""
        gained = sum((holding.unrealised for holding in self.holdings.values()), Decimal(0))
        return (self.equity or Decimal(0)) - gained

    def intention(self, symbol: str, action: str) -> Intention | None:
        """What the model asked for of that symbol: by that action, else by any."""
        of_symbol = [wish for wish in self.intentions if wish.symbol == symbol]
        return next(
            (wish for wish in of_symbol if wish.action == action), of_symbol[0] if of_symbol else None
        )


class _Account(msgspec.Struct):
    total_balance: Decimal | None = None
    available_balance: Decimal | None = None


class _Held(msgspec.Struct):
    symbol: str
    side: str
    position_amt: Decimal
    entry_price: Decimal
    mark_price: Decimal
    unrealized_profit: Decimal = Decimal(0)


class _Act(msgspec.Struct):
    action: str
    symbol: str = ""
    quantity: Decimal = Decimal(0)
    price: Decimal = Decimal(0)
    order_id: int | float | str = 0
    timestamp: str = ""
    success: bool = True
    error: str | None = ""
    reasoning: str | None = ""
    confidence: float | None = None
    is_auto_triggered: bool | None = False
    was_stop_loss: bool | None = False


class _Record(msgspec.Struct):
    timestamp: str
    cot_trace: str | None = ""
    decision_json: str | None = ""
    account_state: _Account | None = None
    positions: list[_Held] | None = None
    decisions: list[_Act] | None = None
    success: bool = True
    error_message: str | None = ""


_DECODER: Final = msgspec.json.Decoder(_Record, strict=False)
_ACTS: Final = msgspec.json.Decoder(list[_Act] | None, strict=False)


def cycle_of(text: bytes) -> Cycle:
    """The cycle of one record's JSON; `RecordError` where it is none."""
    try:
        record = _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RecordError(f"is no decision record of nofx ({error}); leave it out") from None
    if record.account_state is None and record.decisions is None and not record.decision_json:
        raise RecordError(
            "is no decision record of nofx (it has neither account_state nor decisions); leave it out"
        )
    return _cycle(record, instant_of(record.timestamp))


def cycle_of_row(
    written: int, *, acts: str, intentions: str, thoughts: str, success: bool, error: str
) -> Cycle:
    """The cycle of one row of a database, which holds neither account nor positions; `RecordError` where it is none."""
    try:
        decisions = _ACTS.decode(acts or "null")
    except (msgspec.MsgspecError, ValueError, RecursionError) as failure:
        raise RecordError(f"decisions: are no list of acts ({failure}); leave the row out") from None
    record = _Record(
        timestamp="", cot_trace=thoughts, decision_json=intentions, decisions=decisions, success=success,
        error_message=error,
    )  # fmt: skip
    return _cycle(record, written)


def instant_of(text: str) -> int:
    """Microseconds of a time with offset, as Go writes them (up to nine digits, `+0000 UTC`); `RecordError` otherwise."""
    plain = text.split(" UTC", maxsplit=1)[0].replace(" +", "+").replace(" -", "-")
    try:
        return parse_instant(plain)
    except ValueError as error:
        raise RecordError(f"timestamp: {error}") from None


def _order(number: float | str) -> str | None:
    """An order's name; tools that write records anew make fractions of whole numbers."""
    return (f"{number:.0f}" if isinstance(number, float) else str(number)) if number else None


def _cycle(record: _Record, written: int) -> Cycle:
    account = record.account_state or _Account()
    try:
        acts = tuple(_act(act, written) for act in record.decisions or ())
        equity, available = (
            None if number is None else bounded(number)
            for number in (account.total_balance, account.available_balance)
        )
        holdings = {(line.symbol, line.side.lower()): _holding(line) for line in record.positions or ()}
    except ValueError as error:
        raise RecordError(f"record: {error}; leave it out") from None
    if not record.success and not equity:
        equity = None  # the account could not be read: zeros stand for nothing
    return Cycle(
        at=min((act.at for act in acts), default=written),
        written=written,
        equity=equity,
        available=available,
        holdings=holdings if equity is not None else {},
        acts=acts,
        intentions=_intentions(record.decision_json or ""),
        thoughts=prose(record.cot_trace),
        error="" if record.success else prose(record.error_message, 500) or "the cycle failed",
    )


def _holding(line: _Held) -> HoldingSnapshot:
    figures = (abs(line.position_amt), line.entry_price, line.mark_price, line.unrealized_profit)
    return HoldingSnapshot(named(line.symbol), line.side.lower(), *map(bounded, figures))


def _act(act: _Act, written: int) -> Act:
    at = instant_of(act.timestamp) if act.timestamp else written
    if not 0 <= written - at < _YEARS:  # Go's zero time, or a clock that was set back
        at = written
    return Act(
        at=at,
        symbol=named(act.symbol) if act.symbol else "",
        action=act.action.lower(),
        price=bounded(act.price),
        quantity=bounded(act.quantity),
        order=_order(act.order_id),
        success=act.success,
        error=prose(act.error, 500),
        reasoning=prose(act.reasoning),
        confidence=_confidence(act.confidence),
        trigger=_trigger(act),
    )


def _trigger(act: _Act) -> str:
    """Of closes that forks log when they find a position gone."""
    if act.is_auto_triggered:
        return "stop_loss" if act.was_stop_loss else "take_profit"
    return "exchange" if act.action.startswith("auto_close") else ""


def _intentions(text: str) -> tuple[Intention, ...]:
    """What the model asked for; nothing where its answer is cut short or no JSON."""
    try:
        wishes = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError):
        return ()
    wishes = wishes if isinstance(wishes, list) else [wishes]
    return tuple(_intention(wish) for wish in wishes if isinstance(wish, dict))


def _intention(wish: dict[str, Any]) -> Intention:
    return Intention(
        symbol=str(wish.get("symbol", "")),
        action=str(wish.get("action", "")).lower(),
        reasoning=prose(wish.get("reasoning")),
        confidence=_confidence(wish.get("confidence")),
        stop=_positive(wish.get("stop_loss", wish.get("new_stop_loss"))),
        target=_positive(wish.get("take_profit", wish.get("new_take_profit"))),
        risk=_positive(wish.get("risk_usd")),
    )


def _positive(value: object) -> Decimal | None:
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except InvalidOperation:
            return None
    return value if isinstance(value, Decimal) and value.is_finite() and 0 < value < LARGEST else None


def _confidence(value: object) -> float | None:
    """0..100 as a share; None where none is stated, which nofx writes as 0."""
    if not isinstance(value, Decimal | int | float) or not 0 < value <= 100:
        return None
    return float(value) / 100
