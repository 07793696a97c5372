"""Logs that other programs write on, as sources of the service, on both databases."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, select

from retro.app.context import PassSummary
from retro.app.intake.fingerprints import key_of, signature_of
from retro.app.intake.sources import read_all
from retro.config import SourceTable
from retro.model import Fill
from retro.periods import HOUR, SECOND
from retro.store.database import Store, open_store
from retro.store.facts import events, faults
from retro.store.jobs import cursors
from tests.worlds.logs import ai_trader, hummingbot, hyperliquid, nofx
from tests.worlds.service_world import MONDAY, World, line, lines_of

RULES = (
    '[source]\nbase = "quote"\n[time]\ncolumn = "t"\nformat = "s"\n[fill]\nid = ["id"]\ninstrument = "pair"\nside = "side"\n'
    'quantity = "q"\nprice = "p"\n[decision]\nreasoning = "why"\ncontext = ["note"]\n'
)
HEADER = "id,t,pair,side,q,p,why,note\n"
KEY = "sk-" + "planted0" * 4


@pytest.fixture
def world(tmp_path: Path, store: Store) -> World:
    return table_world(tmp_path, store)


def table_world(tmp_path: Path, store: Store) -> World:
    (tmp_path / "map.toml").write_text(RULES)
    world = World(store, tmp_path, at=MONDAY + HOUR)
    path = {"path": str(tmp_path / "trades.csv"), "map": str(tmp_path / "map.toml")}
    world.configuration = {"source": [{"kind": "table", "agent": "bot", **path}]}
    return world


def trade(number: int, side: str, why: str = "because") -> str:
    return f"f{number},{MONDAY // SECOND + number},A/USD:USD,{side},1,{100 + number},{why},{why}\n"


def write(world: World, *rows: str, how: str = "a", name: str = "trades.csv") -> None:
    with (world.folder / name).open(how) as file:
        file.writelines(rows)


def fills(world: World) -> dict[str, str]:
    """Fill -> its position."""
    with world.store.read() as conn:
        facts: Any = events.between(conn, "bot", 0, 1 << 60, types=(Fill,))
        return {fact.id: fact.position for fact in facts}


def test_a_bots_table_is_read_on_over_a_rotation_that_a_position_outlives(world: World) -> None:
    write(world, HEADER, *(trade(n, "sell" if n % 2 else "buy") for n in range(40)), trade(40, "buy"))
    assert world.knock().clean
    write(world, trade(41, "buy"), trade(42, "sell"))
    assert world.knock().clean
    (world.folder / "trades.csv").rename(world.folder / "trades.csv.1")
    write(world, trade(43, "buy"), name="trades.csv.1")  # written before it was renamed, read after
    write(world, HEADER, trade(44, "sell"), trade(45, "sell"))
    assert world.knock().clean
    sizes = [fields["events"] for fields in world.events("source_read")]
    assert sizes == [41 * 2 + 21, 2 * 2, 2, 2 * 2], "a fill and a decision a row, a position where one opens"
    outlived = fills(world)["map-f40"]
    assert {fills(world)[f"map-f{number}"] for number in range(40, 46)} == {outlived}
    assert outlived.endswith("-f40")
    with world.store.read() as conn:
        assert faults.count(conn) == 0


def test_a_service_that_dies_before_it_notes_how_far_it_read_tells_nothing_twice(world: World) -> None:
    write(world, HEADER, trade(0, "buy"), trade(1, "buy"))
    world.knock()
    key = key_of(world.config.source[0], "")
    with world.store.read() as conn:
        before = cursors.state_of(conn, key)
    write(world, trade(2, "sell"), trade(3, "sell"))
    world.knock()
    with world.store.write() as conn:
        cursors.keep(conn, key, before)
    write(world, trade(4, "buy"))
    world.knock()
    assert [fields["stored"] for fields in world.events("source_read")] == [5, 4, 3]
    assert not any(fields["conflicts"] for fields in world.events("source_read"))


def test_a_key_that_stands_in_a_log_is_nowhere_in_the_database_and_the_service_s_log(world: World) -> None:
    write(world, HEADER, trade(0, "buy", why=KEY), f"f1,{KEY},A/USD:USD,buy,1,1,w,n\n", trade(2, KEY))
    world.knock()
    assert len(fills(world)) == 1
    with world.store.read() as conn:
        assert faults.count(conn) == 2
        metadata = MetaData()
        metadata.reflect(conn)
        stored = "".join(
            str(row) for table in metadata.tables.values() for row in conn.execute(select(table))
        )
    assert "because" not in stored
    assert "[redacted]" in stored
    assert KEY not in stored + str(world.log)


def test_a_journal_that_was_rotated_is_read_to_its_end_first(tmp_path: Path) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at=MONDAY + HOUR)
    world.configuration = {"source": [{"kind": "journal", "path": str(tmp_path / "bot.jsonl")}]}
    texts = [lines_of([line("equity", f"e{n}", MONDAY + n, value=1)]).decode() for n in range(4)]
    write(world, texts[0], name="bot.jsonl")
    world.knock()
    write(world, texts[1], name="bot.jsonl")
    (tmp_path / "bot.jsonl").rename(tmp_path / "bot.jsonl.1")
    write(world, texts[2], name="bot.jsonl")
    world.knock()
    write(world, texts[3], name="bot.jsonl")
    world.knock()
    with world.store.read() as conn:
        assert [fact.id for fact in events.between(conn, "bot", 0, 1 << 60, types=events.TYPES)] == [
            "e0", "e1", "e2", "e3",
        ]  # fmt: skip


def test_a_line_without_end_costs_no_memory_and_stops_no_later_row(tmp_path: Path) -> None:
    """A gigabyte of zeros after the second row, as a crash leaves them."""
    world = table_world(tmp_path, open_store(str(tmp_path / "r.db")))
    write(world, HEADER, trade(0, "buy"))
    path = world.folder / "trades.csv"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + (1 << 30))
    write(world, "\n", trade(1, "sell"))
    assert peak_of_reading(world) < 64 << 20
    assert set(fills(world)) == {"map-f0", "map-f1"}
    with world.store.read() as conn:
        assert [fault.line for fault in faults.all(conn)] == [3]


def test_a_link_that_leads_in_a_circle_is_one_alarm(world: World) -> None:
    path = world.folder / "trades.csv"
    path.symlink_to(path)
    assert world.knock().sources_failed == 1
    (alarm,) = world.events("source_failed")
    assert "trades.csv" in alarm["reason"]
    path.unlink()
    write(world, HEADER, trade(0, "buy"))
    assert world.knock().clean


def test_a_database_is_read_again_when_the_table_that_tells_the_same_has_grown(tmp_path: Path) -> None:
    source = SourceTable.model_validate({"kind": "hummingbot", "path": str(tmp_path / "conf_mm[1].sqlite")})
    hummingbot.write_database(tmp_path / "conf_mm[1].sqlite")
    signatures = [signature_of(source)]
    hummingbot.write_csv(tmp_path / "trades_conf_mm[1].csv")
    signatures.append(signature_of(source))
    (tmp_path / "trades_conf_other.csv").write_text("of another")
    assert signature_of(source) == signatures[1] != signatures[0]


def peak_of_reading(world: World) -> int:
    """Bytes at the highest while the service reads its sources."""
    summary = PassSummary()
    tracemalloc.start()
    read_all(world.bench(), summary)
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert summary.sources_failed == 0
    return highest


def venue_log(folder: Path, kind: str) -> Path:
    """A log of a kind that ends in a quarter of a gigabyte without a newline, in which a key stands."""
    path = {
        "hummingbot": lambda: hummingbot.write_csv(folder / "trades_a.csv"),
        "ai-trader": lambda: ai_trader.write_lines(folder / "position.jsonl", ai_trader.life()),
        "nofx": lambda: nofx.write_lines(folder / "log.jsonl", nofx.life()),
        "hyperliquid": lambda: hyperliquid.web(folder / "trades.csv", *hyperliquid.ROUND),
    }[kind]()
    with path.open("ab") as file:
        file.write(KEY.encode())
        file.truncate(file.tell() + (1 << 28))
    return path


@pytest.mark.parametrize("kind", ["hummingbot", "ai-trader", "nofx", "hyperliquid"])
def test_a_venue_s_log_that_ends_in_a_line_without_end_tells_what_stands_before_it(
    tmp_path: Path, kind: str
) -> None:
    world = World(open_store(str(tmp_path / "r.db")), tmp_path, at="2027-03-02T01:00:00Z")
    path = str(venue_log(tmp_path, kind))
    zone = {"zone": "UTC"} if kind in {"hyperliquid", "ai-trader"} else {}
    world.configuration = {"source": [{"kind": kind, "path": path, "agent": "bot"} | zone]}
    assert peak_of_reading(world) < 64 << 20
    with world.store.read() as conn:
        assert events.between(conn, "bot", 0, 1 << 60, types=events.TYPES)
        (fault,) = faults.all(conn)
    assert KEY not in fault.reason + str(world.log)
