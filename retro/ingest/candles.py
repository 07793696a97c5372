"""Marks from price files: `timestamp,price`, or candles, whose mark is the close at open + timeframe.

Times are RFC 3339 with offset, or epochs in s, ms, us or ns. In candle files, and in the typed columns of Feather and
Parquet, a time without offset is UTC: that is how exchanges and bots dump candles. In a `timestamp,price` text file
it is a fault, as in a journal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.errors import InputError, UsageError
from retro.ingest.tables import PriceTable, read_tables
from retro.journal import LARGEST, is_name, quote
from retro.model import Batch, Fault, MarkSeries
from retro.periods import DAY, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["candles_series", "from_candles", "read", "series_of"]

_SAMPLE: Final = 100_000
"""Rows looked at to infer a candle's length."""


def read(
    path: str, instrument: str, timeframe: str | None, *, now: int, size: int = 50_000
) -> Iterator[Batch]:
    """Shared marks of one instrument from a price file, by the batch.

    `timeframe` ("1h") is the candle's length; without it the median gap between candles. Candles that were not
    complete at `now` (microseconds) are left out, a time after `now` + 1 day is a fault.
    """
    if not is_name(instrument):
        raise UsageError(f"{quote(instrument)} is not an instrument; write one such as ETH/USDC")
    length = _length(timeframe)
    for part in read_tables(path, _SAMPLE if length is None else size):
        if part.candles and length is None:
            length = _median_gap(path, part)
        yield _batch(path, instrument, part, length or 0, now)


def candles_series(
    path: str, instrument: str, timeframe_us: int, start: int, end: int, faults: list[Fault] | None = None
) -> MarkSeries:
    """Shared marks of one candle file with start <= stamp <= end, all in microseconds; empty where there are none.

    `faults` receives the rows of that window that could not be used. Where a file gives two prices for one instant
    the first stands.
    """
    parts: list[MarkSeries] = []
    for part in read_tables(path, _SAMPLE):
        if not part.candles:
            raise InputError(f"{path} holds no candles; its columns must be date, open, high, low, close")
        stamp = part.t + timeframe_us
        inside = _rows(part, (stamp >= start) & (stamp <= end))
        series, bad = from_candles(path, instrument, inside, timeframe_us)
        parts.extend(series)
        if faults is not None:
            faults.extend([*part.faults, *bad])
    return _first_of_each(instrument, parts)


def from_candles(
    where: str, instrument: str, table: PriceTable, timeframe_us: int
) -> tuple[list[MarkSeries], list[Fault]]:
    """Marks at open + timeframe of a table of candles, and the rows that have no usable price.

    A row is usable when its close, and low and high where there are any, are finite and above 0, and low <= high.
    """
    reason = np.zeros(len(table.t), np.int8)
    for code, prices in ((1, table.price), (2, table.low), (3, table.high)):
        if prices is not None:
            reason[(reason == 0) & ~((prices > 0) & (prices <= LARGEST))] = code
    if table.low is not None and table.high is not None:
        reason[(reason == 0) & (table.low > table.high)] = 4
    texts = (
        "",
        f"{'close' if table.candles else 'price'}: is not a finite number above 0; correct or drop the row",
        "low: is not a finite number above 0; correct or drop the row",
        "high: is not a finite number above 0; correct or drop the row",
        "low: is above high; correct or drop the row",
    )
    bad = np.flatnonzero(reason)
    faults = [Fault(where, int(table.line[row]), texts[reason[row]]) for row in bad]
    usable = _rows(table, reason == 0)
    marks = series_of(None, instrument, usable.t + timeframe_us, usable.price, usable.low, usable.high)
    return marks, faults


def series_of(
    agent: str | None,
    instrument: str,
    t: NDArray[np.int64],
    price: NDArray[np.float64],
    low: NDArray[np.float64] | None = None,
    high: NDArray[np.float64] | None = None,
) -> list[MarkSeries]:
    """Marks in any order as series with ascending, unique `t` (microseconds); none of nothing.

    Identical duplicates fall together. A second price for an instant goes into a second series, for the store to
    report as a conflict: the one that came first stands.
    """
    order = np.argsort(t, kind="stable")
    result: list[MarkSeries] = []
    while len(order):
        at = t[order]
        first = np.r_[True, at[1:] != at[:-1]]
        stands = order[first]
        twin = stands[np.cumsum(first) - 1]
        other = price[order] != price[twin]
        for extreme in (low, high):
            if extreme is not None:
                other |= extreme[order] != extreme[twin]
        result.append(
            MarkSeries(
                agent,
                instrument,
                t[stands],
                price[stands],
                None if low is None else low[stands],
                None if high is None else high[stands],
            )
        )
        order = order[other]
    return result


def _length(timeframe: str | None) -> int | None:
    if timeframe is None:
        return None
    try:
        return parse_duration(timeframe)
    except ValueError:
        raise UsageError(f"{quote(timeframe)} is not a timeframe; write one such as 5m, 1h or 1d") from None


def _median_gap(path: str, table: PriceTable) -> int:
    """Microseconds between candles. Only rows in order, or a whole file's rows, tell it."""
    ask = "say how long a candle is, for example --timeframe 1h"
    opens = np.unique(table.t)
    if len(opens) < 2:
        raise InputError(f"{path} has too few candles to tell their length; {ask}")
    if len(table.t) >= _SAMPLE // 2 and bool(np.any(np.diff(table.t) < 0)):
        raise InputError(f"{path} is not in order of time, so the candles' length is not known; {ask}")
    return int(np.median(np.diff(opens)))


def _batch(path: str, instrument: str, table: PriceTable, length: int, now: int) -> Batch:
    step = length if table.candles else 0
    late = table.t > now + DAY
    early = table.t < 0
    faults = [
        *(Fault(path, int(row), "time: is more than a day ahead of the clock") for row in table.line[late]),
        *(Fault(path, int(row), "time: is before 1970; check its unit") for row in table.line[early]),
    ]
    complete = ~(late | early)
    if table.candles:
        complete &= table.t + step <= now
    series, bad = from_candles(path, instrument, _rows(table, complete), step)
    every = sorted([*table.faults, *faults, *bad], key=lambda fault: fault.line or 0)
    return Batch(marks=series, faults=every, events=int(complete.sum()) - len(bad))


def _rows(table: PriceTable, which: NDArray[np.bool_]) -> PriceTable:
    return replace(
        table,
        line=table.line[which],
        t=table.t[which],
        price=table.price[which],
        low=None if table.low is None else table.low[which],
        high=None if table.high is None else table.high[which],
        faults=[],
    )


def _first_of_each(instrument: str, parts: list[MarkSeries]) -> MarkSeries:
    if not parts:
        return MarkSeries(None, instrument, np.empty(0, np.int64), np.empty(0, np.float64))
    low = [part.low for part in parts if part.low is not None]
    high = [part.high for part in parts if part.high is not None]
    return series_of(
        None,
        instrument,
        np.concatenate([part.t for part in parts]),
        np.concatenate([part.price for part in parts]),
        np.concatenate(low) if len(low) == len(parts) else None,
        np.concatenate(high) if len(high) == len(parts) else None,
    )[0]
