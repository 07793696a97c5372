"""Assets that never have a mark: fills, and where there are none words, price them in every horizon alike.

Each is worked by hand. Hours count from a Monday, 2026-01-05.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from tests.definitions.sums.parts import check_parts, totals
from tests.worlds.oracle import Life, approx, life

if TYPE_CHECKING:
    from retro.store.database import Store

__all__ = ["life"]


def test_the_first_fill_prices_the_days_before_it_as_it_does_their_week(life: Life) -> None:
    """2 X of gas on Monday, X traded at 50 on Wednesday for the first time."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=2)
    life.trade("p", (50, 50), (60, 50), instrument="X/USDC")
    life.until(96)
    assert totals(life) == approx([-100, 0, 0, 0])
    assert life.week().pnl.total == approx(-100)
    assert [life.day(d).equity[-1].equity for d in range(3)] == approx([9900] * 3)
    assert "X" in str(life.day(0).data_quality.missing_marks)


def test_a_position_that_is_open_on_both_days_is_priced_by_its_own_later_fill(life: Life) -> None:
    """1 X of gas for p on Monday, and its first fill at 50 on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(1, "p", instrument="X/USDC")
    life.tell(5, "cost", kind="gas", asset="X", quantity=1, position="p")
    life.fill(50, "p", "buy", 1, 50)
    life.fill(60, "p", "sell", 1, 50)
    life.until(96)
    assert totals(life) == approx([-50, 0, 0, 0])
    assert life.week().pnl.total == approx(-50)


def test_the_first_word_prices_what_was_never_traded(life: Life) -> None:
    """1 X of gas on Monday and on Friday; 4 X of reward said to be worth 20 on Wednesday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=1)
    life.flow(50, None, "reward", "X", 4, value=20)
    life.tell(100, "cost", kind="gas", asset="X", quantity=1)
    life.until(120)
    assert totals(life, 5) == approx([-5, 0, 20, 0, -5])
    assert life.week().pnl.total == approx(10)


def test_what_a_position_was_said_to_earn_prices_the_wallet_after_it_has_gone(life: Life) -> None:
    """p earns 4 X worth 20 on Monday and is gone on Tuesday; 1 X of gas on Thursday."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(1, "p", "staking", instrument="ETH")
    life.flow(5, "p", "reward", "X", 4, value=20)
    life.flow(30, "p", "withdrawal", "X", 4, value=20)
    life.tell(31, "exit", position="p")
    life.tell(80, "cost", kind="gas", asset="X", quantity=1)
    life.until(96)
    assert totals(life) == approx([20, 0, 0, -5])
    assert life.week().pnl.total == approx(15)


def test_a_fill_says_more_than_a_word(life: Life) -> None:
    """Said to be worth 4 on Tuesday, traded at 5 on Thursday: the gas of Monday costs 5, the reward is worth 5."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=1)
    life.flow(30, None, "reward", "X", 1, value=4)
    life.trade("p", (80, 5), (81, 5), instrument="X/USDC")
    life.until(96)
    assert totals(life)[:2] == approx([-5, 5])
    assert life.week().pnl.total == approx(sum(totals(life)))


def test_fills_of_what_nobody_declared_price_nothing(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=1)
    life.fill(50, "never", "buy", 1, 50, instrument="X/USDC")
    life.until(96)
    assert totals(life) == [0, 0, 0, 0]
    assert life.week().pnl.total == 0
    assert "X" in str(life.week().data_quality.missing_marks)


@pytest.mark.parametrize("hours", [1, 60])
def test_a_quote_that_only_fills_price_prices_what_is_quoted_in_it(life: Life, hours: float) -> None:
    """1 X of gas on Monday; X traded at 2 Y on Tuesday, Y at 10 before or after it: the gas costs 20."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=1)
    life.trade("p", (30, 2), (31, 2), instrument="X/Y")
    life.trade("q", (hours, 10), (hours + 1, 10), instrument="Y/USDC")
    life.until(96)
    assert totals(life) == approx([-20, 0, 0, 0])
    assert life.week().pnl.total == approx(-20)


def test_a_quote_that_only_words_price_prices_what_is_quoted_in_it(life: Life) -> None:
    """1 X of gas on Monday; X traded at 2 Y on Tuesday; 4 Y of reward on Wednesday said to be worth 40: 20."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=1)
    life.trade("p", (30, 2), (31, 2), instrument="X/Y")
    life.flow(50, None, "reward", "Y", 4, value=40)
    life.until(96)
    assert totals(life) == approx([-20, 0, 40, 0])
    assert life.week().pnl.total == approx(20)


