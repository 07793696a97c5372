"""What a bot's source leaves open, in sentences for whoever reads it: candles it has not kept, orders never filled.

A live bot keeps no candles, so their absence is the normal case and no fault; a command of freqtrade fetches them, one for
spot and one for futures, whose pairs it calls BASE/QUOTE:SETTLE ("BTC/USDT:USDT").

Source: freqtrade's documentation ("Data downloading", "Leverage": pair naming).
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from retro.figures import count
from retro.ingest.freqtrade.span import AFTER, BEFORE
from retro.model import MarksWanted
from retro.periods import DAY, format_instant
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from retro.ingest.freqtrade.span import PairTraded, Span

__all__ = ["candles_wanted", "never_filled"]

_USUAL: Final = "5m"
_MINUTES: Final = ((1440, "d"), (60, "h"), (1, "m"))
_TELLING: Final = re.compile(r"[A-Za-z0-9._-]{1,40}")
_PAIR: Final = re.compile(r"[^\W_][^\s-]*(-[^\s-]+)*/[^\s-]+(-[^\s-]+)*")
"""Of a pair that reads like an option the command says nothing."""


def candles_wanted(
    span: Span, pairs: Mapping[str, PairTraded], as_of: int | None, now: int, *, were_given: bool
) -> MarksWanted:
    """The days on which pairs of a source were held, and what to say of those days that have no mark.

    `as_of`, `now`: microseconds; what is open is held up to `as_of`, else to the end of the source.
    """
    end = span.horizon(as_of)
    days = {pair: traded.days_until(end) for pair, traded in pairs.items()}
    total = _day_count(days)
    say = _still_missing if were_given else _none_given

    def sentence(lacking: Mapping[str, Collection[int]]) -> str:
        which = f"{count(len(lacking), 'pair')} of {len(days):,}"
        part = "" if _day_count(lacking) == total else f"{_day_count(lacking):,} of {count(total, 'day')}"
        return say(which, part, _commands(span, lacking, as_of, now))

    return MarksWanted(days, sentence)


def never_filled(trades: int) -> str:
    """Trades of which nothing was ever bought or sold."""
    if trades == 1:
        return "1 trade is left out: none of its orders has been filled"
    return f"{trades:,} trades are left out: none of their orders has been filled"


def _none_given(which: str, part: str, command: str) -> str:
    """No folder of candles; `part` of the days, where others have marks from before."""
    reason = (
        f"and of {which} no marks are stored for the time traded ({part})"
        if part
        else "as is usual of a live bot"
    )
    return (
        f"no candles were given, {reason}: paths, regret and what came after exits stay empty"
        f"{' there' if part else ''}; to fetch candles and read again with --candles: {command}"
    )


def _still_missing(which: str, part: str, command: str) -> str:
    """A folder of candles that has not all of them."""
    days = f"{part}; " if part else ""
    return f"{which} without candles for the time traded ({days}no path, no regret); to fetch them: {command}"


def _day_count(days: Mapping[str, Collection[int]]) -> int:
    return sum(map(len, days.values()))


def _commands(span: Span, lacking: Mapping[str, Collection[int]], as_of: int | None, now: int) -> str:
    """What fetches the candles of these days, ready to be typed: a command for spot, one for futures, or both."""
    start = min(map(min, lacking.values())) * DAY - BEFORE
    is_held = as_of is None and any(span.pairs[pair].open_since is not None for pair in lacking)
    end = min(max(map(max, lacking.values())) * DAY + AFTER, now)
    timerange = f"{_day(start)}-{'' if is_held else _day(end + DAY)}"
    spot = {pair: span.pairs[pair] for pair in lacking if span.pairs[pair].spot}
    futures = {traded.settled_name: traded for pair in lacking if (traded := span.pairs[pair]).futures}
    parts = [("spot" if futures else "", spot), ("futures", futures)]  # a bot for spot alone is set to it
    return " && ".join(
        _download_command(pairs, span.exchanges, mode, timerange) for mode, pairs in parts if pairs
    )


def _download_command(
    pairs: Mapping[str, PairTraded], exchanges: Iterable[str], mode: str, timerange: str
) -> str:
    """One command of freqtrade's; no `mode`: the one the bot is set to."""
    frames = sorted({_frame(timeframe) for traded in pairs.values() for timeframe in traded.timeframes})
    words = ["freqtrade", "download-data"]
    named = [exchange for exchange in exchanges if _TELLING.fullmatch(exchange)]
    if len(named) == 1:
        words += ["--exchange", named[0]]
    words += ["--trading-mode", mode] if mode else []
    words += ["--pairs", *sorted(plain_text(pair) for pair in pairs if _PAIR.fullmatch(pair))]
    words += ["--timeframes", *frames, "--timerange", timerange]
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
