"""What was priced before its marks began: it is settled again when the first mark comes, with all that rests on it.

A life may name an asset days before anything tells its price. What prices it until then (`Prices.quote` says in which
order) changes when marks are told of an earlier instant, when the agent lives on until the first of them, and with the
first fill or word. Then what was settled since the first such price, and every review of that time, is stale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.prices import base_and_quote, related_symbols
from retro.model import External, Fill, Flow
from retro.periods import FOREVER
from retro.store.facts import events, marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from retro.accounting.prices import Prices

__all__ = ["FirstMarks", "Unmarked"]


class Unmarked(NamedTuple):
    """Since when a symbol was priced without a mark at or before, and where its marks were known to begin then.

    `first_fill` and `first_word`: when a fill first told its price, and when it was first said to be worth something.
    """

    since: int
    first_marks: tuple[int, ...]
    first_fill: int | None = None
    first_word: int | None = None


class FirstMarks:
    """Where the series begin that may price an agent's facts, of the marks known by `known_until`."""

    def __init__(self, conn: Connection, agent: str, base_currency: str, known_until: int) -> None:
        self._conn = conn
        self._agent = agent
        self._base_currency = base_currency
        self._known_until = known_until
        self._begins = [marks.instruments(conn, owner) for owner in (agent, None)]

    def of(self, symbol: str) -> tuple[int, ...]:
        """The first instants of the series that may price a symbol, the agent's own before the shared ones."""
        names = sorted(related_symbols(symbol, self._base_currency))
        return tuple(
            begins[name]
            for begins in self._begins
            for name in names
            if name in begins and begins[name] <= self._known_until
        )

    def stale_since(self, unmarked: Mapping[str, Unmarked], since: int) -> int:
        """The first instant whose price has changed, where facts and marks are new from `since` on."""
        changed = (noted.since for symbol, noted in unmarked.items() if noted.first_marks != self.of(symbol))
        stale = min([since, *changed])
        while True:  # what others were quoted in may itself have been priced by a later fill
            waiting = any(noted.since < stale and noted.first_fill is None for noted in unmarked.values())
            traded, valued = self._told(stale) if waiting else (set(), set())
            anew = (
                noted.since
                for symbol, noted in unmarked.items()
                if noted.since < stale
                and _told_anew(noted, stale, _asset(symbol) in traded, _asset(symbol) in valued)
            )
            earlier = min(anew, default=stale)
            if earlier == stale:
                return stale
            stale = earlier

    def _told(self, since: int) -> tuple[set[str], set[str]]:
        """The assets that were traded from an instant on, and those that were said to be worth something."""
        facts = events.between(self._conn, self._agent, since, FOREVER, types=(Fill, Flow, External))
        names = sorted({fact.position for fact in facts if isinstance(fact, Fill)})
        declared = events.declarations(self._conn, self._agent, names, self._known_until) if names else []
        traded = {_asset(fact.instrument) for fact in declared}
        valued = {str(fact.asset) for fact in facts if isinstance(fact, Flow | External) and fact.value}
        return traded, valued

    def unmarked(
        self, before: Mapping[str, Unmarked], since: int, settled_with: Iterable[Prices]
    ) -> dict[str, Unmarked]:
        """What is priced without a mark, as known `before` of the time before `since`, and by the prices settled with."""
        noted = {symbol: known for symbol, known in before.items() if known.since < since}
        for prices in settled_with:
            for symbol, at in prices.unmarked.items():
                was = noted.get(symbol, Unmarked(at, ()))
                noted[symbol] = Unmarked(
                    min(at, was.since),
                    (),
                    _earlier(was.first_fill, prices.first_fill(symbol)),
                    _earlier(was.first_word, prices.first_word(symbol)),
                )
        return {
            symbol: known._replace(first_marks=self.of(symbol)) for symbol, known in sorted(noted.items())
        }


def _asset(symbol: str) -> str:
    return base_and_quote(symbol)[0]


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((at for at in (one, other) if at is not None), default=None)


def _told_anew(noted: Unmarked, since: int, traded: bool, valued: bool) -> bool:
    """Whether what is new from `since` on may be the first to price what was asked for before."""
    if noted.first_fill is not None:
        return noted.first_fill >= since
    if traded:
        return True
    return valued if noted.first_word is None else noted.first_word >= since
