"""The context registry: which fields describe a situation, and how alike two situations are.

Likeness is symmetric, nothing matches nothing, and what a memory does not say counts against it.
Source: docs/memory.md, Formulas: Scores.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from memory.errors import RefusedError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Kind = Literal["category", "ratio", "absolute"]
Context = Mapping[str, Any]

LARGEST: Final = 1e100
"""No number told to the memory may be larger in size: squares and sums of what it holds stay finite."""
NARROWEST: Final = 1e-9
"""The least bandwidth, for the same reason."""
MISSING_CODE: Final = 0
"""The code of a category that is not stated."""
MISSING: Final = math.inf
"""The encoding of a number that is not stated: infinitely far from every stated one, so its kernel is 0."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a situation.

    `category` matches or does not; `ratio` is a positive scale compared as exp(-.5 (ln(a/b)/ln(1+bandwidth))^2);
    `absolute` is compared as exp(-.5 ((a-b)/bandwidth)^2). A weight of 0 keeps the field out of the similarity.
    """

    name: str
    kind: Kind
    weight: float
    bandwidth: float = 0.0
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise RefusedError("a context field needs a name")
        if self.kind not in ("category", "ratio", "absolute"):
            raise RefusedError(f"context field {self.name}: kind is category, ratio or absolute")
        if not 0 <= self.weight <= LARGEST:
            raise RefusedError(f"context field {self.name}: the weight must be a number from 0")
        if self.kind != "category" and not NARROWEST <= self.bandwidth <= LARGEST:
            raise RefusedError(
                f"context field {self.name}: the bandwidth must be a number from {NARROWEST:g}"
            )

    @property
    def scale(self) -> float:
        """The kernel's standard deviation in encoded units."""
        return math.log1p(self.bandwidth) if self.kind == "ratio" else self.bandwidth


@dataclass(frozen=True, slots=True)
class Registry:
    """The one table of fields that store, query and similarity share."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise RefusedError(f"context fields named twice: {', '.join(twice)}")

    def get(self, name: str) -> Field | None:
        """The field of that name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    def extended(self, fields: Iterable[Field]) -> Registry:
        """A registry with these fields in place of the ones of the same name, new ones at the end."""
        table = {field.name: field for field in self.fields}
        table.update((field.name, field) for field in fields)
        return Registry(tuple(table.values()))

    @property
    def layout(self) -> str:
        """A name for how episodes are laid out in columns: it follows names and kinds, not weights."""
        text = "\n".join(f"{field.kind}\t{field.name}" for field in self.fields)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


DEFAULT: Final = Registry(
    (
        Field("regime", "category", 0.25),
        Field("volatility_regime", "category", 0.15),
        Field("session", "category", 0.10),
        Field("atr_d1", "ratio", 0.15, 0.3, "price"),
        Field("atr_h1", "ratio", 0.10, 0.3, "price"),
        Field("price", "ratio", 0.10, 0.2, "price"),
        Field("spread_as_atr_pct", "ratio", 0.05, 0.5, "share of ATR"),
        # The agent's own state, not the market's: it would count drawdown twice, so it weighs nothing unless asked.
        Field("drawdown_pct", "absolute", 0.0, 0.05, "share of peak equity"),
    )
)
"""The built-in fields; weights and bandwidths as in docs/memory.md, Formulas: Scores."""


@lru_cache(maxsize=8192)
def code(text: str) -> int:
    """A 64-bit code of a category's text, never `MISSING_CODE`; equal texts have equal codes."""
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little", signed=True) or 1


def encoded(field: Field, value: object) -> float | int:
    """The number a column holds for this value; raises `RefusedError` when the value cannot be of this field's kind.

    Categories become codes, ratios natural logarithms (0 becomes -inf), absolutes themselves; None is missing.
    """
    if field.kind == "category":
        return MISSING_CODE if value is None else code(_category(field, value))
    if value is None:
        return MISSING
    number = _number(field, value)
    if field.kind == "absolute":
        return number
    if number < 0:
        raise RefusedError(f"context.{field.name}: must not be negative")
    return math.log(number) if number > 0 else -math.inf


