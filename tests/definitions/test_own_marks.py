"""The freshest mark wins, whoever told it: an agent's own price counts at its instant, and no fresher one is hidden by it."""

from __future__ import annotations

import pytest

from tests.worlds.oracle import DAY, Life, approx, life, life_of

__all__ = ["life"]

PATH = [100, 110, 120, 90, 80, 105, 130, 104, 100, 100, 100, 100]
"""By hour: entered at 1, left at 8."""


def traded(life: Life, own: dict[float, float]) -> Life:
    life.market("ETH/USDC", PATH)
    life.marks("ETH/USDC", own)
    life.trade("p", (1, 110), (8, 100))
    life.until(DAY)
    return life


def test_one_own_mark_at_the_entry_hides_no_later_price(life: Life) -> None:
    """Inside (1, 8): 120, 90, 80, 105, 130, 104. Bought at 110: best +20, worst -30, left at -10, regret 20 - -10."""
    p = life_of(traded(life, {1: 110}).day(0), "p")
    assert (p.mfe, p.mae, p.final_pnl, p.regret) == approx((20, -30, -10, 30))
    assert "insufficient_marks" not in p.flags


def test_an_own_mark_counts_at_its_instant_and_until_a_fresher_one(life: Life) -> None:
    """Own 132 at the hour itself and 131 at half past: both count, and at the next hour the market does again."""
    life.market("ETH/USDC", PATH)
    life.marks("ETH/USDC", {6: 132, 6.5: 131})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 110)
    life.tell(6.25, "equity", value=1000 + 132 - 110)
    life.tell(6.75, "equity", value=1000 + 131 - 110)
    life.tell(7.25, "equity", value=1000 + 104 - 110)
    life.configuration = {"agent": {"a": {"capital": 1000}}}
    life.until(DAY)
    document = life.day(0)
    assert document.pnl.unattributed == approx(0)
    assert life_of(document, "p").mfe == approx(132 - 110)


def test_a_position_open_at_the_end_of_the_day_is_worth_the_freshest_mark(life: Life) -> None:
    """Own 102 at 20:00, the market 101 at 23:00: the day ends at 101."""
    life.market("ETH/USDC", dict.fromkeys(range(23), 100) | {23: 101})
    life.marks("ETH/USDC", {20: 102})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.until(2 * DAY)
    assert life_of(life.day(0), "p").final_pnl == approx(1)


def test_own_marks_of_the_asset_are_those_of_the_instrument(life: Life) -> None:
    """A mark of ETH in a life that counts in USDC is a mark of ETH/USDC: it hides nothing either."""
    life.market("ETH/USDC", PATH)
    life.marks("ETH", {1: 110})
    life.trade("p", (1, 110), (8, 100))
    life.until(DAY)
    assert life_of(life.day(0), "p").mfe == approx(20)


def test_an_own_mark_of_a_perp_hides_no_price_of_the_market_that_stands_in(life: Life) -> None:
    life.market("ETH/USDC", PATH)
    life.marks("ETH/USDC:USDC", {1: 110})
    life.trade("p", (1, 110), (8, 100), kind="perp", instrument="ETH/USDC:USDC")
    life.until(DAY)
    p = life_of(life.day(0), "p")
    assert (p.mfe, p.mae, p.regret) == approx((20, -30, 30))


def test_a_mark_told_after_a_decision_is_after_it_within_the_same_millisecond(life: Life) -> None:
    """Decided 300 microseconds after one mark and 200 before the next: what was meant is the first."""
    second = 1 / 3600
    life.marks("ETH/USDC", {1: 100, 1 + 500e-6 * second: 107})
    life.open(1, "p")
    life.tell(1 + 300e-6 * second, "decision", action="enter", position="p")
    life.fill(1 + 5 * second, "p", "buy", 2, 101)
    life.until(DAY)
    assert life.day(0).pnl.slippage == approx(2 * (101 - 100))


def test_a_fill_inside_its_candle_is_plausible_whatever_the_agent_marked(life: Life) -> None:
    """A wick to 60 between closes of 100: own marks before and after it do not make it impossible."""
    life.market(
        "ETH/USDC",
        dict.fromkeys(range(12), 100.0),
        {h: (60, 101) if h == 5 else (99, 101) for h in range(12)},
    )
    life.marks("ETH/USDC", {4.4: 100, 4.6: 100})
    life.trade("p", (1, 100), (4.5, 60))
    life.until(DAY)
    p = life_of(life.day(0), "p")
    assert p.flags == []
    assert p.final_pnl == approx(-40)


# marks that the market contradicts


def test_an_own_mark_far_from_the_market_values_nothing_and_is_named(life: Life) -> None:
    """Bought at 100, the market stays there; the agent marks 150 at the minute before midnight."""
    life.market("ETH/USDC", [100.0] * 49, dict.fromkeys(range(49), (99, 101)))
    life.marks("ETH/USDC", {12: 101, 23.99: 150})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.until(2 * DAY)
    document = life.day(0)
    p = life_of(document, "p")
    assert (p.final_pnl, p.mfe) == approx((0, 1))
    (warning,) = document.data_quality.warnings
    assert warning == (
        "ETH/USDC: a mark of the agent's own, more than 2 % from the market, used for nothing"
        " (the first: 150 at 2026-01-05T23:59:24Z)"
    )
    assert life.day(1).data_quality.warnings == []


@pytest.mark.parametrize(
    ("own", "believed"), [(102.0, True), (103.01, True), (103.1, False), (97.02, True), (96.9, False)]
)
def test_the_market_is_the_candle_around_the_mark_and_two_percent(
    life: Life, own: float, believed: bool
) -> None:
    """The candle from 5 to 6 went from 99 to 101: 0.98 x 99 = 97.02 and 1.02 x 101 = 103.02 are its limits."""
    life.market("ETH/USDC", [100.0] * 25, dict.fromkeys(range(25), (99, 101)))
    life.marks("ETH/USDC", {5.5: own})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.until(DAY)
    document = life.day(0)
    assert bool(document.data_quality.warnings) is not believed
    p = life_of(document, "p")
    assert (p.mfe, p.mae) == approx(
        (max(0, own - 100) if believed else 0, min(0, own - 100) if believed else 0)
    )


def test_without_a_market_at_its_time_nothing_contradicts_an_own_mark(life: Life) -> None:
    """Prices once an hour without lows and highs: half an hour later it may well be 10 % higher; two minutes later not."""
    life.market("ETH/USDC", [100.0] * 25)
    life.marks("ETH/USDC", {5.5: 110, 7 + 2 / 60: 112})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.until(DAY)
    assert life_of(life.day(0), "p").mfe == approx(10)
    assert len(life.day(0).data_quality.warnings) == 1


def test_days_add_up_to_the_week_with_marks_of_both_and_a_lie(life: Life) -> None:
    life.market("ETH/USDC", {float(h): 100 + (h * 7) % 13 for h in range(8 * DAY)})
    life.marks("ETH/USDC", {h + 0.5: 100 + (h * 7) % 13 for h in range(0, 7 * DAY, 5)} | {30 + 1 / 60: 300})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 107)
    life.until(7 * DAY)
    week = life.week()
    assert week.pnl.total == approx(sum(life.day(day).pnl.total for day in range(7)))
    assert sum("used for nothing" in w for w in week.data_quality.warnings) == 1
