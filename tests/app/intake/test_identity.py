"""Two bots behind one strategy name, as the service meets them: one source fails, and nobody else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retro.app.intake.ingest import IngestTerms, ingest
from retro.errors import OtherBotError
from retro.ingest.freqtrade.reader import read
from retro.periods import DAY, HOUR, format_instant
from retro.store.database import open_store
from retro.store.facts import faults
from tests.worlds.freqtrade_databases import Order, Trade, write
from tests.worlds.service_world import MONDAY, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(open_store(str(tmp_path / "r.db")), tmp_path)


def day(number: int, hour: int = 0) -> str:
    return format_instant(MONDAY + number * DAY + hour * HOUR).replace("T", " ").replace("Z", ".000000")


def bot(path: Path, price: float, hour: int, **changes: Any) -> Path:
    orders = [Order(True, 1.0, 100.0, day(0, hour)), Order(False, 1.0, price, day(0, 12))]
    return write(path, [Trade(orders, fee=0.0, **changes)])


def read_by_hand(world: World, path: Path, *, in_place: bool) -> None:
    """As `retro ingest freqtrade` reads a database, `in_place` with --replace-source."""
    now, terms = world.clock(), IngestTerms(dated=True, in_place=in_place)
    ingest(world.store, str(path), read(path, now=now), world.settings_for, terms, now=now)


def test_a_second_bot_is_a_fault_of_its_source_alone(world: World) -> None:
    paths = [
        bot(world.folder / "one.sqlite", 110.0, 9),
        bot(world.folder / "two.sqlite", 90.0, 10),
        bot(world.folder / "three.sqlite", 120.0, 9, strategy="Other"),
    ]
    world.configuration = {"source": [{"kind": "freqtrade", "path": str(path)} for path in paths]}
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    tally = world.knock()
    assert tally.sources_failed == 1
    assert (world.review("Sample.daily.2026-03-02").state, world.review("Other.daily.2026-03-02").state) == (
        "done",
        "done",
    )
    assert world.document("Sample.position.ft-1").final_pnl == 10
    with world.store.read() as conn:
        assert [fault.where for fault in faults.all(conn)] == [str(paths[1])]
    assert "replace-source" in faults_of(world)[0]
    world.configuration["source"][1]["agent"] = "second"
    world.clock.advance(600)
    assert world.knock().clean
    assert faults_of(world) == []
    assert world.document("second.position.ft-1").final_pnl == -10


def faults_of(world: World) -> list[str]:
    with world.store.read() as conn:
        return [fault.reason for fault in faults.all(conn)]


def test_stored_reviews_of_what_was_replaced_are_made_anew_and_nothing_parks(world: World) -> None:
    one, two = bot(world.folder / "one.sqlite", 110.0, 9), bot(world.folder / "two.sqlite", 90.0, 10)
    source = {"kind": "freqtrade", "path": str(one)}
    world.configuration = {"source": [source]}
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    assert world.knock().clean
    world.clock.advance(600)
    with pytest.raises(OtherBotError):
        read_by_hand(world, two, in_place=False)
    read_by_hand(world, two, in_place=True)
    source["path"] = str(two)
    assert world.knock().clean
    assert world.document("Sample.position.ft-1").final_pnl == -10
    assert world.review("Sample.daily.2026-03-02").revision == 2
    assert world.document("Sample.daily.2026-03-02").pnl.total == -10


def test_a_review_of_a_trade_that_the_other_bot_never_made_does_not_park(world: World) -> None:
    orders = [Order(True, 1.0, 100.0, day(0, 10)), Order(False, 1.0, 90.0, day(0, 14))]
    one = bot(world.folder / "one.sqlite", 110.0, 9)
    two = write(world.folder / "two.sqlite", [Trade(orders, fee=0.0, id=7)])
    world.configuration = {"source": [{"kind": "freqtrade", "path": str(one)}]}
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    assert world.knock().clean
    read_by_hand(world, two, in_place=True)
    world.configuration = {"source": [{"kind": "freqtrade", "path": str(two)}]}
    world.clock.advance(600)
    assert world.knock().clean
    assert world.document("Sample.position.ft-1").final_pnl == 10, "what was stored stays"
    assert world.document("Sample.position.ft-7").final_pnl == -10
