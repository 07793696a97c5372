"""A table that another program writes on: however it grows, is rotated or cut short, all readings tell what one tells."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.ingest.table.resumption import readings
from retro.model import Batch
from tests.worlds.logs.tables import NOW, Reading, reading_of

RULES = """
[source]
order = "{order}"
base = "quote"
[time]
column = "time"
format = "s"
[fill]
instrument = {{ column = "pair" }}
side = "side"
quantity = "qty"
price = "price"
[position]
{position}
[decision]
reasoning = "why"
[stated]
realized = "pnl"
"""
HEADER = "time,pair,side,qty,price,pnl,book,why\n"


def rows_of(size: int, seed: int) -> list[str]:
    """Rows as a bot writes them, forwards; some of one instant, some word for word alike, some of two lines."""
    draw = random.Random(seed)
    at, rows = 1_735_725_600, []
    for _ in range(size):
        at += draw.choice((0, 0, 1, 60))
        why = draw.choice(("h1", "h2", '"two\nlines"'))
        rows.append(
            f"{at},{draw.choice('AB')}/USD:USD,{draw.choice(('buy', 'sell'))},{draw.randrange(1, 4)},"
            f"{draw.randrange(90, 93)},{draw.randrange(3)},{draw.choice(('x', 'y'))},{why}\n"
        )
    return rows


class Bot:
    """A bot's log, and a service that reads it on."""

    def __init__(self, folder: Path, rules: str) -> None:
        self.path, self.rules = folder / "trades.csv", folder / "map.toml"
        self.rules.write_text(rules)
        self.path.write_text(HEADER)
        self.place: Any = {}
        self.batches: list[Batch] = []

    def writes(self, rows: list[str]) -> None:
        with self.path.open("a") as file:
            file.writelines(rows)

    def rotates(self, number: int, *, copies: bool) -> None:
        """Under another name with what nobody read yet, or cut to nothing."""
        if not copies:
            self.path.rename(self.path.with_name(f"trades.csv.{number}"))
        self.path.write_text(HEADER)

    def keeps_the_last(self, count: int, rows: list[str]) -> None:
        self.path.write_text(HEADER + "".join(rows[-count:]))

    def is_read(self, *, notes: bool = True) -> Reading:
        """A knock of the service; without `notes` it dies before it notes how far it came."""
        batches: list[Batch] = []
        place = self.place
        for reading in readings(self.path, place, agent="bot", zone=None, map=str(self.rules), now=NOW):
            batches += reading.batches
            place = reading.place
        self.place = json.loads(json.dumps(place)) if notes else self.place
        self.batches += batches
        return Reading(batches)

    def facts(self) -> dict[tuple[str, str], Any]:
        """What was told in all; whatever was told twice was told in the same words."""
        facts: dict[tuple[str, str], Any] = {}
        for row in Reading(self.batches).rows:
            assert facts.setdefault((row["type"], row["id"]), row) == row
        return facts

    def checks(self) -> set[Any]:
        return {check for batch in self.batches for check in batch.checks}


def told_at_once(folder: Path, rules: str, rows: list[str]) -> Bot:
    (folder / "whole").mkdir()
    bot = Bot(folder / "whole", rules)
    bot.writes(rows)
    bot.is_read()
    return bot


POSITIONS = ("", 'by = "column"\ncolumn = "book"')


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(1, 30), max_size=4).map(sorted),
    events=st.lists(st.sampled_from(("grown", "dies", "rotated", "truncated")), min_size=5, max_size=5),
    order=st.sampled_from(("any", "oldest_first")),
    position=st.sampled_from(POSITIONS),
)
def test_any_split_of_a_log_tells_what_the_whole_tells(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    cuts: list[int],
    events: list[str],
    order: str,
    position: str,
) -> None:
    folder, rows = tmp_path_factory.mktemp("log"), rows_of(30, seed)
    rules = RULES.format(order=order, position=position)
    bot, before = Bot(folder, rules), 1
    bot.writes(rows[:1])
    bot.is_read()
    for number, (cut, event) in enumerate(zip([*cuts, 30], events, strict=False)):
        bot.writes(rows[before:cut])
        if event == "rotated":  # between two knocks
            bot.rotates(number, copies=False)
        bot.is_read(notes=event != "dies")
        if event == "truncated":
            bot.rotates(number, copies=True)
            bot.is_read()
        before = cut
    bot.is_read()
    if "dies" in events[: len(cuts) + 1] and {"rotated", "truncated"} & set(events):
        return  # what nobody had read is gone with the file
    whole = told_at_once(folder, rules, rows)
    assert bot.facts() == whole.facts()
    assert bot.checks() == whole.checks()
    assert not Reading(bot.batches).faults


