"""Finding freqtrade's candle files: which file of a folder holds a pair's prices.

Source: freqtrade's documentation ("Data downloading"): PAIR-TIMEFRAME[-TYPE].EXTENSION, futures in a folder `futures`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.periods import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["CandleFile", "candle_files", "choose", "minutes_of"]

CandleFile = tuple[int, int, "Path"]
"""Timeframe in microseconds, rank of its format (lower is better), path."""

_FORMATS: Final = ("feather", "parquet", "json", "json.gz", "csv", "csv.gz")
_NAME: Final = re.compile(
    rf"(?P<pair>.+)-(?P<frame>\d+[mhdw])(?:-(?:futures|spot))?\.(?P<format>{'|'.join(map(re.escape, _FORMATS))})$"
)
_MINUTE: Final = 60_000_000


def candle_files(folder: Path) -> dict[str, list[CandleFile]]:
    """A pair as file names spell it -> its candle files; funding rates, mark and index prices are passed over."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder of candles: give the one that holds files like BTC_USDT-5m.feather"
        )
    found: dict[str, list[CandleFile]] = {}
    for place in (folder, folder / "futures"):
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if (name := _NAME.match(path.name)) and int(name["frame"][:-1]):
                rank = _FORMATS.index(name["format"])
                found.setdefault(name["pair"], []).append((parse_duration(name["frame"]), rank, path))
    return found


def choose(
    files: dict[str, list[CandleFile]], pair: str, timeframes: Iterable[str]
) -> tuple[Path, int] | None:
    """The file to take a pair's marks from, and its timeframe: one its trades were made on, else the finest."""
    there = files.get(re.sub(r"[-\s.@$+:/]", "_", pair))
    if not there:
        return None
    wanted = {frame for frame in map(minutes_of, timeframes) if frame}
    frame, _, path = min((file for file in there if file[0] in wanted), default=min(there))
    return path, frame


def minutes_of(timeframe: str) -> int | None:
    """Microseconds of a trade's timeframe: minutes in databases, "15m" in backtest results; None when it has none."""
    if timeframe.isdigit():
        return int(timeframe) * _MINUTE
    try:
        return parse_duration(timeframe)
    except ValueError:
        return None
