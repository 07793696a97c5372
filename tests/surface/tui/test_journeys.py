"""Journeys through the house at a terminal: each of the owner's keys, from what it is pressed on to what it shows."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from retro.config import Config
from retro.present.text.page import text_of
from retro.store.database import open_store
from retro.surface.screens.house import House
from retro.surface.tui.reader import view_of
from tests.surface.tui.terminal import Terminal, at_terminal
from tests.surface.web.test_door import house_of
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

WEEK = "/r/harbor-3.weekly.2026-W10"
CAPTURES = Path(__file__).parent / "captures"


@pytest.fixture
def house(reviewed_db: Path) -> Iterator[House]:
    store = open_store(str(reviewed_db), create=False)
    yield house_of(store, Config())
    store.close()


def test_enter_opens_the_row_and_escape_leads_back_and_never_out(house: House, reviewed_db: Path) -> None:
    before = reviewed_db.read_bytes()

    async def walk(owner: Terminal) -> None:
        await owner.press("g", "r", "j", "j", "k", "enter")
        assert owner.address == "/r/harbor-3.daily.2026-03-08"
        assert "8 Mar 2026" in owner.text()
        await owner.press("escape")
        assert (owner.address, owner.screen.list.place) == ("/reviews", 1)
        await owner.press("escape", "escape", "escape")
        assert owner.address == "/"
        assert owner.app.is_running

    at_terminal(house, walk)
    assert reviewed_db.read_bytes() == before


def test_tab_walks_the_links_of_a_page_and_enter_follows(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("tab", "tab", "shift+tab", "enter")
        assert owner.address == "/positions?agent=harbor-3"
        await owner.press("minus")
        assert owner.address == "/a/harbor-3"

    at_terminal(house, walk, start="/a/harbor-3")


def test_from_a_week_to_its_rules_its_positions_and_what_differs(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        for key in ("h", "H"):
            await owner.press(key)
            assert owner.address == "/rules/harbor-3"
            await owner.press("escape")
        await owner.press("p")
        assert "POSITIONS" in owner.text()
        await owner.press("escape")
        assert owner.address == WEEK

    at_terminal(house, walk, start=WEEK)


def test_d_shows_what_differs_from_the_day_before(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("d")
        assert "DIFFERENCE" in owner.text()
        assert "harbor-3.daily.2026-03-03" in owner.text()

    at_terminal(house, walk, start="/r/harbor-3.daily.2026-03-04")


def test_r_shows_the_retrospective_and_p_and_enter_its_predictions_and_reasoning(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("j", "j", "j", "r")
        assert owner.address == "/p/harbor-3/p-1"
        await owner.press("p")
        assert owner.lines()[2].startswith("ENTRY PREDICTIONS")
        await owner.press("enter")
        assert owner.lines()[2].startswith("ENTRY REASONING")
        await owner.press("left_square_bracket")
        assert owner.address == "/p/harbor-3/p-2"
        await owner.press("escape")
        assert (owner.address, owner.screen.list.place) == ("/positions", 2)

    at_terminal(house, walk, start="/positions", size=(80, 16))


def test_a_filter_narrows_a_list_and_an_empty_one_says_so(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("slash", *"state:parked", "enter")
        assert owner.address == "/reviews?q=state%3Aparked"
        assert "0 of 14 reviews" in owner.text()
        assert "None of 14 reviews is so" in owner.text()
        await owner.press("slash", "escape", "slash", *["backspace"] * 12, "enter")
        assert owner.address == "/reviews"
        assert "14 reviews" in owner.text()

    at_terminal(house, walk, start="/reviews")


def test_the_palette_knows_every_screen_and_the_sheet_every_key(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        await owner.press("colon", *"rules")
        await owner.pilot.pause(0.5)
        await owner.press("enter")
        assert owner.address == "/rules/harbor-3"
        await owner.press("question_mark")
        assert "shift+tab" in owner.text()
        await owner.press("escape")
        assert owner.address == "/rules/harbor-3"

    at_terminal(house, walk)


def test_what_is_not_there_is_said_and_what_leads_nowhere_does_nothing(house: House) -> None:
    async def walk(owner: Terminal) -> None:
        assert "no review" in owner.text().lower()
        for key, why in (
            ("x", "point at a position"),
            ("d", "has a review of its kind before it"),
            ("e", "a stored review"),
            ("c", "no path here"),
            ("X", "pick two lives"),
            ("full_stop", "one only reads"),
            ("greater_than_sign", "nothing is known of tomorrow"),
        ):
            await owner.press(key)
            assert why in " ".join(owner.text().split())
        await owner.press("g", "y")
        assert owner.address == "/r/none"

    at_terminal(house, walk, start="/r/none")


@pytest.mark.parametrize("way", [WEEK, "/p/harbor-3/p-1", "/a/harbor-3", "/rules/harbor-3", "/service", "/"])
def test_a_page_is_what_the_command_prints_line_by_line(house: House, way: str) -> None:
    """The figures of the terminal are those of the text: the same lines, cut by no window."""
    wanted = text_of(view_of(house, way).page, width=79).splitlines()

    async def walk(owner: Terminal) -> None:
        page = owner.screen.page
        assert [row.rstrip() for row in wanted] == [
            "".join(span.text for span in page.line_at(y)).rstrip() for y in range(page.virtual_size.height)
        ]

    at_terminal(house, walk, start=way)


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize(
    ("name", "start"), [("reviews", "/reviews"), ("positions", "/positions"), ("position", "/p/harbor-3/p-1")]
)
def test_what_a_terminal_shows(house: House, name: str, start: str, width: int) -> None:
    """Captures: a change of them is to be looked at. To write them anew, delete them."""
    capture = CAPTURES / f"{name}-{width}.txt"

    async def walk(owner: Terminal) -> None:
        assert max(map(len, owner.lines())) <= width
        text = "\n".join(owner.lines()[:-1]) + "\n"  # without the keys, which are no part of the page
        if not capture.exists():
            capture.write_text(text, "utf-8")
        assert text == capture.read_text("utf-8")

    at_terminal(house, walk, start=start, size=(width, 40))


def test_a_database_that_is_held_leaves_the_last_page_and_says_so(reviewed_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "held.db"
    path.write_bytes(reviewed_db.read_bytes())
    store = open_store(str(path), create=False, patience_s=0.05)
    holder = sqlite3.connect(path, isolation_level=None)

    async def walk(owner: Terminal) -> None:
        week = [row[:79].rstrip() for row in owner.lines()[2:20]]
        holder.execute("BEGIN EXCLUSIVE")
        await owner.press("ctrl+r")
        assert "is held by another process" in " ".join(owner.text().split())
        assert [row[:79].rstrip() for row in owner.lines()[2:20]] == week
        await owner.press("g", "r")
        assert "is held by another process" in " ".join(owner.text().split())
        assert "retro doctor" in owner.text()
        holder.execute("ROLLBACK")
        await owner.press("ctrl+r")
        assert "14 reviews" in owner.text()

    at_terminal(house_of(store, Config()), walk, start=WEEK)
    holder.close()
    store.close()


def test_what_comes_in_is_said_where_one_reads_and_shown_where_it_is_about_now(
    tmp_path: Path, retro: Retro
) -> None:
    def tell(n: int) -> None:
        row = {
            "type": "cost",
            "id": f"c{n}",
            "at": f"2026-03-0{n}T10:00:00Z",
            "kind": "data",
            "amount": "1",
            "agent": f"bot-{n}",
        }
        (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
        assert retro("--db", "news.db", "ingest", "journal", "a.jsonl").code == 0

    tell(1)
    store = open_store("news.db", create=False)

    async def walk(owner: Terminal) -> None:
        await owner.press("g", "r")
        owner.app.listen()
        await owner.settle()
        assert "come in" not in owner.text()
        tell(2)
        await asyncio.sleep(2.1)  # the pulse is felt no more often
        owner.app.listen()
        await owner.settle()
        assert "Something has come in since this was read" in owner.text()
        await owner.press("escape")
        assert "bot-2" in owner.text()

    at_terminal(house_of(store, Config()), walk)
    store.close()


HOSTILE = "\x1b]0;taken\x07\x1b[2J[red]in\u202e\x9b31m[/red]"


def test_the_same_from_both_databases_and_no_word_of_an_agent_reaches_the_terminal_as_a_command(
    database_url: str, retro: Retro, tmp_path: Path
) -> None:
    """A position with a name of markup, entered for reasons that are escapes: shown as the letters they have."""
    event = {"agent": "bot", "position": "[red]lp/1\u202e[/red]"}
    lines = [
        {
            "type": "position",
            "id": "p",
            "at": "2026-03-02T10:00:00Z",
            "kind": "spot",
            "instrument": "ETH/USDC",
            **event,
        },
        {
            "type": "decision",
            "id": "d",
            "at": "2026-03-02T10:00:00Z",
            "action": "enter",
            "reasoning": HOSTILE,
            **event,
        },
        {
            "type": "fill",
            "id": "f",
            "at": "2026-03-02T10:00:00Z",
            "side": "buy",
            "quantity": 1,
            "price": 10,
            **event,
        },
        {
            "type": "fill",
            "id": "g",
            "at": "2026-03-02T11:00:00Z",
            "side": "sell",
            "quantity": 1,
            "price": 12,
            **event,
        },
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    assert retro("--db", database_url, "ingest", "journal", "a.jsonl").code == 0
    assert retro("--db", database_url, "run", "--once").code == 0
    store = open_store(database_url, create=False)

    async def walk(owner: Terminal) -> None:
        for keys in (("g", "p"), ("y",), ("enter",), ("y",)):
            await owner.press(*keys)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", owner.text())
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", owner.app.clipboard)
        assert "[red]in31m[/red]" in owner.text()
        assert "[red]lp/1[/red]" in owner.text()

    at_terminal(house_of(store, Config()), walk)
    store.close()


def test_an_empty_house_says_what_to_do(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "empty.db"))

    async def walk(owner: Terminal) -> None:
        assert "retro ingest journal FILE" in owner.text()
        for key in "rpos":
            await owner.press("g", key)
            assert owner.screen.view is not None

    at_terminal(house_of(store, Config()), walk)
    store.close()


def test_the_documents_name_every_key() -> None:
    from retro.surface.tui.keys import KEYS

    page = (ROOT / "docs" / "screens.md").read_text("utf-8")
    assert [words for _, words in KEYS if words not in page] == []
