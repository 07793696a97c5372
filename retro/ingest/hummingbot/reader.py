"""hummingbot: `data/<config>.sqlite` and `data/trades_<config>.csv`, which tell the same fills.

The CSV keeps every digit, the database six decimals: where both lie side by side the CSV's fills are taken, and the
database adds the others, funding, executors and liquidity positions. A configuration is an agent.

Source: hummingbot/model/*.py and connector/markets_recorder.py of hummingbot/hummingbot; files of two users
(research, section 3.1). Paper orders, whose ids hold `//`, are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.amounts import named
from retro.ingest.batches import BatchWriter
from retro.ingest.hummingbot.database import BotDatabase, number_of
from retro.ingest.hummingbot.fees import charges
from retro.ingest.hummingbot.life import BotLife
from retro.ingest.hummingbot.records import BotRecord, FundingRecord, RangeRecord, TradeRecord, instant_of
from retro.ingest.rows.csv import CsvLayout, rows
from retro.ingest.sample import sample_of
from retro.ingest.source import SQLITE, magic
from retro.ingest.spool import Spool
from retro.ingest.sqlite import open_copy
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from decimal import Decimal

    from retro.ingest.hummingbot.database import Executor, Fields
    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["read", "sniff"]

_COLUMNS: Final = frozenset(
    {
        "config_file_path",
        "exchange_trade_id",
        "market",
        "order_id",
        "price",
        "symbol",
        "timestamp",
        "trade_fee",
        "trade_type",
    }
)
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_DOLLARS: Final = ("USDT", "USDC", "USD", "FDUSD", "BUSD", "DAI")


def sniff(sample: SourceSample) -> str | None:
    """Why this is hummingbot's, in a few words; None where it is not."""
    if sample.is_folder:
        is_data = any(name.startswith("trades_") and name.endswith(".csv") for name in sample.names)
        return "a folder with trades_....csv, as hummingbot's data" if is_data else None
    if {"TradeFill", "MarketState"} <= sample.tables.keys():
        return "a database with TradeFill and MarketState, as hummingbot keeps it"
    if set(sample.header) >= _COLUMNS:
        return "a table with config_file_path and exchange_trade_id, as hummingbot's trades_....csv"
    return None


def read(paths: Sequence[Path], *, agent: str | None, now: int) -> Iterator[Batch]:
    """Facts of every configuration these files and folders tell of; `agent` names the one there is."""
    tables, databases = _files(paths)
    writer = BatchWriter(str(paths[0]), now)
    with Spool[BotRecord](BotRecord) as spool:
        intake = _Intake(spool, writer)
        for file in tables:  # first: of two tellings of a fill the first is kept
            intake.table(file)
        for file in databases:
            intake.database(file)
        intake.sentences()
        if agent and len(intake.quotes) > 1:
            raise InputError(f"{paths[0]} holds {len(intake.quotes)} configurations; leave out --agent")
        yield writer.batch()
        life: BotLife | None = None
        config = None
        for record in spool:
            if life is None or record.config != config:
                if life:
                    life.end()
                config = record.config
                name = agent or _UNFIT.sub("-", config).strip("-.")[:64] or "hummingbot"
                life = BotLife(
                    writer, name, _currency(intake.quotes[config]), intake.executors.get(config, [])
                )
            life.take(record)
            if writer.full:
                yield writer.batch()
        if life:
            life.end()
        yield writer.batch()


