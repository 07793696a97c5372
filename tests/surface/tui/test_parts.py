"""A list longer than a screen: whatever way one goes through it, each row is the one it is, and memory stays small."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from retro.present.page.blocks import Cell, Column, Table, TableRow
from retro.present.references import PositionReference
from retro.surface.tui.parts import ListParts

COLUMNS = (Column("Position", right=False, cut=12), Column("USDC"))


def table(first: int, size: int) -> Table:
    """Rows of a list, each called and worth its number."""
    return Table(
        COLUMNS,
        tuple(
            TableRow((Cell(f"p-{n}", ref=PositionReference("bot", f"p-{n}")), Cell(f"{n:+.2f}")))
            for n in range(first, first + size)
        ),
    )


def read(parts: ListParts, first: int, last: int, total: int, size: int) -> int:
    """Read what is wanted until the rows can be drawn; gives how many parts that took."""
    number = 0
    while (wanted := parts.wanted(first, last)) is not None:
        part, address = wanted
        start = 0 if address == "first" else int(address)
        rows = table(start, max(0, min(size, total - start)))
        parts.store(part, rows, str(start + size) if start + size < total else "")
        number += 1
    return number


@settings(max_examples=40)
@given(st.integers(0, 400), st.integers(3, 30), st.lists(st.integers(0, 500), max_size=12))
def test_every_row_is_the_same_whichever_way_one_came(total: int, size: int, places: list[int]) -> None:
    parts = ListParts("first")
    read(parts, 0, 0, total, size)
    for place in places:
        row = min(place, max(parts.rows - 1, 0))
        read(parts, row, row + 20, total, size)
        assert parts.wanted(row, row + 20) is None
        if row < parts.rows:
            assert parts.reference(row) == PositionReference("bot", f"p-{row}")
            text = "".join(span.text for span in parts.line(row, 60))
            assert text.split() == [f"p-{row}", f"{row:+.2f}"]
    while not parts.complete:
        read(parts, parts.rows, parts.rows, total, size)
    assert parts.rows == total


@settings(max_examples=40)
@given(st.integers(1, 400), st.integers(3, 30), st.lists(st.integers(0, 500), max_size=12))
def test_the_end_is_read_by_itself_and_what_lies_above_it_from_there(
    total: int, size: int, places: list[int]
) -> None:
    """A list of which some parts were read from the start and some from the end is that list."""
    numbers = list[int]()

    def look(first: int, last: int) -> None:
        while (wanted := parts.wanted(first, last)) is not None:
            numbers.append(wanted[0])
            store(wanted)

    def store(wanted: tuple[int, str]) -> None:
        part, address = wanted
        if part >= 0:
            start = int(address)
            parts.store(
                part,
                table(start, min(size, total - start)),
                str(start + size) if start + size < total else "",
            )
        else:
            end = int(address)
            parts.store(
                part, table(max(0, end - size), min(size, end)), str(end - size) if end > size else ""
            )

    parts = ListParts("0", str(total), total)
    look(0, 0)
    if parts.end is not None:
        store(parts.end)
    assert (parts.complete, parts.rows, parts.end) == (True, total, None)
    for place in [total - 1, *places]:
        row = min(place, total - 1)
        numbers.clear()
        look(row - 20, row + 20)
        assert parts.wanted(row - 20, row + 20) is None
        assert parts.reference(row) == PositionReference("bot", f"p-{row}")
        if row == total - 1:
            assert len(numbers) <= 20 // size + 2


def test_no_figure_is_cut_by_what_other_parts_needed() -> None:
    """Names give way where there is no room; a figure that comes later widens the column of those before it."""
    parts = ListParts("first")
    parts.store(0, Table(COLUMNS, (TableRow((Cell("a" * 30), Cell("+1.00"))),)), "1")
    parts.store(1, Table(COLUMNS, (TableRow((Cell("b"), Cell("-1,234,567.89"))),)), "")
    short, long = ("".join(span.text for span in parts.line(row, 32)) for row in (0, 1))
    assert short == "  aaaaaaaaaaaaaa…          +1.00"
    assert long == "  b                -1,234,567.89"


def test_ten_times_the_rows_take_no_more_memory() -> None:
    def peak(total: int) -> int:
        tracemalloc.start()
        parts = ListParts("first")
        read(parts, 0, 0, total, 100)
        while not parts.complete:
            read(parts, parts.rows, parts.rows, total, 100)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert parts.rows == total
        return size

    assert peak(20_000) < 1.5 * peak(2_000)
