"""The adapters there are: what a `[[source]]` may be, and what the rest of the house needs to know to read one.

A new adapter is a folder in this room and a row here; `tests/ingest/test_registry.py` says where else its name must
stand. Nothing is imported until a source is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retro.ingest.growth import LogReading
    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["ADAPTERS", "CORRECTED", "Adapter"]

CORRECTED: Final = "replaced by a later reading"
"""Why a fact was replaced that a source tells otherwise now."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one kind of source is read.

    `growth` says what reading it again means: `appended` sources grow at their end and are read on from there, of
    `folder` sources only the files that changed, `whole` ones from the start; those tell their present state, which
    corrects what an earlier reading told. The `log` of another program is read from the start too, and what it told
    stays as it is; its files and folders are read together, and its command is made of its row. `reader` is where its function stands, `module:function`; `options` are the
    keys of `[[source]]` it is called with. `beside` are endings of files that change with the source's own (""), `twins` a pattern of others that are read with it, {} being its name without
    ending.
    `wants_candles`: without any it has no marks. `resumption` gives the readings that one of its files is owed since
    the last, for logs that can be read on. `sniffer` says of a sample in a few words why it is of this kind, or
    None. `summary` and `example` are the help of a log's command.
    """

    name: str
    reader: str
    growth: Literal["appended", "whole", "folder", "log", "auto"]
    options: tuple[str, ...] = ()
    beside: tuple[str, ...] = ("",)
    wants_candles: bool = False
    is_dated: bool = False
    """Whether a reading says how far the source was seen, so that a later one corrects it and an earlier one does not."""
    sniffer: str = ""
    resumption: str = ""
    twins: str = ""
    summary: str = ""
    example: str = ""

    def sniff(self, sample: SourceSample) -> str | None:
        """Why a sample is of this kind, in a few words; None where it is not."""
        if not self.sniffer:
            return None
        sniffer: Callable[[SourceSample], str | None] = _attribute(self.sniffer)
        return sniffer(sample)

    def load(self) -> Callable[..., Iterator[Batch]]:
        """Its reader; imported now."""
        reader: Callable[..., Iterator[Batch]] = _attribute(self.reader)
        return reader

    def load_resumption(self) -> Callable[..., Iterator[LogReading]] | None:
        """What reads a file on; None where files are read from the start."""
        return _attribute(self.resumption) if self.resumption else None

    def options_of(self, source: Any) -> dict[str, Any]:
        """What its reader is called with, from a `[[source]]` table."""
        return {name: getattr(source, name) for name in self.options}


def _attribute(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


_ALL: Final = (
    Adapter(
        "auto",
        "retro.ingest.recognition:read",
        "auto",
        options=("agent", "zone"),
        beside=("", "-wal", "-journal"),
    ),
    Adapter(
        "journal",
        "retro.ingest.journal.reader:read",
        "appended",
        sniffer="retro.ingest.recognition:sniff_journal",
    ),
    Adapter(
        "freqtrade",
        "retro.ingest.freqtrade.reader:read",
        "whole",
        options=("agent", "candles"),
        beside=("", "-wal", "-journal"),
        wants_candles=True,
        is_dated=True,
        sniffer="retro.ingest.recognition:sniff_freqtrade",
    ),
    Adapter("marks", "retro.ingest.candles:read", "folder", sniffer="retro.ingest.recognition:sniff_marks"),
    Adapter(
        "hummingbot",
        "retro.ingest.hummingbot.reader:read",
        "log",
        options=("agent",),
        beside=("", "-wal", "-journal"),
        twins="trades_{}*.csv",
        sniffer="retro.ingest.hummingbot.reader:sniff",
        summary="Read hummingbot's databases and trades CSV. Executors, funding and liquidity positions too.",
        example="retro ingest hummingbot data",
    ),
    Adapter(
        "nofx",
        "retro.ingest.nofx.reader:read",
        "log",
        options=("agent",),
        beside=("", "-wal", "-journal"),
        sniffer="retro.ingest.nofx.reader:sniff",
        summary="Read nofx's decision logs, or its data.db. The logs are a folder, or one .jsonl file.",
        example="retro ingest nofx decision_logs",
    ),
    Adapter(
        "tradingagents",
        "retro.ingest.tradingagents.reader:read",
        "log",
        options=("agent", "zone"),
        sniffer="retro.ingest.tradingagents.reader:sniff",
        summary="Read TradingAgents' memory log and state logs. Decisions, forecasts and what came of them; no fills.",
        example="retro ingest tradingagents trading_memory.md results --zone America/New_York",
    ),
    Adapter(
        "table",
        "retro.ingest.table.reader:read",
        "log",
        options=("agent", "zone", "map"),
        beside=("", "-wal", "-journal"),
        resumption="retro.ingest.table.resumption:readings",
        sniffer="retro.ingest.table.reader:sniff",
        summary="Read any table as a mapping says. CSV, JSON, SQLite, XML and XLSX (docs/sources.md).",
        example="retro ingest table ledgers.csv --map kraken-ledgers",
    ),
    Adapter(
        "hyperliquid",
        "retro.ingest.hyperliquid.reader:read",
        "log",
        options=("agent", "zone"),
        resumption="retro.ingest.hyperliquid.resumption:readings",
        sniffer="retro.ingest.hyperliquid.reader:sniff",
        summary="Read fills, funding and transfers of Hyperliquid. The website's CSV exports, or answers of its API.",
        example="retro ingest hyperliquid trade_history.csv funding_history.csv --zone Europe/Paris",
    ),
    Adapter(
        "ai-trader",
        "retro.ingest.ai_trader.reader:read",
        "log",
        options=("agent", "zone"),
        sniffer="retro.ingest.ai_trader.reader:sniff",
        summary="Read AI-Trader's runs: position.jsonl with its logs. Price files (merged.jsonl) become marks.",
        example="retro ingest ai-trader data",
    ),
    Adapter(
        "metatrader",
        "retro.ingest.metatrader.reader:read",
        "log",
        options=("agent", "zone"),
        sniffer="retro.ingest.metatrader.reader:sniff",
        summary="Read reports of MetaTrader 5 and 4, in any language. Account or tester, XLSX or HTML; statements.",
        example="retro ingest metatrader ReportHistory-10000001.xlsx --zone Europe/Athens",
    ),
    Adapter(
        "uniswap-v3",
        "retro.ingest.uniswap.reader:read",
        "log",
        options=("agent",),
        sniffer="retro.ingest.uniswap.reader:sniff",
        summary="Read liquidity positions of Uniswap v3. Events as Dune exports them, or positions of The Graph.",
        example="retro ingest uniswap-v3 pool_events",
    ),
)

ADAPTERS: Final = {adapter.name: adapter for adapter in _ALL}
"""By the name that `kind` of a `[[source]]` and `retro ingest` have for them."""
