"""Machine-checkable conditions on a situation: {"all" | "any": [{"field", "op", "value"} or another of these]}.

A field that is not stated is not met, and counted: whoever asks can tell "no" from "cannot say".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.errors import RefusedError
from memory.situation.context import LARGEST

ORDERED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS: Final = ("==", "!=", *ORDERED, "in")
_DEEPEST: Final = 8
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a field with a value (`in`: with any of several)."""

    field: str
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class Predicate:
    """Conditions and nested predicates, all or any of which must hold."""

    every: bool
    parts: tuple[Condition | Predicate, ...]


@dataclass(frozen=True, slots=True)
class PredicateResult:
    """Whether a predicate holds, the share of its parts that do, and how many could not be evaluated."""

    met: bool
    share: float
    unevaluable: int


def predicate(raw: object, depth: int = 1) -> Predicate:
    """Read a predicate; raises `RefusedError` saying what is wrong with it."""
    if depth > _DEEPEST:
        raise RefusedError(f"a predicate may be nested {_DEEPEST} deep")
    if not isinstance(raw, Mapping) or len(raw) != 1 or next(iter(raw)) not in ("all", "any"):
        raise RefusedError('a predicate is {"all": [...]} or {"any": [...]}')
    kind, parts = next(iter(raw.items()))
    if not isinstance(parts, list | tuple) or not 0 < len(parts) <= _MOST:
        raise RefusedError(f'"{kind}" must list 1 to {_MOST} conditions')
    return Predicate(kind == "all", tuple(_part(part, depth) for part in parts))


def _part(raw: object, depth: int) -> Condition | Predicate:
    if not isinstance(raw, Mapping):
        raise RefusedError("a condition is an object with field, op and value")
    if "field" not in raw:
        return predicate(raw, depth + 1)
    if set(raw) != {"field", "op", "value"}:
        raise RefusedError("a condition has exactly field, op and value")
    name, op, value = raw["field"], raw["op"], raw["value"]
    if not isinstance(name, str) or not name:
        raise RefusedError("a condition's field must be text")
    if op not in OPERATORS:
        raise RefusedError(f"{name}: op must be one of {' '.join(OPERATORS)}")
    if op == "in":
        if not isinstance(value, list | tuple) or not value:
            raise RefusedError(f"{name}: `in` takes a list")
        return Condition(name, op, tuple(_scalar(name, item) for item in value))
    if op in ORDERED and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise RefusedError(f"{name}: {op} takes a number")
    return Condition(name, op, _scalar(name, value))


def _scalar(name: str, value: object) -> Any:
    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise RefusedError(f"{name}: the value must be finite")
    if not isinstance(value, str | int | float):
        raise RefusedError(f"{name}: the value must be text, a number or true or false")
    return value


def predicate_document(predicate: Predicate) -> dict[str, Any]:
    """The predicate as JSON-ready data: what `predicate` reads."""
    parts = [
        {"field": part.field, "op": part.op, "value": _listed(part.value)}
        if isinstance(part, Condition)
        else predicate_document(part)
        for part in predicate.parts
    ]
    return {"all" if predicate.every else "any": parts}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def fields_of(predicate: Predicate) -> set[str]:
    """Every field the predicate looks at."""
    names: set[str] = set()
    for part in predicate.parts:
        names |= {part.field} if isinstance(part, Condition) else fields_of(part)
    return names


def conditions_of(predicate: Predicate) -> list[Condition]:
    """Every condition of the predicate, in order."""
    flat: list[Condition] = []
    for part in predicate.parts:
        flat.extend([part] if isinstance(part, Condition) else conditions_of(part))
    return flat


def evaluate(predicate: Predicate, context: Mapping[str, Any]) -> PredicateResult:
    """The predicate on one situation. `share` is the mean over the parts of `all`, the best part of `any`."""
    verdicts = [
        _holds(part, context) if isinstance(part, Condition) else evaluate(part, context)
        for part in predicate.parts
    ]
    met = [verdict.met for verdict in verdicts]
    shares = [verdict.share for verdict in verdicts]
    return PredicateResult(
        met=all(met) if predicate.every else any(met),
        share=sum(shares) / len(shares) if predicate.every else max(shares),
        unevaluable=sum(verdict.unevaluable for verdict in verdicts),
    )


def _holds(condition: Condition, context: Mapping[str, Any]) -> PredicateResult:
    value = context.get(condition.field)
    if value is None or (condition.op in ORDERED and not _is_number(value)):
        return PredicateResult(met=False, share=0.0, unevaluable=1)
    if condition.op in ORDERED:
        met = ORDERED[condition.op](value, condition.value)
    elif condition.op == "in":
        met = any(_equal(value, item) for item in condition.value)
    else:
        met = _equal(value, condition.value) == (condition.op == "==")
    return PredicateResult(met=met, share=float(met), unevaluable=0)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(value: Any, expected: Any) -> bool:
    return bool(value == expected) and isinstance(value, bool) == isinstance(expected, bool)
