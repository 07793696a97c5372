"""The settled book: opened once, of one state of the database, and refused where its rows contradict themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from retro.app.reviews.window import Window
from retro.app.settlement.settle import settled_book
from retro.errors import InvariantError, UnknownError
from retro.periods import DAY, Period
from retro.store.books import positions
from retro.store.books.positions import Discrepancy, WalletDay
from retro.store.database import Store
from retro.store.facts import agents
from tests.worlds.lives import agent_of, settings_for
from tests.worlds.oracle import Life

WALLET = {"cash": 0.0, "assets": {}}


@pytest.fixture
def life(tmp_path: Path) -> Life:
    life = Life(tmp_path)
    life.trade("p", (1, 100), (9, 105))
    life.until(24)
    return life


def transactions(store: Store) -> list[str]:
    """What begins and commits on the store from here on."""
    seen: list[str] = []
    event.listen(store.engine, "begin", lambda conn: seen.append("begin"))
    return seen


def test_a_stale_book_is_settled_and_then_opened_with_its_agent_and_settings(life: Life) -> None:
    settings = settings_for()(agent_of(life.store, life.name))
    with life.store.write() as conn:
        positions.mark_dirty(conn, life.name, 0)
    with settled_book(life.store, life.name, settings) as book:
        assert book.agent == agents.agent(book.conn, life.name)
        assert book.settings is settings
        assert book.known_until == book.agent.last_at
        assert [row.position for row in book.positions()] == ["p"]
        assert book.positions(opened_before=0) == []
        state = positions.book_of(book.conn, life.name)
        assert state is not None
        assert state.speaks_for(settings.fingerprint)
        assert not state.speaks_for("other settings")


def test_a_settled_book_costs_one_transaction(life: Life) -> None:
    settings = settings_for()(agent_of(life.store, life.name))
    with settled_book(life.store, life.name, settings):
        pass
    begun = transactions(life.store)
    with settled_book(life.store, life.name, settings) as book:
        book.history()
    assert begun == ["begin"]


def test_nobody_has_no_book(life: Life) -> None:
    settings = settings_for()(agent_of(life.store, life.name))
    with (
        pytest.raises(UnknownError, match="there is no agent 'nobody'"),
        settled_book(life.store, "nobody", settings),
    ):
        pytest.fail("opened")


@pytest.mark.parametrize("name", ["nobody", "", "half \ud800 a pair", "with \0 in it", "n" * 3000])
def test_a_name_that_nobody_has_finds_nobody(store: Store, name: str) -> None:
    with store.read() as conn:
        assert agents.agent(conn, name) is None
        with pytest.raises(UnknownError):
            agents.existing_agent(conn, name)


@pytest.mark.parametrize("name", ["bot", "a b", "\N{SNOWMAN}", "with \0 in it", "n" * 3000])
def test_an_agent_is_found_by_the_name_it_told(store: Store, name: str) -> None:
    with store.write() as conn:
        agents.note_agent(conn, name, as_of=7)
        agents.note_agent(conn, f"{name}2", as_of=8)
        row = agents.agent(conn, name)
        assert row is not None
        assert row.as_of == 7
        assert row in agents.agents(conn)
        assert agents.agent(conn, row.name) == row


def refused(life: Life, what: str, days: list[WalletDay], statements: list[Discrepancy]) -> None:
    with pytest.raises(InvariantError, match=what), life.store.write() as conn:
        positions.save_days(conn, life.name, days, statements)


def test_days_that_contradict_each_other_are_refused(life: Life) -> None:
    day = WalletDay(400 * DAY, WALLET)
    refused(life, "begins at midnight UTC", [WalletDay(400 * DAY + 1, WALLET)], [])
    refused(life, "ascend", [day, day], [])
    refused(life, "ascend", [day, WalletDay(399 * DAY, WALLET)], [])
    refused(life, "ascend", [day], [Discrepancy(5, 0.0), Discrepancy(4, 0.0)])
    refused(life, "is a number", [day], [Discrepancy(5, float("nan"))])
    with life.store.write() as conn:
        positions.save_days(conn, life.name, [day], [Discrepancy(5, 0.0), Discrepancy(6, -1.0)])


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("final_pnl", float("nan"), "number or absent"),
        ("vs_inaction", float("inf"), "number or absent"),
        ("implausible_pnl", float("-inf"), "number or absent"),
        ("closed_at", 1, "closes no earlier than it opens"),
    ],
)
def test_a_position_that_contradicts_itself_is_refused(
    life: Life, column: str, value: Any, what: str
) -> None:
    with life.store.read() as conn:
        (stored,) = positions.positions(conn, life.name)
    fields = {name: amount for name, amount in stored._mapping.items() if name != "agent"}
    with life.store.write() as conn:
        positions.save_positions(conn, life.name, [fields])
    with pytest.raises(InvariantError, match=what), life.store.write() as conn:
        positions.save_positions(conn, life.name, [{**fields, column: value}])
    with life.store.read() as conn:
        assert positions.positions(conn, life.name) == [stored]


@pytest.mark.parametrize("grid", [[0, DAY], [DAY, 2 * DAY], [0, DAY, DAY, 2 * DAY], [DAY, 0, 2 * DAY], []])
def test_a_window_whose_days_do_not_cover_its_period_is_refused(grid: list[int]) -> None:
    period = Period("daily", 0, 2 * DAY, "")
    with pytest.raises(InvariantError, match="a window's days"):
        Window(period, grid, known_until=DAY, marks_until=DAY)
    assert Window(period, [0, DAY, 2 * DAY], known_until=DAY, marks_until=DAY).until == DAY + 1
