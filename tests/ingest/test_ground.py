"""What readers of foreign logs stand on: checked batches, zones nobody guesses, ids without line numbers, samples."""

from __future__ import annotations

import gzip
import os
import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from retro.errors import InputError, UsageError
from retro.ingest.batches import BatchWriter
from retro.ingest.row_ids import RowIds
from retro.ingest.sample import sample_of
from retro.ingest.times import Clock, Steps, day_order

NOW = 1_700_000_000_000_000


def test_an_event_the_journal_would_not_take_is_a_fault_of_its_row() -> None:
    writer = BatchWriter("x.csv", NOW)
    writer.event("cost", "good", "bot", NOW, line=2, kind="gas", amount=Decimal("1.50"))
    writer.event("cost", "bad", "bot", NOW, line=3, kind="gas", amount=Decimal("NaN"))
    writer.event("cost", "wild", "bot", NOW, line=4, kind="gas", amount=Decimal("1E+999999"))
    writer.event("cost", "late", "bot", NOW * 10**6, line=5, kind="gas", amount=Decimal(1))
    writer.event("cost", "half \ud800", "bot", NOW, line=6, kind="gas", amount=Decimal(1))
    writer.mark("bot", "BTC/USDC", NOW, Decimal(-1), line=7)
    batch = writer.batch()
    assert [(row.id, '"amount":"1.50"' in row.body) for row in batch.rows] == [("good", True)]
    assert sorted(fault.line or 0 for fault in batch.faults) == [3, 4, 5, 6, 7]
    assert not writer.batch().faults


def test_marks_come_as_series_in_order() -> None:
    writer = BatchWriter("x.csv", NOW)
    for at, price in ((3, "1.5"), (1, "1.25"), (3, "1.5")):
        writer.mark("bot", "BTC/USDC", at, Decimal(price))
    (series,) = writer.batch().marks
    assert (series.t.tolist(), series.price.tolist()) == ([1, 3], [1.25, 1.5])


def test_a_writer_is_full_by_what_it_holds_and_empty_after_a_batch() -> None:
    writer = BatchWriter("x", NOW, size=2)
    writer.fault("a")
    assert not writer.full
    writer.event("death", "d", "bot", 1)
    assert writer.full
    writer.batch()
    assert not writer.full


def test_a_time_without_a_zone_is_refused_with_the_option_that_names_one() -> None:
    with pytest.raises(InputError, match=r"x\.csv: its times have no zone.*--zone"):
        Clock(None, "x.csv").instant(datetime(2025, 4, 3, 10))
    with pytest.raises(UsageError, match="time zone"):
        Clock("Europe/Pariss", "x.csv")


def test_a_zone_decides_naive_times_and_no_others() -> None:
    paris = Clock("Europe/Paris", "x.csv")
    summer = datetime(2025, 7, 1, 12)
    assert paris.instant(summer) == int(datetime(2025, 7, 1, 10, tzinfo=UTC).timestamp()) * 10**6
    assert paris.instant(summer.replace(tzinfo=UTC)) == paris.instant(summer) + 7_200_000_000


def test_of_a_time_that_was_twice_the_first_is_meant_and_one_that_never_was_is_none() -> None:
    paris = Clock("Europe/Paris", "x.csv")
    twice = paris.instant(datetime(2025, 10, 26, 2, 30))
    assert twice == int(datetime(2025, 10, 26, 0, 30, tzinfo=UTC).timestamp()) * 10**6
    with pytest.raises(ValueError, match="never was in Europe/Paris"):
        paris.instant(datetime(2025, 3, 30, 2, 30))


def test_rows_of_one_instant_stay_in_file_order_by_milliseconds() -> None:
    steps = Steps()
    assert [steps.of(at) for at in (5_000, 5_000, 5_000, 9_000)] == [5_000, 6_000, 7_000, 9_000]


@pytest.mark.parametrize(
    ("dates", "order"),
    [
        (["03/04/2025", "13/04/2025"], "day"),
        (["03/04/2025", "04/13/2025"], "month"),
        (["30/04/2025 10:00", "02/05/2025 11:00"], "day"),
        (["01/02/2025", "02/01/2025", "03/01/2025"], "month"),
        (["03/01/2025", "02/02/2025", "01/03/2025"], None),
        (["01/01/2025", "02/02/2025"], None),
        ([], None),
    ],
)
def test_a_day_above_12_or_the_one_reading_in_order_decides(dates: list[str], order: str | None) -> None:
    assert day_order(dates) == order


def test_dates_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="some with the month"):
        day_order(["13/01/2025", "01/13/2025"])


def test_a_row_is_named_by_what_it_holds_and_which_such_row_it_is() -> None:
    whole, tail = RowIds(), RowIds()
    ids = [whole.of(cells) for cells in (["a", "b"], ["ab", ""], ["a", "b"], ["a", "b"])]
    assert len(set(ids)) == 4
    assert ids[2:] == [f"{ids[0]}-2", f"{ids[0]}-3"]
    assert tail.of(["ab", ""]) == ids[1]


def test_a_sample_shows_a_text_a_packed_text_a_database_a_zip_and_a_folder(tmp_path: Path) -> None:
    text = tmp_path / "a.csv"
    text.write_bytes("\ufefftime;coin\n1;BTC\n".encode())
    assert sample_of(text).header == ["time", "coin"]
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"time,coin\n"))
    assert sample_of(tmp_path / "a.csv.gz").header == ["time", "coin"]
    (tmp_path / "wide.csv").write_text("time\tcoin\n", encoding="utf-16")
    assert sample_of(tmp_path / "wide.csv").header == ["time", "coin"]
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE TradeFill (price, amount)")
    assert sample_of(tmp_path / "a.db").tables == {"TradeFill": ("price", "amount")}
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    assert sample_of(tmp_path / "a.xlsx").members == ("xl/workbook.xml",)
    assert "a.csv" in sample_of(tmp_path).names


def test_what_is_no_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        sample_of(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        sample_of(tmp_path / "pipe")
    (tmp_path / "cut.db").write_bytes(b"SQLite format 3\0 and then nothing")
    assert sample_of(tmp_path / "cut.db").tables == {}
