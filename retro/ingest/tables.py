"""Price files as columns: CSV, Feather (both versions) and Parquet, a stretch of rows at a time.

A file is told by its first bytes, its columns by their names in any order and case. What the columns mean (a price
at an instant, or a candle stamped with its open) is `retro.ingest.candles`'s affair.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.errors import InputError
from retro.ingest.source import magic, open_source, other_encoding, read_lines
from retro.journal import quote
from retro.journal.values import why_no_instant
from retro.model import Fault
from retro.periods import parse_instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["PriceTable", "read_tables"]

_TIME_NAMES: Final = ("open_time", "timestamp", "date", "datetime", "time")
_NO_TIME: Final = np.iinfo(np.int64).min
_LAST: Final = np.iinfo(np.int64).max
_NAIVE: Final = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?$", re.ASCII)
_EPOCH: Final = re.compile(r"\d{1,19}(\.\d*)?$", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$", re.ASCII)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Rows of a price file: `line` counts from 1, `t` is int64 microseconds UTC, prices are float64.

    `candles` tells whether `t` is a candle's open. A price that could not be read is NaN and has its fault already
    in `faults`, whose rows are not among the others.
    """

    candles: bool
    line: NDArray[np.int64]
    t: NDArray[np.int64]
    price: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    faults: list[Fault] = field(default_factory=list)


