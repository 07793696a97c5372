"""The facts: what an agent told us, one frozen struct an event type (`journal.md`).

Facts are stored as the line the agent wrote (`Row.body`) and decoded again when they are read, so quantities and
money keep every digit (Decimal). Instants are integer microseconds since the Unix epoch, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from retro.checks import SourceCheck

__all__ = [
    "FACT_TYPES",
    "Batch",
    "Conflict",
    "Cost",
    "Death",
    "Decision",
    "Equity",
    "EventRow",
    "Exit",
    "External",
    "Fact",
    "Fault",
    "Fill",
    "Flow",
    "Mark",
    "MarkSeries",
    "MarksWanted",
    "Position",
    "Prediction",
    "Resolution",
    "Shadow",
    "Snapshot",
    "decode",
]

PositionKind = Literal["spot", "perp", "lp", "lending", "staking"]
FlowKind = Literal[
    "deposit",
    "withdrawal",
    "lp_fee",
    "interest",
    "borrow_interest",
    "reward",
    "slash",
    "funding_received",
    "funding_paid",
]
Action = Literal["enter", "exit", "increase", "reduce", "adjust", "hold", "skip"]
if TYPE_CHECKING:
    Real = float
    Names = list[str]
    Name = str
else:
    Real = float | str  # a line may spell it as a decimal string; `_as_floats` leaves a float
    Names = Name = Any  # lines told before the field had a meaning hold whatever somebody put there


class Fact(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", rename={"at": "\x7fat"}):
    """What every event carries. `at` is filled in from the store: the wire's own `at` has many spellings.

    Hence its name on the wire, which no line can carry.
    """

    id: str
    agent: str
    at: int = 0
    tick: int | None = None


class Position(Fact, frozen=True, kw_only=True, tag="position"):
    """A position came into being."""

    position: str
    kind: PositionKind
    instrument: str
    venue: str = ""
    side: Literal["long", "short"] | None = None
    strategy: str = ""
    risk: Decimal | None = None
    funded_with: dict[str, Decimal] | None = None
    token0: str | None = None
    token1: str | None = None
    lower: Decimal | None = None
    upper: Decimal | None = None
    liquidity: Decimal | None = None


class Fill(Fact, frozen=True, kw_only=True, tag="fill"):
    """A trade execution; `fee` > 0 is a charge, < 0 a rebate, in `fee_asset` (absent: the quote).

    `requested` is the price the order was sent for, of which slippage is measured.
    """

    position: str
    side: Literal["buy", "sell"]
    quantity: Decimal
    price: Decimal
    instrument: str | None = None
    fee: Decimal = Decimal(0)
    fee_asset: str | None = None
    order: str | int | None = None
    requested: Decimal | None = None


class Flow(Fact, frozen=True, kw_only=True, tag="flow"):
    """Anything else that moves value in or out of a position, or of the wallet when `position` is absent.

    `kept`, of a withdrawal: the asset itself stays in the wallet (True) or was sold at once (False); None: not told.
    """

    kind: FlowKind
    asset: str
    quantity: Decimal
    position: str | None = None
    value: Decimal | None = None
    kept: bool | None = None


class Snapshot(Fact, frozen=True, kw_only=True, tag="snapshot"):
    """The state of a position at an instant; `holdings` exclude `claimable`."""

    position: str
    holdings: dict[str, Decimal] = {}
    claimable: dict[str, Decimal] | None = None
    debt: dict[str, Decimal] | None = None
    value: Decimal | None = None


class Exit(Fact, frozen=True, kw_only=True, tag="exit"):
    """The position is closed; `high` and `low` are the extremes of its price the agent saw while it was open."""

    position: str
    reason: str = ""
    high: Decimal | None = None
    low: Decimal | None = None

    @property
    def extremes(self) -> tuple[float, float] | None:
        """The lowest and the highest price; None unless both were told and are prices."""
        if self.low is None or self.high is None or not 0 < self.low <= self.high:
            return None
        return float(self.low), float(self.high)


class Mark(Fact, frozen=True, kw_only=True, tag="mark"):
    """A price in the agent's base currency, of an instrument or of an asset."""

    price: Decimal
    instrument: str | None = None
    asset: str | None = None


class Decision(Fact, frozen=True, kw_only=True, tag="decision"):
    """What the agent decided and why; `cites` absent means: read them from `reasoning`.

    `context_items` are the names of what was in front of it; `difficulty` is its own word for how hard it was.
    """

    action: Action
    position: str | None = None
    instrument: str | None = None
    strategy: str | None = None
    reasoning: str = ""
    cites: list[str] | None = None
    confidence: float | None = None
    context: dict[str, Any] | None = None
    tier: Literal["T0", "T1", "T2"] | None = None
    valence: float | None = None
    trace: str | int | None = None
    context_items: Names | None = None
    difficulty: Name | None = None

    def __post_init__(self) -> None:
        items = self.context_items
        if items is not None and not (
            isinstance(items, list) and all(isinstance(name, str) for name in items)
        ):
            msgspec.structs.force_setattr(self, "context_items", None)
        if self.difficulty is not None and not isinstance(self.difficulty, str):
            msgspec.structs.force_setattr(self, "difficulty", None)


