"""The settled book as use cases read it: how far it is known, where its wallet opens, its rows, its outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.app.settlement.first_marks import Unmarked  # noqa: TC001  msgspec reads it at run time
from retro.evaluate.audit.citations import entry_day
from retro.evaluate.position.foresight import Cited  # noqa: TC001  msgspec reads it at run time
from retro.evaluate.position.summary import PositionSummary
from retro.model import Cost, Equity, External, Flow
from retro.periods import FOREVER
from retro.store.books import pages, positions, shared_marks
from retro.store.books.outcomes import outcomes_until
from retro.store.conditions import EVERY_ROW
from retro.store.facts.last_told import last_told

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.history import History
    from retro.model import Fact
    from retro.store.conditions import Selection
    from retro.store.facts.agents import Agent
    from retro.store.life import LifeReader


__all__ = [
    "WALLET_TYPES",
    "SettledBook",
    "WalletOpening",
    "history_of",
    "is_stale",
    "listed_rows",
    "measured_settings",
    "opening_of",
    "read_rows",
    "row_at",
]


WALLET_TYPES: Final = (Flow, Cost, External, Equity)


class _Citations(msgspec.Struct):
    """What a row of the book keeps of a position's citations, as `PositionSummary.to_json` writes it."""

    decisions: tuple[Cited, ...]
    increases: tuple[tuple[tuple[str, ...], float], ...]


_CITATIONS: Final = msgspec.json.Decoder(_Citations)


class WalletOpening(msgspec.Struct, frozen=True):
    """How an agent's wallet began, at its first event.

    `given` are assets and quantities (decimal text) that opened it: the first stated balances, a configured capital,
    or what the first equity statement shows beyond the events. `baseline` is the first statement's discrepancy;
    `told_at` when the balances were stated that opened it. `unmarked` are the symbols that had no mark yet when
    something of the life was priced by them.
    """

    birth: int
    capital_known: bool
    given: list[tuple[str, str]]
    baseline: float
    told_at: int | None = None
    unmarked: dict[str, Unmarked] = {}

    def facts(self, agent: str) -> list[Fact]:
        """The opening as money from the owner, before everything else of that instant."""
        return [
            External(id="", agent=agent, at=self.birth, asset=asset, quantity=Decimal(quantity))
            for asset, quantity in self.given
            if Decimal(quantity)
        ]

    def never_told(self) -> set[str]:
        """What was asked for and nothing known by K tells a price of: no mark, no fill, no word."""
        return {
            symbol
            for symbol, noted in self.unmarked.items()
            if not noted.first_marks and noted.first_fill is None and noted.first_word is None
        }


@dataclass(frozen=True, slots=True)
class SettledBook:
    """One agent's book that speaks for its facts, inside one read transaction; `settled_book` opens it.

    Agent, K and rows are of one state of the database. The book is of no use when its transaction has ended.
    """

    life: LifeReader
    agent: Agent
    settings: AgentSettings

    @property
    def conn(self) -> Connection:
        """The transaction."""
        return self.life.conn

    @property
    def name(self) -> str:
        """Whose book it is."""
        return self.agent.name

    @property
    def known_until(self) -> int:
        """K, in microseconds."""
        return self.agent.known_until

    def known_at(self, as_of: int | None) -> int:
        """K, or the agent's last word before `as_of` where that is not after K."""
        if as_of is None or as_of > self.known_until:
            return self.known_until
        return last_told(self.conn, self.agent, as_of - 1)

    def opening(self) -> WalletOpening:
        """How the agent's wallet began."""
        return msgspec.convert({} if self.life.book is None else self.life.book.opening, WalletOpening)

    def positions(
        self, *, opened_before: int | None = None, since: int | None = None
    ) -> list[PositionSummary]:
        """Positions opened before an instant, oldest first; with `since` those open or resolved since then."""
        return read_rows(self.conn, self.name, opened_before=opened_before, since=since)

    def positions_known(
        self, known_until: int, *, opened_before: int = FOREVER, since: int | None = None
    ) -> list[PositionSummary]:
        """Positions as they were known at an instant: what the book has learned after it is forgotten again.

        With `since` those open or resolved since then.
        """
        if known_until >= self.known_until:
            return self.positions(opened_before=opened_before, since=since)
        opened = self.positions(opened_before=min(opened_before, known_until + 1), since=since)
        return [_as_known(row, known_until) for row in opened]

    def history(self, before: int = FOREVER) -> History:
        """Every outcome that resolved before an instant, for the cumulative side of the audit."""
        return history_of(self.conn, self.name, self.settings, before)


