"""Which of Hyperliquid's tables a file is, and its rows as records, whatever form they came in."""

from __future__ import annotations

import json as standard_json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from retro.errors import InputError
from retro.ingest.hyperliquid import records
from retro.ingest.hyperliquid.dates import IndianTime, LocalDates, order_of
from retro.ingest.row_ids import RowIds
from retro.ingest.rows import csv, json
from retro.ingest.sample import sample_of
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from retro.ingest.hyperliquid.records import Funding, Transfer, VenueFill
    from retro.ingest.sample import SourceSample
    from retro.ingest.times import DayOrder

__all__ = ["Export", "Kind", "find", "kind_of", "read_answers", "read_funding", "read_sheet", "read_web"]

Kind = Literal["fills", "sheet", "funding", "answers", "lines"]
_LAYOUT: Final = csv.CsvLayout()
_COLUMNS: Final[dict[Kind, frozenset[str]]] = {
    "fills": frozenset({"time", "coin", "dir", "px", "sz", "fee", "closedPnl"}),
    "funding": frozenset({"time", "coin", "sz", "side", "payment", "rate"}),
    "sheet": frozenset(
        {"Coin", "Execution Price", "Size Tokens", "Timestamp IST", "Direction", "Closed PnL", "Fee"}
    ),
}
_KEYS: Final = (
    ('"closedPnl"', '"dir"', '"px"'),
    ('"delta"', '"fundingRate"', '"szi"'),
    ('"delta"', '"hash"', '"type"', '"time"'),
)
_LISTS: Final = ("fills", "userFills", "data", "userFunding", "fundings", "ledger", "result")
_ENDINGS: Final = (".csv", ".json", ".jsonl", ".gz", ".txt")


@dataclass(slots=True)
class Export:
    """One file, what it is, and for a browser's table whether its dates begin with the day or the month."""

    path: Path
    kind: Kind
    order: DayOrder | None = None
    ids: RowIds = field(default_factory=RowIds)

    @property
    def where(self) -> str:
        """How faults name it."""
        return str(self.path)


def kind_of(sample: SourceSample) -> Kind | None:
    """Which table of Hyperliquid the beginning of a file shows; None of anything else."""
    header = set(sample.header)
    for kind, columns in _COLUMNS.items():
        if columns <= header:
            return kind
    text = sample.text.lstrip("\ufeff \r\n\t")
    if text[:1] not in {"[", "{"} or not any(all(key in text for key in keys) for keys in _KEYS):
        return None
    lines = text.split("\n", 2)
    return "lines" if text[0] == "{" and len(lines) > 1 and _is_object(lines[0]) else "answers"