class Prediction(Fact, frozen=True, kw_only=True, tag="prediction"):
    """A claim about the future, with an optional interval."""

    predicted: Real | None = None
    decision: str | None = None
    position: str | None = None
    category: str = ""
    item: str = ""
    regime: str | None = None
    target_at: str | int | None = None
    low: Real | None = None
    high: Real | None = None
    confidence: float | None = None
    unit: str | None = None
    source: Any = None

    def __post_init__(self) -> None:
        _as_floats(self, "predicted", "low", "high")


class Resolution(Fact, frozen=True, kw_only=True, tag="resolution"):
    """How a prediction turned out."""

    prediction: str
    actual: Real | None = None
    correct: bool | None = None

    def __post_init__(self) -> None:
        _as_floats(self, "actual")


class Cost(Fact, frozen=True, kw_only=True, tag="cost"):
    """Gas, inference or data paid for: an `amount` of base currency, or a `quantity` of an `asset`."""

    kind: Literal["gas", "inference", "data"]
    amount: Decimal | None = None
    asset: str | None = None
    quantity: Decimal | None = None
    position: str | None = None
    decision: str | None = None
    tier: Literal["T0", "T1", "T2"] | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


class Equity(Fact, frozen=True, kw_only=True, tag="equity"):
    """The agent's own statement of its total value just before the events of that instant."""

    value: Decimal | None = None
    balances: dict[str, Decimal] | None = None


class External(Fact, frozen=True, kw_only=True, tag="external"):
    """The owner put in (> 0) or took out (< 0) base currency, or an `asset` worth `value`."""

    quantity: Decimal
    asset: str | None = None
    value: Decimal | None = None


class Shadow(Fact, frozen=True, kw_only=True, tag="shadow"):
    """What a strategy that the agent runs beside its own, without money, made on a day of the owner's calendar.

    `day` is spelled 2026-03-01; `pnl` is in base currency, net of what it would have paid.
    """

    shadow: str
    day: str
    pnl: Decimal
    note: str = ""


class Death(Fact, frozen=True, kw_only=True, tag="death"):
    """The agent ended."""

    cause: str = ""


_TYPES = (
    Position, Fill, Flow, Snapshot, Exit, Mark, Decision, Prediction, Resolution, Cost, Equity, External, Shadow,
    Death,
)  # fmt: skip

FACT_TYPES: Final[dict[str, type[Fact]]] = {str(kind.__struct_config__.tag): kind for kind in _TYPES}
"""Event type on the wire -> struct."""

_DECODER = msgspec.json.Decoder(
    Position
    | Fill
    | Flow
    | Snapshot
    | Exit
    | Mark
    | Decision
    | Prediction
    | Resolution
    | Cost
    | Equity
    | External
    | Shadow
    | Death
)


def _as_floats(fact: Fact, *names: str) -> None:
    for name in names:
        if isinstance(value := getattr(fact, name), str):
            msgspec.structs.force_setattr(fact, name, float(value))


def decode(body: str | bytes, at: int) -> Fact:
    """The fact a stored line tells, at its instant in microseconds. A field that is null was not given."""
    try:
        fact: Fact = _DECODER.decode(body)
    except msgspec.ValidationError:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        given = {name: raw for name, raw in fields.items() if bytes(raw) != b"null"}
        fact = _DECODER.decode(msgspec.json.encode(given))
    msgspec.structs.force_setattr(fact, "at", at)
    return fact


class EventRow(NamedTuple):
    """One event on its way into the store: identity (agent, type, id), instant, and the line as written."""

    agent: str
    type: str
    id: str
    at: int
    position: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A piece of foreign data that could not be used, and why. `line` counts from 1.

    `agent`: whom the line names, as far as it can be read; of None it is the fault of all agents of its source.
    """

    where: str
    line: int | None
    reason: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A second event with the same identity (or a mark of the same instant) and other content."""

    where: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class MarkSeries:
    """Marks of one instrument; `agent` None means shared by all agents.

    `t` int64 microseconds, ascending, unique; `price` float64; `low` and `high` float64 or None when unknown.
    Prices of a shared series are in the instrument's own quote, an agent's in its base currency.
    """

    agent: str | None
    instrument: str
    t: NDArray[np.int64]
    price: NDArray[np.float64]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class MarksWanted:
    """Instrument -> the UTC days (counted from the epoch) on which a source holds some of it and can use marks.

    `sentence` says of those days that have none what that leaves empty, and what to do.
    """

    days: Mapping[str, Collection[int]]
    sentence: Callable[[Mapping[str, Collection[int]]], str]


@dataclass(slots=True)
class Batch:
    """What an adapter hands on at a time: facts, marks and what it could not use."""

    rows: list[EventRow] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    marks: list[MarkSeries] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    events: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    as_of: dict[str, int] = field(default_factory=dict)
    capital: dict[str, Decimal] = field(default_factory=dict)
    base_currency: dict[str, str] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    """Agent -> what kind of source tells of it, and which run of one that ran once: sources of two origins never mix."""
    notices: list[str] = field(default_factory=list)
    """What whoever reads the source should know, in sentences; nothing is wrong with it."""
    wanted: MarksWanted | None = None
    """Of the batch that knows the whole source: for which days marks are of use to the agents of its `origin`."""
    checks: list[SourceCheck] = field(default_factory=list)