def measured_settings(conn: Connection, agent: str, settings: AgentSettings) -> AgentSettings:
    """The settings with the unit of verdicts that the agent's settled positions call for."""
    if settings.limits_in_r is None:
        return settings
    return settings.measured(*positions.counts(conn, agent))


def is_stale(conn: Connection, agent: str, settings: AgentSettings) -> bool:
    """Whether the book has to be settled before it is read."""
    return not shared_marks.is_settled(conn, agent, settings.fingerprint)


def opening_of(conn: Connection, agent: str) -> WalletOpening:
    """How the settled book says the agent's equity began."""
    book = positions.book_of(conn, agent)
    return msgspec.convert(book.opening if book else {}, WalletOpening)


def history_of(conn: Connection, agent: str, settings: AgentSettings, before: int) -> History:
    """Everything that resolved before an instant, for the cumulative side of the audit."""
    latest = None if before >= FOREVER else entry_day(before, settings.options.rules)
    return outcomes_until(conn, agent, latest).before(before)


def read_rows(
    conn: Connection, agent: str, *, opened_before: int | None = None, since: int | None = None
) -> list[PositionSummary]:
    """The book's positions opened before an instant, oldest first; with `since` those open or resolved since then."""
    return [
        _summary_of(row)
        for row in positions.positions(conn, agent, opened_before=opened_before, alive_at=since)
    ]


def _summary_of(row: Any) -> PositionSummary:
    citations = _CITATIONS.decode(row.told)
    return PositionSummary(
        position=row.position,
        kind=row.kind,
        instrument=row.instrument,
        strategy=row.strategy,
        side=row.side,
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        flagged_at=row.flagged_at,
        final_pnl=row.final_pnl,
        vs_inaction=row.vs_inaction,
        notional=row.notional,
        risk=row.risk,
        exit_outcome=row.exit_outcome,
        exit_resolved_at=row.exit_resolved_at,
        implausible_pnl=row.implausible_pnl,
        decisions=citations.decisions,
        increases=citations.increases,
        ruling=row.ruling,
        mfe=row.mfe,
        mae=row.mae,
        regret=row.regret,
        regret_ratio=row.regret_ratio,
        exit_reason=row.exit_reason,
        spark=row.spark,
    )


def listed_rows(
    conn: Connection,
    agent: str,
    *,
    limit: int,
    after: pages.Place | None = None,
    newest: bool = False,
    selection: Selection = EVERY_ROW,
) -> list[PositionSummary]:
    """At most `limit` of the book's positions that follow a place, oldest or newest first, or as selected."""
    rows = pages.positions_after(conn, agent, after, limit, newest=newest, selection=selection)
    summaries = map(_summary_of, rows)
    as_of = selection.as_of
    return list(summaries) if as_of is None else [_as_known(row, as_of) for row in summaries]


def row_at(conn: Connection, agent: str, place: pages.Place, as_of: int | None = None) -> PositionSummary:
    """The book's position at a place, as far as it was known at `as_of` (None: now)."""
    row = _summary_of(pages.position_at(conn, agent, place))
    return row if as_of is None else _as_known(row, as_of)


def _as_known(row: PositionSummary, known_until: int) -> PositionSummary:
    decisions = tuple(cited for cited in row.decisions if cited.at <= known_until)
    flagged = row.flagged_at if row.flagged_at is None or row.flagged_at <= known_until else None
    row = msgspec.structs.replace(row, decisions=decisions, flagged_at=flagged)
    if row.closed_at is None or row.closed_at <= known_until:
        return row
    return msgspec.structs.replace(
        row,
        decisions=tuple(msgspec.structs.replace(cited, after_the_fact=False) for cited in decisions),
        closed_at=None,
        final_pnl=None,
        vs_inaction=None,
        exit_outcome=None,
        exit_resolved_at=None,
        increases=(),
        mfe=None,
        mae=None,
        regret=None,
        regret_ratio=None,
        exit_reason=None,
        spark=None,
    )
