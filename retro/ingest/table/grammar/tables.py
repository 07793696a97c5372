"""The tables of a mapping: what a file is, and which of its columns are what in the journal."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from retro.config.shapes import ConfigTable
from retro.ingest.table.grammar.verbs import (
    Amount,
    Factor,
    Fee,
    FilterMap,
    Names,
    OmissionMap,
    Opening,
    OpeningVerbs,
    Quantity,
    Stated,
    Text,
    TextVerbs,
    Word,
    Words,
    WordVerbs,
)
from retro.model import Action, FlowKind

__all__ = [
    "CostMap",
    "DecisionMap",
    "EquityMap",
    "ExitMap",
    "ExternalMap",
    "FillMap",
    "FlowMap",
    "JoinMap",
    "LegsMap",
    "MarkMap",
    "NumberMap",
    "PositionMap",
    "SourceMap",
    "StatedMap",
    "TableMap",
    "TimeMap",
]

_OTHERS = ("count", "fault", "drop")


def _tables(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


def _closed(verbs: WordVerbs | None, words: tuple[str, ...]) -> WordVerbs | None:
    """Refuse a map that leads to words that are none of ours."""
    if verbs is not None:
        for word in (*verbs.map.values(), *(() if verbs.other in _OTHERS else (verbs.other,))):
            if word not in words:
                raise ValueError(f'leads to "{word}"; the words are {", ".join(words)}')
    return verbs


class SourceMap(ConfigTable):
    """What file this is, and what its rows are."""

    format: Literal["csv", "jsonl", "json", "sqlite", "xml", "xlsx", "html"] = Field(
        default="csv", description="csv, jsonl, json, sqlite, xml, xlsx or html"
    )
    match: Names = Field(
        default=(),
        description='columns by which the file is known; "a|b" is either. Any order, more may be there',
    )
    skip_lines: int = Field(default=0, ge=0, le=1000, description="title lines before the header")
    encoding: str = Field(default="utf-8", description="utf-8, utf-16, cp1252, gb18030, ...")
    delimiter: str | None = Field(
        default=None, min_length=1, max_length=1, description="default: the one there is most of"
    )
    section: str | None = Field(default=None, description="the sheet, or the heading above the rows")
    table: str | None = Field(default=None, description="of a SQLite database")
    path: str = Field(
        default="$", description='of a JSON document: where the rows are, such as "$.trades[*]"'
    )
    element: str | None = Field(default=None, description="of XML: the element that is a row")
    identical: Literal["distinct", "same", "fault"] = Field(
        default="distinct", description="equal rows of one file: distinct trades, one trade, or a fault"
    )
    order: Literal["oldest_first", "newest_first", "any"] = Field(
        default="any", description="how rows stand; any: they are put in order by their time"
    )
    chain: Amount | None = Field(
        default=None, description="the signed position before each fill: puts fills of one instant in order"
    )
    agent: Text | None = Field(default=None, description="whose rows they are; --agent comes first")
    venue: str = Field(default="", description="where the trades were made")
    base: str | None = Field(
        default=None, description="what the account is counted in; quote: the first fill's"
    )


class TimeMap(TextVerbs):
    """When a row was."""

    format: Names = Field(
        default=("iso",),
        description="iso, s, ms, us, ns, excel or a pattern such as %d/%m/%Y %H:%M:%S; several are tried",
    )
    zone: str = Field(default="ask", description='of times without one: "UTC", "Europe/Paris", or ask')
    zone_column: str | None = Field(default=None, description="the column that names it")
    clock: str | None = Field(
        default=None, pattern=r"^\d\d:\d\d(:\d\d)?$", description="of dates without a time of day"
    )
    step: Literal["1ms"] = Field(
        default="1ms", description="by how much rows of one instant follow each other"
    )


class NumberMap(ConfigTable):
    """How numbers are written."""

    thousands: str = Field(default="", max_length=5, description="marks between thousands, left out")
    strip: str = Field(default="", max_length=20, description="other marks to leave out, such as $ and %")
    scale: dict[str, Factor] = Field(
        default_factory=dict, description="column -> what its numbers are multiplied by"
    )
    decimal: Literal[".", ","] = Field(default=".", description="the decimal mark")
    glued_asset: Names = Field(
        default=(), description="columns such as 500DOGE: {Executed.asset} is then DOGE"
    )
    glued_to: str | None = Field(
        default=None, description="the column that tells 5 1INCH from 51 INCH: the pair"
    )


class JoinMap(ConfigTable):
    """Rows of a second table or file that belong to rows of this one: the fill of an order, the reason of a trade."""

    name: str = Field(pattern=r"^\w+$", description="its columns are there as name.column")
    key: str = Field(description="the column that says which row belongs to a row")
    on: str | None = Field(default=None, description="the column there that holds it; default: the same name")
    table: str | None = Field(default=None, description="a table of the same database")
    file: str | None = Field(
        default=None, pattern=r"^[^/\\]+$", description="a file beside the one that is read"
    )
    format: Literal["csv", "jsonl", "json"] = Field(default="csv", description="of the file")
    path: str = Field(default="$", description="of a JSON document: where its rows are")

    @model_validator(mode="after")
    def _has_one_place(self) -> JoinMap:
        if (self.table is None) == (self.file is None):
            raise ValueError('needs table = "...", or file = "..."')
        return self


class LegsMap(FilterMap):
    """Rows that are one leg of a trade each: what came in and what went out at one instant, under one key."""

    key: Text = Field(description="what the legs of one trade have in common")
    asset: Text = Field(description="of which asset")
    amount: Amount = Field(description="what came in (> 0) or went out (< 0)")
    fee: Fee | None = Field(default=None, description="in the leg's own asset")
    includes_fee: bool = Field(
        default=False, description="the amount is what came in or went out after the fee"
    )
    quotes: Names = Field(
        default=(), description="the asset of a pair that prices are in; the first of these in it"
    )
    fee_rows: Words = Field(
        default_factory=dict, description="column -> the words of the rows that are the fee of the trade"
    )


class FillMap(FilterMap):
    """Executions, or the entries of round trips."""

    id: Names = Field(
        default=(), description="columns that name a fill; without any a digest of the row does"
    )
    instrument: Text | None = Field(default=None, description="such as ETH/USDC; perps ETH/USDC:USDC")
    side: Word | None = Field(default=None, description="buy or sell; without it the sign of quantity says")
    quantity: Quantity | None = Field(default=None, description="in units of the base asset")
    price: Amount | None = Field(default=None, description="in the quote")
    fee: Fee | None = Field(default=None, description="what was paid for it")
    effect: Word | None = Field(default=None, description="open or close, where the venue says so")
    order: Text | None = Field(default=None, description="the order it belongs to")
    reason: Text | None = Field(default=None, description="of a fill that closes a position: why")
    skip_zero: bool = Field(default=False, description="leave out rows whose quantity is 0")

    @field_validator("side")
    @classmethod
    def _sides(cls, value: WordVerbs | None) -> WordVerbs | None:
        return _closed(value, ("buy", "sell", "long", "short"))

    @field_validator("effect")
    @classmethod
    def _effects(cls, value: WordVerbs | None) -> WordVerbs | None:
        return _closed(value, ("open", "close", "none"))


class ExitMap(FilterMap):
    """How round trips end, in the same row."""

    time: Text = Field(description="when; in the format of [time]")
    price: Amount = Field(description="in the quote")
    fee: Fee | None = Field(default=None, description="of the exit alone; without it [fill] fee is for both")
    reason: Text | None = Field(default=None, description="why")


class PositionMap(ConfigTable):
    """How positions come out of rows."""

    by: Literal["net", "side", "column", "row", "state"] = Field(
        default="net",
        description="net: flat to flat; side: one for each side; column: one for each id; row: round trips; state: holdings after each row",
    )
    kind: Literal["spot", "perp", "auto"] = Field(
        default="auto", description="auto: perp where the instrument has a :"
    )
    prefix: str | None = Field(default=None, max_length=20, description="begins the names of positions")
    opening: Opening = Field(
        default=OpeningVerbs(policy="fault"),
        description="of a fill that closes what nobody saw opened: fault, ignore, or a column with the cost of one unit",
    )
    column: str | None = Field(
        default=None, description="of by = column: the position's id; of by = side: its side"
    )
    account: Text | None = Field(default=None, description="accounts that are netted by themselves")
    short: bool = Field(default=False, description="spot may be sold short")
    strategy: Text | None = Field(default=None, description="by which the position was entered")
    risk: Amount | None = Field(default=None, description="what was at risk at the entry")
    stop: Amount | None = Field(
        default=None, description="the stop at the entry: risk is quantity x its distance"
    )
    holdings: str | None = Field(default=None, description="of by = state: the path of asset -> quantity")
    cash: str | None = Field(
        default=None, description="of by = state: the entry among holdings that is money"
    )

    @model_validator(mode="after")
    def _is_complete(self) -> PositionMap:
        if self.by == "column" and self.column is None:
            raise ValueError('by = "column" needs column = "...", the one with the position\'s id')
        if self.by == "state" and self.holdings is None:
            raise ValueError('by = "state" needs holdings = "...", the path of what is held after each row')
        return self


class DecisionMap(FilterMap):
    """What was decided and why."""

    id: Names = Field(
        default=(), description="columns that name a decision; without any a digest of the row does"
    )
    action: Word | None = Field(
        default=None, description="without it, what its fill does: enter, increase, reduce, exit"
    )
    instrument: Text | None = Field(default=None, description="default: the fill's")
    reasoning: Text | None = Field(default=None, description="in the agent's words")
    confidence: Amount | None = Field(default=None, description="0 to 1")
    cites: Names = Field(default=(), description="columns whose words are its tags")
    strategy: Text | None = Field(default=None, description="which of its strategies")
    context: Names = Field(default=(), description="columns that describe the situation")
    trace: Text | None = Field(default=None, description="the id of the reasoning's trace")

    @field_validator("action")
    @classmethod
    def _actions(cls, value: WordVerbs | None) -> WordVerbs | None:
        return _closed(value, get_args(Action))


class EquityMap(FilterMap):
    """What the agent or account says it is worth."""

    value: Amount = Field(description="in the base currency")
    when: Literal["before", "after"] = Field(
        default="before", description="before or after what its row tells"
    )


class MarkMap(FilterMap):
    """Prices beside the rows."""

    price: Amount = Field(description="in the quote")
    instrument: Text | None = Field(default=None, description="default: the fill's")


class FlowMap(FilterMap):
    """Funding, interest, rewards."""

    quantity: Amount = Field(description="what came in (> 0) or went out (< 0)")
    asset: Text = Field(description="of which asset")
    received: Literal[FlowKind] = Field(default="funding_received", description="what it is when it came in")
    charged: Literal[FlowKind] = Field(default="funding_paid", description="what it is when it went out")
    instrument: Text | None = Field(
        default=None, description="of the position it belongs to, where one is open"
    )


class ExternalMap(FilterMap):
    """What the owner put in or took out."""

    quantity: Amount = Field(description="put in (> 0) or taken out (< 0)")
    asset: Text | None = Field(default=None, description="default: the base currency")
    value: Amount | None = Field(default=None, description="what an asset was worth, in the base currency")


class CostMap(FilterMap):
    """Gas, inference, data."""

    kind: Literal["gas", "inference", "data"] = Field(description="gas, inference or data")
    quantity: Amount = Field(description="what was paid")
    asset: Text | None = Field(default=None, description="in what; default: the base currency")


class StatedMap(ConfigTable):
    """What the source computed: compared by `retro checks`, never booked."""

    realized: Stated | None = Field(default=None, description="the result of a fill, or of a round trip")
    balance: Stated | None = Field(default=None, description="of an asset, after the row")
    holding: Stated | None = Field(default=None, description="of the fill's base asset, after the row")
    equity: Stated | None = Field(default=None, description="of everything, after the row")


_Tables = Field(default=(), strict=False)


class TableMap(ConfigTable):
    """A mapping: how one kind of file becomes events."""

    source: SourceMap = Field(default_factory=SourceMap, description="what file this is")
    time: TimeMap = Field(description="when each row was")
    number: NumberMap = Field(default_factory=NumberMap, description="how numbers are written")
    rows: FilterMap = Field(default_factory=FilterMap, description="which rows count")
    join: Annotated[tuple[JoinMap, ...], BeforeValidator(_tables), _Tables] = ()
    legs: LegsMap | None = Field(default=None, description="rows that are one leg of a trade each")
    fill: FillMap | None = Field(default=None, description="executions")
    exit: ExitMap | None = Field(default=None, description="the ends of round trips")
    position: PositionMap = Field(default_factory=PositionMap, description="how positions come out of rows")
    decision: DecisionMap | None = Field(default=None, description="what was decided")
    equity: EquityMap | None = Field(default=None, description="what it is worth")
    mark: Annotated[tuple[MarkMap, ...], BeforeValidator(_tables), _Tables] = ()
    flow: Annotated[tuple[FlowMap, ...], BeforeValidator(_tables), _Tables] = ()
    external: Annotated[tuple[ExternalMap, ...], BeforeValidator(_tables), _Tables] = ()
    cost: Annotated[tuple[CostMap, ...], BeforeValidator(_tables), _Tables] = ()
    omission: Annotated[tuple[OmissionMap, ...], BeforeValidator(_tables), _Tables] = ()
    stated: StatedMap = Field(default_factory=StatedMap, description="what the source computed itself")

    @model_validator(mode="after")
    def _tells_something(self) -> TableMap:
        if not (
            self.fill
            or self.legs
            or self.decision
            or self.equity
            or self.mark
            or self.flow
            or self.external
            or self.cost
            or self.position.by == "state"
        ):
            raise ValueError(
                "tells nothing: it needs at least one of [fill], [legs], [decision], [equity], [mark]"
            )
        if self.position.by == "row" and (self.fill is None or self.exit is None):
            raise ValueError(
                'by = "row" needs [fill] for the entry and [exit] for the exit of each round trip'
            )
        if self.position.by not in {"row", "state"} and self.fill is not None:
            lacking = [
                name for name in ("instrument", "quantity", "price") if getattr(self.fill, name) is None
            ]
            if lacking:
                raise ValueError(f"[fill] lacks {', '.join(lacking)}")
        return self

    @model_validator(mode="after")
    def _names_the_money(self) -> TableMap:
        if (path := self._changing()) is not None:
            if self.position.by != "state":
                raise ValueError('[fill] price: change needs by = "state" in [position]')
            money = path.removeprefix(f"{self.position.holdings}.")
            if money == path or self.position.cash not in {None, money}:
                raise ValueError(
                    f'[fill] price: change is the money among the holdings, such as "{self.position.holdings}.CASH"'
                )
        return self

    def _changing(self) -> str | None:
        return self.fill.price.change if self.fill is not None and self.fill.price is not None else None

    @property
    def money(self) -> str | None:
        """Where rows are states, the entry among holdings that is money; None where neither cash nor a price says it."""
        named = (self._changing() or "").removeprefix(f"{self.position.holdings}.")
        return self.position.cash or named or None
