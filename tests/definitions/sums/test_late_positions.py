"""Positions that are declared after their first facts: a declaration says what they are, not when they began.

Each is worked by hand. Hours count from a Monday, 2026-01-05.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from retro.report import dump
from tests.definitions.sums.parts import check_parts
from tests.worlds.lives import position
from tests.worlds.oracle import Life, approx, life

if TYPE_CHECKING:
    from retro.report import RetrospectiveReport
    from retro.store.database import Store

__all__ = ["life"]

ETH = {0: 2000, 24: 2000, 40: 2100, 70: 2200, 90: 2200}


def days(life: Life, count: int = 4) -> list[RetrospectiveReport]:
    return [life.day(day) for day in range(count)]


def test_a_position_declared_on_wednesday_was_open_since_its_fill_on_monday(life: Life) -> None:
    """1 ETH bought for 2,000 on Monday, 2,100 by the end of Tuesday, 2,200 by that of Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.fill(5, "p", "buy", 1, 2000)
    life.open(60, "p")
    life.market("ETH/USDC", ETH)
    life.until(96)
    said = days(life)
    assert [day.pnl.total for day in said] == approx([0, 100, 100, 0])
    assert [day.equity[-1].equity for day in said] == approx([10000, 10100, 10200, 10200])
    week = life.week()
    assert week.pnl.total == approx(200)
    assert week.positions[0].entry_at == "2026-01-05T05:00:00Z"
    assert not any("`position` event" in warning for warning in said[0].data_quality.warnings)


def test_an_exit_before_the_declaration_closes_the_position_where_it_was_told(life: Life) -> None:
    """1 ETH bought for 2,000 on Monday, gone at its mark of 2,100 on Tuesday, declared on Wednesday: 100 on Tuesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.fill(5, "p", "buy", 1, 2000)
    life.tell(44, "exit", position="p")
    life.open(60, "p")
    life.market("ETH/USDC", ETH)
    life.until(96)
    assert [day.pnl.total for day in days(life)] == approx([0, 100, 0, 0])
    assert life.week().pnl.total == approx(100)
    assert life.position("p").exit_at == "2026-01-06T20:00:00Z"


def test_an_exit_before_the_declaration_of_a_position_without_more_facts_is_no_error(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "exit", position="p")
    life.open(60, "p", "staking", instrument="ETH")
    life.until(96)
    assert [day.pnl.total for day in days(life)] == [0, 0, 0, 0]
    assert life.week().pnl.total == 0


def test_a_loan_is_open_since_the_snapshot_that_comes_before_its_declaration(life: Life) -> None:
    """1 ETH is lent by Monday, which leaves the wallet then; it gains 100 on Tuesday and 100 on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "snapshot", position="p", holdings={"ETH": 1})
    life.open(60, "p", "lending", instrument="ETH")
    life.market("ETH/USDC", ETH)
    life.until(96)
    said = days(life)
    assert [day.pnl.total for day in said] == approx([0, 100, 100, 0])
    assert [day.equity[-1].equity for day in said] == approx([10000, 10100, 10200, 10200])
    assert life.week().pnl.total == approx(200)


def test_a_stated_liquidity_is_put_in_at_the_first_fact_of_a_pool_declared_later(life: Life) -> None:
    """0 to infinity, L = 10 at 2,500 is 0.2 ETH and 500 USDC; 5 of fees on Monday; at 3,600 on Tuesday it is 1,200."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.flow(5, "p", "lp_fee", "USDC", 5)
    pool = {"token0": "ETH", "token1": "USDC", "lower": None, "upper": None, "liquidity": 10}
    life.open(60, "p", "lp", instrument="ETH/USDC", **pool)
    life.market("ETH/USDC", {0: 2500, 24: 2500, 40: 3600, 90: 3600})
    life.until(96)
    said = days(life)
    assert [day.pnl.total for day in said] == approx([5, 200, 0, 0])
    assert [day.equity[-1].equity for day in said] == approx([10005, 10205, 10205, 10205])
    assert life.week().pnl.total == approx(205)


def test_what_accrued_before_the_first_deposit_is_there_on_the_days_between(life: Life) -> None:
    """A reward of 1 ETH at 2,000 on Monday, 1 ETH staked on Thursday: the reward gains 100 on Tuesday and on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(1, "p", "staking", instrument="ETH")
    life.flow(5, "p", "reward", "ETH", 1)
    life.flow(75, "p", "deposit", "ETH", 1)
    life.market("ETH/USDC", ETH)
    life.until(96)
    said = days(life)
    assert [day.pnl.total for day in said] == approx([2000, 100, 100, 0])
    assert [day.equity[-1].equity for day in said] == approx([12000, 12100, 12200, 12200])
    assert life.week().pnl.total == approx(2200)


def test_a_decision_before_its_position_opens_nothing(life: Life) -> None:
    """Decided at 23:00 on Monday, declared and bought on Tuesday at 01:00."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(23, "decision", position="p", action="enter", reasoning="")
    life.open(25, "p")
    life.fill(25, "p", "buy", 1, 2000)
    life.market("ETH/USDC", ETH)
    life.until(96)
    monday = life.day(0)
    assert monday.positions == []
    assert monday.data_quality.warnings == []
    assert life.position("p").entry_at == "2026-01-06T01:00:00Z"


def test_nobody_knew_of_a_position_before_it_was_declared(life: Life) -> None:
    """As of Tuesday its fill is of a position of which nobody has said what it is."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.fill(5, "p", "buy", 1, 2000)
    life.open(60, "p")
    life.market("ETH/USDC", ETH)
    life.until(96)
    assert life.as_of(0, 168, cutoff=50).pnl.total == 0
    assert life.as_of(0, 168, cutoff=62).pnl.total == approx(100)


LINES: list[dict[str, Any]] = [
    {"type": "equity", "id": "1", "at": "2026-01-05T00:00:00Z", "balances": {"USDC": 10000}},
    {"type": "fill", "id": "2", "at": "2026-01-05T05:00:00Z", "position": "p", "side": "buy", "quantity": 1, "price": 2000},
    {"type": "position", "id": "3", "at": "2026-01-07T12:00:00Z", "position": "p", "kind": "spot", "instrument": "ETH/USDC", "side": "long"},
    {"type": "mark", "id": "4", "at": "2026-01-06T16:00:00Z", "asset": "ETH", "price": 2100},
    {"type": "decision", "id": "5", "at": "2026-01-09T00:00:00Z", "action": "hold", "reasoning": ""},
]  # fmt: skip


@pytest.mark.parametrize("parts", [*permutations([[0, 1], [2], [3, 4]]), ([0, 1, 3, 4], [2])])
def test_a_declaration_settles_again_what_was_settled_without_it(
    store: Store, parts: tuple[list[int], ...]
) -> None:
    """However it is read, the same bytes as read at once; on both databases."""
    check_parts(store, LINES, parts, [0, 100, 0, 0])
    assert dump(position(store, "a", "p")) == dump(position(store, "once", "p")).replace('"once"', '"a"')