def _category(field: Field, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise RefusedError(f"context.{field.name}: must be text")


def _number(field: Field, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedError(f"context.{field.name}: must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= LARGEST:
        raise RefusedError(f"context.{field.name}: must be finite and at most {LARGEST:g} in size")
    return number


def checked(registry: Registry, context: Context) -> None:
    """Raise `RefusedError` unless every registered field of the context has a value of its kind."""
    for field in registry.fields:
        if field.name in context:
            encoded(field, context[field.name])


def kernel(field: Field, column: npt.NDArray[Any], value: float) -> Floats:
    """Likeness in [0, 1] of each encoded value of a column to one encoded value that is stated."""
    if field.kind == "category":
        return np.asarray(column == value, dtype=np.float64)
    if math.isinf(value):  # a stated zero on a ratio scale is like a zero and unlike all else
        return np.asarray(column == value, dtype=np.float64)
    distance = column - value
    distance *= 1.0 / field.scale
    distance *= distance
    distance *= -0.5
    return np.exp(distance, out=distance)


def stated_fields(registry: Registry, context: Context) -> list[tuple[int, Field, float]]:
    """What a query states: (position in the registry, field, encoded value) of each field that weighs something."""
    stated = []
    for position, field in enumerate(registry.fields):
        if field.weight > 0 and context.get(field.name) is not None:
            stated.append((position, field, encoded(field, context[field.name])))
    return stated


def similarity(registry: Registry, context: Context, columns: Sequence[npt.NDArray[Any]], n: int) -> Floats:
    """Sim of n memories to a query context: float64 of shape (n,) in [0, 1].

    `columns` are the encoded memories in the registry's order. The mean likeness over shared fields times coverage
    (shared weight / weight the query knows) is the matched weight over the weight the query knows; a query that
    knows nothing gives 0. Symmetric where both sides know the same fields; deleting a field from a memory never
    raises it. Source: docs/memory.md, Formulas: Scores.
    """
    total = np.zeros(n, dtype=np.float64)
    weight = 0.0
    for position, field, value in stated_fields(registry, context):
        likeness = kernel(field, columns[position], value)
        likeness *= field.weight
        total += likeness
        weight += field.weight  # added up in the same order as the likenesses, so that identity is exactly 1
    if weight > 0:
        total /= weight
    return total


def encode(registry: Registry, contexts: Sequence[Context]) -> list[npt.NDArray[Any]]:
    """The columns of many contexts in the registry's order; a value of the wrong kind counts as missing."""
    columns: list[npt.NDArray[Any]] = []
    for field in registry.fields:
        dtype = np.int64 if field.kind == "category" else np.float64
        columns.append(
            np.array([lenient(field, context.get(field.name)) for context in contexts], dtype=dtype)
        )
    return columns


def lenient(field: Field, value: object) -> float | int:
    """The encoding of a stored value; what a changed registry can no longer read counts as missing."""
    try:
        return encoded(field, value)
    except RefusedError:
        return MISSING_CODE if field.kind == "category" else MISSING


def likeness(field: Field, first: object, second: object) -> float:
    """Likeness in [0, 1] of two values of one field; 0 when either is not stated."""
    if first is None or second is None:
        return 0.0
    first_code, second_code = lenient(field, first), lenient(field, second)
    if field.kind == "category" or math.isinf(first_code) or math.isinf(second_code):
        return float(first_code == second_code)
    return math.exp(-0.5 * ((first_code - second_code) / field.scale) ** 2)


def alike(registry: Registry, left: Context, right: Context) -> float:
    """Sim of one memory's context (`right`) to one query context (`left`), in [0, 1]."""
    return float(similarity(registry, left, encode(registry, [right]), 1)[0])
