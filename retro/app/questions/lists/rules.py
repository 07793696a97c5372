"""The rules of an audit, narrowed and ordered as other lists are: they are part of a document, and no rows of a table."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from retro.store.conditions import WORD, ascii_lower

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from retro.report import HeuristicReport
    from retro.store.conditions import ColumnCondition, Relation, Selection

__all__ = ["rule_places"]

_WORDS: Final = ("rule", "text")
_COMPARED: Final[Mapping[Relation, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_COLUMNS: Final[Mapping[str, Callable[[HeuristicReport], str | float | None]]] = {
    "rule": lambda row: row.heuristic_id,
    "text": lambda row: row.heuristic_text,
    "role": lambda row: row.role,
    "verdict": lambda row: row.recommendation.kind,
    "evidence": lambda row: row.evidence,
    "n": lambda row: row.evaluated_count,
    "cited": lambda row: row.citation_count,
    "avg": lambda row: row.avg_pnl_per_citation,
    "sum": lambda row: row.associated_pnl,
    "won": lambda row: row.win_rate,
    "odds": lambda row: row.e,
}


def rule_places(rows: Sequence[HeuristicReport], selection: Selection) -> list[int]:
    """The places of the rows that meet every condition, in the selection's order; `filters.RULES` names the columns.

    What has no value meets no condition, and is left out of a list that is ordered by it, as in a table.
    """
    places = [
        place
        for place, row in enumerate(rows)
        if all(_meets(row, condition) != condition.negated for condition in selection.where)
    ]
    if selection.sort is None:
        return places
    column, descending = _COLUMNS[selection.sort.column], selection.sort.descending
    ordered = [(number, place) for place in places if isinstance(number := column(rows[place]), int | float)]
    return [place for _, place in sorted(ordered, key=lambda pair: pair[0], reverse=descending)]


def _meets(row: HeuristicReport, condition: ColumnCondition) -> bool:
    wanted = condition.value
    if condition.column == WORD:
        texts = [_COLUMNS[name](row) for name in _WORDS]
        return any(ascii_lower(str(wanted)) in ascii_lower(text) for text in texts if isinstance(text, str))
    value = _COLUMNS[condition.column](row)
    if isinstance(value, str):
        return ascii_lower(value) == ascii_lower(str(wanted))
    return value is not None and _COMPARED[condition.relation](value, float(wanted))
