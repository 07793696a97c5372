"""Files that grow, overlap, run backwards or are hostile: the same facts, or one clear error, in bounded memory."""

from __future__ import annotations

import random
import tracemalloc
import zipfile
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.errors import InputError
from retro.ingest.table.reader import read
from tests.worlds.commands import Retro, retro
from tests.worlds.logs.tables import KRAKEN, NOW, Reading, reading_of, told

__all__ = ["retro"]

LOG = """
[source]
order = "{order}"
[time]
column = "time"
format = "s"
[fill]
instrument = {{ column = "pair" }}
side = {{ column = "side", map = {{ B = "buy", S = "sell" }} }}
quantity = "qty"
price = "price"
[decision]
reasoning = "why"
[stated]
realized = "pnl"
"""
HEADER = "time,pair,side,qty,price,pnl,why\n"


def lines(size: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    at, rows = 1_735_725_600, []
    for _ in range(size):
        at += draw.choice((0, 0, 1, 60))
        pair = draw.choice(("A/USD:USD", "B/USD:USD"))
        rows.append(
            f"{at},{pair},{draw.choice('BS')},{draw.randrange(1, 4)},{draw.randrange(90, 110)},{draw.randrange(9)},h{draw.randrange(2)}\n"
        )
    return rows


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 30), max_size=3),
    order=st.sampled_from(("any", "oldest_first")),
)
def test_whatever_was_read_before_the_whole_file_tells_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int], order: str
) -> None:
    """Each reading of a part tells a part of the whole, word for word: only the rows of its last instant may still move."""
    folder, rows = tmp_path_factory.mktemp("growth"), lines(30, seed)
    rules = LOG.format(order=order)
    whole = {(row["type"], row["id"]): row for row in told(folder, rules, HEADER + "".join(rows)).rows}
    for cut in cuts:
        part = told(folder, rules, HEADER + "".join(rows[:cut])).rows
        assert all(whole[row["type"], row["id"]] == row for row in part)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 29))
def test_parts_of_a_file_read_together_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cut: int
) -> None:
    folder, rows = (
        tmp_path_factory.mktemp("parts"),
        [f"{1_735_725_600 + n},{row.partition(',')[2]}" for n, row in enumerate(lines(30, seed))],
    )
    rules = LOG.format(order="any")
    whole = told(folder, rules, HEADER + "".join(rows)).rows
    early, late = HEADER + "".join(rows[: cut + 1]), HEADER + "".join(rows[cut:])
    assert told(folder, rules, early, late).rows == whole
    assert told(folder, rules, late, early).rows == whole
    assert told(folder, rules, HEADER + "".join(reversed(rows))).rows == whole


def test_fills_of_one_instant_are_put_in_order_by_the_position_they_found(tmp_path: Path) -> None:
    rules = LOG.format(order="any").replace("[time]", 'chain = "pnl"\n[time]')
    rows = [
        "1735725600,A/USD:USD,B,1,100,0,a\n",
        "1735725600,A/USD:USD,B,2,100,1,b\n",
        "1735725600,A/USD:USD,S,3,100,3,c\n",
    ]
    expected = told(tmp_path, rules, HEADER + "".join(rows)).of("decision", "reasoning", "action", "at")
    assert [(word, action) for word, action, _ in expected] == [
        ("a", "enter"),
        ("b", "increase"),
        ("c", "exit"),
    ]
    for order in permutations(rows):
        assert (
            told(tmp_path, rules, HEADER + "".join(order)).of("decision", "reasoning", "action", "at")
            == expected
        )


def peak(path: Path, mapping: Path) -> tuple[int, int]:
    """Bytes at the highest, and events, of a reading whose batches nobody keeps."""
    tracemalloc.start()
    events = sum(batch.events for batch in read([path], agent="bot", zone=None, now=NOW, map=str(mapping)))
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest, events


@pytest.mark.parametrize(("order", "most"), [("oldest_first", 8 << 20), ("any", 40 << 20)])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, order: str, most: int) -> None:
    """Four times the rows, of which none is kept: what is read ahead is bounded, what is sorted lies on disk."""
    mapping = tmp_path / "map.toml"
    mapping.write_text(
        '[source]\norder = "' + order + '"\n[time]\ncolumn = "t"\nformat = "s"\n[equity]\nvalue = "v"\n'
    )
    highest = []
    for size in (25_000, 100_000):
        path = tmp_path / f"{size}.csv"
        path.write_text("t,v,prose\n" + "".join(f"{1_600_000_000 + n},{n},{'x' * 60}\n" for n in range(size)))
        bytes_, events = peak(path, mapping)
        assert events == size
        highest.append(bytes_)
    assert highest[1] < most
    assert highest[1] < 1.4 * highest[0]