def _files(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The CSV files and databases of these paths, each database's twin beside it with them."""
    tables: list[Path] = []
    databases: list[Path] = []
    for path in paths:
        files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        for file in files:
            if magic(str(file)) == SQLITE:
                databases.append(file)
                tables += sorted(file.parent.glob(f"trades_{escape(file.stem)}.csv"))
                tables += sorted(file.parent.glob(f"trades_{escape(file.stem)}_old_*.csv"))
            elif file == path or re.fullmatch(r"trades_.*\.csv", file.name):
                tables.append(file)
    if not tables and not databases:
        raise InputError(
            f"{paths[0]} holds neither trades_....csv nor a database of hummingbot; name its data folder"
        )
    return [*dict.fromkeys(tables)], databases


def _currency(quotes: Counter[str]) -> str:
    """What a configuration's money is counted in: the dollar most of its pairs are quoted in, else that quote."""
    dollars = {quote: count for quote, count in quotes.items() if quote in _DOLLARS}
    counts = dollars or dict(quotes)
    return min(counts, key=lambda quote: (-counts[quote], quote), default="USDT")


class _Intake:
    """Puts the rows of files by as records."""

    def __init__(self, spool: Spool[BotRecord], writer: BatchWriter) -> None:
        self._spool, self._writer = spool, writer
        self.quotes: dict[str, Counter[str]] = {}
        self.executors: dict[str, list[Executor]] = {}
        self._paper = 0
        self._fees = 0

    def table(self, file: Path) -> None:
        """The fills of a CSV; `InputError` where it is none of hummingbot's."""
        self._writer.where = str(file)
        missing = _COLUMNS - set(sample_of(file).header)
        if missing:  # of a file without any row, too
            raise InputError(f"{file} has no column {min(missing)}: it is no trades_....csv of hummingbot")
        for row in rows(str(file), CsvLayout()):
            if isinstance(row, Fault):
                self._writer.fault(row.reason, row.line)
                continue
            self._put(row.cells, row.line, number_of)

    def database(self, file: Path) -> None:
        """Everything of a database."""
        self._writer.where = str(file)
        with open_copy(file) as connection:
            database = BotDatabase(connection, str(file))
            for number, row in enumerate(database.rows("TradeFill"), 1):
                self._put(row, number, database.amount)
            for number, row in enumerate(database.rows("FundingPayment"), 1):
                self._other(row, number, self._funding)
            for number, row in enumerate(database.rows("RangePositionUpdate"), 1):
                if row["order_action"]:
                    self._other(row, number, self._range)
            executors = database.executors()
            for config in self.quotes if executors else ():
                self.executors.setdefault(config, []).extend(executors)

    def sentences(self) -> None:
        """What was left out, counted."""
        if self._paper:
            self._writer.notice(f"paper orders, left out: {self._paper}")
        if self._fees:
            self._writer.notice(f"second fees of a fill, in another asset, left out: {self._fees}")

    def _put(self, row: Mapping[str, object], line: int, amount: Callable[[object], Decimal]) -> None:
        try:
            record = self._trade(row, line, amount)
        except (ValueError, ArithmeticError) as error:
            self._writer.fault(str(error), line)
            return
        if record is None:
            return
        place = int(record.trade) if record.trade.isdigit() and len(record.trade) < 18 else 0
        if self._spool.put(record.config, record.at, place, record.name, record):
            self.quotes.setdefault(record.config, Counter())[record.quote] += 1

    def _trade(
        self, row: Mapping[str, object], line: int, amount: Callable[[object], Decimal]
    ) -> TradeRecord | None:
        order = str(row["order_id"] or "")
        if "//" in order:
            self._paper += 1
            return None
        base, quote = _pair(row)
        market = named(str(row["market"] or "hummingbot"))
        side = str(row["trade_type"] or "").upper()
        if side not in {"BUY", "SELL"}:
            raise ValueError(f"trade_type: {side[:40]!r} is neither BUY nor SELL")
        price, quantity = amount(row["price"]), amount(row["amount"])
        paid = charges(
            str(row["trade_fee"] or ""),
            price=price,
            quantity=quantity,
            base=base,
            quote=quote,
            is_buy=side == "BUY",
        )
        self._fees += len(paid) > 1
        fee, fee_asset = paid[0] if paid else (number_of(0), quote)
        return TradeRecord(
            where=self._writer.where, line=line, config=_config(row), market=market, base=base, quote=quote,
            at=instant_of(float(number_of(row["timestamp"]))), strategy=str(row.get("strategy") or ""), order=order,
            trade=str(row["exchange_trade_id"] or order), is_buy=side == "BUY", price=price, quantity=quantity, fee=fee,
            fee_asset=fee_asset,
        )  # fmt: skip

    def _other(self, row: Fields, line: int, make: Callable[[Fields, int], tuple[str, BotRecord]]) -> None:
        try:
            name, record = make(row, line)
        except (ValueError, ArithmeticError) as error:
            self._writer.fault(str(error), line)
            return
        if self._spool.put(record.config, record.at, 0, name, record):
            self.quotes.setdefault(record.config, Counter())[record.quote] += 0

    def _funding(self, row: Fields, line: int) -> tuple[str, BotRecord]:
        base, quote = _pair(row)
        at = instant_of(float(number_of(row["timestamp"])))
        record = FundingRecord(
            where=self._writer.where, line=line, config=_config(row), market=str(row["market"] or ""), base=base,
            quote=quote, at=at, amount=number_of(row["amount"]),
        )  # fmt: skip
        return f"~funding:{record.market}:{base}-{quote}:{at}", record

    def _range(self, row: Fields, line: int) -> tuple[str, BotRecord]:
        base, quote = _pair({"symbol": row["trading_pair"]})
        name = f"lp-{row['tx_hash'] or row['id']}"
        record = RangeRecord(
            where=self._writer.where, line=line, config=_config(row), market=str(row["market"] or ""), base=base,
            quote=quote, at=instant_of(float(number_of(row["timestamp"]))), name=name,
            adds=str(row["order_action"]).upper() == "ADD", position=str(row["position_address"] or ""),
            lower=_bound(row["lower_price"]), upper=_bound(row["upper_price"]), price=number_of(row["mid_price"]),
            base_quantity=number_of(row["base_amount"]), quote_quantity=number_of(row["quote_amount"]),
            base_fee=number_of(row["base_fee"]), quote_fee=number_of(row["quote_fee"]),
            gas=number_of(row["trade_fee_in_quote"]),
        )  # fmt: skip
        return f"~{name}", record


def _pair(row: Mapping[str, object]) -> tuple[str, str]:
    base, quote = str(row.get("base_asset") or ""), str(row.get("quote_asset") or "")
    if base and quote:
        return named(base), named(quote)
    symbol = str(row.get("symbol") or "")
    base, dash, quote = symbol.rpartition("-")
    if not dash or not base or not quote:
        raise ValueError(f"symbol: {symbol[:40]!r} is no pair such as BTC-USDT")
    return named(base), named(quote)


def _config(row: Mapping[str, object]) -> str:
    name = Path(str(row["config_file_path"] or "hummingbot")).name
    return name.removesuffix(".yml").removesuffix(".yaml").removesuffix(".py")


def _bound(value: object) -> Decimal | None:
    return number_of(value) if value is not None else None