def read_tables(path: str, size: int) -> Iterator[PriceTable]:
    """A file's rows, at most about `size` at a time; `InputError` when it is no price file at all."""
    if path == "-":
        yield from _read_csv(path, size)
        return
    head = magic(path)
    if head.startswith((b"ARROW1", b"FEA1", b"PAR1")):
        yield from _read_arrow(path, head, size)
    else:
        yield from _read_csv(path, size)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the columns we need stand in a file."""

    time: int
    price: int
    low: int | None
    high: int | None
    candles: bool


def _columns(path: str, names: list[str]) -> _Columns:
    headings = [name.strip().strip('"').lower() for name in names]
    twice = [
        name for name, n in Counter(headings).items() if n > 1 and name in {*_TIME_NAMES, "price", "close"}
    ]
    if twice:
        raise InputError(f"{path} has two columns {twice[0]!r}; keep one")
    time = next((name for name in _TIME_NAMES if name in headings), None)
    price = next((name for name in ("close", "price") if name in headings), None)
    if time is None or price is None:
        listing = ", ".join(quote(name) for name in names[:6])
        raise InputError(
            f"{path} needs a header with timestamp and price, or date, open, high, low, close; found {listing or 'none'}"
        )
    where = {name: index for index, name in enumerate(headings)}
    return _Columns(where[time], where[price], where.get("low"), where.get("high"), price == "close")


def _read_csv(path: str, size: int) -> Iterator[PriceTable]:
    with open_source(path) as stream:
        rows = _csv_rows(read_lines(stream))
        header = next((row for row in rows if row[1]), None)
        if header is None:
            return  # an empty file is no fault
        _, cells, fault = header
        if fault:
            raise InputError(f"{path}: {fault}")
        delimiter = max(",;\t", key=cells.count)
        columns = _columns(path, _cells(cells, delimiter))
        while part := list(islice(rows, size)):
            yield _csv_table(path, part, columns, delimiter)


def _csv_rows(chunks: Iterable[Any]) -> Iterator[tuple[int, str, str | None]]:
    for first, texts, broken, _ in chunks:
        for number, text in enumerate(texts, first):
            fault = broken or (other_encoding(text) if number == 1 else None)
            plain = text.decode("utf-8-sig" if number == 1 else "utf-8", "replace").strip()
            if plain or fault:
                yield number, plain, fault


def _cells(text: str, delimiter: str) -> list[str]:
    """The cells of one line. A quoted cell never runs on into the next line: one bad quote must not eat the file."""
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _csv_table(
    path: str, rows: list[tuple[int, str, str | None]], columns: _Columns, delimiter: str
) -> PriceTable:
    parsed_rows: list[tuple[int, int, float, float, float]] = []
    faults: list[Fault] = []
    for number, text, fault in rows:
        try:
            if fault:
                raise ValueError(fault)  # noqa: TRY301 - one way out for every bad row
            parsed_rows.append((number, *_csv_row(_cells(text, delimiter), columns)))
        except ValueError as error:
            faults.append(Fault(path, number, str(error)))
    line, t, price, low, high = zip(*parsed_rows, strict=True) if parsed_rows else ((), (), (), (), ())
    return PriceTable(
        columns.candles,
        np.array(line, np.int64),
        np.array(t, np.int64),
        np.array(price, np.float64),
        np.array(low, np.float64) if columns.low is not None else None,
        np.array(high, np.float64) if columns.high is not None else None,
        faults,
    )


def _csv_row(cells: list[str], columns: _Columns) -> tuple[int, float, float, float]:
    last = max(columns.time, columns.price, columns.low or 0, columns.high or 0)
    if len(cells) <= last:
        raise ValueError(f"row: has {len(cells)} cells of the {last + 1} needed; complete it")
    t = _time_of(cells[columns.time].strip(), naive=columns.candles)
    price = _number_of("close" if columns.candles else "price", cells[columns.price])
    low = _number_of("low", cells[columns.low]) if columns.low is not None else price
    high = _number_of("high", cells[columns.high]) if columns.high is not None else price
    return t, price, low, high


def _number_of(name: str, text: str) -> float:
    text = text.strip()
    if text.lower() in {"nan", "inf", "-inf", "infinity", "-infinity"} or not _NUMBER.match(text):
        raise ValueError(f"{name}: {quote(text)} is not a finite number; correct or drop the row")
    return float(text)


def _time_of(text: str, *, naive: bool) -> int:
    """Microseconds of a cell: RFC 3339 or an epoch; `naive`: a time without offset is UTC, as exchanges dump it."""
    if _EPOCH.match(text):
        whole, _, fraction = text.partition(".")
        t = int(whole)
        if t < 10**11:
            return t * 1_000_000 + int(fraction[:6].ljust(6, "0"))
        return t * 1000 if t < 10**14 else t if t < 10**17 else t // 1000
    try:
        if naive and (match := _NAIVE.match(text)):
            return parse_instant(text + ("Z" if match[1] else "T00:00Z"))
        return parse_instant(text)
    except ValueError as error:
        raise ValueError(f"time: {why_no_instant(text, error)}") from None


def _epoch_us(values: NDArray[Any]) -> NDArray[np.int64]:
    """Epochs in s, ms, us or ns, told apart by their size (each unit covers 1973 to 5138)."""
    whole = np.asarray(values, np.float64)
    seconds, millis, micros = whole < 1e11, whole < 1e14, whole < 1e17
    integers = values.astype(np.int64)
    result: NDArray[np.int64] = np.where(
        seconds,
        integers * 1_000_000,
        np.where(millis, integers * 1000, np.where(micros, integers, integers // 1000)),
    )
    return result


def _read_arrow(path: str, head: bytes, size: int) -> Iterator[PriceTable]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and an extra
    except ImportError:
        raise InputError(f"{path} needs pyarrow; install slow-mirror[freqtrade]") from None
    first = 1
    try:
        for names, batch in _arrow_batches(path, head, size):
            columns = _columns(path, names)
            yield _arrow_table(path, batch, columns, first)
            first += batch.num_rows
    except (pa.ArrowException, OSError, ValueError, TypeError, EOFError) as error:
        why = quote(str(error).partition("\n")[0], 80)
        raise InputError(f"{path} is damaged or cut short ({why}); write it again") from None


def _arrow_batches(path: str, head: bytes, size: int) -> Iterator[tuple[list[str], Any]]:
    if head.startswith(b"PAR1"):
        import pyarrow.parquet as pq  # noqa: PLC0415 - heavy

        with pq.ParquetFile(path) as parquet:
            names = list(parquet.schema_arrow.names)
            _columns(path, names)
            for batch in parquet.iter_batches(batch_size=size):
                yield names, batch
    elif head.startswith(b"ARROW1"):
        from pyarrow import ipc  # noqa: PLC0415 - heavy

        with ipc.open_file(path) as reader:
            names = list(reader.schema.names)
            _columns(path, names)
            for index in range(reader.num_record_batches):
                yield names, reader.get_batch(index)
    else:
        from pyarrow import feather  # noqa: PLC0415 - heavy

        table = feather.read_table(path, memory_map=False)
        _columns(path, list(table.column_names))
        for batch in table.to_batches(max_chunksize=size):
            yield list(table.column_names), batch


def _arrow_table(path: str, batch: Any, columns: _Columns, first: int) -> PriceTable:
    line = np.arange(first, first + batch.num_rows, dtype=np.int64)
    t = _arrow_times(path, _spread(batch.column(columns.time)), naive=columns.candles)
    price = _arrow_floats(batch.column(columns.price))
    low = _arrow_floats(batch.column(columns.low)) if columns.low is not None else None
    high = _arrow_floats(batch.column(columns.high)) if columns.high is not None else None
    bad = t == _NO_TIME
    faults = [
        Fault(path, int(number), "time: is missing or unreadable; correct or drop the row")
        for number in line[bad]
    ]
    keep = ~bad
    return PriceTable(
        columns.candles,
        line[keep],
        t[keep],
        price[keep],
        None if low is None else low[keep],
        None if high is None else high[keep],
        faults,
    )


def _spread(column: Any) -> Any:
    """A column of categories as the column of what they stand for."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _arrow_floats(column: Any) -> NDArray[np.float64]:
    """A column of prices as float64, NaN where there is none or one that cannot be read."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    column = _spread(column)
    if _is_text(column.type):
        texts = [str(text or "").strip() for text in column.to_pylist()]
        return np.array([float(text) if _NUMBER.match(text) else np.nan for text in texts], np.float64)
    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values.astype(np.float64)


def _arrow_times(path: str, column: Any, *, naive: bool) -> NDArray[np.int64]:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    kind = column.type
    missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)
    if _is_text(kind):
        texts = [str(text or "") for text in column.to_pylist()]
        return np.array([_time_or_none(text.strip(), naive=naive) for text in texts], np.int64)
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("ms"))
        kind = column.type
    if pa.types.is_timestamp(kind):
        ticks = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        each = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}[kind.unit]
        t = ticks // 1000 if kind.unit == "ns" else np.clip(ticks, -_LAST // each, _LAST // each) * each
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        missing |= ~np.isfinite(values) | (values < 0) | (values >= 2**63)
        if pa.types.is_integer(kind):
            values = column.fill_null(0).to_numpy(zero_copy_only=False)
            t = _epoch_us(np.where(missing, 0, values))
        else:
            values = np.where(missing, 0.0, values)
            t = np.where(values < 1e11, np.rint(values * 1e6).astype(np.int64), _epoch_us(values))
    else:
        raise InputError(f"{path}: its time column holds {kind}; write timestamps")
    return np.where(missing, _NO_TIME, t).astype(np.int64)


def _time_or_none(text: str, *, naive: bool) -> int:
    try:
        return _time_of(text, naive=naive)
    except ValueError:
        return int(_NO_TIME)
