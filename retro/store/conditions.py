"""What a list is narrowed to and ordered by: conditions on named columns, as clauses that both databases read alike.

A condition is a value and never text of a statement. What has no value meets no condition, and its opposite meets the
negated one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sqlalchemy import and_, func, or_

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import ColumnElement, Connection

__all__ = [
    "EVERY_ROW",
    "WORD",
    "ColumnCondition",
    "Relation",
    "Selection",
    "SortKey",
    "ascii_lower",
    "clauses_of",
    "text_within",
]

Relation = Literal["<", "<=", ">", ">=", "=", "within"]
WORD: Final = "word"
"""The column of a condition that is a bare word: it is looked for in every name of a row."""
_LOWER: Final = str.maketrans({chr(letter): chr(letter + 32) for letter in range(ord("A"), ord("Z") + 1)})


@dataclass(frozen=True, slots=True)
class ColumnCondition:
    """`column` stands in this relation to `value`; of a bare word, some name holds it; `negated`: it does not.

    `within`: from `value` on, and before `end`.
    """

    column: str
    relation: Relation
    value: float | str
    negated: bool = False
    end: float = 0.0


@dataclass(frozen=True, slots=True)
class SortKey:
    """In order of this column's values, or the other way round; rows without one are left out."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows that meet every condition, in order of `sort` (None: of time), as they were known at `as_of` (None: now)."""

    where: tuple[ColumnCondition, ...] = ()
    sort: SortKey | None = None
    as_of: int | None = None


EVERY_ROW: Final = Selection()
"""The whole list, in its own order, as it is now."""


def clauses_of(
    conn: Connection,
    where: Iterable[ColumnCondition],
    columns: Mapping[str, ColumnElement[object]],
    words: Iterable[str],
) -> list[ColumnElement[bool]]:
    """A clause a condition, by the expression of each column; a bare word is looked for in the columns of `words`."""
    names = tuple(words)
    clauses = []
    for condition in where:
        if condition.column == WORD:
            clause = or_(*(text_within(conn, columns[name], str(condition.value)) for name in names))
        else:
            clause = _compared(conn, columns[condition.column], condition)
        clauses.append(func.coalesce(clause, False).is_(False) if condition.negated else clause)
    return clauses


def text_within(conn: Connection, column: ColumnElement[object], text: str) -> ColumnElement[bool]:
    """Whether a column holds a text, whatever the case of its ASCII letters."""
    return _folded(conn, column).contains(ascii_lower(text), autoescape=True)


def ascii_lower(text: str) -> str:
    """The text with A to Z in lower case and nothing else changed, as SQLite and PostgreSQL's C locale have it."""
    return text.translate(_LOWER)


def _compared(
    conn: Connection, column: ColumnElement[object], condition: ColumnCondition
) -> ColumnElement[bool]:
    value = condition.value
    if isinstance(value, str):
        return _folded(conn, column) == ascii_lower(value)
    compared: Mapping[Relation, ColumnElement[bool]] = {
        "<": column < value,
        "<=": column <= value,
        ">": column > value,
        ">=": column >= value,
        "=": column == value,
        "within": and_(column >= value, column < condition.end),
    }
    return compared[condition.relation]


def _folded(conn: Connection, column: ColumnElement[object]) -> ColumnElement[str]:
    return func.lower(column.collate("C") if conn.dialect.name == "postgresql" else column)
