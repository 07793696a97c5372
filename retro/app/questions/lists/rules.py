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


def rule_places(rows: Sequence[HeuristicReport], selection: Selection) -> list[int]:
    """The places of the rows that meet every condition, in the selection's order; `filters.RULES` names the columns.

    What has no value meets no condition, and is left out of a list that is ordered by it, as in a table.
    """
    values = [_values(row) for row in rows]
    places = [
        place
        for place, row in enumerate(values)
        if all(_meets(row, condition) != condition.negated for condition in selection.where)
    ]
    if selection.sort is None:
        return places
    name, descending = selection.sort.column, selection.sort.descending
    ordered = [(number, place) for place in places if isinstance(number := values[place][name], int | float)]
    return [place for _, place in sorted(ordered, key=lambda pair: pair[0], reverse=descending)]


def _values(row: HeuristicReport) -> dict[str, str | float | None]:
    return {
        "rule": row.heuristic_id,
        "text": row.heuristic_text,
        "role": row.role,
        "verdict": row.recommendation.kind,
        "evidence": row.evidence,
        "n": row.evaluated_count,
        "cited": row.citation_count,
        "avg": row.avg_pnl_per_citation,
        "sum": row.associated_pnl,
        "won": row.win_rate,
        "odds": row.e,
    }


def _meets(row: Mapping[str, str | float | None], condition: ColumnCondition) -> bool:
    wanted = condition.value
    if condition.column == WORD:
        texts = [row[name] for name in _WORDS]
        return any(ascii_lower(str(wanted)) in ascii_lower(text) for text in texts if isinstance(text, str))
    value = row[condition.column]
    if isinstance(value, str):
        return ascii_lower(value) == ascii_lower(str(wanted))
    return value is not None and _COMPARED[condition.relation](value, float(wanted))
