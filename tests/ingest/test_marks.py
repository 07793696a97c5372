"""Marks from price files: what a column means, when a mark was known, and what is told of a row that cannot be used."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather
from pyarrow import parquet as pq

from retro.errors import InputError, RetroError, UsageError
from retro.ingest.candles import candles_series, read, series_of
from retro.model import Batch, MarkSeries
from retro.periods import HOUR, parse_instant

NOW = parse_instant("2026-03-02T00:00:00Z")
NOON = parse_instant("2026-03-01T12:00:00Z") // 1000
H = HOUR // 1000
CANDLES: dict[str, list[Any]] = {
    "date": [NOON, NOON + H, NOON + 2 * H],
    "open": [10.0, 11.0, 12.0],
    "high": [12.0, 13.0, 14.0],
    "low": [9.0, 10.0, 11.0],
    "close": [11.0, 12.0, 13.0],
    "volume": [1.0, 0.0, 2.0],
}
EXPECTED = [(NOON + H, 11.0, 9.0, 12.0), (NOON + 2 * H, 12.0, 10.0, 13.0), (NOON + 3 * H, 13.0, 11.0, 14.0)]


def whole(path: Path, timeframe: str | None = None, *, now: int = NOW) -> Batch:
    batch = Batch()
    for part in read(str(path), "ETH/USDC", timeframe, now=now):
        batch.marks += part.marks
        batch.faults += part.faults
        batch.events += part.events
    return batch


def rows(series: MarkSeries) -> list[tuple[Any, ...]]:
    """Instants in milliseconds, as the files of these tests have them."""
    columns = [series.t // 1000, series.price, *(c for c in (series.low, series.high) if c is not None)]
    return list(zip(*(c.tolist() for c in columns), strict=True))


def csv(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    return path


def test_a_price_is_a_mark_at_its_instant(tmp_path: Path) -> None:
    path = csv(tmp_path, "timestamp,price\n2026-03-01T12:00:00Z,3000.5\n2026-03-01T14:01:00+02:00,3001\n")
    batch = whole(path)
    (series,) = batch.marks
    assert (series.agent, series.instrument) == (None, "ETH/USDC")
    assert rows(series) == [(NOON, 3000.5), (NOON + 60_000, 3001.0)]
    assert (batch.events, batch.faults) == (2, [])
    assert rows(whole(path, "1h").marks[0]) == rows(series), "a timeframe says nothing about prices"


@pytest.mark.parametrize(
    "stamp", ["2026-03-01T12:00:00.123456Z", f"{NOON * 1000 + 123456}", f"{NOON // 1000}.123456"]
)
def test_a_price_keeps_the_microseconds_it_was_told_with(tmp_path: Path, stamp: str) -> None:
    (series,) = whole(csv(tmp_path, f"timestamp,price\n{stamp},3000\n")).marks
    assert series.t.tolist() == [NOON * 1000 + 123456]
    for kind in ("us", "ns"):
        path = tmp_path / f"{kind}.parquet"
        date = pa.array([NOON * 1000 + 123456], pa.timestamp("us", "UTC")).cast(pa.timestamp(kind, "UTC"))
        write(path, pa.table({"date": date, "close": [1.0]}))
        (series,) = whole(path, "1m", now=NOW).marks
        assert series.t.tolist() == [NOON * 1000 + 123456 + 60_000_000]


@pytest.mark.parametrize(
    "header", ["date,open,high,low,close,volume", "Volume;CLOSE;low;High;Open;Date", "close\tdate\thigh\tlow"]
)
def test_a_candle_is_its_close_known_when_it_ends(tmp_path: Path, header: str) -> None:
    delimiter = next(d for d in ",;\t" if d in header)
    names = header.split(delimiter)
    lines = [delimiter.join(str(CANDLES[name.lower()][row]) for name in names) for row in range(3)]
    path = csv(tmp_path, "\n".join([header, *lines]))
    for timeframe in ("1h", None):
        (series,) = whole(path, timeframe).marks
        assert rows(series) == EXPECTED


@pytest.mark.parametrize(
    ("name", "unit"), [("timestamp", 1_000_000), ("open_time", 1000), ("time", 1), ("date", 0.001)]
)
def test_epochs_are_told_apart_by_their_size(tmp_path: Path, name: str, unit: float) -> None:
    lines = [f"{int(t * unit)},{close}" for t, close in zip(CANDLES["date"], CANDLES["close"], strict=True)]
    (series,) = whole(csv(tmp_path, "\n".join([f"{name},close", *lines]))).marks
    assert rows(series) == [(t, close) for t, close, *_ in EXPECTED]


def test_a_candle_without_offset_is_utc_and_a_price_without_offset_a_fault(tmp_path: Path) -> None:
    for spelled in ("2026-03-01 12:00:00", "2026-03-01T12:00", "2026-03-01T12:00:00.000"):
        candles = whole(csv(tmp_path, f"date,close\n{spelled},11\n"), "1h")
        assert rows(candles.marks[0]) == [(NOON + H, 11.0)]
        prices = whole(csv(tmp_path, f"timestamp,price\n{spelled},11\n2026-03-01T12:00:00Z,12\n"))
        assert [(f.line, "has no offset" in f.reason) for f in prices.faults] == [(2, True)]
        assert rows(prices.marks[0]) == [(NOON, 12.0)]
    daily = whole(csv(tmp_path, "Date,Close\n2026-02-27,11\n2026-02-28,12\n"))
    assert rows(daily.marks[0]) == [(NOON - 36 * H, 11.0), (NOON - 12 * H, 12.0)]


BAD = [
    ("2026-03-01T12:00:00Z,nan,9,12", 'close: "nan" is not a finite number'),
    ("2026-03-01T12:00:00Z,inf,9,12", 'close: "inf" is not a finite number'),
    ("2026-03-01T12:00:00Z,1e999,9,12", "close: is not a finite number above 0"),
    ("2026-03-01T12:00:00Z,-1,9,12", "close: is not a finite number above 0"),
    ("2026-03-01T12:00:00Z,0,9,12", "close: is not a finite number above 0"),
    ("2026-03-01T12:00:00Z,,9,12", 'close: "" is not a finite number'),
    ("2026-03-01T12:00:00Z,1_0,9,12", 'close: "1_0" is not a finite number'),
    ("2026-03-01T12:00:00Z,10,0,12", "low: is not a finite number above 0"),
    ("2026-03-01T12:00:00Z,10,9,x", 'high: "x" is not a finite number'),
    ("2026-03-01T12:00:00Z,10,12,9", "low: is above high"),
    ("2026-03-01T12:00:00Z,10", "row: has 2 cells of the 4 needed"),
    ("noon,10,9,12", "time: 'noon' is not an RFC 3339 instant"),
    (",10,9,12", "time:"),
    ("-5,10,9,12", "time:"),
    ("1969-12-31T23:00:00Z,10,9,12", "time: is before 1970"),
    ("2026-03-03T12:00:00Z,10,9,12", "time: is more than a day ahead of the clock"),
    ('"2026-03-01T12:00:00Z,10,9,12', "cells of the 4 needed"),
    ('2026-03-01T12:00:00Z,10,9,"12', "cells of the 4 needed"),
    ("é" * 99 + ",10,9,12", "is not an RFC 3339 instant"),
]


@pytest.mark.parametrize(("row", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_row_is_a_fault_with_its_line_and_the_others_stand(
    tmp_path: Path, row: str, reason: str
) -> None:
    valid_row = "2026-03-01T13:00:00Z,10,9,12"
    batch = whole(csv(tmp_path, f"date,close,low,high\n{row}\n\n{valid_row}\n"), "1h")
    ((line, message),) = [(fault.line, fault.reason) for fault in batch.faults]
    assert (line, reason in message) == (2, True), message
    assert [rows(series) for series in batch.marks] == [[(NOON + 2 * H, 10.0, 9.0, 12.0)]]
    assert batch.events == 1


def test_a_candle_not_complete_is_left_out_without_a_fault(tmp_path: Path) -> None:
    lines = [f"{t},{close}" for t, close in zip(CANDLES["date"], CANDLES["close"], strict=True)]
    path = csv(tmp_path, "\n".join(["date,close", *lines]))
    for now, complete in ((NOON + 3 * H, 3), (NOON + 3 * H - 1, 2), (NOON + H, 1)):
        batch = whole(path, "1h", now=now * 1000)
        assert (batch.events, batch.faults) == (complete, [])
        assert [m.t.tolist()[-1] for m in batch.marks] == [(NOON + complete * H) * 1000]


def test_order_and_duplicates_do_not_matter_and_a_second_price_is_left_to_the_store(tmp_path: Path) -> None:
    lines = [
        "2026-03-01T12:01:00Z,2",
        "2026-03-01T12:00:00Z,1",
        "2026-03-01T12:01:00Z,2.0",
        "2026-03-01T12:00:00Z,5",
    ]
    batch = whole(csv(tmp_path, "\n".join(["timestamp,price", *lines])))
    assert [rows(series) for series in batch.marks] == [[(NOON, 1.0), (NOON + 60_000, 2.0)], [(NOON, 5.0)]]


def test_the_length_of_a_candle_is_asked_for_when_it_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--timeframe 1h"):
        whole(csv(tmp_path, "date,close\n2026-03-01T12:00:00Z,1\n"))
    with pytest.raises(UsageError, match="is not a timeframe"):
        whole(csv(tmp_path, "date,close\n2026-03-01T12:00:00Z,1\n"), "soon")
    with pytest.raises(UsageError, match="is not an instrument"):
        list(read(str(tmp_path), "", None, now=NOW))


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2\n", "1772366400,3000\n", "price\n1\n", "timestamp,timestamp,price\n1,1,1\n", "\0\0\0\n\xff"],
)
def test_a_file_without_the_columns_is_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"needs a header with timestamp and price|two columns"):
        whole(csv(tmp_path, text))


def test_another_unicode_is_one_sentence(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        (tmp_path / "c.csv").write_bytes("timestamp,price\n0,1\n".encode(encoding))
        with pytest.raises(InputError, match=r"c\.csv: the file is UTF-(16|32); save it as UTF-8"):
            whole(tmp_path / "c.csv")


def test_an_empty_file_and_one_of_only_a_header_hold_no_marks(tmp_path: Path) -> None:
    for text in ("", "\n\n", "timestamp,price\n", "date,open,high,low,close\n"):
        batch = whole(csv(tmp_path, text), "1h")
        assert (batch.events, batch.marks, batch.faults) == (0, [], [])


def test_a_packed_text_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv.gz"
    path.write_bytes(gzip.compress("\ufefftimestamp,price\n1772366400,1\n".encode()))
    assert rows(whole(path).marks[0]) == [(NOON, 1.0)]


STAMPS = [
    pa.timestamp("ms", "UTC"),
    pa.timestamp("ns", "UTC"),
    pa.timestamp("us"),
    pa.timestamp("ns"),
    pa.timestamp("s", "Europe/London"),
    pa.int64(),
    pa.float64(),
    pa.string(),
]


def table(stamp: pa.DataType, **changes: object) -> pa.Table:
    columns = {**CANDLES, **changes}
    date = pa.array(columns.pop("date"), pa.timestamp("ms", "UTC"))
    if pa.types.is_string(stamp):
        date = pa.array(["2026-03-01T12:00:00Z", "2026-03-01 13:00:00", "2026-03-01T14:00:00+00:00"])
    elif pa.types.is_timestamp(stamp):
        date = date.cast(stamp)
    else:
        date = date.cast(pa.int64()).cast(stamp)
    return pa.table({"Date": date, **columns})


def write(path: Path, written: pa.Table) -> None:
    if path.suffix == ".parquet":
        pq.write_table(written, path)
    else:
        feather.write_feather(written, str(path), compression="lz4")


@pytest.mark.parametrize("name", ["c.feather", "c.parquet"])
@pytest.mark.parametrize("stamp", STAMPS, ids=str)
def test_column_files_are_read_in_every_resolution(tmp_path: Path, name: str, stamp: pa.DataType) -> None:
    write(tmp_path / name, table(stamp))
    for timeframe in ("1h", None):
        (series,) = whole(tmp_path / name, timeframe).marks
        assert rows(series) == EXPECTED


def test_a_date_column_holds_daily_candles(tmp_path: Path) -> None:
    write(
        tmp_path / "c.parquet", pa.table({"date": pa.array([20_000, 20_001], pa.date32()), "close": [1, 2]})
    )
    (series,) = whole(tmp_path / "c.parquet").marks
    assert rows(series) == [(20_001 * 24 * H, 1.0), (20_002 * 24 * H, 2.0)]


@pytest.mark.parametrize("name", ["c.feather", "c.parquet"])
def test_bad_rows_of_column_files_have_row_numbers(tmp_path: Path, name: str) -> None:
    written = table(STAMPS[0], date=[NOON, None, NOON + 2 * H], close=[float("nan"), 12.0, 13.0])
    write(tmp_path / name, written)
    batch = whole(tmp_path / name, "1h")
    assert [(fault.line, fault.reason[:6]) for fault in batch.faults] == [(1, "close:"), (2, "time: ")]
    assert [rows(series) for series in batch.marks] == [EXPECTED[2:]]
    write(tmp_path / name, table(STAMPS[0], close=[None, 0.0, -1.0]))
    assert [fault.line for fault in whole(tmp_path / name, "1h").faults] == [1, 2, 3]


@pytest.mark.parametrize("name", ["c.feather", "c.parquet"])
def test_columns_of_text_and_of_categories_cost_only_the_rows_that_are_no_numbers(
    tmp_path: Path, name: str
) -> None:
    texts = pa.array([f"2026-01-01T1{hour}:00:00Z" for hour in range(3)])
    prices = pa.array(["11", " 1e400", "x"])
    for date, close in ((texts, prices), (texts.dictionary_encode(), prices.dictionary_encode())):
        write(tmp_path / name, pa.table({"date": date, "close": close}))
        batch = whole(tmp_path / name, "1h")
        assert [(fault.line, fault.reason[:6]) for fault in batch.faults] == [(2, "close:"), (3, "close:")]
        assert [price for _, price, *_ in rows(batch.marks[0])] == [11.0]


@pytest.mark.parametrize("name", ["c.feather", "c.parquet"])
def test_a_column_file_cut_short_is_one_sentence(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, table(STAMPS[0]))
    data = (tmp_path / name).read_bytes()
    for end in (8, len(data) // 2, len(data) - 1):
        (tmp_path / name).write_bytes(data[:end])
        with pytest.raises(RetroError, match="damaged or cut short"):
            whole(tmp_path / name, "1h")


def test_a_time_column_of_something_else_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path / "c.parquet", pa.table({"date": [True], "close": [1.0]}))
    with pytest.raises(InputError, match=r"c\.parquet: its time column holds bool"):
        whole(tmp_path / "c.parquet", "1h")


def test_a_window_of_candles_is_bounded_by_when_they_were_known(tmp_path: Path) -> None:
    path = tmp_path / "c.feather"
    write(path, table(STAMPS[1], close=[11.0, float("nan"), 13.0]))
    faults: list[Any] = []

    def window(start: int, end: int) -> list[tuple[Any, ...]]:
        return rows(candles_series(str(path), "ETH/USDC", HOUR, start * 1000, end * 1000, faults))

    assert window(0, NOON * 2) == [EXPECTED[0], EXPECTED[2]]
    assert [fault.line for fault in faults] == [2]
    assert window(NOON + H, NOON + H) == [EXPECTED[0]]
    assert window(NOON + H + 1, NOON + 3 * H - 1) == []
    assert window(NOON + 3 * H, NOON + 9 * H) == [EXPECTED[2]]
    assert window(0, 1) == []


def test_a_file_read_in_parts_is_the_file_read_at_once(tmp_path: Path) -> None:
    n = 1000
    opens = NOON - np.arange(n) * 60_000
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table({"date": pa.array(opens, pa.timestamp("ms")), "close": np.arange(n) + 1.0}), path)
    parts = [m for batch in read(str(path), "X", "1m", now=NOW, size=64) for m in batch.marks]
    (once,) = [m for batch in read(str(path), "X", "1m", now=NOW) for m in batch.marks]
    assert len(parts) > 10
    assert sorted(row for part in parts for row in rows(part)) == rows(once)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from([1.0, 2.0, 3.0]), st.sampled_from([0.5, 0.7])),
        max_size=12,
    )
)
def test_series_lose_no_price_and_each_is_in_order(marks: list[tuple[int, float, float]]) -> None:
    t, price, low = (np.array([m[i] for m in marks]) for i in range(3))
    layers = series_of("alpha", "X", t.astype(np.int64) * 1000, price.astype(float), low.astype(float))
    assert {row for layer in layers for row in rows(layer)} == set(marks)
    firsts: dict[Any, Any] = {}
    for mark in marks:
        firsts.setdefault(mark[0], mark)
    assert not marks or set(rows(layers[0])) == set(firsts.values())
    for layer in layers:
        assert (np.diff(layer.t) > 0).all()
        assert layer.agent == "alpha"
