"""The verbs of a mapping, and what is said where it does not fit."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retro.errors import ConfigError, InputError, UsageError
from tests.worlds.logs.tables import reading_of, told

FILLS = """
[source]
base = "quote"
[time]
column = "time"
zone = "UTC"
[fill]
id = "id"
instrument = "pair"
side = { column = "side", map = { BUY = "buy", SELL = "sell" } }
quantity = "qty"
price = "price"
fee = { column = "fee", asset = "fee_asset" }
"""


TIMES = """
[time]
column = "t"
format = [{formats}]
zone = "{zone}"
[equity]
value = "v"
"""


def test_numbers_are_read_as_people_write_them(tmp_path: Path) -> None:
    rules = (
        '[time]\ncolumn = "t"\nzone = "UTC"\n[number]\nthousands = ","\nstrip = "$+"\nscale = { cut = 0.000001 }\n'
        '[equity]\nvalue = ["worth", "cut"]\n'
    )
    cells = ['"$1,234.50"', "(12.5)", "+312.60", "1 000.25", "1e3", "", "12x"]
    text = "t,worth,cut\n" + "".join(f"2025-01-0{day},{cell},\n" for day, cell in enumerate(cells, 1))
    events = told(tmp_path, rules, text)
    assert [value for (value,) in events.of("equity", "value")] == [
        "1234.50",
        "-12.5",
        "312.60",
        "1000.25",
        "1000",
    ]
    assert events.faults == [(8, 'worth: "12x" is no number; say in [number] which marks to leave out')]
    scaled = rules.replace('["worth", "cut"]', '"cut"')
    assert told(tmp_path, scaled, "t,worth,cut\n2025-01-01,,2500000\n").of("equity", "value") == [
        ("2.500000",)
    ]


@pytest.mark.parametrize(
    ("executed", "pair", "quantity", "base"),
    [
        ("500DOGE", "DOGEEUR", "500", "DOGE"),
        ("51INCH", "1INCHEUR", "5", "1INCH"),
        ('"1,000.5BTC"', "BTCEUR", "1000.5", "BTC"),
    ],
)
def test_an_asset_glued_to_its_number_is_parted_from_it(
    tmp_path: Path, executed: str, pair: str, quantity: str, base: str
) -> None:
    rules = """
