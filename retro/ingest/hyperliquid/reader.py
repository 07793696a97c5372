"""Reads what an account on Hyperliquid did: fills, funding, and money that came and went.

The files of one account are read together, in any order and however they overlap: a fill is known by its `tid`, where
a file has one, else by what its row holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.hyperliquid import files
from retro.ingest.hyperliquid.book import Book, BookStanding
from retro.ingest.hyperliquid.records import IN_KIND, Funding, Transfer, VenueFill
from retro.ingest.spool import Spool
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from retro.ingest.hyperliquid.files import Export
    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["RecordSpan", "RecordsAt", "VenueReader", "VenueStanding", "read", "sniff"]

_Record = VenueFill | Funding | Transfer

_AGENT: Final = "hyperliquid"
_ORIGIN: Final = "hyperliquid"
_SHOWN: Final = {
    "fills": "columns of Hyperliquid's trade history",
    "sheet": "columns of a sheet of Hyperliquid's fills",
    "funding": "columns of Hyperliquid's funding history",
    "answers": "fills, funding or ledger updates of Hyperliquid's API",
    "lines": "fills, funding or ledger updates of Hyperliquid's API, a line each",
}
_STABLE: Final = frozenset({"USDC", "USDT0", "USDH", "USDE", "USDHL"})


def sniff(sample: SourceSample) -> str | None:
    """Why a file is one of Hyperliquid's, in a few words; None where it is not."""
    kind = files.kind_of(sample)
    return _SHOWN[kind] if kind else None


def read(paths: Sequence[Path], *, agent: str | None, zone: str | None, now: int) -> Iterator[Batch]:
    """Everything these files and folders tell of one account, or of several where a column names them."""
    yield from VenueReader(paths, agent=agent, zone=zone, now=now).batches()


class RecordsAt(msgspec.Struct):
    """The records of an instant (microseconds), by name."""

    at: int
    names: set[str]


class RecordSpan(msgspec.Struct):
    """The first and the last records of one kind and account."""

    first: RecordsAt
    last: RecordsAt

    def take(self, at: int, name: str) -> None:
        """Reach as far as a record."""
        if at < self.first.at:
            self.first = RecordsAt(at, {name})
        elif at == self.first.at:
            self.first.names.add(name)
        if at > self.last.at:
            self.last = RecordsAt(at, {name})
        elif at == self.last.at:
            self.last.names.add(name)


class VenueStanding(msgspec.Struct):
    """Where accounts stand after what was read of them: with it an answer that has forgotten its oldest records goes on."""

    spans: dict[str, RecordSpan]
    tokens: dict[str, tuple[str, str]]
    books: dict[str, BookStanding]


