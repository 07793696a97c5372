"""Same facts, same bytes: in any order, in several files, step by step, on both databases; ties within an instant."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.report import dump
from retro.store.database import Store, open_store
from tests.worlds.lives import live, position, report
from tests.worlds.oracle import Life, approx, clock, components, instant, life, life_of
from tests.worlds.random_facts import HOUR, START, World

__all__ = ["life"]


def lines_of(events: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def everything(store: Store, days: int = 8) -> list[str]:
    """Every review of a world, as the bytes it prints."""
    documents = [dump(report(store, "w", "daily", at=START + d * 24 * HOUR)) for d in range(days)]
    documents += [dump(report(store, "w", h, at=START + 100 * HOUR)) for h in ("weekly", "epoch")]
    whole = report(store, "w", span=(START, START + days * 24 * HOUR))
    documents += [dump(whole)] + [dump(position(store, "w", p.position_id)) for p in whole.positions]
    return documents


def fresh(path: Path, name: str, *parts: list[dict[str, Any]]) -> Store:
    store = open_store(str(path / f"{name}.db"))
    for i, part in enumerate(parts):
        assert live(store, lines_of(part), name=f"part-{i}.jsonl").clean
    return store


def test_shuffled_lines_overlapping_files_and_postgresql_give_the_same_bytes(
    tmp_path: Path, postgres_url: str
) -> None:
    world = World(31, days=3)
    expected = everything(fresh(tmp_path, "plain", world.events), 3)
    shuffled = world.events[:]
    random.Random(1).shuffle(shuffled)
    assert everything(fresh(tmp_path, "shuffled", shuffled), 3) == expected
    cut = len(shuffled) // 3
    parts = (shuffled[cut:], shuffled[: cut * 2], world.events)
    assert everything(fresh(tmp_path, "parts", *parts), 3) == expected
    store = open_store(postgres_url)
    assert live(store, lines_of(shuffled[:cut])).clean
    assert live(store, lines_of(shuffled[cut - 7 :]), name="rest.jsonl").clean
    assert everything(store, 3) == expected
    store.close()


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(100, 10_000),
    cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    jumble=st.booleans(),
)
def test_settling_step_by_step_equals_settling_from_scratch(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[float], jumble: bool
) -> None:
    """In order of time as a running agent tells, or with late lines; reviewed between the steps or not."""
    path = tmp_path_factory.mktemp("w")
    world = World(seed, days=3)
    events = world.events[:]
    rng = random.Random(seed)
    if jumble:
        rng.shuffle(events)
    edges = sorted({0, len(events), *(int(c * len(events)) for c in cuts)})
    store = open_store(str(path / "steps.db"))
    for i, (a, b) in enumerate(pairwise(edges)):
        assert live(store, lines_of(events[a:b]), name=f"part-{i}.jsonl").clean
        if rng.random() < 0.5 and not jumble:
            report(store, "w", "weekly")
    expected = everything(fresh(path, "once", world.events), 3)
    assert everything(store, 3) == expected


def test_late_lines_within_a_day_do_not_disturb_the_wallet(tmp_path: Path) -> None:
    """The lines of the last two days arrive in random order, one file a line."""
    world = World(77, days=3)
    late = [e for e in world.events if e["type"] != "mark"][-12:]
    early = [e for e in world.events if e not in late]
    random.Random(5).shuffle(late)
    store = fresh(tmp_path, "late", early, *[[e] for e in late])
    assert everything(store, 3) == everything(fresh(tmp_path, "once", world.events), 3)


# One instant


def test_within_an_instant_entries_come_before_accruals_and_exits_last(tmp_path: Path) -> None:
    """Deposit, interest, withdrawal and exit of one instant, told in every order."""
    events: list[tuple[str, dict[str, Any]]] = [
        ("position", {"position": "l", "kind": "lending", "instrument": "USDC"}),
        ("flow", {"position": "l", "kind": "deposit", "asset": "USDC", "quantity": 100}),
        ("flow", {"position": "l", "kind": "interest", "asset": "USDC", "quantity": 2}),
        ("flow", {"position": "l", "kind": "withdrawal", "asset": "USDC", "quantity": 102}),
        ("exit", {"position": "l", "reason": "done"}),
    ]
    outcomes = set()
    for i, order in enumerate(list(permutations(events))[::7]):
        life = Life(tmp_path, f"o{i}")
        for type_, fields in order:
            life.tell(5, type_, **fields)
        life.until(10)
        p = life_of(life.day(0), "l")
        outcomes.add((p.open, p.final_pnl, p.exit_at))
        assert components(p.attribution) == approx({"lending_interest_earned": 2})
    assert outcomes == {(False, 2.0, clock(5))}


def test_ties_go_by_natural_order_of_the_ids(tmp_path: Path) -> None:
    """Two buys at one instant, ids o2 and o10: first in is o2 at 100; one unit is sold later at 120."""
    for first, second in (("o2", "o10"), ("o10", "o2")):
        life = Life(tmp_path, f"n{first}")
        life.open(0, "p")
        for id_ in (first, second):
            life.tell(
                1, "fill", id=id_, position="p", side="buy", quantity=1, price=100 if id_ == "o2" else 110
            )
        life.fill(3, "p", "sell", 1, 120)
        life.until(10)
        assert life.day(0).pnl.trading_gains == approx(20)


def test_opening_fills_come_before_closing_ones_of_the_same_instant(tmp_path: Path) -> None:
    """A round trip in one instant, told with the sale first: never short."""
    life = Life(tmp_path)
    life.tell(1, "fill", id="a1", position="p", side="sell", quantity=1, price=105)
    life.tell(1, "fill", id="a2", position="p", side="buy", quantity=1, price=100)
    life.open(1, "p")
    life.until(10)
    p = life_of(life.day(0), "p")
    assert (p.open, p.final_pnl, p.entry_price, p.exit_price) == (False, 5, 100, 105)


def test_a_snapshot_never_revives_a_closed_position(life: Life) -> None:
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 100)
    life.flow(5, "l", "withdrawal", "USDC", 101)
    life.tell(5, "exit", position="l")
    life.tell(5, "snapshot", position="l", holdings={"USDC": 101})
    life.tell(7, "snapshot", position="l", holdings={"USDC": 101})
    life.until(30)
    for document in (life.day(0), life.week()):
        p = life_of(document, "l")
        assert (p.open, p.exit_at, p.final_pnl) == (False, clock(5), approx(1))
        assert document.pnl.total == approx(1)


def test_fills_that_net_to_zero_close_without_an_exit(life: Life) -> None:
    life.open(0, "p")
    life.fill(0, "p", "buy", "0.1", 100)
    life.fill(1, "p", "buy", "0.2", 100)
    life.fill(2, "p", "sell", "0.3", 110)
    life.until(30)
    p = life.position("p")
    assert (p.open, p.exit_at, p.final_pnl) == (False, clock(2), approx(3))


def test_the_clock_may_be_told_in_milliseconds_or_with_any_offset(tmp_path: Path) -> None:
    outcomes = set()
    for i, at in enumerate(
        (clock(5), instant(5) // 1000, "2026-01-05T10:30:00+05:30", "2026-01-05T00:00:00-05:00")
    ):
        life = Life(tmp_path, f"c{i}")
        life.trade("p", (0, 100), (1, 104))
        life.events[-1]["at"] = at
        life.until(30)
        p = life.position("p")
        outcomes.add((p.exit_at, p.final_pnl))
    assert outcomes == {(clock(5), 4.0)}
