"""Reads what an account on Hyperliquid did: fills, funding, and money that came and went.

The files of one account are read together, in any order and however they overlap: a fill is known by its `tid`, where
a file has one, else by what its row holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.hyperliquid import files
from retro.ingest.hyperliquid.book import Book
from retro.ingest.hyperliquid.records import IN_KIND, Funding, Transfer, VenueFill
from retro.ingest.spool import Spool
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.hyperliquid.files import Export
    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["read", "sniff"]

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
    exports = files.find(paths, now)
    writer = BatchWriter(", ".join(map(str, paths)), now)
    with Spool[VenueFill | Funding | Transfer](VenueFill | Funding | Transfer) as spool:
        intake = _Intake(spool, writer)
        for export in exports:
            intake.take(export, zone)
            yield from _ready(writer)
        yield from _told(intake, writer, agent or _AGENT)
    yield writer.batch()


def _ready(writer: BatchWriter) -> Iterator[Batch]:
    if writer.full:
        yield writer.batch()


@dataclass(slots=True)
class _Intake:
    """Puts the records of all files by, and sees what only all of them show."""

    spool: Spool[VenueFill | Funding | Transfer]
    writer: BatchWriter
    accounts: set[str] = field(default_factory=set)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A numbered spot pair -> its base and quote token, "" where no fee has shown one."""
    newest_first: set[str] = field(default_factory=set)
    """The files that run backwards."""
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

    def _put(self, export: Export, record: VenueFill | Funding | Transfer, place: int) -> None:
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


def _records(export: Export, zone: str | None) -> Iterator[VenueFill | Funding | Transfer | Fault]:
    match export.kind:
        case "fills":
            return files.read_web(export, zone)
        case "sheet":
            return files.read_sheet(export)
        case "funding":
            return files.read_funding(export, zone)
        case _:
            return files.read_answers(export)


def _told(intake: _Intake, writer: BatchWriter, agent: str) -> Iterator[Batch]:
    """The events of every account, in the order in which they happened."""
    books: dict[str, Book] = {}
    for (account, _at), group in groupby(
        intake.spool, key=lambda record: (_account(record, intake), record.at)
    ):
        if account not in books:
            name = agent if len(intake.accounts) < 2 else f"{agent}-{account[:10]}"
            books[account] = Book(name, writer, intake.tokens)
            writer.base_currency(name, "USDC")
            writer.origin(name, _ORIGIN)
        fills: list[VenueFill] = []
        for record in group:
            writer.where = record.where
            if isinstance(record, VenueFill):
                fills.append(record)
            elif isinstance(record, Funding):
                books[account].take_funding(record)
            else:
                books[account].take_transfer(record)
        if fills and fills[0].where in intake.newest_first:
            fills.reverse()
        books[account].take_fills(fills)
        yield from _ready(writer)
    for book in books.values():
        book.tell_gaps()


def _account(record: VenueFill | Funding | Transfer, intake: _Intake) -> str:
    """Whose a record is: of files that name no account, the only one there is."""
    named = "" if isinstance(record, Transfer) else record.account
    return next(iter(intake.accounts)) if not named and len(intake.accounts) == 1 else named