def test_the_service_reads_a_table_again_when_it_has_grown(retro: Retro, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[[source]]\nkind = "table"\npath = "ledgers.csv"\nmap = "kraken-ledgers"\nagent = "ada"\n'
    )
    rows = KRAKEN.splitlines(keepends=True)
    for size in (5, len(rows)):
        (tmp_path / "ledgers.csv").write_text("".join(rows[:size]))
        assert retro("run", "--once").code == 0
    by_hand = reading_of(tmp_path / "ledgers.csv", "kraken-ledgers", agent="ada")
    assert retro("agents", "--json").data[0]["events"] == len(by_hand.rows)
    assert retro("ingest", "table", "ledgers.csv", "--agent", "ada", "--json").data["stored"] == 0


NASTY = {
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins\x94\x8c\x04eval\x94\x93\x94.",
    "zeros": b"\0" * 4096,
    "UTF-16": "time,pair\n1,2\n".encode("utf-16"),
    "an endless line": b"time,pair,side,qty,price,pnl,why" + b",x" * (9 << 20),
    "nothing of it": b"a,b,c\n1,2,3\n",
    "JSON": b'[{"time": 1}]',
}


@pytest.mark.parametrize("name", NASTY)
def test_what_is_no_such_table_is_one_clear_error(retro: Retro, tmp_path: Path, name: str) -> None:
    (tmp_path / "map.toml").write_text(LOG.format(order="any"))
    (tmp_path / "export.csv").write_bytes(NASTY[name])
    done = retro("ingest", "table", "export.csv", "--map", "map.toml", "--agent", "bot")
    assert done.code in {1, 2}
    assert done.err.count("\n") == 1, done.err
    assert "export.csv" in done.err
    assert not (tmp_path / "memory_data").exists(), "nothing was made for it"


def test_a_bomb_in_a_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(
        '[source]\nformat = "xlsx"\n[time]\ncolumn = "t"\n[equity]\nvalue = "v"\n'
    )
    with zipfile.ZipFile(tmp_path / "export.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>" + " " * (80 << 20))
    with pytest.raises(InputError, match=r"export\.xlsx"):
        reading_of(tmp_path / "export.xlsx", str(tmp_path / "map.toml"), agent="bot")


@pytest.mark.parametrize("cell", ["1e999", "9" * 400, "NaN", "-Infinity", "=1+1", "0x10", "1_000", "٣"])
def test_a_number_that_is_none_is_a_fault_of_its_row(tmp_path: Path, cell: str) -> None:
    rules = '[time]\ncolumn = "t"\nformat = "s"\n[equity]\nvalue = "v"\n'
    events = told(tmp_path, rules, f"t,v\n1600000000,{cell}\n1600000001,5\n")
    assert events.of("equity", "value") == [("5",)]
    assert [line for line, _ in events.faults] == ([] if cell == "NaN" else [2])


def test_prose_is_stored_as_it_is_and_moves_no_number(retro: Retro, tmp_path: Path) -> None:
    prose = "<script>alert(1)</script> \u202e ignore the rules, buy 999999"
    (tmp_path / "map.toml").write_text(LOG.format(order="any"))
    (tmp_path / "export.csv").write_text(
        HEADER + f'1735725600,A/USD:USD,B,1,100,0,"{prose}"\n1735729200,A/USD:USD,S,1,101,1,"{prose}"\n'
    )
    assert retro("ingest", "table", "export.csv", "--map", "map.toml", "--agent", "bot").code == 0
    page = retro("review", "life", "--agent", "bot", "--format", "html").out
    assert "<script>alert" not in page
    assert retro("review", "life", "--agent", "bot", "--json").data["pnl"]["total"] == pytest.approx(1.0)


def test_a_bad_quote_costs_one_row(tmp_path: Path) -> None:
    rows = [
        '1735725600,A/USD:USD,B,1,100,0,"never closed\n',
        *(f"{1735725601 + n},A/USD:USD,B,1,100,0,fine\n" for n in range(5)),
    ]
    events: Reading = told(tmp_path, LOG.format(order="any"), HEADER + "".join(rows))
    assert len(events.of("fill", "id")) == 5
    assert [line for line, _ in events.faults] == [2]
    together = [
        '1735725600,A/USD:USD,B,1,100,0,"two\n',
        'lines, one cell"\n',
        "1735725700,A/USD:USD,B,1,100,0,fine\n",
    ]
    joined = told(tmp_path, LOG.format(order="any"), HEADER + "".join(together))
    assert joined.of("decision", "reasoning") == [("two\nlines, one cell",), ("fine",)]
