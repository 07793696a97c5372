"""Reads reports of MetaTrader 5 (account history and tester, XLSX or HTML) and 4 (statements).

What only the whole report shows (the size of a lot, which deal belongs to which position) is looked at first; its rows wait
on disk meanwhile, and only the charges and comments of its deals are kept in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import msgspec

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.metatrader.ledger import Ledger
from retro.ingest.metatrader.rates import AccountRates
from retro.ingest.metatrader.report import Report, looks_like
from retro.ingest.metatrader.rows import BalanceMove, BalanceSummary, Deal, ReportRow, RoundTrip
from retro.ingest.spool import Spool
from retro.ingest.times import Clock
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["read", "sniff"]

ZERO: Final = Decimal(0)
_HALF_CENT: Final = Decimal("0.006")
_ENDINGS: Final = (".xlsx", ".html", ".htm")


def sniff(sample: SourceSample) -> str | None:
    """Why a file is a report of MetaTrader's, in a few words; None where it is not."""
    if sample.is_folder or not (sample.members or "<t" in sample.text.lower()):
        return None
    return "rows of deals or positions of a MetaTrader report" if looks_like(sample.path) else None


def read(paths: Sequence[Path], *, agent: str | None, zone: str | None, now: int) -> Iterator[Batch]:
    """Everything these reports tell; a folder stands for the reports in it."""
    for path in _files(paths):
        report = Report(path)
        report.look()
        writer = BatchWriter(str(path), now)
        yield from _told(report, writer, Clock(zone, str(path)), agent)
        yield writer.batch()


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        entries = [
            entry
            for entry in sorted(path.iterdir())
            if entry.suffix.lower() in _ENDINGS and looks_like(entry)
        ]
        if not entries:
            raise InputError(f"{path} holds no report of MetaTrader; save one as XLSX or HTML")
        yield from entries


@dataclass(slots=True)
class _Survey:
    """What only a whole report shows."""

    rates: AccountRates
    charges: dict[tuple[str, datetime, Decimal], tuple[Decimal, str]] = field(default_factory=dict)
    trips: int = 0
    is_netting: bool = False
    begin: datetime | None = None
    opening: Decimal | None = None
    changes: Decimal = ZERO
    results: Decimal = ZERO
    _books: dict[tuple[str, bool], tuple[Decimal, Decimal]] = field(default_factory=dict)

    def take(self, row: ReportRow) -> None:
        """Note one row."""
        if isinstance(row, BalanceSummary):
            self.opening = row.balance - self.changes - self.results if self.opening is None else self.opening
            return
        at = row.opened if isinstance(row, RoundTrip) else row.at
        self.begin = at if self.begin is None else min(self.begin, at)
        if isinstance(row, RoundTrip):
            self.trips += 1
            self.rates.learn(row.symbol, row.move, row.profit)
            if row.closed:
                self.results += row.commission + row.swap + row.profit
            return
        change = row.amount if isinstance(row, BalanceMove) else row.charge + row.swap + row.profit
        if self.opening is None and row.balance is not None:
            self.opening = row.balance - change
        if row.balance is None:
            self.changes += change
        if isinstance(row, Deal):
            self.is_netting |= row.direction == "in/out"
            self.charges[row.symbol, row.at, row.price] = (row.charge, row.remark)
            self._learn(row)

    def _learn(self, deal: Deal) -> None:
        """The price move of a deal that closes, against the average entry of its side."""
        key = (deal.symbol, (deal.side == "buy") == (deal.direction == "in"))
        lots, entry = self._books.get(key, (ZERO, ZERO))
        if deal.direction == "in":
            total = lots + deal.lots
            self._books[key] = (total, (entry * lots + deal.price * deal.lots) / total)
        elif 0 < deal.lots <= lots:
            move = (deal.price - entry) * deal.lots * (1 if key[1] else -1)
            if not self.trips:
                self.rates.learn(deal.symbol, move, deal.profit)
            self._books[key] = (lots - deal.lots, entry)


