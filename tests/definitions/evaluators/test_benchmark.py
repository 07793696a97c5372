"""You and the market: what the benchmark did for what was held, and the rest; worked by hand, and over random worlds."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.kernels.evaluators.regression import lags_for
from retro.present.formats import render
from retro.report import RetrospectiveReport, dump
from retro.store.database import Store, open_store
from tests.worlds.chance import acts
from tests.worlds.chance.laws import whole
from tests.worlds.lives import live, report

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms, a Monday
DAY = 24 * HOUR
BENCHMARK = {"owner": {"benchmark": "BTC/USDC"}}


def mark(instrument: str, hour: float, price: float) -> Event:
    at = START + round(hour * HOUR)
    return {"type": "mark", "agent": "a", "at": at, "instrument": instrument, "price": price}


def fills(
    name: str,
    instrument: str,
    *moves: tuple[float, str, float, float],
    side: str = "long",
    kind: str = "perp",
) -> list[Event]:
    """A position and its fills: hour, side, quantity, price."""
    own: Event = {"agent": "a", "position": name}
    at = START + round(moves[0][0] * HOUR)
    events: list[Event] = [
        {"type": "position", **own, "at": at, "kind": kind, "instrument": instrument, "side": side}
    ]
    for hour, way, quantity, price in moves:
        fill: Event = {"type": "fill", **own, "instrument": instrument, "at": START + round(hour * HOUR)}
        events.append(fill | {"side": way, "quantity": quantity, "price": price})
    return events


def tell(path: Path, *parts: Sequence[Event]) -> Store:
    store = open_store(str(path))
    born: Event = {"type": "equity", "agent": "a", "at": START, "value": 100_000}
    events = [born, *(event for part in parts for event in part)]
    lines = b"".join(json.dumps({"id": str(n), **event}).encode() + b"\n" for n, event in enumerate(events))
    assert live(store, lines).clean
    return store


def reviewed(store: Store, configuration: Any = None, **asked: Any) -> RetrospectiveReport:
    asked = asked or {"at": (START + DAY) * 1000}
    return report(store, "a", **asked, configuration=BENCHMARK if configuration is None else configuration)


def test_of_a_position_in_the_benchmark_itself_all_but_the_entry_is_the_market(tmp_path: Path) -> None:
    prices = [mark("BTC/USDC", hour, 100 + hour / 10) for hour in range(0, 8 * 24, 6)]
    # bought at 101.5, above the mark of 101.2 that stands at hour 15: the difference was chosen
    store = tell(tmp_path / "x.db", prices, fills("p", "BTC/USDC", (15, "buy", 10, 101.5)))
    split = reviewed(store).benchmark
    end = 100 + 168 / 10
    assert split.traded == pytest.approx(10 * (end - 101.5))
    assert split.market == pytest.approx(10 * (end - 101.2))
    assert split.selection == pytest.approx(-3.0)
    assert split.change == pytest.approx(end / 100 - 1)


def test_exposure_follows_fills_sides_and_betas(tmp_path: Path) -> None:
    prices = [mark("BTC/USDC", hour, price) for hour, price in ((0, 100), (24, 110), (36, 121), (48, 108.9))]
    prices += [mark("ETH/USDC", hour, price) for hour, price in ((0, 10), (24, 10), (36, 12), (48, 12))]
    prices += [
        mark(pair, hour, price)
        for pair, price in (("BTC/USDC", 108.9), ("ETH/USDC", 12))
        for hour in (72, 96)
    ]
    moves = ((24, "sell", 5, 10), (36, "sell", 5, 12), (48, "buy", 10, 12))
    store = tell(tmp_path / "x.db", prices, fills("p", "ETH/USDC", *moves, side="short"))
    asked = {"span": (START * 1000, (START + 4 * DAY) * 1000)}
    split = reviewed(store, **asked).benchmark
    # short 5 ETH at 10 while BTC gains a tenth, then short 10 at 12 while it loses a tenth
    assert split.market == pytest.approx(-50 * 0.1 + 120 * 0.1)
    assert split.traded == pytest.approx(5 * (10 - 12))
    assert split.market + split.selection == pytest.approx(split.traded, abs=1e-9)
    twice = BENCHMARK | {"benchmark": {"beta": {"ETH": 2.0}}}
    assert reviewed(store, twice, **asked).benchmark.market == pytest.approx(2 * split.market)
    named = BENCHMARK | {"benchmark": {"beta": {"ETH": 2.0, "ETH/USDC": 3.0}}}
    assert reviewed(store, named, **asked).benchmark.market == pytest.approx(3 * split.market)


def test_without_marks_the_parts_are_null_with_the_reason_and_the_total_stands(tmp_path: Path) -> None:
    prices = [mark("ETH/USDC", hour, 10 + hour / 100) for hour in range(0, 9 * 24, 12)]
    store = tell(tmp_path / "x.db", prices, fills("p", "ETH/USDC", (24, "buy", 5, 10.24)))
    split = reviewed(store).benchmark
    assert (split.market, split.selection, split.change, split.alpha) == (None, None, None, None)
    assert split.reasons["market"] == "BTC/USDC has no mark of the day before 2024-03-26T00:00:00Z"
    assert split.traded == pytest.approx(5 * (11.68 - 10.24))
    assert set(split.reasons) >= {"market", "selection", "change", "alpha", "beta"}


def test_where_none_is_configured_no_byte_of_a_review_moves(tmp_path: Path) -> None:
    prices = [mark("BTC/USDC", hour, 100 + hour / 10) for hour in range(0, 9 * 24, 12)]
    store = tell(tmp_path / "x.db", prices, fills("p", "BTC/USDC", (24, "buy", 5, 102.4)))
    plain, split = json.loads(dump(reviewed(store, {}))), json.loads(dump(reviewed(store)))
    assert "benchmark" not in plain
    assert split.pop("benchmark")["instrument"] == "BTC/USDC"
    assert split == plain


def test_a_page_says_what_is_left_beyond_the_benchmark_and_nothing_where_none_is_named(
    tmp_path: Path,
) -> None:
    prices = [mark("BTC/USDC", hour, 100 + hour / 10) for hour in range(0, 8 * 24, 6)]
    store = tell(tmp_path / "x.db", prices, fills("p", "BTC/USDC", (15, "buy", 10, 101.5)))
    page = " ".join(render(reviewed(store), "text").split())
    assert "Timing and selection -3.00 USDC trades made +153.00, of that BTC/USDC +156.00" in page
    assert "Timing and selection" not in render(reviewed(store, {}), "text")
    bare = {"owner": {"benchmark": "SOL/USDC"}}
    assert "SOL/USDC has no mark of the day before" in " ".join(render(reviewed(store, bare), "text").split())


def test_days_add_up_to_their_week(tmp_path: Path) -> None:
    rng = random.Random(2)
    prices = [
        mark(pair, hour, 100 * math.exp(rng.gauss(0, 0.05)))
        for hour in range(0, 8 * 24, 4)
        for pair in ("BTC/USDC", "ETH/USDC")
    ]
    held = fills("p", "ETH/USDC", (5, "buy", 3, 99), (70.5, "buy", 2, 101), (100, "sell", 4, 98))
    store = tell(tmp_path / "x.db", prices, held)
    week = reviewed(store).benchmark
    days = [reviewed(store, horizon="daily", at=(START + n * DAY) * 1000).benchmark for n in range(7)]
    assert fsum(day.market or 0.0 for day in days) == pytest.approx(week.market, abs=1e-9)
    assert fsum(day.selection or 0.0 for day in days) == pytest.approx(week.selection, abs=1e-9)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000))
def test_in_any_world_the_parts_add_up_to_what_trades_made(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    world = acts.live(seed)
    traded = sorted({event["instrument"] for event in world.events if event["type"] == "fill"})
    benchmark = traded[0] if traded else "BTC/USDC"
    configuration = {
        **world.configuration,
        "owner": {**world.configuration.get("owner", {}), "benchmark": benchmark},
    }
    store = whole(world, tmp_path_factory.mktemp("world") / "w.db")
    document = report(store, world.agent, configuration=configuration)
    split = document.benchmark
    of_trades = [
        row.period_pnl or 0.0
        for row in document.positions
        if row.kind in {"spot", "perp"} and row.is_believed
    ]
    size = max(1.0, *(abs(pnl) for pnl in of_trades), 0.0)
    assert split.traded == pytest.approx(fsum(of_trades), abs=1e-9 * size)
    if split.market is not None:
        assert split.market + split.selection == pytest.approx(
            split.traded, abs=1e-9 * max(size, abs(split.market))
        )
    else:
        assert split.reasons["market"]


def test_alpha_and_beta_are_those_of_statsmodels_from_sixty_days_on(tmp_path: Path) -> None:
    rng, levels = random.Random(4), {"BTC/USDC": 100.0, "ETH/USDC": 10.0}
    prices: list[Event] = []
    for day in range(72):
        shock = rng.gauss(0, 0.02)
        for pair, level in levels.items():
            prices.append(mark(pair, 24 * day, level))
            levels[pair] = level * (1 + shock + rng.gauss(0.001, 0.005))
    store = tell(tmp_path / "x.db", prices, fills("p", "ETH/USDC", (0, "buy", 4000, 10)))
    span = (START * 1000, (START + 70 * DAY) * 1000)
    document = reviewed(store, span=span)
    split = document.benchmark
    y = np.array([day.growth for day in document.equity[1:]])
    btc = np.array([event["price"] for event in prices if event["instrument"] == "BTC/USDC"])[:71]
    fit = sm.OLS(y, sm.add_constant(btc[1:] / btc[:-1] - 1)).fit(
        cov_type="HAC", cov_kwds={"maxlags": lags_for(70)}
    )
    assert split.days == 70
    assert (split.alpha, split.beta) == pytest.approx(tuple(fit.params), abs=1e-9)
    assert split.beta_interval is not None
    low, high = split.beta_interval
    assert (high - low) / 2 == pytest.approx(fit.bse[1] * 1.9954689, rel=1e-6)  # t of 68 degrees, .975
    short = reviewed(store, span=(span[0], (START + 59 * DAY) * 1000)).benchmark
    assert (short.alpha, short.beta, short.days) == (None, None, 59)
    assert short.reasons["beta"] == "59 of 60 days have a return of both"
