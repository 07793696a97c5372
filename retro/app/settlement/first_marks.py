"""What was priced before its marks began: it is settled again when the first mark comes, with all that rests on it.

A life may name an asset days before anything tells its price. Until then it is priced by a fill, by the first mark that
is known, or not at all; which of these it is changes when marks are told of an earlier instant, and when the agent lives
on until the first of them. Then what was settled since the first such price, and every review of that time, is stale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.prices import related_symbols
from retro.store.facts import marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from retro.accounting.prices import Prices

__all__ = ["FirstMarks", "Unmarked"]


class Unmarked(NamedTuple):
    """Since when a symbol was priced without a mark at or before, and where its marks were known to begin then."""

    since: int
    first_marks: tuple[int, ...]


class FirstMarks:
    """Where the series begin that may price an agent's facts, of the marks known by `known_until`."""

    def __init__(self, conn: Connection, agent: str, base_currency: str, known_until: int) -> None:
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

    def stale_since(self, unmarked: Mapping[str, Unmarked]) -> int | None:
        """The first instant whose price has changed because marks begin elsewhere now; None where none has."""
        changed = (noted.since for symbol, noted in unmarked.items() if noted.first_marks != self.of(symbol))
        return min(changed, default=None)

    def unmarked(
        self, before: Mapping[str, Unmarked], since: int, settled_with: Iterable[Prices]
    ) -> dict[str, Unmarked]:
        """What is priced without a mark, as known `before` of the time before `since`, and by the prices settled with."""
        instants = {symbol: noted.since for symbol, noted in before.items() if noted.since < since}
        for prices in settled_with:
            for symbol, at in prices.unmarked.items():
                instants[symbol] = min(at, instants.get(symbol, at))
        return {symbol: Unmarked(at, self.of(symbol)) for symbol, at in sorted(instants.items())}
