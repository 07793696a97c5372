"""What a bot's source leaves open, in sentences for whoever reads it: candles it has not kept, orders never filled.

A live bot keeps no candles, so their absence is the normal case and no fault; one command of freqtrade fetches them.

Source: freqtrade's documentation ("Data downloading").
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from retro.figures import count
from retro.periods import DAY, format_instant
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["download_command", "missing_candles", "never_filled", "no_candles"]

_USUAL: Final = "5m"
_MINUTES: Final = ((1440, "d"), (60, "h"), (1, "m"))
_TELLING: Final = re.compile(r"[A-Za-z0-9._-]{1,40}")
_PAIR: Final = re.compile(r"[^\W_][^\s-]*(-[^\s-]+)*/[^\s-]+(-[^\s-]+)*")
"""Of a pair that reads like an option the command says nothing."""


def no_candles(command: str) -> str:
    """There are none at all: what that leaves empty, and the command that fetches them."""
    return (
        "no candles were given, as is usual of a live bot: paths, regret and what came after exits stay empty; "
        f"to fetch candles and read again with --candles: {command}"
    )


def missing_candles(pairs: Collection[str], traded: int, command: str) -> str:
    """Some pairs have none for the time they were traded."""
    return (
        f"{count(len(pairs), 'pair')} of {traded:,} without candles for the time traded (no path, no regret); "
        f"to fetch them: {command}"
    )


def never_filled(trades: int) -> str:
    """Trades of which nothing was ever bought or sold."""
    if trades == 1:
        return "1 trade is left out: none of its orders has been filled"
    return f"{trades:,} trades are left out: none of their orders has been filled"


def download_command(
    pairs: Mapping[str, Iterable[str]], exchanges: Iterable[str], start: int, end: int | None
) -> str:
    """The one command that fetches these pairs (each with the timeframes traded on), ready to be typed.

    `start` and `end` microseconds; `end` None means up to now.
    """
    frames = sorted({frame for told in pairs.values() for frame in map(_frame, told)})
    words = ["freqtrade", "download-data"]
    named = [exchange for exchange in exchanges if _TELLING.fullmatch(exchange)]
    if len(named) == 1:
        words += ["--exchange", named[0]]
    if any(":" in pair for pair in pairs):
        words += ["--trading-mode", "futures"]
    last = "" if end is None else _day(end + DAY)
    words += ["--pairs", *sorted(plain_text(pair) for pair in pairs if _PAIR.fullmatch(pair))]
    words += ["--timeframes", *frames, "--timerange", f"{_day(start)}-{last}"]
    return shlex.join(words)


def _day(at: int) -> str:
    return format_instant(at)[:10].replace("-", "")


def _frame(timeframe: str) -> str:
    """A timeframe as freqtrade's commands take it: "5" of a database is 5m, "60" 1h; the usual one where none is told."""
    if not timeframe.isdigit() or not int(timeframe):
        return timeframe if re.fullmatch(r"\d+[mhdw]", timeframe) else _USUAL
    minutes = int(timeframe)
    size, letter = next(unit for unit in _MINUTES if minutes % unit[0] == 0)
    return f"{minutes // size}{letter}"
