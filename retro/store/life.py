"""An agent's life, read in one transaction by whoever makes several figures of it: what was read is not read again.

Asked for one review it is a short way to the tables. Told of many (`read_ahead`) it reads what they have in common in a
few statements, and answers each from that; what lies outside is read as ever. It answers alike either way.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from retro.model import Decision, Fact, Position, Prediction, Resolution, decode
from retro.periods import DAY, FOREVER
from retro.store.books import positions as books
from retro.store.facts import events, faults, lines, rulings, tellings
from retro.store.facts.damage import UNREADABLE
from retro.store.facts.market import MarketReader
from retro.store.jobs import reviews
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.accounting.movements import Retelling
    from retro.store.books.positions import BookState
    from retro.store.facts.lines import StoredLine
    from retro.store.facts.rulings import RulingRecord
    from retro.store.jobs.reviews import Review, StoredRevision

__all__ = ["LifeReader"]

FactT = TypeVar("FactT", bound=Fact)

_MOST: Final = 20_000
"""Facts that are read ahead of one question: where there are more, each review reads its own."""
_CLAIMS: Final = (Prediction, Resolution)
_LOOK_BACK: Final = 9 * DAY
"""How far before their first period reviews look: its rolling week, in any zone, and a day for what was predicted."""
_AT: Final = attrgetter("at")


class LifeReader:
    """What is stored of one agent, in one transaction; of no use when that has ended."""

    def __init__(self, conn: Connection, agent: str) -> None:
        self.conn = conn
        self.agent = agent
        self.market = MarketReader(conn, agent)
        self._stretches: list[_Stretch] = []
        self._lives: dict[str, list[StoredLine]] = {}
        self._facts: dict[tuple[str, str], Fact] = {}
        self._revisions: dict[int, StoredRevision | None] = {}

    def read_ahead(self, owed: Sequence[Review]) -> None:
        """Read at once what these reviews of the agent will ask for one after another."""
        start = min(review.period_start for review in owed) - _LOOK_BACK
        start = min(start, min(review.period_end for review in owed) - _LOOK_BACK)
        end = max(review.period_end for review in owed) + 1
        self.market.read_ahead(start, end)
        stretch = lines.lines_between(self.conn, self.agent, start, end, most=_MOST)
        names = {review.subject for review in owed if review.is_of_a_position}
        if stretch is not None:
            self._stretches.append(_Stretch(start, end, None, sorted(stretch, key=_AT)))
            names.update(line.position for line in stretch if line.position is not None)
        claims = lines.lines_between(self.conn, self.agent, start, FOREVER, types=_CLAIMS, most=_MOST)
        if claims is not None:
            self._stretches.append(_Stretch(start, FOREVER, _CLAIMS, sorted(claims, key=_AT)))
        self._read_lives(names)
        self._revisions |= dict.fromkeys((review.key for review in owed), None)
        self._revisions |= reviews.revisions_of(self.conn, {review.key: review.revision for review in owed})

    # facts

    def between(
        self, start: int, end: int, *, types: Sequence[type[FactT]], wallet: bool = False
    ) -> list[FactT]:
        """As `events.between`."""
        stretch = self._stretch(start, end, types)
        facts = None if stretch is None else self._decoded(stretch.chosen(start, end, types, wallet=wallet))
        if facts is None:
            return events.between(self.conn, self.agent, start, end, types=types, wallet=wallet)
        return cast("list[FactT]", facts)

    def of_positions(self, names: Sequence[str], *, until: int) -> list[Fact]:
        """As `events.of_positions`."""
        keys = {name_of(name) for name in names}
        if not keys <= self._lives.keys():
            return events.of_positions(self.conn, self.agent, names, until=until)
        stored = (line for key in sorted(keys) for line in self._lives[key] if line.at <= until)
        facts = self._decoded(stored)
        return events.of_positions(self.conn, self.agent, names, until=until) if facts is None else facts

    def positions_touched(self, start: int, end: int) -> list[str]:
        """As `events.positions_touched`."""
        stretch = self._stretch(start, end, None)
        if stretch is None:
            return events.positions_touched(self.conn, self.agent, start, end)
        return sorted({line.position for line in stretch.lines_of(start, end) if line.position is not None})

    def declarations(self, names: Sequence[str], until: int) -> list[Position]:
        """As `events.declarations`."""
        return events.declarations(self.conn, self.agent, names, until)

    def retellings(self, names: Iterable[str], facts: Iterable[Fact]) -> list[Retelling]:
        """What these positions, and the decisions among their facts, said before their agent corrected it; oldest first."""
        if not self._corrected:  # nearly always
            return []
        decided = (fact.id for fact in facts if isinstance(fact, Decision))
        return tellings.retellings(self._corrected, names, decided)

    @cached_property
    def _corrected(self) -> list[tellings.CorrectedLine]:
        return tellings.corrected(self.conn, self.agent)

    @cached_property
    def rulings(self) -> dict[str, RulingRecord]:
        """The owner's word on positions, by position (as a key)."""
        return rulings.rulings(self.conn, self.agent)

    @cached_property
    def quarantined(self) -> int:
        """How many lines of its sources could not be used."""
        return faults.count(self.conn, self.agent)

    # the book and the ledger

    @cached_property
    def book(self) -> BookState | None:
        """How the settled book stands."""
        return books.book_of(self.conn, self.agent)

    def revision_of(self, review: Review) -> StoredRevision | None:
        """The review's own revision as far as it is written; None where nothing of it is."""
        if review.key in self._revisions:
            return self._revisions[review.key]
        return reviews.revision_of(self.conn, review.key, review.revision)

    def facts_digest(self, review: Review) -> str:
        """As `reviews.facts_digest`."""
        if review.is_of_a_position:
            stored = self._lives.get(review.subject)
        else:
            stretch = self._stretch(review.period_start, review.period_end, None)
            stored = None if stretch is None else stretch.lines_of(review.period_start, review.period_end)
        if stored is None:
            return reviews.facts_digest(self.conn, review)
        return reviews.digest_of_lines((line.type, line.id, line.at, line.body) for line in stored)

    # what was read ahead

    def _read_lives(self, names: Iterable[str]) -> None:
        """All facts of these positions, from their first to their last."""
        wanted = [*names]
        stored = lines.lines_of_positions(self.conn, self.agent, wanted, most=_MOST) if wanted else []
        if stored is None:
            return
        self._lives |= {name: [] for name in wanted}
        for line in stored:
            self._lives[str(line.position)].append(line)

    def _stretch(self, start: int, end: int, types: Sequence[type[Fact]] | None) -> _Stretch | None:
        return next((each for each in self._stretches if each.covers(start, end, types)), None)

    def _decoded(self, stored: Iterable[StoredLine]) -> list[Fact] | None:
        """The facts of lines; None where one cannot be read, so that whoever reads the table says which."""
        facts = []
        for line in stored:
            fact = self._facts.get((line.type, line.id))
            if fact is None:
                try:
                    fact = self._facts[line.type, line.id] = decode(line.body, line.at)
                except UNREADABLE:
                    return None
            facts.append(fact)
        return facts


class _Stretch(NamedTuple):
    """All facts of an agent with start <= at < end, of these types (None: of all), in order of time."""

    start: int
    end: int
    types: Sequence[type[Fact]] | None
    lines: list[StoredLine]

    def covers(self, start: int, end: int, types: Sequence[type[Fact]] | None) -> bool:
        of_all = self.types is None or (types is not None and {*types} <= {*self.types})
        return of_all and self.start <= start and (end <= self.end or end <= start)

    def lines_of(self, start: int, end: int) -> list[StoredLine]:
        return self.lines[bisect_left(self.lines, start, key=_AT) : bisect_left(self.lines, end, key=_AT)]

    def chosen(
        self, start: int, end: int, types: Sequence[type[Fact]], *, wallet: bool
    ) -> Iterable[StoredLine]:
        names = lines.names_of(types)
        return (
            line
            for line in self.lines_of(start, end)
            if line.type in names and not (wallet and line.position is not None)
        )
