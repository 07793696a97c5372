"""Which episodes are evidence: vectorised over the columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from memory.situation.context import MISSING, MISSING_CODE, Codes, Floats, Registry, code, lenient
from memory.situation.predicate import ORDERED, Condition, Predicate

if TYPE_CHECKING:
    from memory.episodic.columns import EpisodeColumns

Mask = npt.NDArray[np.bool_]
Claim = Literal["wins", "loses"]

ACTION: Final = ("strategy", "symbol", "direction")
"""What a predicate may ask about beside the registered context fields."""


def mask(predicate: Predicate, columns: EpisodeColumns, n: int, registry: Registry) -> Mask:
    """Which of the first n episodes meet a predicate; what they do not state, and unknown fields, are not met."""
    parts = [
        _compared(part, columns, n, registry)
        if isinstance(part, Condition)
        else mask(part, columns, n, registry)
        for part in predicate.parts
    ]
    together = np.logical_and if predicate.every else np.logical_or
    return np.asarray(together.reduce(parts), dtype=np.bool_)


def _compared(condition: Condition, columns: EpisodeColumns, n: int, registry: Registry) -> Mask:
    if condition.field in ACTION:
        column = getattr(columns, condition.field)[:n]
        return _of_category(condition, column, lambda value: code(str(value)))
    for position, item in enumerate(registry.fields):
        if item.name != condition.field:
            continue
        column = columns.context[position][:n]
        if item.kind == "category":
            return _of_category(condition, column, lambda value, item=item: int(lenient(item, value)))
        stated_here = column != MISSING
        values = condition.value if condition.op == "in" else (condition.value,)
        numbers = [lenient(item, value) for value in values]
        if condition.op in ORDERED:
            below = -math.inf if item.kind == "ratio" and values[0] < 0 else numbers[0]
            return np.asarray(ORDERED[condition.op](column, below) & stated_here, dtype=np.bool_)
        equal = np.isin(column, numbers)
        return np.asarray((~equal if condition.op == "!=" else equal) & stated_here, dtype=np.bool_)
    return np.zeros(n, dtype=np.bool_)


def _of_category(condition: Condition, column: Codes, coded: Any) -> Mask:
    if condition.op in ORDERED:
        return np.zeros(len(column), dtype=np.bool_)
    values = condition.value if condition.op == "in" else (condition.value,)
    equal = np.isin(column, [coded(value) for value in values])
    meets = ~equal if condition.op == "!=" else equal
    return np.asarray(meets & (column != MISSING_CODE), dtype=np.bool_)


def decided(results: Floats) -> Mask:
    """Won or lost: a scratch is neither, and what has no outcome says nothing."""
    return np.asarray(~np.isnan(results) & (results != 0), dtype=np.bool_)


def confirmed(results: Floats, claim: Claim) -> Mask:
    """Which outcomes bear the claim out."""
    return np.asarray(results > 0 if claim == "wins" else results < 0, dtype=np.bool_)


def classes(columns: EpisodeColumns, name: str, values: Codes) -> tuple[npt.NDArray[np.uint32], int]:
    """(small consecutive numbers in place of a column's codes, how many there are), kept with the columns."""
    if ("classes", name) not in columns.memo:
        unique, inverse = np.unique(values, return_inverse=True)
        columns.memo["classes", name] = (inverse.astype(np.uint32), len(unique))
    numbering: tuple[npt.NDArray[np.uint32], int] = columns.memo["classes", name]
    return numbering
