"""docs/sources.md is true: every reader of logs has its section, and each section's commands run on files of that kind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from retro.ingest.registry import ADAPTERS
from tests.worlds.commands import Retro, retro
from tests.worlds.freqtrade_databases import D, Order, Trade, write
from tests.worlds.logs import (
    ai_trader,
    hummingbot,
    hyperliquid,
    metatrader,
    nofx,
    tables,
    tradingagents,
    uniswap,
)
from tests.worlds.logs.exports import TEXTS
from tests.worlds.places import ROOT

__all__ = ["retro"]

PAGE: Final = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
SECTIONS: Final = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def hummingbot_files() -> None:
    Path("data").mkdir()
    hummingbot.write_database(Path("data/conf_mm_1.sqlite"))
    hummingbot.write_csv(Path("data/trades_conf_mm_1.csv"))


def tradingagents_files() -> None:
    tradingagents.write_memory(Path("trading_memory.md"), tradingagents.RESOLVED, tradingagents.SELL)
    tradingagents.write_state(Path())


def nofx_files() -> None:
    nofx.write_folder(Path(), nofx.life())
    nofx.write_database(Path("data.db"), "okx_deepseek_1767571200")


def table_files() -> None:
    Path("ledgers.csv").write_text(tables.KRAKEN, encoding="utf-8")
    Path("trades.csv").write_text(TEXTS["kraken-trades"], encoding="utf-8")


def ai_trader_files() -> None:
    ai_trader.write_run(Path())
    ai_trader.write_prices(Path())


def freqtrade_files() -> None:
    trade = Trade([Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 110.0, D.format(2))])
    write(Path("tradesv3.sqlite"), [trade])


FILES: Final[dict[str, Callable[[], None]]] = {
    "What the source itself computed": freqtrade_files,
    "hummingbot": hummingbot_files,
    "nofx": nofx_files,
    "TradingAgents": tradingagents_files,
    "Any table of trades or decisions": table_files,
    "Hyperliquid": hyperliquid.write_exports,
    "AI-Trader": ai_trader_files,
    "MetaTrader 5 and 4": metatrader.write_reports,
    "Uniswap v3": uniswap.write_pool,
}
"""Section -> what its reader is said to have, written into the current folder."""


def commands(section: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", SECTIONS[section], re.DOTALL | re.MULTILINE)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_reader_of_logs_has_its_section() -> None:
    shown = {
        command.split()[2] for section in SECTIONS for command in commands(section) if " ingest " in command
    }
    assert {name for name, adapter in ADAPTERS.items() if adapter.growth == "log"} <= shown


@pytest.mark.parametrize("section", FILES)
def test_the_commands_of_a_section_run(retro: Retro, section: str) -> None:
    FILES[section]()
    assert commands(section)
    for command in commands(section):
        program, *words = shlex.split(command)
        done = retro(*words)
        assert (program, done.code) == ("retro", 0), f"{command}\n{done.err}"


@pytest.mark.parametrize(
    "adapter",
    [adapter for adapter in ADAPTERS.values() if adapter.growth == "log"],
    ids=lambda adapter: adapter.name,
)
def test_the_example_of_a_command_s_help_is_in_its_section(adapter: object) -> None:
    assert any(getattr(adapter, "example", "") in commands(section) for section in SECTIONS)