def test_the_last_fill_counts_though_another_position_was_closed_after_it(life: Life) -> None:
    """ETH traded at 1,900 on Monday; a pool of it without any fill ends on Tuesday; 1 ETH is lent on Wednesday, marked later."""
    life.tell(0, "equity", balances={"USDC": 10000, "ETH": 1})
    life.trade("p", (1, 1900), (2, 1900))
    life.open(3, "q", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=1000, upper=4000)
    life.tell(30, "exit", position="q")
    life.open(50, "r", "lending", instrument="ETH")
    life.flow(50, "r", "deposit", "ETH", 1)
    life.market("ETH/USDC", {60: 2000, 90: 2000})
    life.until(96)
    assert [position.final_pnl for position in life.day(3).positions] == approx([100])
    assert life.week().pnl.total == approx(sum(totals(life)))


def test_nothing_looks_ahead_of_as_of(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 10000})
    life.tell(5, "cost", kind="gas", asset="X", quantity=1)
    life.trade("p", (50, 50), (60, 50), instrument="X/USDC")
    life.flow(20, None, "reward", "X", "0.001")
    life.until(96)
    assert life.as_of(0, 168, cutoff=49).pnl.total == 0
    assert life.as_of(0, 168, cutoff=51).pnl.total == approx(-50 + 0.05)


LINES: list[dict[str, Any]] = [
    {"type": "equity", "id": "1", "at": "2026-01-05T00:00:00Z", "balances": {"USDC": 10000}},
    {"type": "cost", "id": "2", "at": "2026-01-05T05:00:00Z", "kind": "gas", "asset": "X", "quantity": 1},
    {"type": "flow", "id": "3", "at": "2026-01-06T16:00:00Z", "kind": "reward", "asset": "X", "quantity": 2, "value": 8},
    {"type": "position", "id": "4", "at": "2026-01-08T05:00:00Z", "position": "p", "kind": "spot", "instrument": "X/Y", "side": "long"},
    {"type": "fill", "id": "5", "at": "2026-01-08T05:00:00Z", "position": "p", "side": "buy", "quantity": 1, "price": 2},
    {"type": "mark", "id": "6", "at": "2026-01-08T04:00:00Z", "asset": "Y", "price": 10},
    {"type": "decision", "id": "7", "at": "2026-01-09T00:00:00Z", "action": "hold", "reasoning": ""},
]  # fmt: skip


@pytest.mark.parametrize("parts", [*permutations([[0, 1, 6], [2], [3, 4, 5]]), ([0, 1, 2, 3, 4, 6], [5])])
def test_the_first_fill_or_word_settles_again_what_was_settled_without_it(
    store: Store, parts: tuple[list[int], ...]
) -> None:
    """However it is read, the same as read at once; on both databases.

    1 X of gas on Monday, 2 X on Tuesday that are said to be worth 8; on Thursday X is traded at 2 Y, that is 20.
    """
    check_parts(store, LINES, parts, [-20, 40, 0, 0])


@pytest.mark.parametrize("parts", [[[0, 1, 2, 3, 4, 6], [5]], [[0, 1], [6], [5], [2, 3, 4]]])
def test_the_first_word_on_a_quote_settles_again_what_fills_in_it_price(
    store: Store, parts: list[list[int]]
) -> None:
    """Y is not marked, but 3 Y of Friday are said to be worth 30."""
    word = {"type": "flow", "id": "6", "at": "2026-01-09T04:00:00Z", "kind": "reward", "asset": "Y"}
    lines = [*LINES[:5], {**word, "quantity": 3, "value": 30}, LINES[6]]
    check_parts(store, lines, parts, [-20, 40, 0, 0])
