"""What a screen answers, whoever shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.present.page.blocks import Page
    from retro.present.screen import FilterForm, QuestionForm, ScreenPlace, ScreenStep

__all__ = ["Answer"]


class Answer(NamedTuple):
    """A screen's page; the JSON its command prints; how one came here; where a long list goes on, or begins.

    `steps` are ways on by one key; `explains` is the review whose figures the page shows. Of a list that is read part by
    part `last` is its last part, `above` what lies before one that was read from the end, `total` how many rows it has.
    """

    page: Page
    document: str
    crumbs: tuple[ScreenPlace, ...] = ()
    command: str = ""
    later: str = ""
    earlier: str = ""
    above: str = ""
    last: str = ""
    total: int = 0
    steps: tuple[ScreenStep, ...] = ()
    filters: FilterForm | None = None
    question: QuestionForm | None = None
    explains: str = ""
    acts: tuple[tuple[str, str, str], ...] = ()
    """What an owner may do here: title, verb and subject of each."""
    rows: Iterable[Mapping[str, Any]] | None = None
    """Every row of a list, read part by part as somebody takes them."""
