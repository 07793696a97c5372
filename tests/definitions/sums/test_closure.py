"""On random worlds, what the reviews say adds up to what the balances say."""

from __future__ import annotations

from math import fsum
from pathlib import Path
from typing import Any

import pytest

from retro.report.lines import COMPONENTS, SIGNS
from retro.store.database import Store, open_store
from tests.worlds.lives import live, position, report
from tests.worlds.random_facts import HOUR, START, World

DAY = 24 * HOUR


def reviewed(tmp_path: Path, seed: int, configuration: dict[str, Any] | None = None) -> tuple[World, Store]:
    world = World(seed)
    store = open_store(str(tmp_path / "w.db"))
    result = live(store, world.lines(), configuration=configuration)
    assert result.clean, result.faults[:3]
    return world, store


@pytest.mark.parametrize("method", ["fifo", "average"])
@pytest.mark.parametrize("seed", range(6))
def test_total_is_the_change_of_equity_from_balances_less_the_owners_money(
    tmp_path: Path, seed: int, method: str
) -> None:
    configuration = {"retrospective": {"lot_method": method}}
    world, store = reviewed(tmp_path, seed, configuration)
    for start, end in [(0, 24), (24, 48), (72, 96), (0, 8 * 24), (5, 100)]:
        pnl = report(
            store, "w", span=(START + start * HOUR, START + end * HOUR), configuration=configuration
        ).pnl
        before = 0.0 if start == 0 else world.equity[start]
        owner = fsum(value for hour, value in world.flows if start <= hour < end)
        assert pnl.total == pytest.approx(world.equity[end] - before - owner, abs=2e-7)


@pytest.mark.parametrize("seed", range(12, 15))
def test_a_span_is_the_sum_of_its_days_component_by_component(tmp_path: Path, seed: int) -> None:
    _, store = reviewed(tmp_path, seed)
    whole = report(store, "w", span=(START, START + 7 * DAY)).pnl
    days = [report(store, "w", "daily", at=START + d * DAY).pnl for d in range(7)]
    for name in (*COMPONENTS, "total"):
        assert getattr(whole, name) == fsum(getattr(day, name) for day in days), name


@pytest.mark.parametrize("seed", range(18, 21))
def test_positions_wallet_and_costs_add_up_and_each_position_to_its_own_pnl(
    tmp_path: Path, seed: int
) -> None:
    world, store = reviewed(tmp_path, seed)
    document = report(store, "w", span=(START, START + 8 * DAY))
    signed = [SIGNS[name] * getattr(document.pnl, name) for name in COMPONENTS]
    assert document.pnl.total == pytest.approx(fsum(signed), abs=1e-9 * max(1.0, fsum(map(abs, signed))))
    for retrospective in document.positions:
        own = [SIGNS[name] * getattr(retrospective.attribution, name) for name in COMPONENTS]
        assert retrospective.attribution.total == pytest.approx(fsum(own), abs=1e-9)
        assert retrospective.attribution.total == pytest.approx(retrospective.final_pnl, abs=1e-7)
        if not retrospective.open:
            assert position(store, "w", retrospective.position_id).final_pnl == pytest.approx(
                retrospective.final_pnl, abs=1e-9
            )
    assert {p.position_id for p in document.positions} == set(world.inside)
