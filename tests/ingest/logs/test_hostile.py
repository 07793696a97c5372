"""Whatever a log of agents or bots holds, its reader gives facts and faults, or one error in words, and never crashes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.errors import InputError
from retro.ingest.ai_trader.reader import read as read_ai_trader
from retro.ingest.hummingbot.reader import read as read_hummingbot
from retro.ingest.nofx.reader import read as read_nofx
from retro.ingest.tradingagents.reader import read as read_tradingagents
from retro.model import Batch
from tests.worlds.logs import ai_trader, hummingbot, nofx, tradingagents
from tests.worlds.logs.facts import NOW, Reading

NUMBERS = ("1e999999", "-1e999999", "1e-999999", "9" * 400, "0", "-1")
TEXTS = ('"\\u0000\\u001b[31m"', '"' + "x" * 3000 + '"', '"\\u202e"', '""', "null", "[]", "{}", "true")
READERS: dict[str, Callable[[Path], Iterator[Batch]]] = {
    "nofx": lambda path: read_nofx((path,), agent="bot", now=NOW),
    "ai-trader": lambda path: read_ai_trader((path,), agent="bot", zone=None, now=NOW),
    "hummingbot": lambda path: read_hummingbot((path,), agent=None, now=NOW),
    "tradingagents": lambda path: read_tradingagents((path,), agent="bot", zone="UTC", now=NOW),
}


def samples(place: Path) -> dict[str, Path]:
    return {
        "nofx": nofx.write_lines(place / "a.jsonl", nofx.life()),
        "ai-trader": ai_trader.write_lines(place / "position.jsonl", ai_trader.life()),
        "hummingbot": hummingbot.write_csv(place / "trades_a.csv"),
        "tradingagents": tradingagents.write_memory(
            place / "m.md", tradingagents.RESOLVED, tradingagents.SELL
        ),
    }


def survives(name: str, path: Path) -> None:
    with suppress(InputError):
        reading = Reading(READERS[name](path), unknown=("alpha", "reflection"))
        assert all(check.stated.is_finite() and 0 <= check.at < 1 << 62 for check in reading.checks)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_faults_or_one_error(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = samples(tmp_path)[name]
    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    path.write_bytes(bytes(text))
    survives(name, path)


@pytest.mark.parametrize("name", ["nofx", "ai-trader"])
@pytest.mark.parametrize("value", [*NUMBERS, *TEXTS])
def test_any_value_in_any_place_is_a_fault_or_none(tmp_path: Path, name: str, value: str) -> None:
    """One value at a time, everywhere a number or a text stands in the third line."""
    path = samples(tmp_path)[name]
    lines = path.read_text().splitlines()
    for match in re.finditer(r'(?<=: )("(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*)(?=[,}])', lines[2]):
        damaged = lines[2][: match.start()] + value + lines[2][match.end() :]
        path.write_text("\n".join([*lines[:2], damaged, *lines[3:]]) + "\n")
        survives(name, path)


@pytest.mark.parametrize("value", [*NUMBERS, "nan", "inf", "\x1b[31m", "x" * 3000, ""])
@pytest.mark.parametrize("column", range(15))
def test_any_cell_of_a_bot_s_fills_is_a_fault_or_none(tmp_path: Path, column: int, value: str) -> None:
    cells = list(hummingbot.LIFE[0].cells())
    cells[column] = value
    path = hummingbot.write_csv(tmp_path / "trades_a.csv")
    row = ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells)
    path.write_text(path.read_text() + row + "\n")
    survives("hummingbot", path)


@pytest.mark.parametrize("value", [1e300, -1e300, 1 << 62, "x", b"\xff\xfe", None])
@pytest.mark.parametrize(
    ("name", "table", "columns"),
    [
        (
            "nofx",
            "trader_fills",
            ("price", "quantity", "commission", "realized_pnl", "created_at", "symbol", "side"),
        ),
        ("nofx", "decision_records", ("timestamp", "decisions", "decision_json")),
        ("nofx", "trader_equity_snapshots", ("timestamp", "total_equity")),
        ("hummingbot", "TradeFill", ("price", "amount", "timestamp", "trade_fee", "symbol", "market")),
    ],
)
def test_any_value_of_a_database_is_a_fault_or_none(
    tmp_path: Path, name: str, table: str, columns: tuple[str, ...], value: Any
) -> None:
    writer = nofx.write_database if name == "nofx" else hummingbot.write_database
    for column in columns:
        path = writer(tmp_path / f"{column}.db")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))
        survives(name, path)


@pytest.mark.parametrize("name", ["nofx", "ai-trader"])
def test_a_line_of_many_megabytes_and_a_nest_without_end_are_faults(tmp_path: Path, name: str) -> None:
    path = samples(tmp_path)[name]
    text = path.read_text()
    path.write_text(text + json.dumps({"date": "x" * (5 << 20)}) + "\n" + "[" * 100_000 + "\n")
    reading = Reading(READERS[name](path))
    assert len(reading.faults) == 2
    assert len(reading.rows) > 5


def test_links_in_a_folder_that_lead_nowhere_or_in_circles_are_passed_over(tmp_path: Path) -> None:
    logs = nofx.write_folder(tmp_path, nofx.life())
    (logs / "circle").symlink_to(logs, target_is_directory=True)
    (logs / "decision_20260105_000000_cycle9.json").symlink_to(tmp_path / "nowhere")
    assert len(Reading(READERS["nofx"](logs)).rows) > 5
