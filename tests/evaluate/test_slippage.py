"""Slippage: against the price asked for, else against a fresh mark at the decision, else absent. + is a cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worlds.oracle import Life


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def approx(value: float) -> Any:
    return pytest.approx(value, abs=1e-9, rel=1e-12)


def test_the_price_asked_for_is_what_a_fill_is_held_against_whatever_the_marks_say(life: Life) -> None:
    """Asked to buy 2 at 100 and got them at 100.5; asked to sell at 111 and got 110.8: 1 + 0.4. Marks are at 98."""
    life.marks("ETH", {0: 98, 1: 98, 5: 98, 6: 98})
    life.open(1, "p")
    life.tell(1, "decision", action="enter", position="p", reasoning="go")
    life.fill(1, "p", "buy", 2, 100.5, requested=100)
    life.tell(5, "decision", action="exit", position="p", reasoning="out")
    life.fill(5, "p", "sell", 2, 110.8, requested="111")
    life.until(24)
    own = life.position("p").attribution
    assert (own.slippage, own.slippage_mark_age_s) == (approx(1.4), None)
    assert life.day(0).pnl.slippage == approx(1.4)
    assert life.position("p").final_pnl == approx(20.6), "it stands inside the fills and is added to nothing"


def test_a_price_asked_for_in_another_currency_is_brought_to_base(tmp_path: Path) -> None:
    """0.1 BTC more than asked for, at 50,000 each."""
    life = Life(tmp_path)
    life.marks("BTC", {0: 50_000, 4: 50_000})
    life.open(1, "p", instrument="ETH/BTC")
    life.fill(1, "p", "buy", 2, 0.55, requested=0.5)
    life.until(4)
    assert life.position("p").attribution.slippage == approx(2 * 0.05 * 50_000)


def test_a_mark_ten_days_old_says_nothing_of_what_a_decision_meant(life: Life) -> None:
    """The last mark is at 2,000; ten days later the fill is at 2,600. The 600 are the market's."""
    life.marks("ETH", {0: 2000})
    life.open(240, "p")
    life.tell(240, "decision", action="enter", position="p", reasoning="go")
    life.fill(240, "p", "buy", 1, 2600)
    life.fill(242, "p", "sell", 1, 2600)
    life.until(243)
    p = life.position("p")
    assert (p.attribution.slippage, p.attribution.slippage_mark_age_s) == (None, None)
    assert "fresh mark" in p.reasons["attribution.slippage"]
    day = life.day(10)
    assert day.pnl.slippage is None
    assert "fresh mark" in day.reasons["pnl.slippage"]


@pytest.mark.parametrize(("minutes", "measured"), [(0, True), (29, True), (31, False)])
def test_the_mark_at_the_decision_must_be_as_fresh_as_a_checkpoint_s(
    life: Life, minutes: int, measured: bool
) -> None:
    """Marks every ten minutes until the decision's, then none: three of these gaps are the limit."""
    last = 5 - minutes / 60
    life.marks("ETH", {last - k / 6: 100 for k in range(20)} | {5 + k / 6: 100 for k in range(1, 20)})
    life.open(5, "p")
    life.tell(5, "decision", action="enter", position="p", reasoning="go")
    life.fill(5, "p", "buy", 1, 101)
    life.fill(7, "p", "sell", 1, 101)
    life.until(9)
    own = life.position("p").attribution
    assert own.slippage == (approx(1) if measured else None)
    assert own.slippage_mark_age_s == (approx(minutes * 60) if measured else None)


def test_a_mark_seconds_old_will_do_where_an_instrument_is_marked_once(life: Life) -> None:
    life.marks("ETH", {1: 100})
    life.open(1 + 5 / 3600, "p")
    life.tell(1 + 5 / 3600, "decision", action="enter", position="p", reasoning="go")
    life.fill(1 + 5 / 3600, "p", "buy", 3, 99)
    life.until(2)
    own = life.position("p").attribution
    assert (own.slippage, own.slippage_mark_age_s) == (approx(-3), approx(5))


def test_of_several_fills_each_is_measured_by_what_it_has_and_the_mean_age_is_of_the_marks_used(
    life: Life,
) -> None:
    """One asked for (cost 1), one against a mark of its instant (2), one against a mark a minute old (4)."""
    minute = 1 / 60
    life.marks("ETH", {1: 100, 2: 100, 3: 100, 4: 100})
    life.open(1, "p", "perp")
    life.fill(1, "p", "buy", 1, 101, requested=100)
    for at, price in ((2, 102), (3 + minute, 104)):
        life.tell(at, "decision", action="increase", position="p", reasoning="more")
        life.fill(at, "p", "buy", 1, price)
    life.until(5)
    own = life.position("p").attribution
    assert (own.slippage, own.slippage_mark_age_s) == (approx(7), approx(30))