def test_a_log_that_has_grown_costs_its_new_rows(tmp_path: Path) -> None:
    bot, rows = Bot(tmp_path, RULES.format(order="any", position="")), rows_of(400, 7)
    bot.writes(rows[:390])
    first = bot.is_read()
    bot.writes(rows[390:])
    second = bot.is_read()
    fills = [reading.of("fill", "id") for reading in (first, second)]
    assert len(fills[0]) >= 390
    assert 10 <= len(fills[1]) <= 20, "a fill each, two where one crosses zero"
    assert not bot.is_read().rows


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_row_that_is_being_written_waits_for_its_end(tmp_path: Path, ending: str) -> None:
    """`100` of `1005` is a number too: what has no newline yet is no row, until nobody has written for a minute."""
    rules = f'[source]\nformat = "{ending}"\n[time]\ncolumn = "t"\nformat = "s"\n[equity]\nvalue = "v"\n'
    header, row = ("t,v\n", "1735725600,1005") if ending == "csv" else ("", '{"t": 1735725600, "v": 1005}')
    bot = Bot(tmp_path, rules)
    os.utime(bot.path, ns=(NOW * 1000, NOW * 1000))
    for text, expected in ((header + row[:-1], []), (header + row, []), (header + row + "\n", [("1005",)])):
        bot.path.write_text(text)
        os.utime(bot.path, ns=(NOW * 1000, NOW * 1000))
        assert bot.is_read().of("equity", "value") == expected
    bot.path.write_text(header + row + "\n" + row.replace("600", "660").replace("1005", "1007"))
    os.utime(bot.path, ns=(NOW * 1000 - 61 * 10**9,) * 2)
    assert bot.is_read().of("equity", "value") == [("1007",)], "an export without a newline at its end"


def test_a_log_that_loses_its_beginning_goes_on(tmp_path: Path) -> None:
    """`tail -n 12 log > log`, and rows behind it: those that were read are left out, and what was open still is."""
    rules, rows = RULES.format(order="any", position=""), rows_of(40, 3)
    bot = Bot(tmp_path, rules)
    bot.writes(rows[:30])
    bot.is_read()
    bot.keeps_the_last(12, rows[:30])
    bot.writes(rows[30:])
    bot.is_read()
    assert bot.facts() == told_at_once(tmp_path, rules, rows).facts()


def test_rows_that_come_too_late_are_put_in_order_or_named(tmp_path: Path) -> None:
    rules, rows = RULES.format(order="any", position=""), rows_of(20, 5)
    late = rows.pop(10)
    bot = Bot(tmp_path, rules)
    bot.writes(rows)
    bot.is_read()
    bot.writes([late])
    assert len(bot.is_read().of("fill", "id")) >= 20, "the whole file, in its order"
    bot.path.write_text(HEADER + "1736725600,A/USD:USD,buy,1,90,0,x,new\n")
    assert bot.is_read().of("fill", "price") == [("90",)]
    bot.writes(["1735725600,A/USD:USD,buy,1,90,0,x,late\n"])
    assert [line for line, reason in bot.is_read().faults if "read already" in reason] == [3]


def test_states_follow_each_other_over_a_rotation(tmp_path: Path) -> None:
    rules = (
        '[source]\nformat = "jsonl"\n[time]\ncolumn = "t"\nformat = "s"\n[position]\nby = "state"\nholdings = "held"\n'
        'cash = "USD"\n'
    )
    states = [{"USD": 100}, {"USD": 60, "X": 4}, {"USD": 82, "X": 2}, {"USD": 106}]
    rows = [json.dumps({"t": 1_735_725_600 + n, "held": state}) + "\n" for n, state in enumerate(states)]
    bot = Bot(tmp_path, rules)
    bot.path.write_text("".join(rows[:2]))
    bot.is_read()
    bot.path.write_text("".join(rows[2:]))
    reading = bot.is_read()
    assert reading.of("fill", "side", "quantity", "price") == [("sell", "2", "11"), ("sell", "2", "12")]
    assert reading.of("equity", "id") == [], "the wallet was opened already"


def test_what_cannot_be_read_on_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    rules = tmp_path / "map.toml"
    rules.write_text(
        '[time]\ncolumn = "in"\nformat = "s"\n[fill]\ninstrument = "pair"\nside = "side"\nquantity = "q"\nprice = "p"\n'
        '[exit]\ntime = "out"\nprice = "o"\n[position]\nby = "row"\n'
    )
    path.write_text("in,pair,side,q,p,out,o\n1735725600,A/USD,buy,1,10,,\n")
    (first,) = readings(path, {}, agent="bot", zone=None, map=str(rules), now=NOW)
    assert len(Reading(list(first.batches)).of("fill", "id")) == 1
    path.write_text("in,pair,side,q,p,out,o\n1735725600,A/USD,buy,1,10,1735725700,11\n")
    (second,) = readings(path, first.place, agent="bot", zone=None, map=str(rules), now=NOW)
    assert Reading(list(second.batches)).rows == reading_of(path, str(rules), agent="bot").rows
