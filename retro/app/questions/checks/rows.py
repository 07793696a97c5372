"""Our figures beside those that sources state, figure by figure: of one agent or of all, in order of time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from retro.app.questions.bounds import ListBounds, ListPart, part_of
from retro.app.reviews.checks import ComparedCheck, compare
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.store import checks as stored_checks
from retro.store.checks import CheckPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from retro.app.settlement.settings import AgentSettings
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["ChecksQuestion", "agents_with_checks", "checks", "cursor_of", "every_check"]

_CHUNK: Final = 4000
"""Figures compared at once, in a transaction of their own: what has no marks is priced by fills that each of them reads."""


@dataclass(frozen=True, slots=True)
class ChecksQuestion:
    """The figures that sources state of these agents, each counted under its settings.

    `failing`: only those that ours are not within the rounding of.
    """

    agents: Sequence[Agent]
    settings_for: Callable[[Agent], AgentSettings]
    failing: bool = False


def agents_with_checks(store: Store) -> list[str]:
    """The names of the agents of whom a source told figures of its own."""
    with store.read() as conn:
        return stored_checks.agents_with_checks(conn)


def checks(store: Store, question: ChecksQuestion, bounds: ListBounds) -> ListPart[ComparedCheck]:
    """Figures beside ours, agent by agent, each agent's in order of time; the cursor is what `cursor_of` says of one."""
    some = islice(_compared(store, question, bounds, bounds.with_one_more), bounds.with_one_more)
    return part_of(list(some), bounds, cursor_of)


def every_check(store: Store, question: ChecksQuestion, bounds: ListBounds) -> Iterator[ComparedCheck]:
    """The same, all within the bounds, however many."""
    return islice(_compared(store, question, bounds, bounds.limit or _CHUNK), bounds.limit)


def cursor_of(row: ComparedCheck) -> str:
    """Where a figure stands in the list, as text for `after`."""
    check = row.check
    names = (quote(name, safe="") for name in (check.subject, check.fill or ""))
    return "/".join([check.agent, str(check.at), check.what, *names])


def _place_of(cursor: str) -> tuple[str, CheckPlace]:
    agent, *parts = cursor.split("/")
    try:
        at, kind, subject, fill = parts
        return agent, CheckPlace(int(at), kind, unquote(subject), unquote(fill))
    except ValueError:
        raise UsageError(
            f"after: {cursor!r} is no place in this list; the line under a list names the next"
        ) from None


def _compared(
    store: Store, question: ChecksQuestion, bounds: ListBounds, wanted: int
) -> Iterator[ComparedCheck]:
    """The rows that follow the cursor, of which so many are wanted; nobody knows how many must be seen for failing ones."""
    size = _CHUNK if question.failing else min(_CHUNK, wanted)
    name, place = ("", None) if bounds.after is None else _place_of(bounds.after)
    agents = sorted(question.agents, key=lambda agent: agent.name, reverse=bounds.newest)
    for agent in agents:
        passed = agent.name > name if bounds.newest else agent.name < name
        if name and passed:
            continue
        since = place if agent.name == name else None
        yield from _of_agent(store, question, agent, since, size, newest=bounds.newest)


def _of_agent(
    store: Store,
    question: ChecksQuestion,
    agent: Agent,
    since: CheckPlace | None,
    size: int,
    *,
    newest: bool,
) -> Iterator[ComparedCheck]:
    """One agent's, a part in each transaction."""
    while True:
        with settled_book(store, agent.name, question.settings_for(agent), measured=False) as book:
            stated = stored_checks.after(book.conn, agent.name, since, size, newest=newest)
            rows = compare(book, stated)
        yield from (row for row in rows if not question.failing or row.within is False)
        if len(stated) < size:
            return
        last = stated[-1]
        since = CheckPlace(last.at, last.what, last.subject, last.fill or "")
