"""What somebody types to narrow a list: `eth pnl<0 rule:H-7 held>1d opened:2026-W10 -open`. Parsed once, for every surface.

A word stands for itself: it is looked for in the names of a row. `column:value` and `column=value` ask for a value,
`<`, `<=`, `>`, `>=` for a number, a time or a length; `-` before it asks for the opposite; quotation marks hold blanks.
All of it has to be so at once.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

from retro.errors import FilterError
from retro.periods import midnight, parse_duration, parse_instant, zone
from retro.store.conditions import WORD, ColumnCondition, Relation, Selection, SortKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from zoneinfo import ZoneInfo

    from retro.config import Config

__all__ = [
    "POSITIONS",
    "REVIEWS",
    "RULES",
    "ColumnKind",
    "FilteredList",
    "owner_selection",
    "selection_of",
    "words_in",
]

ColumnKind = Literal["number", "instant", "duration", "text", "cite", "flag"]


@dataclass(frozen=True, slots=True)
class FilteredList:
    """A list that can be narrowed: the columns a filter may name, its flags, those it is sorted by.

    `choices` are the values there are of a column that has few, `example` is a condition that somebody may type.
    """

    columns: Mapping[str, ColumnKind]
    flags: tuple[str, ...] = ()
    sorts: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    example: str = ""


POSITIONS: Final = FilteredList(
    {
        **dict.fromkeys(("pnl", "inaction", "regret", "mfe", "mae", "r", "notional", "risk"), "number"),
        **dict.fromkeys(("opened", "closed"), "instant"),
        "held": "duration",
        **dict.fromkeys(("position", "instrument", "strategy", "kind", "side", "exit"), "text"),
        **dict.fromkeys(("rule", "tag"), "cite"),
        "flag": "flag",
    },
    flags=("open", "closed", "implausible", "confirmed", "rejected"),
    sorts=("opened", "pnl", "inaction", "regret", "mfe", "mae", "r", "notional", "risk", "held"),
    example="pnl<0 held>1d",
)
REVIEWS: Final = FilteredList(
    {
        **dict.fromkeys(("id", "agent", "kind", "subject", "state", "reason"), "text"),
        **dict.fromkeys(("began", "ended", "made"), "instant"),
        **dict.fromkeys(("revision", "attempts"), "number"),
    },
    example="kind:weekly",
)
RULES: Final = FilteredList(
    {
        **dict.fromkeys(("rule", "text", "role", "verdict", "evidence"), "text"),
        **dict.fromkeys(("n", "cited", "avg", "sum", "won", "odds"), "number"),
    },
    sorts=("n", "cited", "avg", "sum", "won", "odds"),
    choices={
        "role": ("entry", "exit"),
        "verdict": ("keep", "demote", "investigate", "insufficient_data"),
        "evidence": ("none", "weak", "suggestive", "supported"),
    },
    example="verdict:demote",
)

_LONGEST: Final = 1000
_MOST: Final = 20
_NAMED: Final = "[A-Za-z][A-Za-z-]*[<>=:]"
# what begins with a name and a sign is read so or not at all; a possessive `?+` would say it, but loses a letter on Python 3.11.2
_TOKEN: Final = re.compile(
    rf"""(-)?(?:([A-Za-z][A-Za-z-]*)(<=|>=|<(?!=)|>(?!=)|=|:)|(?!{_NAMED}))(?:"([^"]*)"|([^\s"]+))(?=\s|$)""",
    re.ASCII,
)
_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_WEEK: Final = re.compile(r"(\d{4})-W(\d\d)", re.ASCII)
_MONTH: Final = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_YEAR: Final = re.compile(r"(\d{4})", re.ASCII)
_FIRST: Final = 1971
_LAST: Final = 9998


def selection_of(
    text: str, rows: FilteredList, tz: ZoneInfo, *, sort: str = "", as_of: int | None = None
) -> Selection:
    """The rows that a text asks for, days and weeks being those of `tz`; `FilterError` names the word that makes no sense.

    `sort` is a column, its least value first; with `-` before it the greatest.
    """
    if len(text) > _LONGEST or any(ord(sign) < ord(" ") for sign in text):
        raise FilterError(f"filter: at most {_LONGEST:,} signs on one line")
    conditions = tuple(_asked(match, rows, tz) for match in _words(text))
    if len(conditions) > _MOST:
        raise FilterError(f"filter: at most {_MOST} conditions at once")
    return Selection(conditions, _sort_key(sort, rows), as_of)


def owner_selection(config: Config, text: str, rows: FilteredList, sort: str = "") -> Selection:
    """The same with the days and weeks of the owner."""
    return selection_of(text, rows, zone(config.owner.time_zone), sort=sort)


def words_in(text: str) -> tuple[str, ...]:
    """The conditions of a text that can be read, each as it was typed."""
    return tuple(match[0] for match in _words(text))


def _words(text: str) -> Iterator[re.Match[str]]:
    place = 0
    while rest := text[place:].lstrip():
        place = len(text) - len(rest)
        match = _TOKEN.match(text, place)
        if match is None:
            raise FilterError(f"filter: {_shown(rest)}: a quotation mark that is not closed, or no value")
        yield match
        place = match.end()


def _asked(match: re.Match[str], rows: FilteredList, tz: ZoneInfo) -> ColumnCondition:
    """What one word asks for."""
    minus, name, sign, quoted, bare = match.groups()
    value = bare if quoted is None else quoted
    column, negated = (name or "").lower(), minus is not None
    if not name:
        is_flag = quoted is None and value.lower() in rows.flags
        if is_flag:
            return ColumnCondition("flag", "=", value.lower(), negated)
        return ColumnCondition(WORD, "=", value, negated)
    kind = rows.columns.get(column)
    if kind is None:
        names = ", ".join(rows.columns)
        raise FilterError(
            f"filter: there is no column {column!r}; there are {names}; quote it to look for a text"
        )
    try:
        return _condition(column, kind, sign, value, rows, tz, negated=negated)
    except ValueError as error:
        raise FilterError(f"filter: {column}: {error}") from None


def _condition(
    column: str, kind: ColumnKind, sign: str, value: str, rows: FilteredList, tz: ZoneInfo, *, negated: bool
) -> ColumnCondition:
    relation: Relation = "=" if sign == ":" else sign  # type: ignore[assignment]  # the pattern has no other
    if kind in {"text", "cite", "flag"}:
        if relation != "=":
            raise ValueError(f"it is a text, and takes {column}:{_shown(value)}")
        if kind == "flag" and value.lower() not in rows.flags:
            raise ValueError(f"{_shown(value)} is none of {', '.join(rows.flags)}")
        if column in rows.choices and value.lower() not in rows.choices[column]:
            raise ValueError(f"{_shown(value)} is none of {', '.join(rows.choices[column])}")
        value = value.lower() if kind == "flag" else value
        return ColumnCondition("rule" if kind == "cite" else column, relation, value, negated)
    if kind == "instant":
        start, end = _instants(value, tz)
        beginning: Mapping[Relation, ColumnCondition] = {
            "<": ColumnCondition(column, "<", start, negated),
            "<=": ColumnCondition(column, "<", end, negated),
            ">": ColumnCondition(column, ">=", end, negated),
            ">=": ColumnCondition(column, ">=", start, negated),
        }
        return beginning.get(relation, ColumnCondition(column, "within", start, negated, end))
    number = _number(value) if kind == "number" else parse_duration(value)
    return ColumnCondition(column, relation, number, negated)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{_shown(text)} is not a number such as -5 or 12.5")
    return number


def _instants(text: str, tz: ZoneInfo) -> tuple[int, int]:
    """Where a year, month, week, day or instant begins, and where what follows it does."""
    first, last = _days(text)
    if first is not None and last is not None:
        if not (_FIRST <= first.year <= _LAST and last.year <= _LAST + 1):
            raise ValueError(f"{_shown(text)} lies beyond all calendars")
        return midnight(first, tz), midnight(last, tz)
    try:
        at = parse_instant(text)
    except ValueError:
        raise ValueError(
            f"{_shown(text)} is not a time such as 2026-03-05, 2026-W10, 2026-03 or 2026-03-05T12:00:00Z"
        ) from None
    return at, at + 1


def _days(text: str) -> tuple[date | None, date | None]:
    """The first day of what is named, and the day after its last; None where it is no day, week, month or year."""
    try:
        if match := _DAY.fullmatch(text):
            day = date(int(match[1]), int(match[2]), int(match[3]))
            return day, day + timedelta(days=1)
        if match := _WEEK.fullmatch(text):
            day = date.fromisocalendar(int(match[1]), int(match[2]), 1)
            return day, day + timedelta(days=7)
        if match := _MONTH.fullmatch(text):
            day = date(int(match[1]), int(match[2]), 1)
            return day, (day + timedelta(days=31)).replace(day=1)
        if match := _YEAR.fullmatch(text):
            return date(int(match[1]), 1, 1), date(int(match[1]) + 1, 1, 1)
    except (ValueError, OverflowError):
        raise ValueError(f"{_shown(text)} is on no calendar") from None
    return None, None


def _sort_key(text: str, rows: FilteredList) -> SortKey | None:
    name = text.removeprefix("-")
    if not name:
        return None
    if name not in rows.sorts:
        raise FilterError(
            f"sort: {_shown(name)} is none of {', '.join(rows.sorts) or 'this list: it has one order'}"
        )
    return SortKey(name, text.startswith("-"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
