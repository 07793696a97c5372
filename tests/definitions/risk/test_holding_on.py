"""Holding a perp on has an end: where it would have lost the agent's equity, and it pays the funding of its instrument.

Each is worked by hand. A short or long of 10 ETH from 2,000, closed at 2,000 at hour 10; h is ten hours.
"""

from __future__ import annotations

from typing import Any

import pytest

from retro.figures import money_of
from retro.present.page.position import page_of_position
from retro.present.text.page import text_of
from tests.worlds.oracle import Life, approx, life, life_of

__all__ = ["life"]

PERP = "ETH/USDC:USDC"


def perp(life: Life, after: dict[int, int], *, until: float = 40, **fields: Any) -> None:
    """10 ETH long from hour 0 to 10 at 2,000 throughout; `after` are the marks since."""
    life.market(PERP, dict.fromkeys(range(11), 2000) | after)
    life.open(0, "p", "perp", side="long", **fields)
    life.fill(0, "p", "buy", 10, 2000)
    life.fill(10, "p", "sell", 10, 2000)
    life.until(until)


FALL = {11: 1999, 13: 1899, 16: 1600, 18: 2300, 20: 2400}


def test_holding_on_ends_at_the_mark_at_which_the_equity_is_gone(life: Life) -> None:
    """1,000 of equity: at 1,899 it would have lost 1,010. What came after belongs to nobody."""
    life.tell(0, "equity", balances={"USDC": 1000})
    perp(life, FALL)
    for document in (life.position("p"), life_of(life.week(), "p")):
        assert document.hold_on == approx(-1010)
        assert document.left_on_table == approx(0)
        assert document.left_on_table_capped == approx(0)
        assert "unbounded" not in document.flags


@pytest.mark.parametrize(("equity", "hold_on"), [(1009, -1010), (1010, -1010), (1011, -4000), (5000, 4000)])
def test_just_so_much_equity_bears_just_so_much(life: Life, equity: float, hold_on: float) -> None:
    life.tell(0, "equity", balances={"USDC": equity})
    perp(life, FALL)
    assert life.position("p").hold_on == approx(hold_on)


def test_the_equity_is_that_of_the_exit_with_what_the_owner_put_in(life: Life) -> None:
    """1,000 at first, 9,000 more at hour 5: nothing ends it."""
    life.tell(0, "equity", balances={"USDC": 1000})
    life.tell(5, "external", asset="USDC", quantity=9000)
    perp(life, FALL)
    assert life.position("p").hold_on == approx(4000)
    assert life_of(life.week(), "p").hold_on == approx(4000)


def test_without_equity_the_margin_bounds_it(life: Life) -> None:
    perp(life, FALL, funded_with={"USDC": "1000"})
    assert life.position("p").hold_on == approx(-1010)
    assert "unbounded" not in life.position("p").flags


def test_without_either_it_is_unbounded_and_says_so(life: Life) -> None:
    perp(life, FALL)
    document = life.position("p")
    assert (document.hold_on, document.left_on_table) == approx((4000, 4000))
    assert "unbounded" in document.flags


def test_a_spot_position_can_be_held_through_anything(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 20000})
    life.market("ETH/USDC", dict.fromkeys(range(11), 2000) | {11: 1, 20: 2400})
    life.trade("p", (0, 2000), (10, 2000), 10)
    life.until(40)
    assert life.position("p").hold_on == approx(4000)


def test_holding_on_pays_the_funding_that_others_told_of_the_instrument(life: Life) -> None:
    """Another 2 ETH long pay 3 at hour 12 and receive 1 at hour 16: 10 ETH would have paid 15 and received 5."""
    life.tell(0, "equity", balances={"USDC": 50000})
    life.open(8, "q", "perp", side="long")
    life.fill(8, "q", "buy", 2, 2000)
    life.flow(9, "q", "funding_paid", "USDC", 77)  # before the exit: not its business
    life.flow(12, "q", "funding_paid", "USDC", 3)
    life.flow(16, "q", "funding_received", "USDC", 1)
    life.flow(30, "q", "funding_paid", "USDC", 99)  # beyond h
    perp(life, {11: 2000, 14: 2000, 20: 2000})
    for document in (life.position("p"), life_of(life.week(), "p")):
        assert document.hold_on == approx(-15 + 5)
        assert document.left_on_table == approx(0)
    assert [point.pnl for point in life.position("p").post_exit_trajectory] == approx([0, -15, -10 - 5 * 99])


def test_a_short_receives_what_a_long_pays(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 50000})
    life.market(PERP, dict.fromkeys([*range(11), 14, 20], 2000))
    life.open(8, "q", "perp", side="long")
    life.fill(8, "q", "buy", 2, 2000)
    life.flow(12, "q", "funding_paid", "USDC", 3)
    life.open(0, "p", "perp", side="short")
    life.fill(0, "p", "sell", 10, 2000)
    life.fill(10, "p", "buy", 10, 2000)
    life.until(40)
    assert life.position("p").hold_on == approx(15)


def test_what_a_position_settles_as_it_closes_says_nothing_of_one_instant(life: Life) -> None:
    """A bot books all of a trade's funding with its last fill."""
    life.tell(0, "equity", balances={"USDC": 50000})
    life.open(1, "q", "perp", side="long")
    life.fill(1, "q", "buy", 2, 2000)
    life.flow(15, "q", "funding_paid", "USDC", 40)
    life.fill(15, "q", "sell", 2, 2000)
    perp(life, {11: 2000, 14: 2000, 20: 2000})
    assert life.position("p").hold_on == approx(0)


LATER = {11: 1990, 14: 1899, 20: 1950, 34: 2300, 58: 1600, 82: 2500}
"""Marks 1 h, 4 h, 10 h, 1 d, 2 d and 3 d after the exit."""


def later(life: Life, name: str = "p") -> dict[str, float | None]:
    return {point.offset: point.pnl for point in life.position(name).post_exit_trajectory}


def test_the_table_after_the_exit_ends_where_holding_on_does(life: Life) -> None:
    """1,000 of equity is gone at 1,899, four hours after the exit: the rise to 2,300 and 2,500 belongs to nobody."""
    life.tell(0, "equity", balances={"USDC": 1000})
    perp(life, LATER, until=100)
    p = life.position("p")
    assert later(life) == {"1h": approx(-100), "4h": approx(-1010), "1d": approx(-1010), "3d": approx(-1010)}
    assert p.hold_on == approx(-1010)
    assert "lost all there was to lose by 2026-01-05 14:00 UTC" in p.reasons["post_exit_trajectory"]
    page = text_of(page_of_position(p, money_of("USDC", [p.final_pnl])))
    assert "lost all there was to lose" in " ".join(page.split())


def test_a_short_is_ruined_by_a_rise(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 1000})
    life.market(PERP, dict.fromkeys(range(11), 2000) | {11: 2010, 14: 2101, 34: 1700})
    life.open(0, "p", "perp", side="short")
    life.fill(0, "p", "sell", 10, 2000)
    life.fill(10, "p", "buy", 10, 2000)
    life.until(40)
    assert later(life) == {"1h": approx(-100), "4h": approx(-1010), "1d": approx(-1010)}


def test_a_table_that_nothing_bounds_goes_on_and_one_that_has_no_marks_ends(life: Life) -> None:
    """Enough equity bears everything; where marks end, ruined or not, the table does."""
    life.tell(0, "equity", balances={"USDC": 50000})
    perp(life, LATER, until=100)
    assert later(life) == {"1h": approx(-100), "4h": approx(-1010), "1d": approx(3000), "3d": approx(5000)}
    assert "post_exit_trajectory" not in life.position("p").reasons
