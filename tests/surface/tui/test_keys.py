"""Keys that do more than lead on: along a path, lives over each other, back in time, and what is done."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from retro.config import Config
from retro.periods import DAY
from retro.present.references import ReviewReference
from retro.store.database import open_store
from retro.surface.screens.house import House
from tests.surface.tui.terminal import Terminal, at_terminal
from tests.surface.tui.test_journeys import WEEK, house
from tests.surface.web.test_door import house_of
from tests.worlds.service_world import MONDAY, World, line

__all__ = ["house"]


def test_a_cursor_goes_along_a_path_and_says_what_its_table_says(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        stops = owner.screen.page.stops
        told = {
            stop.moment: " ".join(f"{stop.moment} {stop.after} {stop.pnl} {stop.name}".split())
            for stop in stops
        }

        def spoken() -> str:
            text = " ".join(owner.text().split())
            return next((moment for moment, words in told.items() if words in text), "")

        for key, place in (("0", 0), ("right", 1), ("left", 0), ("dollar_sign", -1), ("left", -2)):
            await owner.press(key)
            assert spoken() == stops[place].moment, key
        assert "┃" in owner.text()
        await owner.press("b")
        assert "best exit" in owner.text()
        await owner.press("0", "c")
        first = owner.screen.page.cursor
        assert first is not None
        assert stops[first].kind == "checkpoint"
        await owner.press("c", "C")
        assert owner.screen.page.cursor == first
        await owner.press("C")
        assert "no such point" in owner.text()
        await owner.press("plus")
        assert "from=2026" in owner.address
        assert 1 < len(owner.screen.page.stops) < len(stops)
        await owner.press("minus")
        assert owner.address == "/p/harbor-3/p-1"
        await owner.press("0", "escape")
        assert (owner.address, owner.screen.page.cursor, spoken()) == ("/p/harbor-3/p-1", None, "")

    at_terminal(house, walk, start="/p/harbor-3/p-1", size=(80, 40))


def test_lives_that_were_picked_are_laid_over_each_other(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("x", "X")
        assert "pick two lives" in owner.text()
        await owner.press("j", "x", "j", "x", "x")
        assert sum(line.startswith(("x ", "▸x")) for line in owner.lines()) == 2
        await owner.press("X")
        picked, _, other = owner.address.removeprefix("/p/harbor-3/").partition("?with=")
        assert "BESIDE OTHER LIVES" in owner.text()
        assert picked in owner.text()
        assert other in owner.text()
        assert owner.app.picked == []

    at_terminal(house, walk, start="/positions", size=(80, 20))


def test_one_looks_back_by_days_and_goes_on_looking_back(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("at", *"2026-03-05", "enter")
        assert owner.address == "/reviews?as-of=2026-03-05"
        assert "As of 2026-03-05T00:00:00Z" in owner.text()
        await owner.press("less_than_sign")
        assert owner.address == "/reviews?as-of=2026-03-04"
        await owner.press("g", "p")
        assert owner.address == "/positions?as-of=2026-03-04"
        await owner.press("at", *["backspace"] * 10, *"soon", "enter")
        assert "it takes a time such as" in owner.text()
        await owner.press("at", *["backspace"] * 10, "enter")
        assert owner.address == "/positions"
        assert "As of" not in owner.text()

    at_terminal(house, walk, start="/reviews")


def test_what_is_done_is_asked_for_once_more_and_noted(reviewed_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "acts.db"
    path.write_bytes(reviewed_db.read_bytes())
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE reviews SET state = 'parked', reason = 'it failed' WHERE id = ?", (WEEK[3:],))
    store = open_store(str(path), create=False)
    notes: list[str] = []

    async def walk(owner: Terminal) -> None:
        before = path.read_bytes()
        await owner.press("full_stop", *"Skip")
        await owner.pilot.pause(0.3)
        await owner.press("enter")
        assert "is passed over for good" in owner.text()
        await owner.press("escape")
        assert (path.read_bytes(), notes) == (before, [])
        for why in ((), tuple("moved")):
            await owner.press("full_stop", *"Skip")
            await owner.pilot.pause(0.3)
            await owner.press("enter", *why, "enter")
            assert ("say why" if not why else "Skip: skipped") in owner.text()
        await owner.press("g", "t", "m", "enter")
        assert "Mark as seen: seen" in owner.text()
        assert [note.partition(" (terminal): ")[2] for note in notes] == [
            f"skip {WEEK[3:]}: skipped",
            notes[1].partition(" (terminal): ")[2],
        ]
        assert notes[1].endswith(": seen")

    at_terminal(house_of(store, Config()), walk, start="/reviews?q=state%3Aparked", note=notes.append)
    store.close()


def test_end_reads_the_last_part_alone_and_the_way_up_from_there(tmp_path: Path) -> None:
    """A ledger of what is owed, several parts long: from its end and from its start one comes upon the same rows."""
    with closing(open_store(str(tmp_path / "mirror.db"))) as store:
        world = World(store, tmp_path, at=MONDAY + 320 * DAY)
        world.tell([line("equity", f"e{day}", MONDAY + day * DAY, value=10_000) for day in range(0, 320, 5)])
        ledger = [ReviewReference(review.id) for review in reversed(world.owe())]
        assert len(ledger) > 300

        async def walk(owner: Terminal) -> None:
            rows = owner.screen.list
            await owner.press("end")
            assert (rows.rows, rows.place, rows.reference) == (len(ledger), len(ledger) - 1, ledger[-1])
            assert "▸" in owner.text()
            rows.move_to(180)
            assert rows.reference is None  # nobody has read what lies between
            await owner.settle()
            assert rows.reference == ledger[180]
            await owner.press("end", *["pageup"] * 5)
            assert rows.place < len(ledger) - 100
            assert rows.reference == ledger[rows.place]
            await owner.press("home", "j")
            assert rows.reference == ledger[1]

        at_terminal(house_of(store, Config()), walk, start="/reviews")
