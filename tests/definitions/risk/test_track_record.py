"""What a Sharpe ratio is worth in a report: deflated by what was looked at in the period, and how long a record it needs."""

from __future__ import annotations

import math
from statistics import NormalDist, fmean, stdev
from typing import Any

from retro.present.formats import render
from tests.worlds.oracle import DAY, WEEK, Life, approx, life

__all__ = ["life"]

GAINS = (4, -2, 6, -1, 3)


def trades(life: Life, **fields: Any) -> None:
    """One trade a day out of 1,000, Monday to Friday: strategies s1 and s2, cited H-1 and a tag by turns."""
    life.tell(0, "equity", balances={"USDC": 1000})
    for day, gain in enumerate(GAINS):
        fields_of_day = {
            "strategy": f"s{1 + day % 2}",
            "cites": ["H-1", "dip"] if day % 2 else ["H-1"],
        } | fields
        life.trade(f"p{day}", (day * DAY + 1, 100), (day * DAY + 3, 100 + gain), **fields_of_day)
    life.until(WEEK)


def test_the_best_of_four_is_expected_above_luck(life: Life) -> None:
    """Two strategies, a rule and a tag: four trials."""
    trades(life)
    week = life.week()
    risk, normal = week.risk, NormalDist()
    assert risk.trials == 4
    z = risk.sharpe / risk.sharpe_standard_error
    g = 0.5772156649015329
    best = (1 - g) * normal.inv_cdf(1 - 1 / 4) + g * normal.inv_cdf(1 - 1 / (4 * math.e))
    assert risk.psr == approx(normal.cdf(z))
    assert risk.deflated_sharpe == approx(normal.cdf(z - best))
    assert risk.deflated_sharpe < risk.psr
    daily = [day.growth for day in week.equity if day.growth is not None]
    ratio, n = fmean(daily) / stdev(daily), len(daily)
    error = risk.sharpe_standard_error / math.sqrt(365)
    spread = error**2 * n * (n - 3) / (n - 1)
    assert risk.minimum_track_record == approx(1 + spread * (normal.inv_cdf(0.95) / ratio) ** 2)
    text = " ".join(render(week, "text").split())
    assert "probability that it is above the best of 4 strategies, rules and tags without any edge" in text
    assert f"Record needed {math.ceil(risk.minimum_track_record or 0)} days" in text
    assert "for a PSR of 95 %, if the ratio stays as it is; here: 7 days" in text


def test_where_nothing_else_was_looked_at_nothing_is_deflated(life: Life) -> None:
    trades(life, strategy="s1", cites=[])
    risk = life.week().risk
    assert (risk.trials, risk.deflated_sharpe) == (1, risk.psr)


def test_what_was_closed_before_the_period_was_not_looked_at_in_it(life: Life) -> None:
    trades(life)
    life.trade("late", (WEEK + 1, 100), (WEEK + 3, 101), strategy="s1", cites=["dip"])
    life.until(2 * WEEK)
    assert (life.week(0).risk.trials, life.week(1).risk.trials) == (4, 2)


def test_a_losing_ratio_needs_a_record_without_end_and_says_so(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 1000})
    for day, gain in enumerate(GAINS):
        life.trade(f"p{day}", (day * DAY + 1, 100), (day * DAY + 3, 100 - gain))
    life.until(WEEK)
    risk = life.week().risk
    assert risk.minimum_track_record is None
    assert "not above 0" in risk.reasons["minimum_track_record"]


def test_without_capital_there_is_no_record_and_a_reason(life: Life) -> None:
    life.trade("p", (1, 100), (3, 101), strategy="s1")
    life.until(WEEK)
    risk = life.week().risk
    assert (risk.deflated_sharpe, risk.minimum_track_record) == (None, None)
    assert risk.reasons["deflated_sharpe"] == risk.reasons["minimum_track_record"] == risk.reasons["psr"]
