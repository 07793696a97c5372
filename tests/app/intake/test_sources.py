"""The sources: each read on from where it was left, while others write to it; one that fails keeps nobody waiting."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from retro.app.engine.backlog import has_pending_work
from retro.app.intake.fingerprints import key_of, signature_of
from retro.config import SourceTable
from retro.periods import DAY, HOUR, format_instant
from retro.store.database import open_store
from retro.store.facts import events as facts
from retro.store.facts import faults, marks
from retro.store.facts.agents import agents
from retro.store.jobs import cursors
from tests.worlds.freqtrade_databases import Order, Trade, write
from tests.worlds.service_world import MONDAY, World, life, line, lines_of


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + HOUR)
    world.configuration = {"source": [{"kind": "journal", "path": str(tmp_path / "bot.jsonl")}]}
    return world


def append(world: World, content: bytes) -> None:
    with (world.folder / "bot.jsonl").open("ab") as file:
        file.write(content)


def stored_ids(world: World, agent: str = "bot") -> list[str]:
    """The ids of the facts that came in, in order."""
    with world.store.read() as conn:
        return sorted(fact.id for fact in facts.between(conn, agent, 0, 1 << 60, types=facts.TYPES))


def reading(world: World, number: int = 0) -> dict[str, Any]:
    with world.store.read() as conn:
        return cursors.state_of(conn, key_of(world.config.source[number], ""))


def due(world: World) -> bool:
    return has_pending_work(world.store, world.config.source, "", world.clock())


# journals


def test_a_journal_is_read_on_from_where_it_was_left(world: World) -> None:
    append(world, lines_of([line("equity", f"e{n}", MONDAY + n, value=1) for n in range(3)]))
    world.knock()
    first = reading(world)
    append(world, lines_of([line("equity", "f1", MONDAY + 9, value=2)]))
    world.knock()
    assert stored_ids(world) == ["e0", "e1", "e2", "f1"]
    assert [fields["events"] for fields in world.events("source_read")] == [3, 1]
    assert reading(world)["offset"] == (world.folder / "bot.jsonl").stat().st_size > first["offset"]
    assert reading(world)["lines"] == 4
    world.knock()
    assert len(world.events("source_read")) == 2


def test_a_line_that_is_still_being_written_waits_for_its_end(world: World) -> None:
    whole = lines_of([line("equity", "e1", MONDAY, value=1), line("equity", "e2", MONDAY, value=2)])
    append(world, whole[:-20])
    assert world.knock().clean
    assert stored_ids(world) == ["e1"]
    append(world, whole[-20:])
    world.knock()
    assert stored_ids(world) == ["e1", "e2"]
    with world.store.read() as conn:
        assert faults.count(conn) == 0


def test_a_bad_line_is_a_fault_with_its_number_in_the_whole_file(world: World) -> None:
    append(world, lines_of([line("equity", f"e{n}", MONDAY + n, value=1) for n in range(5)]))
    world.knock()
    append(world, b"nonsense\n" + lines_of([line("equity", "e9", MONDAY + 9, value=1)]))
    world.knock()
    append(world, b"more of it\n")
    world.knock()
    with world.store.read() as conn:
        assert [fault.line for fault in faults.all(conn)] == [6, 8]
    assert stored_ids(world) == ["e0", "e1", "e2", "e3", "e4", "e9"]


@pytest.mark.parametrize("how", ["shorter", "other", "rewritten"])
def test_a_journal_that_was_replaced_is_read_from_its_start(world: World, how: str) -> None:
    append(world, lines_of([line("equity", f"e{n}", MONDAY + n, value=1) for n in range(3)]))
    world.knock()
    events = {
        "shorter": [line("equity", "new", MONDAY, value=1)],
        "other": [line("equity", f"new{n}", MONDAY + n, value=1) for n in range(9)],
        "rewritten": [line("equity", name, MONDAY, value=1) for name in ("e0", "e1", "x2", "e3", "e4")],
    }[how]
    (world.folder / "bot.jsonl").write_bytes(lines_of(events))
    world.knock()
    assert set(stored_ids(world)) >= {event["id"] for event in events} - {"e0", "e1"}
    assert reading(world)["lines"] == len(events)


def test_a_packed_journal_is_read_whole_when_it_changes(world: World) -> None:
    path = world.folder / "bot.jsonl"
    path.write_bytes(gzip.compress(lines_of([line("equity", "e1", MONDAY, value=1)])))
    world.knock()
    path.write_bytes(gzip.compress(lines_of([line("equity", n, MONDAY, value=1) for n in ("e1", "e2")])))
    world.knock()
    assert stored_ids(world) == ["e1", "e2"]


def test_the_capital_of_a_source_is_its_agents(world: World) -> None:
    world.configuration["source"][0]["capital"] = 5000
    append(world, lines_of(life(1)[1:]))
    world.clock.set(MONDAY + DAY)
    world.knock()
    with world.store.read() as conn:
        assert [(agent.name, agent.capital) for agent in agents(conn)] == [("bot", 5000)]


# failing


def test_a_source_that_cannot_be_read_raises_one_alarm_and_blocks_no_review(world: World) -> None:
    world.configuration["source"].insert(0, {"kind": "journal", "path": str(world.folder / "gone.jsonl")})
    append(world, lines_of([line("equity", "e1", MONDAY, value=1)]))
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    for _ in range(3):
        tally = world.knock()
        assert (tally.sources_failed, tally.clean) == (1, False)
    assert world.review("bot.daily.2026-03-02").state == "done"
    (alarm,) = world.events("source_failed")
    assert alarm["level"] == "error"
    assert "gone.jsonl cannot be read: No such file or directory" in alarm["reason"]
    assert not due(world)
    (world.folder / "gone.jsonl").write_bytes(lines_of([line("equity", "e2", MONDAY, "back", value=1)]))
    assert due(world)
    assert world.knock().clean
    assert stored_ids(world, "back") == ["e2"]
    assert len(world.events("source_is_back")) == 1


def test_a_source_that_fails_differently_is_news(world: World) -> None:
    path = world.folder / "bot.jsonl"
    world.knock()
    path.mkdir()
    world.knock()
    assert [alarm["reason"].rpartition(": ")[2] for alarm in world.events("source_failed")] == [
        "No such file or directory",
        "Is a directory",
    ]


# databases and candles


def day(number: int, hour: int = 0) -> str:
    return format_instant(MONDAY + number * DAY + hour * HOUR).replace("T", " ").replace("Z", ".000000")


def test_a_freqtrade_database_is_read_while_the_bot_writes_to_it(world: World) -> None:
    """The bot keeps its database open, in WAL mode and in the middle of a transaction."""
    path = world.folder / "trades.sqlite"
    world.configuration = {
        "source": [{"kind": "freqtrade", "path": str(path), "agent": "ft", "capital": 1000}]
    }
    first = Trade([Order(True, 1.0, 100.0, day(0, 9)), Order(False, 1.0, 110.0, day(0, 12))])
    write(path, [first])
    bot = sqlite3.connect(path, isolation_level=None)
    bot.execute("PRAGMA journal_mode = WAL")
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    assert world.knock().clean
    assert world.review("ft.position.ft-1").state == "done"
    bot.execute("BEGIN IMMEDIATE")
    bot.execute("UPDATE trades SET max_rate = 120")
    world.clock.advance(60)
    assert world.knock().clean
    second = Trade([Order(True, 1.0, 100.0, day(1, 3)), Order(False, 1.0, 90.0, day(1, 5))], id=2)
    row, orders = second.as_row(), second.orders
    names = [r[1] for r in bot.execute("PRAGMA table_info(trades)")]
    told_row = {name: row[name] for name in names if name in row}
    bot.execute(
        f"INSERT INTO trades ({', '.join(told_row)}) VALUES ({', '.join('?' * len(told_row))})",
        list(told_row.values()),
    )
    from tests.worlds.freqtrade_databases import ORDERS, _insert, _order_row

    for number, order in enumerate(orders):
        _insert(bot, "orders", ORDERS[51], _order_row(second, order, number))
    bot.execute("COMMIT")
    world.clock.set(MONDAY + DAY + 8 * HOUR)
    assert due(world)
    world.knock()
    assert world.review("ft.position.ft-2").state == "done"
    assert bot.execute("SELECT count(*) FROM trades").fetchone() == (2,)
    bot.close()


def test_a_trade_the_bot_has_corrected_is_stored_as_a_correction_and_reviewed_again(world: World) -> None:
    path = world.folder / "trades.sqlite"
    world.configuration = {
        "source": [{"kind": "freqtrade", "path": str(path), "agent": "ft", "capital": 1000}]
    }
    world.clock.set(MONDAY - HOUR)
    write(path, [])
    world.knock()
    orders = [Order(True, 1.0, 100.0, day(0, 9)), Order(False, 1.0, 110.0, day(0, 12))]
    path.unlink()
    write(path, [Trade(orders)])
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    world.knock()
    assert world.document("ft.position.ft-1").exit_price == 110
    path.unlink()
    write(path, [Trade([orders[0], Order(False, 1.0, 111.0, day(0, 12))])])
    world.clock.advance(600)
    assert world.knock().clean
    with world.store.read() as conn:
        assert conn.exec_driver_sql("SELECT count(*) FROM corrections").scalar_one() > 0
    assert world.review("ft.daily.2026-03-02").revision == 2
    assert world.document("ft.position.ft-1").exit_price == 111


def candles(path: Path, opens: list[int], price: float = 100.0) -> None:
    rows = [f"{format_instant(at)},{price},{price + 1},{price - 1},{price},5" for at in opens]
    path.write_text("date,open,high,low,close,volume\n" + "\n".join(rows) + "\n")


def test_a_folder_of_candles_is_read_file_by_file_as_they_change(world: World) -> None:
    folder = world.folder / "data"
    folder.mkdir()
    world.configuration = {"source": [{"kind": "marks", "path": str(folder)}]}
    world.clock.set(MONDAY + DAY)
    candles(folder / "ETH_USDC-1h.csv", [MONDAY + n * HOUR for n in range(3)])
    candles(folder / "BTC_USDC_USDC-4h.csv", [MONDAY, MONDAY + 4 * HOUR], 50_000)
    world.knock()
    with world.store.read() as conn:
        from retro.store.facts import marks

        assert list(marks.instruments(conn, None)) == ["BTC/USDC:USDC", "ETH/USDC"]
        assert marks.last_at_or_before(conn, None, "ETH/USDC", MONDAY + DAY) == (MONDAY + 3 * HOUR, 100.0)
    candles(folder / "ETH_USDC-1h.csv", [MONDAY + n * HOUR for n in range(5)])
    assert due(world)
    world.log.clear()
    world.knock()
    assert [fields["source"].rpartition("/")[2] for fields in world.events("source_read")] == [
        "ETH_USDC-1h.csv"
    ]
    assert not due(world)


def test_a_signature_tells_nothing_of_what_it_was_made_of(tmp_path: Path) -> None:
    source = SourceTable.model_validate({"kind": "journal", "path": str(tmp_path / "secret.jsonl")})
    assert "secret" not in signature_of(source) + key_of(source, "host")
    before = signature_of(source)
    (tmp_path / "secret.jsonl").write_text("x")
    assert signature_of(source) != before


def test_nothing_new_is_nothing_to_do(world: World) -> None:
    append(world, lines_of([line("equity", "e1", MONDAY, value=1)]))
    assert due(world)
    world.knock()
    assert not due(world)
    append(world, lines_of([line("equity", "e2", MONDAY + 1, value=1)]))
    assert due(world)
    world.knock()
    assert not due(world)
    world.clock.set(MONDAY + DAY)
    assert due(world)
    world.knock()
    assert not due(world)
    world.clock.set(MONDAY + DAY + HOUR)
    assert due(world)


def test_one_file_of_marks_is_read_as_the_instrument_that_its_source_names(world: World) -> None:
    prices = world.folder / "ether.csv"
    prices.write_text(f"timestamp,price\n{format_instant(MONDAY)},2000\n")
    source = {"kind": "marks", "path": str(prices), "instrument": "ETH/USDC"}
    world.configuration = {"source": [source]}
    assert world.knock().sources_failed == 0
    assert not due(world)
    prices.write_text(f"timestamp,price\n{format_instant(MONDAY)},2000\n{format_instant(MONDAY + 60)},2001\n")
    assert due(world)
    world.knock()
    with world.store.read() as conn:
        assert marks.last_at_or_before(conn, None, "ETH/USDC", MONDAY + HOUR) is not None


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"kind": "journal", "instrument": "ETH/USDC"}, "are keys of kind"),
        ({"kind": "marks", "timeframe": "1h"}, "name its instrument"),
    ],
)
def test_a_key_of_another_kind_is_refused(keys: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SourceTable.model_validate({"path": Path("x"), **keys})
