"""A value or a reason, never a 0 in its place: nulls say why, and quiet, tiny and huge lives do not break."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from retro.periods import Horizon
from retro.report import Breakdowns, dump
from retro.store.database import open_store
from tests.worlds.lives import agent_of, live, report, settings_for
from tests.worlds.oracle import DAY, WEEK, Life, approx, closes, components, life, life_of
from tests.worlds.random_facts import HOUR, START, World

__all__ = ["life"]


WORDS = {
    "what_went_wrong",
    "lesson",
    "entry_reasoning",
    "exit_reasoning",
    "exit_reason",
    "side",
    "model",
    "prompt",
    "cost",
    "why",
}
TOLD = {"instrument", "position_id", "realized_pnl", "heuristic_text", "alarm_text"}
GROUPS = {name for name in Breakdowns.model_fields if name.startswith("by_")}


def unexplained(node: Any, above: Any, path: str) -> list[str]:
    """Fields that are null although no reason is given under their name."""
    if isinstance(node, list):
        return [field for part in node for field in unexplained(part, above, path)]
    if not isinstance(node, dict):
        return []
    reasons, names = node.get("reasons", above), []
    for key, value in node.items():
        name = f"{path}.{key}" if path else key
        if value is None and key not in WORDS | TOLD and name not in reasons:
            names.append(name)
        below = (
            ""
            if "reasons" in (value if isinstance(value, dict) else {}) or key in GROUPS | {"positions"}
            else name
        )
        names += unexplained(value, reasons, "" if key == "heuristic_performance" else below)
    return names


@pytest.mark.parametrize("seed", [2, 9])
def test_every_null_has_its_reason(tmp_path: Path, seed: int) -> None:
    world = World(seed, days=4)
    store = open_store(str(tmp_path / "w.db"))
    assert live(store, world.lines()).clean
    document = json.loads(dump(report(store, "w", span=(START, START + 4 * 24 * HOUR))))
    assert unexplained(document, {}, "") == []


def test_nothing_is_nan_and_no_zero_is_negative(tmp_path: Path) -> None:
    world = World(3, days=3)
    store = open_store(str(tmp_path / "w.db"))
    assert live(store, world.lines()).clean
    text = dump(report(store, "w", span=(START, START + 3 * 24 * HOUR)))
    assert "NaN" not in text
    assert not re.search(r": -0(\.0)?\b(?!\.|\d|e)", text)


@pytest.mark.parametrize("hours", [-5000, -30, 9000])
@pytest.mark.parametrize("horizon", ["daily", "weekly", "epoch"])
def test_a_period_without_events_is_an_empty_report(life: Life, hours: int, horizon: Horizon) -> None:
    """Long before the birth, and long after the last event with nothing open."""
    life.tell(0, "equity", balances={"USDC": 100}, value=100)
    life.trade("p", (1, 100), (5, 104))
    life.until(30)
    document = life.at(horizon, hours)
    assert components(document.pnl) == {}
    assert document.pnl.total == 0
    assert document.positions == []
    assert document.equity[-1].equity == approx(104 if hours > 0 else 0)


def test_an_agent_that_only_thinks_has_reports(life: Life) -> None:
    life.tell(0, "decision", action="skip", reasoning="not today, says H-1")
    life.until(3 * DAY)
    document = life.day(0)
    assert document.pnl.total == 0
    assert [row.heuristic_id for row in document.heuristic_performance] == ["H-1"]


def test_a_position_told_and_never_entered_is_open_and_worth_nothing(life: Life) -> None:
    life.open(1, "p")
    life.until(30)
    p = life_of(life.day(0), "p")
    assert (p.open, p.final_pnl, p.quantity, p.notional) == (True, 0, None, None)


def test_a_price_has_no_reason_to_be_absent_because_the_position_is_still_open(life: Life) -> None:
    """Half of "p" was sold at 104, nothing of "q"."""
    for name in "pq":
        life.open(1, name)
        life.fill(1, name, "buy", 2, 100)
    life.fill(3, "p", "sell", 1, 104)
    life.until(30)
    half, whole = (life_of(life.day(0), name) for name in "pq")
    assert (half.exit_price, half.reasons.get("exit_price")) == (104, None)
    assert (whole.exit_price, whole.reasons["exit_price"]) == (None, "the position is open")
    assert half.reasons["exit_at"] == "the position is open"


@pytest.mark.parametrize(
    ("quantity", "price"),
    [("123456789012.5", 1e-9), ("1e-12", 5e9), ("98765432.123456789", 12345.678), ("1e-18", 1e-8)],
)
def test_sums_close_at_any_scale(life: Life, quantity: str, price: float) -> None:
    life.market("ETH/USDC", {h: price * (1 + 0.01 * math.sin(h)) for h in range(60)})
    life.open(1, "p")
    size = float(quantity) * price
    life.fill(1, "p", "buy", quantity, price, fee=size * 0.001)
    life.fill(30, "p", "sell", quantity, price * 1.01, fee=size * 0.001)
    life.until(59)
    for document in (life.day(0), life.day(1), life.week()):
        assert closes(document.pnl) < 1e-9
    p = life.position("p")
    assert not p.open
    assert p.final_pnl == pytest.approx(size * 0.008, rel=1e-6, abs=1e-12)


def test_two_agents_do_not_see_each_other(tmp_path: Path) -> None:
    """The same ids, instruments and instants; different prices of their own."""
    first, second = Life(tmp_path, "one"), Life(tmp_path, "two")
    for own, last in ((first, 110), (second, 90)):
        own.tell(0, "equity", balances={"USDC": 1000}, value=1000)
        own.marks("ETH", {0: 100, 10: last})
        own.open(1, "p")
        own.fill(1, "p", "buy", 1, 100)
        own.tell(1, "decision", action="enter", position="p", cites=["H-1"])
        own.until(12)
    alone = [dump(life.day(0)) for life in (first, second)]
    store = open_store(str(tmp_path / "both.db"))
    assert live(store, first.lines() + second.lines()).clean
    both = [dump(report(store, name, "daily", at=START + (4 * 24 + 12) * HOUR)) for name in ("one", "two")]
    assert both == alone
    assert agent_of(store, "one").events == agent_of(store, "two").events
    assert settings_for()(agent_of(store, "one")).base_currency == "USDC"


def test_positions_wallet_and_costs_add_up_to_the_total(life: Life) -> None:
    """Two trades, one open, a cost of every kind, one of them a position's own."""
    life.market("ETH/USDC", {h: 100 + h / 4 for h in range(WEEK)})
    life.tell(0, "equity", balances={"USDC": 1000, "ETH": 1}, value=1100)
    life.trade("p", (2, 100), (30, 104))
    life.open(40, "q")
    life.fill(40, "q", "buy", 2, 110, fee=1)
    life.tell(41, "cost", kind="gas", amount=3, position="q")
    life.tell(42, "cost", kind="gas", amount=0.5)
    life.tell(43, "cost", kind="inference", amount=0.25, position="q")
    life.tell(44, "cost", kind="data", amount=0.125)
    life.until(WEEK)
    for document in (life.day(0), life.day(1), life.week()):
        costs = (
            document.pnl.inference_costs + document.pnl.data_costs + (0.5 if document.pnl.data_costs else 0)
        )
        hours = (24, 48, WEEK - 1)[(life.day(0), life.day(1), life.week()).index(document)]
        start = 24 if document.period_start.startswith("2026-01-06") else 0
        wallet = (hours - start) / 4
        positions = sum(p.period_pnl or 0.0 for p in document.positions)
        assert document.pnl.total == approx(positions + wallet - costs)


def test_gas_after_the_exit_is_named_where_its_position_is_not_listed(life: Life) -> None:
    """Left on Monday; 3.00 of gas for it a week later, and 2.00 for one entered the week after that."""
    life.tell(0, "equity", balances={"USDC": 1000})
    life.trade("left", (1, 100), (5, 110))
    life.tell(WEEK + 30, "cost", kind="gas", amount=3, position="left")
    life.open(WEEK + 31, "coming")
    life.tell(WEEK + 32, "cost", kind="gas", amount=2, position="coming")
    life.fill(2 * WEEK + 1, "coming", "buy", 1, 100)
    life.until(3 * WEEK)
    week = life.week(1)
    assert week.pnl.total == approx(-5)
    assert sum(p.period_pnl or 0.0 for p in week.positions) == approx(-2)
    assert [p.position_id for p in week.positions] == ["coming"]
    assert [w for w in week.data_quality.warnings if w.startswith("left: -3.00 USDC")] != []
    assert life.week(0).data_quality.warnings == []
    assert life.week(2).data_quality.warnings == []