class VenueReader:
    """Reads files of one kind together. `before`: where an earlier reading of them left the accounts.

    Where their oldest records are gone since then, as in an answer that holds the newest ones, what was open is, and what was
    read is left out; else the files tell everything themselves.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        agent: str | None,
        zone: str | None,
        now: int,
        before: VenueStanding | None = None,
    ) -> None:
        self._paths, self._agent, self._zone, self._now = paths, agent or _AGENT, zone, now
        self._before = before
        self._spans: dict[str, RecordSpan] = {}
        self._tokens: dict[str, tuple[str, str]] = {}
        self._books: dict[str, Book] = {}

    def batches(self) -> Iterator[Batch]:
        """Everything the files tell, by the batch."""
        exports = files.find(self._paths, self._now)
        writer = BatchWriter(", ".join(map(str, self._paths)), self._now)
        with Spool[_Record](VenueFill | Funding | Transfer) as spool:
            intake = _Intake(spool, writer)
            for export in exports:
                intake.take(export, self._zone)
                yield from _ready(writer)
            self._spans, self._tokens = intake.spans, intake.tokens
            if self._has_forgotten():
                self._go_on(intake)
            for account, group in groupby(spool, key=lambda record: _account(record, intake)):
                yield from self._tell(account, group, intake, writer)
        for book in self._books.values():
            book.tell_gaps()
        yield writer.batch()

    def standing(self) -> VenueStanding:
        """Where the accounts stand after all of `batches`."""
        books = {account: book.standing() for account, book in self._books.items()}
        if self._before is not None and self._has_forgotten():
            books = self._before.books | books
            for key, span in self._before.spans.items():
                self._spans[key] = _joined(span, self._spans.get(key, span))
        return VenueStanding(self._spans, self._tokens, books)

    def _has_forgotten(self) -> bool:
        """Whether records that were read are in the files no more."""
        before = self._before.spans if self._before is not None else {}
        return any(
            span.first.at > before[key].first.at
            or (span.first.at == before[key].first.at and before[key].first.names > span.first.names)
            for key, span in self._spans.items()
            if key in before
        )

    def _go_on(self, intake: _Intake) -> None:
        assert self._before is not None  # noqa: S101 - something was read before, and is forgotten
        intake.accounts |= self._before.books.keys()
        for coin, names in self._before.tokens.items():
            intake.tokens.setdefault(coin, names)

    def _tell(
        self, account: str, records: Iterable[_Record], intake: _Intake, writer: BatchWriter
    ) -> Iterator[Batch]:
        """The events of an account, in the order in which they happened."""
        name = self._agent if len(intake.accounts) < 2 else f"{self._agent}-{account[:10]}"
        book = self._books[account] = Book(name, writer, intake.tokens)
        before = self._before if self._has_forgotten() else None
        if before is not None and account in before.books:
            book.go_on_from(before.books[account])
        writer.base_currency(name, "USDC")
        writer.origin(name, _ORIGIN)
        for _, group in groupby(records, key=lambda record: record.at):
            fills: list[VenueFill] = []
            for record in group:
                if before is not None and _is_known(record, before):
                    continue
                writer.where = record.where
                if isinstance(record, VenueFill):
                    fills.append(record)
                elif isinstance(record, Funding):
                    book.take_funding(record)
                else:
                    book.take_transfer(record)
            if fills and fills[0].where in intake.newest_first:
                fills.reverse()
            book.take_fills(fills)
            yield from _ready(writer)


def _joined(before: RecordSpan, after: RecordSpan) -> RecordSpan:
    """The span of two readings, of which the second began later and may have gone on for longer."""
    if before.last.at != after.last.at:
        return RecordSpan(before.first, max(before.last, after.last, key=lambda end: end.at))
    return RecordSpan(before.first, RecordsAt(after.last.at, before.last.names | after.last.names))


def _is_known(record: _Record, before: VenueStanding) -> bool:
    """Whether a record was read before."""
    span = before.spans.get(_kind(record))
    if span is None or record.at > span.last.at:
        return False
    return record.at < span.last.at or _name(record) in span.last.names


def _kind(record: _Record) -> str:
    return (
        type(record).__name__ if isinstance(record, Transfer) else f"{type(record).__name__} {record.account}"
    )


def _name(record: _Record) -> str:
    return f"{record.coin} {record.payment}" if isinstance(record, Funding) else record.id


def _ready(writer: BatchWriter) -> Iterator[Batch]:
    if writer.full:
        yield writer.batch()


@dataclass(slots=True)
class _Intake:
    """Puts the records of all files by, and sees what only all of them show."""

    spool: Spool[_Record]
    writer: BatchWriter
    accounts: set[str] = field(default_factory=set)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A numbered spot pair -> its base and quote token, "" where no fee has shown one."""
    newest_first: set[str] = field(default_factory=set)
    """The files that run backwards."""
    spans: dict[str, RecordSpan] = field(default_factory=dict)
    """From when to when the records of each kind go."""
    _forms: set[str] = field(default_factory=set)

    def take(self, export: Export, zone: str | None) -> None:
        """Put a file's records by; what could not be read is a fault."""
        before, falls = 0, 0
        for place, record in enumerate(_records(export, zone)):
            if isinstance(record, Fault):
                self.writer.fault(record.reason, record.line, where=record.where)
                continue
            falls += (record.at > before) - (record.at < before) if before else 0
            before = record.at
            self._put(export, record, place)
        if falls < 0:
            self.newest_first.add(export.where)

    def _put(self, export: Export, record: _Record, place: int) -> None:
        kind, name = _kind(record), _name(record)
        if kind not in self.spans:
            self.spans[kind] = RecordSpan(RecordsAt(record.at, {name}), RecordsAt(record.at, {name}))
        self.spans[kind].take(record.at, name)
        if isinstance(record, Transfer):
            self.spool.put("", record.at, -2, f"transfer {record.id}", record)
        elif isinstance(record, Funding):
            name = f"funding {record.coin} {record.at} {export.ids.of([record.coin, str(record.at)])}"
            self.spool.put(record.account, record.at, -1, name, record)
        else:
            self._forms.add("answers" if export.kind == "lines" else export.kind)
            if len(self._forms) > 1:
                raise InputError(
                    f"{export.path}: the website's table and the API's answer tell the same fills under different names;"
                    " read one of them"
                )
            self.accounts.add(record.account)
            self._learn(record)
            self.spool.put(record.account, record.at, place, record.id, record)

    def _learn(self, fill: VenueFill) -> None:
        """Note what a numbered pair trades: a purchase is charged in what it bought, a sale in what it was paid."""
        if not (fill.coin.startswith("@") and fill.fee_token and fill.fee_token != IN_KIND):
            return
        base, quote = self.tokens.get(fill.coin, ("", ""))
        if fill.side == "buy" and fill.fee_token not in _STABLE:
            base = fill.fee_token
        elif fill.side == "sell":
            quote = fill.fee_token
        self.tokens[fill.coin] = (base, quote)


def _records(export: Export, zone: str | None) -> Iterator[_Record | Fault]:
    match export.kind:
        case "fills":
            return files.read_web(export, zone)
        case "sheet":
            return files.read_sheet(export)
        case "funding":
            return files.read_funding(export, zone)
        case _:
            return files.read_answers(export)


def _account(record: _Record, intake: _Intake) -> str:
    """Whose a record is: of files that name no account, the only one there is."""
    named = "" if isinstance(record, Transfer) else record.account
    return next(iter(intake.accounts)) if not named and len(intake.accounts) == 1 else named
