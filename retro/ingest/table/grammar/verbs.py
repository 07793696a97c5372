"""The verbs of a mapping: where a value comes from and what becomes of it. Closed; there are no expressions.

A value is written as the name of a column (or a path into nested JSON), as a list of them (the first that is not
empty), or as a table of verbs.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, PlainValidator, field_validator, model_validator

from retro.config.shapes import ConfigTable

__all__ = [
    "Amount",
    "AmountVerbs",
    "Factor",
    "Fee",
    "FeeVerbs",
    "FilterMap",
    "Names",
    "OmissionMap",
    "Opening",
    "OpeningVerbs",
    "Quantity",
    "QuantityVerbs",
    "Stated",
    "StatedVerbs",
    "Text",
    "TextVerbs",
    "Word",
    "WordVerbs",
    "Words",
    "listed",
]

_SOURCES: Final = ("column", "const", "template", "sum", "buy", "sell", "change", "result", "policy")


def _spelled_out(value: Any) -> Any:
    """A column's name, or several, as the table of verbs it is short for."""
    if isinstance(value, str | list):
        return {"column": value}
    return value


def listed(value: Any) -> Any:
    """One text as a list of one."""
    return [value] if isinstance(value, str) else value


def _spellings(value: Any) -> Any:
    """The words of a filter as cells spell them."""
    if not isinstance(value, dict):
        return value
    return {
        name: [_spelling(word) for word in (words if isinstance(words, list) else [words])]
        for name, words in value.items()
    }


def _spelling(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    return value


def _number_or_column(value: Any) -> Decimal | str:
    """A number as Decimal, a column's name as it is."""
    factor = _number(value)
    if not isinstance(factor, Decimal | str):
        raise ValueError("must be a number or the name of a column")  # noqa: TRY004 - pydantic's
    return factor


def _policy(value: Any) -> Any:
    """The word for what becomes of an unknown opening, or the column of its cost."""
    return {"policy": value} if value in ("fault", "ignore") else _spelled_out(value)


Names = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(listed)]
_Spellings = Annotated[tuple[str, ...], Field(strict=False)]
Words = Annotated[dict[str, _Spellings], BeforeValidator(_spellings)]
Factor = Annotated[Decimal, BeforeValidator(_number)]
_FactorOrColumn = Annotated[Decimal | str, PlainValidator(_number_or_column)]


class FilterMap(ConfigTable):
    """Which rows a table of the mapping speaks of."""

    keep: Words = Field(default_factory=dict, description="column -> the words of the rows that count")
    drop: Words = Field(default_factory=dict, description="column -> the words of the rows that do not")
    each: Names = Field(
        default=(), description="path of a nested list or dictionary; its entries are the rows"
    )


class OmissionMap(FilterMap):
    """Rows that cannot be used, and what their owner can do about it: one fault counts them."""

    reason: str = Field(max_length=300, description="why they are left out, and what to do")


