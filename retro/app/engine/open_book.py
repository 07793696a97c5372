"""A settled book that several reviews of one agent read: what each would ask of it anew is asked once."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

from retro.app.settlement.settle import settled_book
from retro.periods import SECOND
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.app.context import WorkContext
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.store.jobs.reviews import Review

__all__ = ["OpenBook"]

_LONGEST: Final = 2 * SECOND
"""Who reads a SQLite file keeps others from writing: a book that has been open for longer is opened anew."""


class OpenBook:
    """One agent's settled book, opened when one of its `owed` reviews is made and again after it was closed.

    Whoever is about to write, or to wait for anybody, closes it first.
    """

    def __init__(self, bench: WorkContext, owed: Sequence[Review]) -> None:
        self._bench = bench
        self._agent = owed[0].agent
        self._owed = {review.key: review for review in owed}
        self._stack = ExitStack()
        self._book: SettledBook | None = None
        self._since = 0

    @cached_property
    def settings(self) -> AgentSettings:
        """What it is settled by."""
        with self._bench.store.read() as conn:
            return self._bench.settings_for(agents.existing_agent(conn, self._agent))

    @contextmanager
    def reading(self, review: Review) -> Iterator[SettledBook]:
        """The book as one of the reviews reads it, of one state of the database; an error ends its transaction, as it would its own."""
        now = self._bench.clock()
        if not self._since <= now <= self._since + _LONGEST:  # a clock that went back, too
            self.close()
        if self._book is None:
            settled = settled_book(self._bench.store, self._agent, self.settings)
            self._book = self._stack.enter_context(settled)
            if len(self._owed) > 1:
                self._book.life.read_ahead([*self._owed.values()])
            self._since = now
        self._owed.pop(review.key, None)
        try:
            yield self._book
        except BaseException:
            self._book = None
            self._stack.__exit__(*sys.exc_info())  # the transaction says what an error of the database means
            raise

    def close(self) -> None:
        """End its transaction, where one is open."""
        self._book = None
        self._stack.close()
