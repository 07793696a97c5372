"""Figures that contradict each other are never printed: their review is parked under the name of what they break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retro.invariant import invariant
from retro.periods import DAY, HOUR
from retro.store.database import Store
from tests.worlds.service_world import MONDAY, World, line


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 3 * DAY + 2 * HOUR)
    return world


def test_figures_that_contradict_each_other_are_parked_with_the_name_of_what_they_break(world: World) -> None:
    def words(*_: Any) -> Any:
        invariant(2 + 2 == 5, "the parts make the whole", "4.0 is not 5.0")

    for _ in range(5):
        world.knock(words=words)
        world.clock.advance(2 * 3600)
    reasons = {review.reason for review in world.reviews("daily") if review.state == "parked"}
    broken = "the parts make the whole (4.0 is not 5.0)"
    assert reasons == {f"InvariantError: the figures contradict each other, so they are withheld: {broken}"}
