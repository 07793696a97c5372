"""Which reader a foreign file or folder is for, by a look at its beginning: named with a reason, never guessed."""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.errors import InputError, UsageError
from retro.ingest.registry import ADAPTERS
from retro.ingest.sample import sample_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.registry import Adapter
    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["Recognition", "read", "recognize", "sniff_freqtrade", "sniff_journal", "sniff_marks"]

_LOOKED_INTO: Final = 40
"""Files of a folder that are looked at where the folder itself says nothing."""
_TRADE_COLUMNS: Final = {"pair", "is_open", "open_rate", "open_date"}
_COLUMN_FILES: Final = (b"ARROW1", b"FEA1", b"PAR1")
_TIME_COLUMNS: Final = {"open_time", "timestamp", "date", "datetime", "time"}
_PRICE_COLUMNS: Final = {"price", "close"}
_OF_TRADES: Final = {"side", "action", "quantity", "qty", "size", "sz", "amount", "fee", "pnl", "symbol"}


class Recognition(NamedTuple):
    """A reader that takes a source for its own, and why."""

    adapter: Adapter
    reason: str

    @property
    def sentence(self) -> str:
        """What is said of it."""
        return f"read as {self.adapter.name}: {self.reason}"


def recognize(paths: Sequence[Path]) -> Recognition:
    """The one reader that all these files and folders are for.

    `UsageError` where several take them for their own, which names them; `InputError` where none does, and where one
    cannot be looked at.
    """
    common: dict[str, Recognition] | None = None
    for path in paths:
        candidates = _candidates(path)
        if not candidates:
            tried = ", ".join(name for name, adapter in ADAPTERS.items() if adapter.sniffer)
            raise InputError(
                f"{path}: no reader knows it (tried: {tried}); if it is a table of trades or decisions,"
                f" `retro map {path}` writes a first mapping for `retro ingest table`"
            )
        common = (
            candidates
            if common is None
            else {name: each for name, each in common.items() if name in candidates}
        )
    if not common:
        raise UsageError(f"{' and '.join(map(str, paths))} are of different kinds; ingest them one by one")
    if len(common) > 1:
        listed = "; ".join(
            f"`retro ingest {name}`: {candidate.reason}" for name, candidate in sorted(common.items())
        )
        raise UsageError(f"{paths[0]} may be read in more than one way, say which: {listed}")
    return next(iter(common.values()))


def _candidates(path: Path) -> dict[str, Recognition]:
    """By name; of a folder that says nothing, what its files say who are known."""
    sample = sample_of(path)
    candidates = _of_sample(sample)
    if candidates or not sample.is_folder:
        return candidates
    inside = [path / name for name in sample.names if not name.startswith(".")]
    for file in islice((file for file in inside if file.is_file()), _LOOKED_INTO):
        candidates |= _of_sample(sample_of(file))
    return {name: each for name, each in candidates.items() if each.adapter.growth == "log"}


def _of_sample(sample: SourceSample) -> dict[str, Recognition]:
    reasons = ((adapter, adapter.sniff(sample)) for adapter in ADAPTERS.values())
    return {adapter.name: Recognition(adapter, reason) for adapter, reason in reasons if reason}


def read(
    paths: Sequence[Path], *, agent: str | None = None, zone: str | None = None, now: int
) -> Iterator[Batch]:
    """What the reader of these files and folders gives that they are for."""
    adapter = recognize(paths).adapter
    options = {"agent": agent, "zone": zone}
    unused = [name for name, value in options.items() if value is not None and name not in adapter.options]
    if unused:
        raise UsageError(f"--{unused[0]} says nothing to retro ingest {adapter.name}; leave it out")
    chosen = {name: value for name, value in options.items() if name in adapter.options}
    if adapter.growth == "log":
        return adapter.load()(tuple(paths), **chosen, now=now)
    if adapter.growth == "folder":
        raise UsageError(
            f"{paths[0]} holds prices; say of what: `retro ingest marks {paths[0]} --instrument ETH/USDC`"
        )
    if adapter.growth == "whole":
        if len(paths) > 1:
            raise UsageError(f"{paths[0]} and {paths[1]} are two bots or runs; ingest them one by one")
        return adapter.load()(paths[0], **chosen, now=now)
    from retro.ingest.journal.parallel import read_path  # noqa: PLC0415  by who reads one

    return chain.from_iterable(read_path(str(path), now=now) for path in paths)


# what is ours, and what we read first


def sniff_journal(sample: SourceSample) -> str | None:
    """Why a file is a journal; None where it is not."""
    line = next((line for line in sample.text.splitlines() if line.strip()), "")
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(event, dict) and {"type", "id", "agent", "at"} <= event.keys():
        return "lines with type, id, agent and at, as a journal has them"
    return None


def sniff_freqtrade(sample: SourceSample) -> str | None:
    """Why a file is a bot's database or a backtest's result; None where it is not."""
    if set(sample.tables.get("trades", ())) >= _TRADE_COLUMNS:
        return "a database with freqtrade's table of trades"
    if any(name.startswith("backtest-result") and name.endswith(".json") for name in sample.members):
        return "an archive with a backtest-result, as freqtrade writes it"
    text = sample.text[:2000].lstrip("\ufeff \t\r\n")
    if text.startswith("{") and '"strategy"' in text and '"trades"' in text:
        return "a document with strategies and their trades, as freqtrade's backtest writes it"
    return None


def sniff_marks(sample: SourceSample) -> str | None:
    """Why a file holds prices of one instrument; None where it does not."""
    if sample.head.startswith(_COLUMN_FILES):
        return "a file of columns, as candles are kept in"
    columns = {cell.lower() for cell in sample.header}
    if columns & _TIME_COLUMNS and columns & _PRICE_COLUMNS and not columns & _OF_TRADES:
        return "columns of times and prices, and none of trades"
    return None
