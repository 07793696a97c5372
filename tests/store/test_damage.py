"""A damaged row is named, with its table, its agent and what it was; it parks its own agent's reviews and nobody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from retro.app.doctor import agents as checks_agents
from retro.app.doctor import rows as checks_rows
from retro.app.doctor.check import Installation
from retro.config import Config
from retro.errors import DamagedRowError
from retro.periods import DAY, HOUR
from retro.store.database import Store
from retro.store.facts import damage
from retro.store.jobs import interventions
from retro.store.schema import events, mark_blocks
from tests.worlds.commands import Retro, retro
from tests.worlds.service_world import MONDAY, World, line, trade

__all__ = ["retro"]


def of(agent: str, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "agent": agent} for event in told]


def life_of(agent: str) -> list[dict[str, Any]]:
    return of(
        agent,
        [
            line("equity", "e", MONDAY, value=1000),
            *trade("p", MONDAY + 2 * HOUR, MONDAY + 9 * HOUR, 100, 110),
            *(line("mark", f"m{h}", MONDAY + h * HOUR, asset="ETH", price=100 + h) for h in range(1, 12)),
        ],
    )


def late(agent: str) -> list[dict[str, Any]]:
    return of(agent, [line("cost", "late", MONDAY + 3 * HOUR, kind="gas", amount=2)])


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    """Ada and Bob, each with a trade on Monday, reviewed on Wednesday."""
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell(life_of("ada")[:1] + life_of("bob")[:1])
    world.clock.set(MONDAY + 2 * DAY + 2 * HOUR)
    world.tell(life_of("ada") + life_of("bob"))
    world.knock()
    assert world.review("ada.daily.2026-03-02").state == "done"
    return world


def damage_an_event(store: Store) -> None:
    """The last of ada's events is no JSON any more."""
    with store.write() as conn:
        last = select(func.min(events.c.seq)).where(events.c.type == "fill").scalar_subquery()
        assert conn.execute(update(events).where(events.c.seq == last).values(body="{bad")).rowcount == 1


def damage_a_block(store: Store, column: str = "at_ms") -> None:
    """Ada's marks of Monday have lost a byte."""
    with store.write() as conn:
        key = conn.execute(select(func.min(mark_blocks.c.series))).scalar_one()
        cell = conn.execute(select(mark_blocks.c[column]).where(mark_blocks.c.series == key)).scalar_one()
        conn.execute(update(mark_blocks).where(mark_blocks.c.series == key).values({column: cell[:-1]}))


HARM = {
    "event": (damage_an_event, ["table events: fill ", "agent ada"]),
    "instants": (damage_a_block, ["table mark_blocks: the marks of ETH on 2026-03-02, of agent ada"]),
    "prices": (
        lambda store: damage_a_block(store, "price"),
        ["table mark_blocks: the marks of ETH on 2026-03-02, of agent ada"],
    ),
}


@pytest.mark.parametrize("harm", HARM)
def test_it_parks_its_own_agents_reviews_and_nobody_elses(world: World, harm: str) -> None:
    hurt, names = HARM[harm]
    hurt(world.store)
    world.tell(late("ada") + late("bob"))
    for _ in range(3):
        world.knock()
        world.clock.advance(3600)
    assert world.document("bob.daily.2026-03-02").pnl.gas_costs == 2
    parked = world.review("ada.daily.2026-03-02")
    assert parked.state == "parked"
    assert all(name in (parked.reason or "") for name in names), parked.reason
    assert {review.agent for review in world.reviews() if review.state == "parked"} == {"ada"}
    world.clock.advance(24 * 3600)
    world.knock()
    assert world.review("bob.daily.2026-03-04").state == "done"


@pytest.mark.parametrize("harm", HARM)
def test_doctor_survives_it_and_finds_it(world: World, harm: str) -> None:
    house = Installation(Config(), {}, world.clock(), world.store)
    assert [check.state for check in checks_rows.rows(house)] == ["ok"]
    hurt, names = HARM[harm]
    hurt(world.store)
    (examination,) = checks_rows.rows(house)
    assert examination.state == "broken"
    assert all(name in examination.detail for name in names)
    assert "restore the database from a backup" in examination.detail
    looked = [check.detail for check in checks_agents.agents(house)]
    assert any(detail.startswith("bob: ") and "events" in detail for detail in looked), (
        "the others are examined"
    )


def test_the_command_says_it_with_its_exit_code(world: World, retro: Retro) -> None:
    damage_a_block(world.store)
    database = str(world.store.path or "")
    if not database:
        pytest.skip("one database is enough for the command")
    result = retro("--db", database, "doctor", "--json")
    assert result.code == 1
    broken = [row["detail"] for row in result.data if row["state"] == "broken"]
    assert any("the marks of ETH on 2026-03-02, of agent ada" in detail for detail in broken)
    result = retro("--db", database, "review", "weekly", "--agent", "ada")
    assert (result.code, "table mark_blocks" in result.err) == (1, True)


@pytest.mark.parametrize("harm", HARM)
def test_told_again_as_a_replacement_it_is_mended(world: World, harm: str) -> None:
    HARM[harm][0](world.store)
    world.tell(late("ada"))
    world.knock()
    world.tell(life_of("ada"), replace="mended")
    with world.store.read() as conn:
        assert list(damage.facts(conn)) + list(damage.blocks(conn)) == []
    with world.store.write() as conn:
        interventions.retry(conn, "ada.daily.2026-03-02", world.clock())
    world.knock()
    assert world.document("ada.daily.2026-03-02").pnl.gas_costs == 2
    assert json.loads(world.text("ada.daily.2026-03-02"))["positions"][0]["final_pnl"] == 10


def test_a_block_out_of_order_or_of_another_day_is_found(world: World) -> None:
    with world.store.write() as conn:
        conn.execute(update(mark_blocks).values(day=mark_blocks.c.day + 1000))
    with world.store.read() as conn:
        errors = list(damage.blocks(conn))
    assert len(errors) == 2
    assert all(isinstance(error, DamagedRowError) for error in errors)
