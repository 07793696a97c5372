"""Forecasts of whole positions against what they realised: worked out by hand, and nothing looks ahead."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from retro.app.questions.evaluators.claims import ClaimQuestion, hindsight
from retro.report.evaluators.claims import HindsightForecast
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, settings_for

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms
DAY = 24 * HOUR


def trade(n: int, opened: int, holding: int, price: float, **forecast: Any) -> list[Event]:
    """One coin bought at 100 and sold at `price`, without fees; a forecast of what that would make."""
    name, at = f"p{n}", START + opened
    common: Event = {"agent": "a", "position": name}
    fill = {"type": "fill", **common, "instrument": "X/USDC", "quantity": 1}
    events = [
        {"type": "position", "id": f"o{n}", **common, "at": at, "kind": "spot", "instrument": "X/USDC"},
        {**fill, "id": f"b{n}", "at": at, "side": "buy", "price": 100},
        {**fill, "id": f"s{n}", "at": at + holding, "side": "sell", "price": price},
    ]
    events[0]["side"] = "long"
    if forecast:
        claim = {"type": "prediction", "id": f"q{n}", **common, "at": at, "category": "position_pnl"}
        events.append(claim | forecast)
    return events


def asked(store: Store, events: list[Event], as_of: int | None = None) -> list[HindsightForecast]:
    live(store, b"".join(json.dumps(event).encode() + b"\n" for event in events), name="life.jsonl")
    return answered(store, as_of)


def answered(store: Store, as_of: int | None = None) -> list[HindsightForecast]:
    settings = settings_for()(agent_of(store, "a"))
    return hindsight(ClaimQuestion(store, "a", settings, as_of))


def test_a_forecast_in_money_and_one_as_a_fraction_are_both_of_what_was_put_in(store: Store) -> None:
    # made +2 and -1 of 100; said 5 and 4 %: predicted .05 and .04, too high by .03 and .05
    events = [
        *trade(1, 0, 2 * DAY, 102, predicted=5, regime="trend", unit="USDC"),
        *trade(2, DAY, 2 * DAY, 99, predicted=0.04, regime="range", unit="fraction"),
    ]
    pooled, calm, trend = asked(store, events)
    assert (pooled.kind, pooled.regime, pooled.horizon, pooled.n) == ("spot", "any", "1d", 2)
    assert (pooled.predicted, pooled.realised) == (pytest.approx(0.045), pytest.approx(0.005))
    assert pooled.bias == pytest.approx(0.04)
    # t with 1 degree of freedom, standard error |.05 - .03|/2: 12.7062047 x .01 around .04
    assert pooled.interval == pytest.approx((0.04 - 0.127062047, 0.04 + 0.127062047), abs=1e-8)
    assert pooled.relative_bias is None
    assert pooled.reasons["relative_bias"] == "insufficient: 2 of 10 forecasts of closed positions"
    assert (calm.regime, calm.bias, calm.interval) == ("range", pytest.approx(0.05), None)
    assert (trend.regime, trend.bias) == ("trend", pytest.approx(0.03))
    assert trend.reasons["interval"].startswith("all were entered on one day")


def test_from_ten_on_the_bias_is_said_as_a_share_of_what_was_forecast(store: Store) -> None:
    events = [event for n in range(10) for event in trade(n, n * DAY, 30 * 60_000, 107, predicted=10)]
    [row] = asked(store, events)
    assert (row.horizon, row.n, row.relative_bias) == ("<1h", 10, pytest.approx(0.3))
    assert row.bias == pytest.approx(0.03)
    assert row.interval is None  # all missed by the same
    assert "nothing says how they scatter" in row.reasons["interval"]


def test_horizons_are_the_last_checkpoint_not_beyond_the_holding_time(store: Store) -> None:
    horizons = {HOUR - 1: "<1h", HOUR: "1h", DAY - 1: "4h", 7 * DAY: "7d", 400 * DAY: "30d"}
    events = [event for n, span in enumerate(horizons) for event in trade(n, 0, span, 101, predicted=1)]
    assert [row.horizon for row in asked(store, events)] == list(horizons.values())


@pytest.mark.parametrize(
    "forecast",
    [
        {"predicted": 5, "at": START + DAY},  # made when it had closed
        {"predicted": 5, "source": "retrospective"},  # somebody's own hindsight
        {"predicted": 5, "category": "price"},
        {"low": 1, "high": 2},  # no centre
    ],
)
def test_what_is_no_forecast_of_a_whole_position_is_not_counted(store: Store, forecast: Event) -> None:
    assert asked(store, trade(1, 0, DAY, 101, **forecast)) == []


def test_a_forecast_in_another_unit_is_left_out_and_said(store: Store) -> None:
    events = [
        *trade(1, 0, DAY, 101, predicted=1),
        *trade(2, 0, DAY, 101, predicted=1, unit="percent"),
    ]
    [row] = asked(store, events)
    assert row.n == 1
    assert row.reasons["n"].startswith("1 more in another unit")


def test_the_best_exit_stands_beside_it(store: Store) -> None:
    marks = [
        {"type": "mark", "id": f"m{n}", "agent": "a", "at": START + n * HOUR, "instrument": "X/USDC"}
        | {"price": 104 if n == 5 else 101}
        for n in range(24)
    ]
    [row] = asked(store, [*marks, *trade(1, 0, DAY, 102, predicted=3)])
    assert (row.realised, row.best_exit) == (pytest.approx(0.02), pytest.approx(0.04))
    assert row.bias == pytest.approx(0.01)


def test_in_any_order_and_cut_anywhere_it_answers_what_was_known_then(store: Store, tmp_path: Path) -> None:
    rng = random.Random(7)
    events = [
        event
        for n in range(30)
        for event in trade(
            n,
            rng.randrange(20) * DAY,
            rng.randrange(1, 200) * HOUR,
            rng.choice([97, 101, 108]),
            predicted=rng.choice([-2, 1, 6]),
            regime=rng.choice(["x", "y"]),
        )
    ]
    whole = asked(open_store(str(tmp_path / "whole.db")), events)
    shuffled = rng.sample(events, len(events))
    for first in range(0, len(events), 40):
        asked(store, shuffled[first : first + 40])
    assert answered(store) == whole
    for day in (0, 3, 9, 15, 27):
        cut = START + day * DAY + 1
        ended = [event for event in events if event["at"] < cut]
        place = open_store(str(tmp_path / f"{day}.db"))
        assert answered(store, cut * 1000) == asked(place, ended)
