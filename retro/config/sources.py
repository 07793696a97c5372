"""The `[[source]]` tables of config.toml: what the service reads again on every knock."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from retro.config import shapes  # noqa: TC001 - pydantic reads the annotations when it makes the class
from retro.config.shapes import ConfigTable

__all__ = ["SourceKind", "SourceTable"]

SourceKind = Literal[
    "auto",
    "journal",
    "freqtrade",
    "marks",
    "hummingbot",
    "nofx",
    "tradingagents",
    "table",
    "hyperliquid",
    "ai-trader",
    "metatrader",
    "uniswap-v3",
]


class SourceTable(ConfigTable):
    """Something the service reads again on every knock; one table each."""

    kind: SourceKind = Field(
        description="what it is: journal, freqtrade, marks (candles), a reader of logs, or auto"
    )
    path: shapes.FilePath = Field(
        description="a journal, a bot's database, a folder of candles, or one file of marks"
    )
    candles: shapes.FilePath | None = Field(default=None, description="the bot's candle folder")
    agent: shapes.AgentName | None = Field(default=None, description="default: the bot's strategy")
    capital: shapes.Money | None = Field(
        default=None, description="opening capital where the source states no equity"
    )
    instrument: shapes.Line | None = Field(
        default=None, examples=["ETH/USDC"], description="of one file of marks, whatever its name is"
    )
    zone: shapes.TimeZone | None = Field(
        default=None, examples=["Europe/Paris"], description="of a log whose times have none"
    )
    map: shapes.MapName | None = Field(
        default=None, examples=["kraken-ledgers"], description="of a table: the mapping, by file or by name"
    )
    timeframe: shapes.Duration | None = Field(
        default=None, examples=["1h"], description="of that file's candles; default: the median gap"
    )

    @model_validator(mode="after")
    def _one_file_of_marks(self) -> SourceTable:
        if self.kind != "marks" and (self.instrument or self.timeframe):
            raise ValueError('instrument and timeframe are keys of kind = "marks"')
        if self.timeframe and not self.instrument:
            raise ValueError("timeframe says how long the candles of one file are; name its instrument, too")
        if self.kind != "table" and self.map is not None:
            raise ValueError('map is a key of kind = "table"')
        return self