class _UnreadRow(msgspec.Struct, frozen=True, tag=True):
    """A row that could not be read, and why."""

    line: int | None
    reason: str


def _told(report: Report, writer: BatchWriter, clock: Clock, agent: str | None) -> Iterator[Batch]:
    with Spool[ReportRow | _UnreadRow](ReportRow | _UnreadRow) as spool:
        survey = _Survey(AccountRates(report.currency))
        for number, row in enumerate(report.rows()):
            if isinstance(row, Fault):
                spool.put("", number, 0, str(number), _UnreadRow(row.line, row.reason))
            else:
                survey.take(row)
                spool.put("", number, 0, str(number), row)
        yield from _surveyed(report, survey, spool, writer, clock, agent)


def _surveyed(
    report: Report, survey: _Survey, rows: Iterable[ReportRow | _UnreadRow], writer: BatchWriter, clock: Clock, agent: str | None
) -> Iterator[Batch]:  # fmt: skip
    if survey.begin is None:
        raise InputError(
            f"{report.path} has no deal and no position of MetaTrader; save its report as XLSX or HTML"
        )
    if not report.currency:
        raise InputError(
            f"{report.path} does not name the account's currency; save the whole report, with its head"
        )
    version = "4" if report.is_four else "5"
    name = agent or (f"mt{version}-{report.login}" if report.login else f"mt{version}-tester")
    ledger = Ledger(name, f"metatrader{version}", writer, clock, survey.rates, survey.charges, report.written)
    writer.base_currency(name, report.currency)
    writer.origin(name, f"metatrader{version}")
    if survey.opening is not None:
        ledger.open_wallet(survey.begin, survey.opening)
    chain = _Chain(ledger)
    for row in rows:
        if isinstance(row, _UnreadRow):
            writer.fault(row.reason, row.line, agent=name)
            continue
        try:
            _take(row, ledger, survey, chain)
        except (ValueError, ArithmeticError) as error:
            writer.fault(f"row: {error}", row.line, agent=name)
        if writer.full:
            yield writer.batch()
    chain.end()


def _take(row: ReportRow, ledger: Ledger, survey: _Survey, chain: _Chain) -> None:
    if isinstance(row, RoundTrip):
        ledger.take_trip(row)
        return
    if isinstance(row, BalanceSummary):
        if abs(row.closed - survey.results) > _HALF_CENT:
            raise ValueError(
                f"its positions come to {survey.results:f} and it says {row.closed:f}; rows are missing"
            )
        return
    if isinstance(row, BalanceMove):
        ledger.take_balance(row)
    elif not survey.trips:
        ledger.take_deal(row, is_netting=survey.is_netting)
    chain.take(row)


@dataclass(slots=True)
class _Chain:
    """Follows the balance from deal to deal, and tells the last of each instant."""

    ledger: Ledger
    _at: datetime | None = None
    _balance: Decimal | None = None

    def take(self, row: Deal | BalanceMove) -> None:
        """The next row that moves the balance; a fault where it does not follow from the one before."""
        if row.balance is None:
            return
        change = row.amount if isinstance(row, BalanceMove) else row.charge + row.swap + row.profit
        if self._balance is not None and abs(self._balance + change - row.balance) > _HALF_CENT:
            self.ledger.writer.fault(
                f"row: its balance {row.balance:f} is not {self._balance:f} and {change:f}; a row before it is missing",
                row.line,
                agent=self.ledger.agent,
            )
        if self._at is not None and self._balance is not None and row.at != self._at:
            self.ledger.check_balance(self._at, self._balance)
        self._at, self._balance = row.at, row.balance

    def end(self) -> None:
        """The balance that the report ends with."""
        if self._at is not None and self._balance is not None:
            self.ledger.check_balance(self._at, self._balance)
