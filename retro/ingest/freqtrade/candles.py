"""freqtrade's candle files: which file of a folder holds a pair's prices, and its own JSON form of them.

Source: freqtrade's documentation ("Data downloading"): PAIR-TIMEFRAME[-TYPE].EXTENSION, futures in a folder `futures`.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.errors import InputError
from retro.ingest.candles import candles_series, from_candles
from retro.ingest.tables import PriceTable
from retro.model import MarkSeries
from retro.periods import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from retro.model import Fault

__all__ = ["CandleFile", "candle_files", "choose", "minutes_of", "series"]

CandleFile = tuple[int, int, "Path"]
"""Timeframe in microseconds, rank of its format (lower is better), path."""

_FORMATS: Final = ("feather", "parquet", "json", "json.gz", "csv", "csv.gz")
_NAME: Final = re.compile(
    rf"(?P<pair>.+)-(?P<frame>\d+[mhdw])(?:-(?:futures|spot))?\.(?P<format>{'|'.join(map(re.escape, _FORMATS))})$"
)
_MINUTE: Final = 60_000_000
_MOST_BYTES: Final = 256 * 1024 * 1024
"""One-minute candles of a decade fit in JSON of this size."""


def candle_files(folder: Path) -> dict[str, list[CandleFile]]:
    """A pair as file names spell it -> its candle files; funding rates, mark and index prices are passed over."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder of candles: give the one that holds files like BTC_USDT-5m.feather"
        )
    files = _files_in(folder)
    if not files:
        inside = [place for place in sorted(folder.iterdir()) if place.is_dir() and _files_in(place)]
        if inside:
            raise InputError(f"{folder} holds no candles, its folder {inside[0].name} does: give {inside[0]}")
    return files


def _files_in(folder: Path) -> dict[str, list[CandleFile]]:
    files: dict[str, list[CandleFile]] = {}
    for place in (folder, folder / "futures"):
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if (name := _NAME.match(path.name)) and int(name["frame"][:-1]):
                rank = _FORMATS.index(name["format"])
                files.setdefault(name["pair"], []).append((parse_duration(name["frame"]), rank, path))
    return files


def choose(
    files: dict[str, list[CandleFile]], pair: str, timeframes: Iterable[str]
) -> tuple[Path, int] | None:
    """The file to take a pair's marks from, and its timeframe: one its trades were made on, else the finest."""
    candidates = files.get(re.sub(r"[-\s.@$+:/]", "_", pair))
    if not candidates:
        return None
    wanted = {frame for frame in map(minutes_of, timeframes) if frame}
    frame, _, path = min((file for file in candidates if file[0] in wanted), default=min(candidates))
    return path, frame


def minutes_of(timeframe: str) -> int | None:
    """Microseconds of a trade's timeframe: minutes in databases, "15m" in backtest results; None when it has none."""
    if timeframe.isdigit():
        return int(timeframe) * _MINUTE
    try:
        return parse_duration(timeframe)
    except ValueError:
        return None


def series(path: Path, pair: str, timeframe: int, start: int, end: int, faults: list[Fault]) -> MarkSeries:
    """A pair's marks with start <= stamp <= end (microseconds), ascending; rows that are of no use go to `faults`."""
    if not path.name.endswith((".json", ".json.gz")):
        return candles_series(str(path), pair, timeframe, start, end, faults)
    rows = _json_rows(path)
    stamp = rows[:, 0] * 1000 + timeframe
    inside = np.flatnonzero((stamp >= start) & (stamp <= end))
    opens, _, high, low, close = (rows[inside, column] for column in range(5))
    table = PriceTable(True, inside + 1, opens.astype(np.int64) * 1000, close, low, high)
    marks, bad = from_candles(str(path), pair, table, timeframe)
    faults.extend(bad)
    return marks[0] if marks else MarkSeries(None, pair, np.empty(0, np.int64), np.empty(0))


def _json_rows(path: Path) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Rows of [open time in ms, open, high, low, close, volume]."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InputError(f"{path} holds more than {_MOST_BYTES >> 20} MiB of JSON: convert it to feather")
        rows = np.array(json.loads(text) or np.empty((0, 6)), dtype=np.float64)
    except (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as candles: {str(error)[:120]}") from error
    if rows.ndim != 2 or rows.shape[1] < 5:
        raise InputError(
            f"{path} holds no candles: rows of [time, open, high, low, close, volume] are expected"
        )
    return rows
