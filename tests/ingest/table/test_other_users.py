"""The same export as other people's programs write it: every way of writing it tells the same, or says what is wrong."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal

import pytest

from retro.errors import InputError
from retro.ingest.table.grammar.tables import NumberMap
from retro.ingest.table.maps import mapping_of
from retro.ingest.table.numerals import Numerals
from tests.worlds.logs import exports
from tests.worlds.logs.tables import Reading, reading_of, told

Rows = list[list[str]]
DELIMITED: Final = sorted(exports.TEXTS.keys() - {"ccxt", "alpaca", "ibkr-flex"})


def parted(text: str) -> tuple[Rows, list[str], Rows]:
    """Title lines, header and rows of an export."""
    rows = [row for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"))) if row]
    width = Counter(map(len, rows)).most_common(1)[0][0]
    first = next(n for n, row in enumerate(rows) if len(row) == width)
    return rows[:first], rows[first], rows[first + 1 :]


Quoting = Literal[0, 1]
"""`csv.QUOTE_MINIMAL` or `csv.QUOTE_ALL`."""


def written(rows: Rows, delimiter: str = ",", end: str = "\n", quoting: Quoting = csv.QUOTE_MINIMAL) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return text.getvalue()


def columns(change: Callable[[list[str], int], list[str]]) -> Callable[[str], str]:
    """A way of writing that changes every row from its header (row 0) on."""

    def way(text: str) -> str:
        titles, header, body = parted(text)
        return written(titles) + written([change(row, number) for number, row in enumerate([header, *body])])

    return way


def lines(
    delimiter: str = ",", end: str = "\n", quoting: Quoting = csv.QUOTE_MINIMAL
) -> Callable[[str], str]:
    """A way of writing with another layout."""

    def way(text: str) -> str:
        titles, header, body = parted(text)
        return written([*titles, header, *body], delimiter, end, quoting)

    return way


def appended(text: str) -> str:
    titles, header, body = parted(text)
    return written(titles) + "".join(written([header, row]) for row in body)


WAYS: Final[dict[str, Callable[[str], str]]] = {
    "a byte order mark": lambda text: "\ufeff" + text.removeprefix("\ufeff"),
    "lines that end as on Windows": lines(end="\r\n"),
    "blank lines": lambda text: lines()(text).replace("\n", "\n\n"),
    "every cell quoted": lines(quoting=csv.QUOTE_ALL),
    "semicolons": lines(delimiter=";"),
    "tabs": lines(delimiter="\t"),
    "columns the other way round": columns(lambda row, _: row[::-1]),
    "a column of notes": columns(
        lambda row, n: [*row, 'said "buy", twice' if n and any(row) else "" if n else "Notes"]
    ),
    "a first column that counts": columns(lambda row, n: [str(n) if n else "", *row]),
    "a comma at every end": columns(lambda row, _: [*row, ""]),
    "spaces around the names": columns(lambda row, n: row if n else [f" {name} " for name in row]),
    "spaces around the cells": columns(lambda row, n: [f" {cell} " for cell in row] if n else row),
    "titles above": lambda text: "Account statement\nmade on 2026-01-01\n\n" + text.removeprefix("\ufeff"),
    "its header again at each start": appended,
}


def tale(reading: Reading) -> list[str]:
    """What a reading told, without the names that depend on how a row is written."""
    rows = [{k: v for k, v in row.items() if k not in {"id", "position", "exit"}} for row in reading.rows]
    return [
        *sorted(map(repr, rows)),
        *map(str, reading.marks),
        *[reason for _, reason in reading.faults],
        *reading.notices,
    ]


def read_as(folder: Path, name: str, content: bytes) -> Reading:
    path = folder / "export.csv"
    path.write_bytes(content)
    is_asked = mapping_of(name).rules.time.zone == "ask"
    return reading_of(path, name, agent="bot", zone="America/New_York" if is_asked else None)


@pytest.mark.parametrize("name", DELIMITED)
def test_an_export_tells_the_same_however_it_is_laid_out(tmp_path: Path, name: str) -> None:
    text = exports.TEXTS[name]
    plain = tale(read_as(tmp_path, name, text.encode()))
    contents = {way: write(text).encode() for way, write in WAYS.items()}
    contents["UTF-16, as spreadsheets save it"] = text.removeprefix("\ufeff").encode("utf-16")
    for way, content in contents.items():
        assert tale(read_as(tmp_path, name, content)) == plain, way


@pytest.mark.parametrize("name", DELIMITED)
def test_a_comma_for_the_decimal_point_is_never_taken_for_thousands(tmp_path: Path, name: str) -> None:
    titles, header, body = parted(exports.TEXTS[name])
    rows = [[_with_comma(cell) for cell in row] for row in body]
    reading = read_as(tmp_path, name, written([*titles, header, *rows], delimiter=";").encode())
    plain = read_as(tmp_path, name, exports.TEXTS[name].encode())
    assert any('decimal = ","' in reason for _, reason in reading.faults)
    amounts = {row["quantity"] for row in plain.rows if "quantity" in row}
    assert {row["quantity"] for row in reading.rows if "quantity" in row} <= amounts


def _with_comma(cell: str) -> str:
    number = cell.strip("$€+- ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    whole, _, fraction = number.partition(".")
    return cell.replace(".", ",") if whole.isdigit() and fraction.isdigit() else cell


def test_lines_that_end_in_carriage_returns_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="carriage returns alone; save it with line feeds"):
        read_as(tmp_path, "kraken-ledgers", exports.TEXTS["kraken-ledgers"].replace("\n", "\r").encode())


@pytest.mark.parametrize(
    ("rules", "numbers"),
    [
        ({}, {"1 234.5": "1234.5", "1'000": "1000", "- 2.5": "-2.5", "(3.5)": "-3.5", "1,5": None, "1,000": None}),
        (
            {"thousands": ","},
            {"1,000": "1000", "-1,234,567.5": "-1234567.5", "12,34,567": "1234567", "(1,000)": "-1000", "- 1,000": "-1000",
             "1,5": None, "0,400": None, "1,00": None, "1,234567": None, "1.5,000": None, "10,00.5": None},
        ),
        ({"decimal": ","}, {"1.234": "1234", "1.234,5": "1234.5", "1 234,5": "1234.5", "0,5": "0.5", "1,2,3": None, "1.23,4": None}),
    ],
)  # fmt: skip
def test_marks_between_thousands_stand_between_thousands(
    rules: dict[str, str], numbers: dict[str, str | None]
) -> None:
    numerals = Numerals(NumberMap.model_validate(rules))
    for text, number in numbers.items():
        if number is None:
            with pytest.raises(ValueError, match="is no number; say in"):
                numerals.number(text)
        else:
            assert numerals.number(text) == Decimal(number), text


def test_a_document_s_own_numbers_have_a_point_whatever_its_texts_have() -> None:
    numerals = Numerals(NumberMap(decimal=","), is_text=False)
    assert numerals.number("1.234") == Decimal("1.234")
    assert numerals.number("1.234,5") == Decimal("1234.5")


RULES: Final = '[time]\ncolumn = "t"\nformat = {}\nzone = "UTC"\n[equity]\nvalue = "v"\n'


@pytest.mark.parametrize(
    ("formats", "text", "at"),
    [
        ('"iso"', "2026/1/5 9:30", "2026-01-05T09:30:00Z"),
        ('"iso"', "2026.01.05 09:30:15.5", "2026-01-05T09:30:15.500Z"),
        ('"iso"', "2026/01/05", "2026-01-05T00:00:00Z"),
        ('"iso"', "05/01/2026 09:30", None),
        ('"iso"', "2026/13/05", None),
        ('"ms"', "1767605400000", "2026-01-05T09:30:00Z"),
        ('"ms"', "1767605400", None),  # seconds: it would be in January 1970
        ('["iso", "ns"]', "1767605400000", None),
    ],
)
def test_a_time_is_read_where_it_can_mean_one_thing(
    tmp_path: Path, formats: str, text: str, at: str | None
) -> None:
    reading = told(tmp_path, RULES.format(formats), f"t,v\n{text},1\n")
    if at is None:
        ((_, reason),) = reading.faults
        assert reason.startswith(f'time: "{text}" is no time in the format ')
        assert reason.endswith("; name its own in [time] of the mapping")
    else:
        assert [row["at"] for row in reading.rows] == [at]
