"""What a screen is seen through: the filter and order of a list, and the instant as of which it is asked."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from retro.app.questions.bounds import ListBounds
from retro.app.questions.lists.filters import selection_of, words_in
from retro.errors import FilterError
from retro.periods import DAY, day_of, format_instant, midnight, parse_instant, zone
from retro.present.links import address_of, segment
from retro.present.references import ScreenReference
from retro.present.screen import FilterForm, InstantForm
from retro.surface.screens.routes import Request

if TYPE_CHECKING:
    from retro.app.questions.lists.filters import FilteredList
    from retro.store.conditions import Selection
    from retro.surface.screens.house import House

__all__ = [
    "NEWEST",
    "ROWS",
    "as_of_request",
    "bounds_of_request",
    "command_of_list",
    "day_beside",
    "filter_form",
    "instant_form",
    "is_from_the_end",
    "limit_of",
    "now_of_request",
    "paging",
    "selection_of_request",
]

ROWS: Final = 100
"""Rows of a list on a page."""

NEWEST: Final = ListBounds(newest=True)

_AS_OF: Final = "as-of"
_EPOCH: Final = date(1970, 1, 1).toordinal()
_LAST_DAY: Final = 200_000
_NOW_ONLY: Final = "This screen knows only now."
_LIMITS: Final = {
    **dict.fromkeys(
        ("fleet", "ripening"),
        "Only the clock is set back: what was told and made since then counts, too.",
    ),
    "today": "Lives that ended by then; what was told and made since then counts, too.",
    "reviews": "What was made by then; what was owed is not kept.",
    "r": "The newest revision that was made by then.",
    "diff": "The newest revisions that were made by then.",
    "p": "The newest revision that was made by then; without one, what the book knows now of that time.",
    "positions": "What ended later counts as open. Figures are the book's of now: facts that came later have moved them.",
    "a": "Lists are of then; its counts are those of now.",
    "rules": "The newest audit that was made by then.",
    "proposals": "Without those that have changed since: how they stood then is not kept.",
    "memory": "By what was known then.",
}
"""What a screen can and cannot say of an earlier instant."""


def as_of_request(house: House, request: Request) -> int | None:
    """The instant that `as-of` names: RFC 3339, a date (its midnight in the owner's zone) or a day's number since 1970."""
    text = request.query.get(_AS_OF, "").strip()
    if not text:
        return None
    tz = zone(house.config.owner.time_zone)
    try:
        if text.isascii() and text.isdigit() and int(text[:9]) < _LAST_DAY:
            return midnight(date.fromordinal(_EPOCH + int(text)), tz)
        if len(text) == len("2026-03-05"):
            return midnight(date.fromisoformat(text), tz)
        return parse_instant(text)
    except (ValueError, OverflowError):
        raise FilterError("as-of: it takes a time such as 2026-03-05 or 2026-03-05T12:00:00Z") from None


def day_beside(house: House, instant: str, step: int) -> str | None:
    """The day so many after (before) the one that is looked at, in the owner's zone; None of now and what lies after it.

    `FilterError` of an instant that is none.
    """
    at = as_of_request(house, Request("", query={_AS_OF: instant}))
    tz = zone(house.config.owner.time_zone)
    today = day_of(house.clock(), tz)
    day = today + timedelta(days=1) if at is None else day_of(at, tz)
    following = day + timedelta(days=step)
    return None if following > today else following.isoformat()


def now_of_request(house: House, request: Request) -> int:
    """The clock, set back for who looks back."""
    as_of = as_of_request(house, request)
    return house.clock() if as_of is None else as_of


def is_from_the_end(request: Request) -> bool:
    """Whether a part of a list is asked for from its end: the rows before the one that `before` names, or the last."""
    return "before" in request.query


def bounds_of_request(request: Request) -> ListBounds:
    """The part of a list that is asked for, the newest first; what is asked for from the end comes the last row first."""
    if is_from_the_end(request):
        return ListBounds(ROWS, request.query["before"] or None)
    return ListBounds(ROWS, request.query.get("after"), newest=True)


def selection_of_request(house: House, request: Request, rows: FilteredList) -> Selection:
    """The rows of a list that `q` asks for, in order of `sort`, as of `as-of`."""
    text, sort = request.query.get("q", ""), request.query.get("sort", "")
    tz = zone(house.config.owner.time_zone)
    selection = selection_of(text, rows, tz, sort=sort, as_of=as_of_request(house, request))
    if selection.sort is None or not is_from_the_end(request):
        return selection
    return replace(selection, sort=replace(selection.sort, descending=not selection.sort.descending))


def paging(screen: str, request: Request, following: str | None, total: int) -> dict[str, Any]:
    """Where a list of `total` rows goes on, where it begins and ends; of a part asked for from the end what is above it."""
    others = tuple(
        (key, value) for key, value in sorted(request.query.items()) if key not in {"after", "before"}
    )

    def part(*cursor: tuple[str, str]) -> str:
        return address_of(ScreenReference(screen, (*others, *cursor)))

    place = "above" if is_from_the_end(request) else "later"
    return {
        place: "" if following is None else part(("before" if place == "above" else "after", following)),
        "earlier": part() if {"after", "before"} & request.query.keys() else "",
        "last": part(("before", "")),
        "total": total,
    }


def filter_form(request: Request, rows: FilteredList) -> FilterForm:
    """The form that narrows a list, as it was filled in."""
    sorts = ("", *(f"{minus}{name}" for name in rows.sorts for minus in ("", "-")))
    others = _others(request, {"q", "sort", "after", "before"})
    text, sort = request.query.get("q", ""), request.query.get("sort", "")
    typed = words_in(text)
    words = tuple(
        (word, _address_of_words(request, [*typed[:place], *typed[place + 1 :]]))
        for place, word in enumerate(typed)
    )
    return FilterForm(text, sort, sorts, others, words, rows.example)


def _address_of_words(request: Request, words: list[str]) -> str:
    """The same list from its first row on, seen through these words."""
    path = "/" + "/".join(map(segment, (request.screen, *request.names)))
    pairs = _others(request, {"q", "after", "before"})
    if words:
        pairs = (*pairs, ("q", " ".join(words)))
    return f"{path}?{urlencode(pairs)}" if pairs else path


def command_of_list(request: Request, *words: str) -> str:
    """The command that prints a list as it is asked for, narrowed and ordered; `--newest` is the order without another."""
    if request.query.get("sort", "").strip():
        words = tuple(word for word in words if word != "--newest")
    asked = [
        word
        for key, option in (("q", "--where"), ("sort", "--sort"))
        if (value := request.query.get(key, "").strip())
        for word in (option, value)
    ]
    return shlex.join(["retro", *words, *asked])


def instant_form(house: House, request: Request) -> InstantForm:
    """The form that sets the instant: days from the first that anybody tells of to today."""
    today = house.clock() // DAY
    first = min(house.first_day(), today)
    try:
        as_of = as_of_request(house, request)
    except FilterError:
        as_of = None
    sentence = limit_of(request.screen)
    others = _others(request, {_AS_OF, "after", "before"})
    if as_of is None:
        return InstantForm(first, today, today, "", sentence, others)
    day = min(max(as_of // DAY, first), today)
    return InstantForm(first, today, day, format_instant(as_of), sentence, others)


def limit_of(screen: str) -> str:
    """What a screen cannot say of an earlier instant, as a sentence."""
    return _LIMITS.get(screen, _NOW_ONLY)


def _others(request: Request, left_out: set[str]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in request.pairs if pair[0] not in left_out)