def _is_object(line: str) -> bool:
    try:
        return isinstance(standard_json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def find(paths: Sequence[Path], now: int) -> list[Export]:
    """The files among these paths and folders that are tables of Hyperliquid; `InputError` where there are none.

    A file that is named must be one; in a folder others may lie beside.
    """
    exports: list[Export] = []
    for path in paths:
        sample = sample_of(path)
        if sample.is_folder:
            entries = [
                entry
                for entry in sorted(path.iterdir())
                if entry.suffix.lower() in _ENDINGS and entry.is_file()
            ]
            exports += [Export(entry, kind) for entry in entries if (kind := kind_of(sample_of(entry)))]
        elif kind := kind_of(sample):
            exports.append(Export(path, kind))
        else:
            raise InputError(
                f"{path} is no table of Hyperliquid; export Trade History or Funding History as CSV, or save the answer"
                " of userFills, userFunding or userNonFundingLedgerUpdates as JSON"
            )
    if not exports:
        raise InputError(
            f"{', '.join(map(str, paths))}: there is no table of Hyperliquid; name the exported files"
        )
    _decide_dates([export for export in exports if export.kind in {"fills", "funding"}], now)
    return exports


def _decide_dates(exports: list[Export], now: int) -> None:
    """Say of each table of a browser how its dates begin: as it shows itself, else as the others do."""
    for export in exports:
        try:
            rows = csv.rows(export.where, _LAYOUT)
            export.order = order_of(
                (str(row.cells["time"]) for row in rows if not isinstance(row, Fault)), now
            )
        except ValueError as error:
            raise InputError(
                f"{export.path}: {error}; export it again in one language of the browser"
            ) from None
    orders: set[DayOrder] = {export.order for export in exports if export.order}
    for export in exports:
        if export.order is None:
            if len(orders) != 1:
                raise InputError(
                    f"{export.path}: its dates may begin with the day or the month, and none is above 12; export a longer"
                    " time, name a second table of the same browser beside it, or save the answers of the API, whose instants"
                    " leave nothing open"
                )
            export.order = next(iter(orders))


def read_web(export: Export, zone: str | None) -> Iterator[VenueFill | Fault]:
    """Fills of the website's trade history, in file order."""
    dates = LocalDates(zone, export.where, export.order or "day")
    for row in csv.rows(export.where, _LAYOUT):
        if isinstance(row, Fault):
            yield row
            continue
        cells = _texts(row.cells)
        name = export.ids.of(
            [cells[column] for column in ("time", "coin", "dir", "px", "sz", "fee", "closedPnl")]
        )
        try:
            yield records.web_fill(
                cells, where=export.where, line=row.line, at=dates.instant(cells["time"]), name=name
            )
        except (ValueError, ArithmeticError) as error:
            yield Fault(export.where, row.line, f"row: {error}")


def read_sheet(export: Export) -> Iterator[VenueFill | Fault]:
    """Fills of a spreadsheet, in file order; their ids are made of the rows, whatever is left of the venue's."""
    dates = IndianTime()
    for row in csv.rows(export.where, _LAYOUT):
        if isinstance(row, Fault):
            yield row
            continue
        cells = _texts(row.cells)
        try:
            at = dates.instant(cells["Timestamp IST"], cells.get("Timestamp", ""))
            yield records.sheet_fill(
                cells, where=export.where, line=row.line, at=at, name=export.ids.of(cells.values())
            )
        except (ValueError, ArithmeticError) as error:
            yield Fault(export.where, row.line, f"row: {error}")


def read_funding(export: Export, zone: str | None) -> Iterator[Funding | Fault]:
    """Payments of the website's funding history, in file order."""
    dates = LocalDates(zone, export.where, export.order or "day")
    for row in csv.rows(export.where, _LAYOUT):
        if isinstance(row, Fault):
            yield row
            continue
        cells = _texts(row.cells)
        try:
            yield records.web_funding(
                cells, where=export.where, line=row.line, at=dates.instant(cells["time"])
            )
        except (ValueError, ArithmeticError) as error:
            yield Fault(export.where, row.line, f"row: {error}")


def read_answers(export: Export) -> Iterator[VenueFill | Funding | Transfer | Fault]:
    """What answers of the API tell, saved as one document or a line each."""
    own = _own_address(export)
    for line, entry in _entries(export):
        if isinstance(entry, Fault):
            yield entry
            continue
        try:
            if "px" in entry:
                name = export.ids.of([f"{key}={entry[key]}" for key in sorted(entry)])
                yield records.api_fill(entry, where=export.where, line=line, name=name)
            elif isinstance(delta := entry.get("delta"), dict):
                if "fundingRate" in delta:
                    yield records.api_funding(entry, where=export.where, line=line)
                elif transfer := records.api_transfer(entry, own, where=export.where, line=line):
                    yield transfer
            else:
                yield Fault(export.where, line, "entry: is no fill, funding or ledger update of Hyperliquid")
        except (ValueError, ArithmeticError) as error:
            yield Fault(export.where, line, f"entry: {error}")


def _entries(export: Export) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    """Fills, fundings and updates with their numbers, out of the lists that answers may have them in."""
    rows = json.line_rows(export.where) if export.kind == "lines" else json.rows(export.where)
    for row in rows:
        if isinstance(row, Fault):
            yield row.line or 0, row
            continue
        waiting: deque[Any] = deque([row.cells])
        number = row.line
        while waiting:
            entry = waiting.popleft()
            within = [entry[name] for name in _LISTS if isinstance(entry.get(name), list | dict)]
            if not within or "px" in entry or "delta" in entry:
                yield number, entry
                number += 1 if entry is not row.cells else 0
            for inner in within:
                entries = inner if isinstance(inner, list) else [inner]
                waiting += [each for each in entries if isinstance(each, dict)]


def _own_address(export: Export) -> str:
    """The one address that every transfer of a file between two has; "" where there are several, or no two transfers."""
    common: set[str] | None = None
    count = 0
    for _line, entry in _entries(export):
        delta = entry.get("delta") if isinstance(entry, dict) else None
        if isinstance(delta, dict) and "user" in delta and "destination" in delta:
            ends = {str(delta["user"]).lower(), str(delta["destination"]).lower()}
            common = ends if common is None else common & ends
            count += 1
    return common.pop() if common and len(common) == 1 and count else ""


def _texts(cells: Mapping[str, object]) -> dict[str, str]:
    return {name: str(cell) for name, cell in cells.items()}
