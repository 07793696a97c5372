"""Where a figure of a stored review comes from: what it means, what stands beside it, and the lines of the journal it rests on.

Nothing is computed: the figure is the one that was stored.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from retro.app.questions.reviews import stored
from retro.errors import UnknownError, UsageError
from retro.periods import FOREVER, format_instant, parse_instant
from retro.report import PositionRetrospective
from retro.report.definitions import definition_of
from retro.report.explanation import Explanation, FigureValue, JournalLine
from retro.store.facts.lines import LineCursor, LineSelection, count_lines, lines_after

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.report.document import Document
    from retro.store.database import Store
    from retro.store.facts.lines import StoredLine

__all__ = ["explain", "figures_of"]

_IDS: Final = ("position_id", "heuristic_id", "id", "key", "date", "category", "offset", "item")
"""Fields that name a row of a list in a path."""
_LINES: Final = 100
_MONEY: Final = ("cost", "equity", "exit", "external", "fill", "flow", "position")
_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "pnl.gas_costs": ("cost",),
    "pnl.inference_costs": ("cost",),
    "pnl.data_costs": ("cost",),
    "costs": ("cost", "fill"),
    "prediction_accuracy": ("prediction", "resolution"),
    "evaluators": ("prediction", "resolution", "decision"),
    "actions_taken": ("decision",),
    "heuristic_performance": ("decision", "fill", "position"),
    "equity": (),
    "risk": (),
}
"""The types of events that a figure is made of, by the start of its name; () and what is not named: every type."""


def explain(
    store: Store, review: str, figure: str, *, after: str | None = None, limit: int = _LINES
) -> Explanation:
    """The figure of a stored review (`ID@2`: of a revision) by its path, such as pnl.total or positions.p-1.regret."""
    text = stored(store, review)
    holder, name, trail = _place(text.document, figure)
    value = getattr(holder, name)
    if isinstance(value, list | tuple) or _is_document(value):
        raise UsageError(f"{figure} is not one figure but several; name one: {_examples(value, figure)}")
    position = next((part.position_id for part in trail if isinstance(part, PositionRetrospective)), None)
    start, end = _window(text.document, position)
    types = next((kinds for prefix, kinds in _TYPES.items() if figure.startswith(prefix)), ())
    if position is not None:
        types = ()
    if figure.startswith("pnl.") and not types:
        types = _MONEY
    selection = LineSelection(text.review.agent, start, end, position, types)
    with store.read() as conn:
        count = count_lines(conn, selection)
        rows = lines_after(conn, selection, _cursor(after), limit + 1)
    shown = rows[:limit]
    return Explanation(
        review=text.review.id,
        figure=_value(holder, name, figure),
        definition=definition_of(type(holder).__name__, name),
        beside=tuple(_beside(holder, name, figure)),
        position=position,
        start=None if position is not None else format_instant(start),
        end=None if position is not None else format_instant(end),
        types=types,
        count=count,
        lines=tuple(_line(row) for row in shown),
        next=_cursor_text(shown[-1]) if len(rows) > limit else None,
    )


def figures_of(document: Document) -> list[FigureValue]:
    """Every figure of a document by its path: numbers, and what is absent with its reason."""
    return list(_leaves(document, ""))


def _leaves(holder: Any, prefix: str) -> Iterator[FigureValue]:
    for name in _fields(holder):
        value = getattr(holder, name)
        path = f"{prefix}{name}"
        if _is_document(value):
            yield from _leaves(value, f"{path}.")
        elif (
            isinstance(value, list | tuple)
            and value
            and _is_document(value[0])
            and name not in {"path", "equity"}
        ):
            for number, item in enumerate(value):
                yield from _leaves(item, f"{path}.{_item_name(item, number)}.")
        elif (isinstance(value, int | float) and not isinstance(value, bool)) or _reason(holder, name):
            yield _value(holder, name, path)


def _place(document: Document, figure: str) -> tuple[Any, str, list[Any]]:
    """Who holds the figure, under which field, and everything on the way there."""
    holder: Any = document
    rest, trail = figure, [document]
    while True:
        name, _, following = rest.partition(".")
        if name not in _fields(holder):
            raise UnknownError(f"{figure}: there is no {name!r}; it has {', '.join(_fields(holder))}")
        value = getattr(holder, name)
        if not following:
            return holder, name, trail
        if isinstance(value, list | tuple):
            item, following = _item(value, following, figure)
            value = item
            trail.append(item)
            if not following:
                raise UsageError(
                    f"{figure} is not one figure but several; name one: {_examples(item, figure)}"
                )
        if not _is_document(value):
            raise UnknownError(f"{figure}: {name} has no parts")
        holder, rest = value, following
        trail.append(holder)


def _item(items: list[Any] | tuple[Any, ...], rest: str, figure: str) -> tuple[Any, str]:
    """The row of a list that a path names, and what of the path follows: names may hold dots themselves."""
    for number, item in enumerate(items):
        name = _item_name(item, number)
        if rest == name or rest.startswith(f"{name}."):
            return item, rest[len(name) + 1 :]
    names = [_item_name(item, number) for number, item in enumerate(items)]
    raise UnknownError(f"{figure}: none of that name; there are {', '.join(names[:12]) or 'none'}")


def _item_name(item: Any, number: int) -> str:
    names = [str(getattr(item, key)) for key in _IDS if getattr(item, key, None) is not None]
    role = getattr(item, "role", None)
    return f"{names[0]}.{role}" if names and role else names[0] if names else str(number)


def _fields(holder: Any) -> tuple[str, ...]:
    names = (
        type(holder).model_fields if isinstance(holder, BaseModel) else (part.name for part in fields(holder))
    )
    return tuple(name for name in names if name != "reasons")


def _is_document(value: Any) -> bool:
    return isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type))


def _examples(value: Any, figure: str) -> str:
    if _is_document(value):
        return ", ".join(f"{figure}.{name}" for name in _fields(value)[:6])
    names = [_item_name(item, number) for number, item in enumerate(value)]
    return ", ".join(f"{figure}.{name}" for name in names[:6]) or "it is empty"


def _reason(holder: Any, name: str) -> str:
    return str((getattr(holder, "reasons", None) or {}).get(name, ""))


def _value(holder: Any, name: str, path: str) -> FigureValue:
    value = getattr(holder, name)
    plain = value if isinstance(value, int | float | str | bool) or value is None else json.dumps(str(value))
    return FigureValue(path, plain, _reason(holder, name) if value is None else "")


def _beside(holder: Any, name: str, figure: str) -> Iterator[FigureValue]:
    """The figures of the same holder: a total stands beside the lines that add up to it."""
    prefix = figure.removesuffix(name)
    for other in _fields(holder):
        value = getattr(holder, other)
        if other != name and isinstance(value, int | float) and not isinstance(value, bool):
            yield _value(holder, other, f"{prefix}{other}")


def _window(document: Document, position: str | None) -> tuple[int, int]:
    """From when to when the figure looks: the period; of a position everything that names it counts, whenever told."""
    if position is not None or isinstance(document, PositionRetrospective):
        return -FOREVER, FOREVER
    return parse_instant(document.period_start), parse_instant(document.period_end)


def _line(row: StoredLine) -> JournalLine:
    return JournalLine(format_instant(row.at), row.type, row.id, row.position, row.body)


def _cursor(after: str | None) -> LineCursor | None:
    if after is None:
        return None
    at, _, rest = after.partition("/")
    kind, _, name = rest.partition("/")
    try:
        return LineCursor(parse_instant(at), kind, name)
    except ValueError as error:
        raise UsageError(
            f"after: {after[:60]!r} is none of its lines; the line under a list names the next"
        ) from error


def _cursor_text(row: StoredLine) -> str:
    return f"{format_instant(row.at)}/{row.type}/{row.id}"
