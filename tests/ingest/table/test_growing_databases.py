"""A table of a database that a bot writes on: readings tell what one tells, and what is changed later is seen."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from retro.ingest.table.resumption import readings
from retro.model import Batch
from tests.worlds.logs.tables import NOW, Reading

RULES: Final = """
[source]
format = "sqlite"
table = "fills"
base = "quote"
[rows]
keep = {{ status = ["filled"] }}
[time]
column = "time"
format = "s"
[fill]
id = {id}
instrument = "pair"
side = "side"
quantity = "qty"
price = "price"
[stated]
realized = "pnl"
"""
COLUMNS: Final = "id, time, pair, side, qty, price, pnl, status"


class Bot:
    """A bot's database, and a service that reads it on."""

    def __init__(self, folder: Path, rules: str = RULES.format(id='["id"]'), kind: str = "TABLE") -> None:
        folder.mkdir(exist_ok=True)
        self.path, self.rules, self.place = folder / "bot.db", folder / "map.toml", dict[str, Any]()
        self.rules.write_text(rules)
        self.batches: list[Batch] = []
        self.does(f"CREATE TABLE {'fills' if kind == 'TABLE' else 'orders'} ({COLUMNS})")
        if kind == "VIEW":
            self.does("CREATE VIEW fills AS SELECT * FROM orders")

    def does(self, statement: str, *rows: tuple[Any, ...]) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.executemany(statement, rows or [()])

    def writes(self, *rows: tuple[Any, ...], table: str = "fills") -> None:
        self.does(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *rows)

    def is_read(self) -> Reading:
        (reading,) = readings(self.path, self.place, agent="bot", zone=None, map=str(self.rules), now=NOW)
        batches = list(reading.batches)
        self.place, self.batches = json.loads(json.dumps(dict(reading.place))), self.batches + batches
        return Reading(batches)

    def tale(self) -> tuple[dict[tuple[str, str], Any], set[str]]:
        told = Reading(self.batches)
        assert told.faults == []
        return {(row["type"], row["id"]): row for row in told.rows}, set(map(str, told.checks))


def rows_of(size: int, seed: int) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    at, rows = 1_735_725_600, []
    for number in range(size):
        at += draw.choice((0, 0, 1, 60))
        trade = (
            f"{draw.choice('AB')}/USD:USD",
            draw.choice(("buy", "sell")),
            draw.randrange(1, 4),
            90.5,
            draw.randrange(3),
        )
        rows.append((number, at, *trade, "filled"))
    return rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("names", ['["id"]', "[]"])
def test_any_split_of_the_rows_tells_what_all_tell_at_once(tmp_path: Path, seed: int, names: str) -> None:
    rules = RULES.format(id=names) if names != "[]" else RULES.format(id="[]").replace("id = []\n", "")
    draw, rows = random.Random(seed), rows_of(40, seed)
    bot, other = Bot(tmp_path / "split", rules), Bot(tmp_path / "whole", rules)
    other.writes(*rows)
    other.is_read()
    written = 0
    while written < len(rows):
        count = draw.randrange(1, 9)
        bot.writes(*rows[written : written + count])
        written += count
        told = bot.is_read()
        assert len(told.of("fill")) <= 2 * count, "a row is read once; one that crosses zero makes two fills"
    assert bot.tale() == other.tale()


def test_a_row_that_is_filled_later_is_seen(tmp_path: Path) -> None:
    bot, rows = Bot(tmp_path), rows_of(6, 1)
    bot.writes(*rows[:2], (*rows[2][:-1], "open"), *rows[3:5])
    bot.is_read()
    before = len(bot.tale()[0])
    bot.does("UPDATE fills SET status = 'filled' WHERE id = 2")
    bot.writes(rows[5])
    bot.is_read()
    assert ("fill", "map-2") in bot.tale()[0]
    assert len(bot.tale()[0]) > before


def test_rows_that_have_no_number_are_read_whole(tmp_path: Path) -> None:
    bot, rows = Bot(tmp_path, kind="VIEW"), rows_of(6, 2)
    bot.writes(*rows[:3], table="orders")
    bot.is_read()
    bot.writes(*rows[3:], table="orders")
    assert {row["id"] for row in bot.is_read().rows if row["type"] == "fill"} >= {
        f"map-{n}" for n in range(6)
    }
    assert bot.place == {}
