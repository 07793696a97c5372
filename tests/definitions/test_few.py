"""Few days and few positions: a ratio of 3 days and a score of one position are no figures."""

from __future__ import annotations

import pytest

from retro.present.formats import render
from tests.worlds.oracle import DAY, WEEK, Life, approx, life

__all__ = ["life"]


def traded(life: Life, gains: list[float], first: int = 0) -> Life:
    """1,000 from the first day on; each day one trade makes one of the `gains`."""
    life.tell(DAY * first, "equity", balances={"USDC": 1000}, value=1000)
    for day, gain in enumerate(gains, first):
        life.trade(f"p{day}", (DAY * day + 6, 300), (DAY * day + 7, 300 + gain))
    life.until(WEEK)
    return life


def test_the_sharpe_ratio_of_a_week_takes_five_daily_returns(life: Life) -> None:
    """The capital is known from Friday on: Friday, Saturday and Sunday have a return."""
    week = traded(life, [5, -12, -7], first=4).week()
    effectiveness = week.effectiveness
    names = ("sharpe_7d", "sharpe_7d_standard_error", "sharpe_7d_interval")
    assert week.risk.days == 3
    assert [getattr(effectiveness, name) for name in names] == [None] * 3
    why = "3 daily returns: too few to show, from 5 on they are"
    assert [effectiveness.reasons[name] for name in names] == [why] * 3


def test_five_daily_returns_have_one(life: Life) -> None:
    week = traded(life, [5, -12, -7, 3, 4], first=2).week()
    assert week.risk.days == 5
    assert week.effectiveness.sharpe_7d == approx(week.risk.sharpe)
    assert week.effectiveness.sharpe_7d_interval == approx(week.risk.sharpe_interval)


@pytest.mark.parametrize(("closed", "score"), [(1, None), (2, None), (3, 1.0)])
def test_the_score_takes_three_closed_positions(life: Life, closed: int, score: float | None) -> None:
    """Each gained: of one position "1.00" is no finding."""
    week = traded(life, [10.0] * closed).week()
    assert week.effectiveness.score == score
    if score is None:
        assert "gains over doing nothing from 3 closed positions on" in week.effectiveness.reasons["score"]
    assert f"of {closed} closed position" in " ".join(render(week, "text").split())
