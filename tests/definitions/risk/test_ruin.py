"""Equity at 0 or below: from there on no return, ratio or fall in per cent is defined, and daily money goes on."""

from __future__ import annotations

import pytest

from retro.evaluate.weeks import life_of
from retro.present.formats import render
from tests.worlds.oracle import DAY, WEEK, Life, approx, life

__all__ = ["life"]

FELL = "equity fell to 0 or below on 2026-01-06: is the capital right?"
RATIOS = (
    "sharpe",
    "sortino",
    "calmar",
    "psr",
    "deflated_sharpe",
    "minimum_track_record",
    "volatility",
    "max_drawdown",
    "max_drawdown_marked",
    "time_weighted_return",
    "money_weighted_return",
    "sharpe_interval",
    "sortino_interval",
    "calmar_interval",
)


def told(life: Life, gains: list[float]) -> Life:
    """1,000 on Monday; each day one trade makes one of the `gains`."""
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    for day, gain in enumerate(gains):
        life.trade(f"p{day}", (DAY * day + 6, 3000), (DAY * day + 7, 3000 + gain))
    life.until(2 * WEEK)
    return life


@pytest.mark.parametrize("lost", [-700, -600])
def test_after_equity_fell_to_0_or_below_nothing_in_per_cent_is_told(life: Life, lost: float) -> None:
    """1,000, 600 on Monday; Tuesday ends at -100 or at 0, Wednesday above 0 again."""
    week = told(life, [-400, lost, 300, 50, -20, 30, 5]).week()
    assert [day.growth for day in week.equity] == [None, approx(-0.4), *[None] * 6]
    assert [day.pnl for day in week.equity[1:]] == approx([-400, lost, 300, 50, -20, 30, 5])
    assert {name: getattr(week.risk, name) for name in RATIOS} == dict.fromkeys(RATIOS)
    assert {week.risk.reasons[name] for name in (*RATIOS, "days")} == {FELL}
    assert week.risk.days == 0
    assert (week.effectiveness.sharpe_7d, week.effectiveness.reasons["sharpe_7d"]) == (None, FELL)
    assert week.reasons["equity.growth"].endswith(FELL)
    assert week.market is not None
    assert week.market.over_market is None


def test_the_pages_say_when_and_ask_for_the_capital(life: Life) -> None:
    week = told(life, [-400, -700, 300, 50]).week()
    for form in ("text", "md", "html"):
        text = " ".join(render(week, form).split())
        assert FELL in text
        assert f"{FELL}." not in text
        assert "-40.0 %" in text.replace("\\", "")
    assert render(week, "text").count("-40.0 %") == 1


def test_a_life_falls_no_further_than_to_the_day_before(life: Life) -> None:
    document = life_of(told(life, [-400, -700, 300, 50]).span(0, 2 * WEEK))
    assert [(week.growth, week.drawdown) for week in document.weeks] == [(None, None), (None, None)]
    assert [week.pnl for week in document.weeks] == approx([-750, 0])


def test_a_period_that_begins_below_0_has_none_either(life: Life) -> None:
    """Wednesday begins at -100 and ends at 200; Thursday makes 50 of them."""
    told(life, [-400, -700, 300, 50])
    wednesday = life.day(2)
    assert wednesday.equity[-1].growth is None
    why = "equity was below 0 before 2026-01-07: is the capital right?"
    assert wednesday.risk.reasons["time_weighted_return"] == why
    assert life.day(3).equity[-1].growth == approx(50 / 200)


def test_a_day_that_goes_through_0_and_back_has_its_return_and_no_fall_within_it(life: Life) -> None:
    """A perp of 10 on 1,000: 200, 90 at noon (-100 in all), 190 at the end of the day."""
    life.market("ETH/USDC:USDC", {h: 90 if h == 36 else 200 if h < 36 else 190 for h in range(73)})
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.open(30, "p", "perp")
    life.fill(30, "p", "buy", 10, 200)
    life.fill(60, "p", "sell", 10, 190)
    life.until(WEEK)
    week = life.week()
    assert week.risk.time_weighted_return == approx(-0.1)
    assert week.risk.max_drawdown_marked is None
    why = "equity was at 0 or below within a day: is the capital right?"
    assert week.risk.reasons["max_drawdown_marked"] == why


def test_who_takes_all_out_is_not_ruined(life: Life) -> None:
    """1,000 leave on Tuesday noon, 500 come on Thursday and lose a tenth."""
    life.tell(0, "equity", balances={"USDC": 1000}, value=1000)
    life.trade("p", (6, 100), (7, 200))
    life.tell(36, "external", quantity=-1100)
    life.tell(73, "external", quantity=500)
    life.trade("q", (80, 100), (81, 50))
    life.until(WEEK)
    assert life.week().risk.time_weighted_return == approx(1.1 * 0.9 - 1)