class TextVerbs(ConfigTable):
    """A text: where it comes from and what becomes of it, in this order."""

    column: Names = Field(default=(), description="a column, or the first of several that is not empty")
    const: str | None = Field(default=None, description="the same for every row")
    regex: str | None = Field(
        default=None, max_length=200, description="what its one group finds, else nothing"
    )
    split: str | None = Field(default=None, min_length=1, description="BTC-USDT split at - is BTC/USDT")
    quotes: Names = Field(default=(), description="BTCUSDT ends with one of these, and is BTC/USDT")
    table: dict[str, str] = Field(
        default_factory=dict, description="other names for some, and for their parts"
    )
    template: str | None = Field(
        default=None, description="{} is the value, {name} a column; not of a value that has a / already"
    )

    settle: str | None = Field(
        default=None, description="of a perp: what it settles in, quote or a name: BTC/USDT is BTC/USDT:USDT"
    )

    settle_if: str | None = Field(
        default=None,
        description="only of a name that has this in it, such as -PERP, before anything becomes of it",
    )

    @field_validator("regex")
    @classmethod
    def _has_one_group(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                groups = re.compile(value).groups
            except re.error as error:
                raise ValueError(f"is no regular expression: {error}") from None
            if groups != 1:
                raise ValueError("needs one group in parentheses: what that finds is the value")
        return value

    @model_validator(mode="after")
    def _has_a_source(self) -> TextVerbs:
        if not any(getattr(self, name, None) for name in _SOURCES) and self.const is None:
            raise ValueError('names no column; write column = "...", or const = "..."')
        return self


Text = Annotated[TextVerbs, BeforeValidator(_spelled_out)]


class WordVerbs(TextVerbs):
    """One of a closed set of words."""

    map: dict[str, str] = Field(default_factory=dict, description="the file's words and ours")
    other: str = Field(
        default="fault", description="of a word that is not in map: count, fault, drop, or the word it means"
    )


Word = Annotated[WordVerbs, BeforeValidator(_spelled_out)]


class AmountVerbs(TextVerbs):
    """A number: where it comes from and what becomes of it, in this order."""

    buy: Names = Field(default=(), description="the column of a buy, where sells have another")
    sell: Names = Field(default=(), description="the column of a sell")
    sum: Names = Field(default=(), description="columns to be added, empty ones as 0")
    change: str | None = Field(
        default=None,
        description="of a price, where rows are states: the path of the money, which has changed since the row before",
    )
    over: Literal["quantity"] | None = Field(default=None, description="divided by the quantity of the fill")
    scale: Factor | None = Field(default=None, description="multiplied by this number")
    times: _FactorOrColumn | None = Field(default=None, description="multiplied by a number or a column")
    divide: _FactorOrColumn | None = Field(default=None, description="divided by a number or a column")
    abs: bool = Field(default=False, description="without its sign")
    sign: Literal["+", "-"] = Field(default="+", description="- turns it round")

    @model_validator(mode="after")
    def _is_a_price(self) -> AmountVerbs:
        if (self.change is None) != (self.over is None):
            raise ValueError(
                'change and over = "quantity" go together: what the money changed by for one unit'
            )
        return self


Amount = Annotated[AmountVerbs, BeforeValidator(_spelled_out)]


class QuantityVerbs(AmountVerbs):
    """A quantity, of which some venues count contracts."""

    notional: str | None = Field(
        default=None, description="the column that holds contracts x price x size: gives the size"
    )
    result: str | None = Field(
        default=None, description="of a round trip: the column of its result, which gives the quantity"
    )
    contracts: dict[str, Factor] = Field(
        default_factory=dict,
        description="instrument -> what one contract of it holds; a row of another one is a fault",
    )


Quantity = Annotated[QuantityVerbs, BeforeValidator(_spelled_out)]


class OpeningVerbs(AmountVerbs):
    """What becomes of a fill that closes what nobody saw opened: a word, or what one unit of that had cost."""

    policy: Literal["cost_basis", "fault", "ignore"] = Field(
        default="cost_basis", description="fault or ignore"
    )

    result: str | None = Field(
        default=None,
        description="the column of the fill's result: the cost is its price less result / quantity",
    )


Opening = Annotated[OpeningVerbs, BeforeValidator(_policy)]


class FeeVerbs(AmountVerbs):
    """A fee: what was paid is above 0."""

    paid: Literal["+", "-"] = Field(default="+", description="the sign that the file gives to what was paid")
    asset: Text | None = Field(default=None, description="what it is paid in")
    asset_default: str = Field(default="quote", description="where that is empty: quote, base, or a name")


Fee = Annotated[FeeVerbs, BeforeValidator(_spelled_out)]


class StatedVerbs(AmountVerbs):
    """A figure the source computed itself."""

    net_of: Annotated[
        tuple[Literal["fee", "fees", "funding"], ...], Field(strict=False), BeforeValidator(listed)
    ] = Field(default=(), description="what a result is less already")
    asset: Text | None = Field(default=None, description="of a balance or holding: of what")
    tolerance: Factor = Field(default=Decimal("0.01"), gt=0, description="what its rounding explains")


Stated = Annotated[StatedVerbs, BeforeValidator(_spelled_out)]