[time]
column = "t"
zone = "UTC"
[number]
thousands = ","
glued_asset = ["Executed", "Amount", "Fee"]
glued_to = "Pair"
[fill]
instrument = { template = "{Executed.asset}/{Amount.asset}" }
quantity = "Executed"
price = "p"
fee = { column = "Fee", asset = "Fee.asset" }
"""
    events = told(
        tmp_path,
        rules,
        f"t,Pair,Executed,p,Amount,Fee\n2025-01-01,{pair},{executed},2,155.15EUR,0.0198BUSD\n",
    )
    assert events.of("fill", "instrument", "quantity", "fee", "fee_asset") == [
        (f"{base}/EUR", quantity, "0.0198", "BUSD")
    ]


@pytest.mark.parametrize(
    ("formats", "zone", "texts", "first"),
    [
        ('"iso"', "Europe/Paris", ["2025-07-01 12:00:00"], "2025-07-01T10:00:00Z"),
        ('"iso"', "UTC", ["2025-07-01T12:00:00.123456789+08:00"], "2025-07-01T04:00:00.123456Z"),
        ('"iso"', "UTC", ["2025-01-18 07:30:17.000 UTC"], "2025-01-18T07:30:17Z"),
        ('"ms"', "ask", ["1735725600123"], "2025-01-01T10:00:00.123Z"),
        ('"ns"', "ask", ["1735725600123456789"], "2025-01-01T10:00:00.123456Z"),
        ('"s"', "ask", ["1735725600.5"], "2025-01-01T10:00:00.500Z"),
        ('"excel"', "UTC", ["45658.416666666664"], "2025-01-01T10:00:00Z"),
        ('"%d/%m/%Y", "%m/%d/%Y"', "UTC", ["03/04/2025", "13/04/2025"], "2025-04-03T00:00:00Z"),
        ('"%d/%m/%Y", "%m/%d/%Y"', "UTC", ["03/04/2025", "03/05/2025", "04/01/2025"], "2025-03-04T00:00:00Z"),
    ],
)
def test_times_are_read_by_the_formats_that_are_named(
    tmp_path: Path, formats: str, zone: str, texts: list[str], first: str
) -> None:
    rules = TIMES.replace("{formats}", formats).replace("{zone}", zone)
    events = told(tmp_path, rules, "t,v\n" + "".join(f"{text},1\n" for text in texts))
    assert events.of("equity", "at")[0] == (first,)


def test_a_zone_is_asked_for_and_never_guessed(tmp_path: Path) -> None:
    rules = TIMES.replace("{formats}", '"iso"').replace("{zone}", "ask")
    with pytest.raises(InputError, match=r"its times have no zone.*--zone"):
        told(tmp_path, rules, "t,v\n2025-07-01 12:00:00,1\n")
    events = told(tmp_path, rules, "t,v\n2025-07-01 12:00:00,1\n", zone="Asia/Tokyo")
    assert events.of("equity", "at") == [("2025-07-01T03:00:00Z",)]
    with pytest.raises(InputError, match="March or April"):
        told(
            tmp_path,
            TIMES.replace("{formats}", '"%d/%m/%Y", "%m/%d/%Y"').replace("{zone}", "UTC"),
            "t,v\n03/04/2025,1\n",
        )


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (
            "[time]\ncolumn = 'a'\n[equity]\nvalue = 'b'\n[fil]\nprice = 'x'\n",
            r"line 5: fil: unknown table; did you mean fill",
        ),
        (
            "[time]\ncolumn = 'a'\n[decision]\naction = { column = 'x', map = { a = 'jump' } }\n",
            r"line 4: decision\.action: .*jump.*enter, exit",
        ),
        ("[time]\ncolumn = 'a'\n", "tells nothing"),
        ("[equity]\nvalue = 'b'\n", r"time: is missing: when each row was"),
        (
            "[time]\ncolumn = 'a'\n[equity]\nvalue = { column = 'b', regex = '(' }\n",
            "is no regular expression",
        ),
        ("[time]\ncolumn = 'a'\n[equity]\nvalue = { times = 3 }\n", "names no column"),
        ("[time]\ncolumn = 'a'\n[fill]\nprice = 'p'\n", r"\[fill\] lacks instrument, quantity"),
        (
            "[time]\ncolumn = 'a'\n[equity]\nvalue = { change = 'b' }\n",
            "change and over = .quantity. go together",
        ),
        (
            "[time]\ncolumn = 'a'\n[fill]\ninstrument = 'a'\nquantity = 'b'\nprice = { change = 'b', over = 'quantity' }\n",
            'change needs by = "state"',
        ),
        (
            "[time]\ncolumn = 'a'\n[position]\nby = 'state'\nholdings = 'h'\n[fill]\nprice = { change = 'b', over = 'quantity' }\n",
            "is the money among the holdings, such as",
        ),
        ("[time\n", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_mapping_is_said_with_its_place(tmp_path: Path, rules: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as raised:
        told(tmp_path, rules, "a,b\n1,2\n")
    assert str(tmp_path / "map.toml") in str(raised.value)


def test_a_file_of_another_kind_is_refused_with_the_nearest_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'no column "price"; the nearest is "Prices".*retro map'):
        told(tmp_path, FILLS, "id,time,pair,side,qty,Prices,fee,fee_asset\n")
    with pytest.raises(UsageError, match=r"did you mean kraken-ledgers"):
        reading_of(tmp_path / "map.toml", "kraken-ledger")


def test_a_mapping_by_which_no_row_says_anything_is_told(tmp_path: Path) -> None:
    rules = '[time]\ncolumn = "t"\nzone = "UTC"\n[equity]\nvalue = "?"\n[source]\nmatch = ["t"]\n'
    events = told(tmp_path, rules, "t,worth\n2025-01-01,5\n")
    assert (events.rows, events.faults) == ([], [])
    assert "no row of 1 says anything by the mapping map" in events.notices[0]


def test_good_rows_are_kept_beside_bad_ones(tmp_path: Path) -> None:
    text = (
        "some title\n\nid,time,pair,side,qty,price,fee,fee_asset\n"
        "1,2025-01-01,A/USD,BUY,1,5,,\n2,yesterday,A/USD,BUY,1,5,,\n3,2025-01-02,A/USD,HODL,1,5,,\n"
        "4,2025-01-03,A/USD,SELL,x,5,,\n5,2025-01-04,A/USD,SELL,1,5,,\n6,2025-01-05,A/U"
    )
    events = told(tmp_path, FILLS, text)
    assert [name for (name,) in events.of("fill", "id")] == ["map-1", "map-5"]
    assert [line for line, _ in sorted(events.faults)] == [5, 6, 7, 9]
    assert "side" in dict(events.faults)[6]
    assert "torn" in dict(events.faults)[9]


def test_a_table_of_a_database_is_read_and_nested_text_in_it(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "export-0.db")) as database:
        database.execute("CREATE TABLE trades (id, t, ctx)")
        database.execute("CREATE TABLE users (secret)")
        database.execute("INSERT INTO users VALUES ('hunter2')")
        database.execute("""INSERT INTO trades VALUES (1, '2025-01-01T00:00:00+00:00', '{"price": 12.50}')""")
        database.commit()
    (tmp_path / "m.toml").write_text(
        '[source]\nformat = "sqlite"\ntable = "trades"\n[time]\ncolumn = "t"\n[equity]\nvalue = "ctx.price"\n'
    )
    before = (tmp_path / "export-0.db").read_bytes()
    events = reading_of(tmp_path / "export-0.db", str(tmp_path / "m.toml"), agent="bot")
    assert events.of("equity", "value") == [("12.50",)]
    assert "hunter2" not in json.dumps(events.rows)
    assert (tmp_path / "export-0.db").read_bytes() == before
