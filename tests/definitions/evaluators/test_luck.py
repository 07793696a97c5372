"""Positions beside their twins, through the store: hand-worked, seeded, in any order, and nothing looks ahead."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from retro.app.questions.evaluators.luck import LuckQuestion, luck
from retro.report.evaluators.luck import LuckReport
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, settings_for
from tests.worlds.steps import statements_of

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms, a Monday
PAIR = "ETH/USDC"


def walk(hours: int, seed: int, drift: float = 0.0) -> list[float]:
    rng, level, path = random.Random(seed), 0.0, []
    for _ in range(hours):
        path.append(100 * math.exp(level))
        level += rng.gauss(drift, 0.01)
    return path


def marks(path: Sequence[float], instrument: str = PAIR) -> list[Event]:
    return [
        {
            "type": "mark",
            "id": f"{instrument}{i}",
            "agent": "a",
            "at": START + i * HOUR,
            "instrument": instrument,
        }
        | {"price": price}
        for i, price in enumerate(path)
    ]


def trade(
    name: str,
    path: Sequence[float],
    first: int,
    last: int,
    side: str = "long",
    cites: Sequence[str] = (),
    fee: float = 0,
) -> list[Event]:
    """A perp of 10 units, entered at one mark and left at another, each fill paying `fee`."""
    own: Event = {"agent": "a", "position": name}
    opening, closing = ("buy", "sell") if side == "long" else ("sell", "buy")
    fill: Event = {"type": "fill", **own, "instrument": PAIR, "quantity": 10, "fee": fee, "fee_asset": "USDC"}
    at, end = START + first * HOUR, START + last * HOUR
    return [
        {
            "type": "position",
            "id": f"P{name}",
            **own,
            "at": at,
            "kind": "perp",
            "instrument": PAIR,
            "side": side,
        },
        {"type": "decision", "id": f"D{name}", **own, "at": at, "action": "enter", "cites": list(cites)},
        fill | {"id": f"F{name}", "at": at, "side": opening, "price": path[first]},
        fill | {"id": f"G{name}", "at": end, "side": closing, "price": path[last]},
        {"type": "exit", "id": f"X{name}", **own, "at": end},
    ]


def born(at: int = START) -> Event:
    return {"type": "equity", "id": "e", "agent": "a", "at": at, "value": 100_000}


def tell(store: Store, *parts: Sequence[Event]) -> Store:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{n}.jsonl").clean
    return store


def answer(store: Store, as_of: int | None = None) -> LuckReport:
    return luck(LuckQuestion(store, "a", settings_for()(agent_of(store, "a")), as_of))


def life(seed: int, hours: int = 900, trades: int = 12) -> list[Event]:
    rng, path = random.Random(seed), walk(hours, seed)
    events = [born(), *marks(path)]
    for n in range(trades):
        first = rng.randrange(0, hours - 60)
        side, cites = rng.choice(["long", "short"]), rng.sample(["H-1", "H-2", "H-10"], rng.randint(0, 2))
        events += trade(f"p{n}", path, first, first + rng.choice([3, 9, 50]), side, cites, fee=0.5)
    return events


def test_where_the_price_only_rises_all_is_luck_and_both_sides_pay_their_fees(tmp_path: Path) -> None:
    path = [100 * 1.001**hour for hour in range(401)]
    both = [*trade("l", path, 40, 50, fee=1.0), *trade("s", path, 40, 50, "short", fee=1.0)]
    report = answer(tell(open_store(str(tmp_path / "x.db")), [born(), *marks(path), *both]))
    gain = 10 * path[40] * (1.001**10 - 1)
    long, short = report.positions
    assert (long.pnl, short.pnl) == (pytest.approx(gain - 2), pytest.approx(-gain - 2))
    # a twin enters between two marks and rides the step from the older of both: ten steps, as its position
    assert long.luck == pytest.approx(gain - 2, rel=1e-3)
    assert short.luck == pytest.approx(-gain - 2, rel=1e-3)
    assert -0.02 < long.selection < 0.02
    assert long.luck + long.selection == pytest.approx(long.pnl, abs=1e-12)


def test_who_knows_the_best_hour_of_a_falling_year_has_selection_and_no_luck(tmp_path: Path) -> None:
    path = [100.0 - 0.01 * hour for hour in range(1000)]
    path[500:505] = [110.0, 112.0, 114.0, 116.0, 118.0]
    report = answer(
        tell(open_store(str(tmp_path / "x.db")), [born(), *marks(path), *trade("p", path, 500, 504)])
    )
    [row] = report.positions
    assert (row.pnl, row.percentile, row.twins) == (pytest.approx(80.0), pytest.approx(1.0, abs=0.01), 999)
    assert row.luck < 5
    assert row.selection == row.pnl - row.luck


def test_positions_taken_at_random_on_driftless_paths_are_uniform_and_those_taken_with_foresight_are_not(
    tmp_path: Path,
) -> None:
    random_ones, foreseen = [], []
    for seed in range(12):
        rng, path = random.Random(1000 + seed), walk(3000, seed)
        events = [born(), *marks(path)]
        for n in range(20):
            hours = rng.randrange(2, 30)
            first = rng.randrange(n * 148, n * 148 + 148 - hours)
            best = max(
                range(n * 148, n * 148 + 148 - hours), key=lambda hour: path[hour + hours] - path[hour]
            )
            events += trade(f"r{n}", path, first, first + hours, rng.choice(["long", "short"]))
            events += trade(f"f{n}", path, best, best + hours)
        rows = answer(tell(open_store(str(tmp_path / f"{seed}.db")), events)).positions
        random_ones += [row.percentile for row in rows if row.position.startswith("r")]
        foreseen += [row.percentile for row in rows if row.position.startswith("f")]
    assert len(random_ones) == len(foreseen) == 240
    assert stats.kstest(random_ones, "uniform").pvalue > 0.01
    assert stats.kstest(foreseen, "uniform").pvalue < 1e-30


def test_what_has_no_twins_is_listed_with_its_reason_and_in_no_total(tmp_path: Path) -> None:
    path = walk(401, 3)
    events = [
        born(),
        *marks(path),
        *trade("short", path, 100, 120),
        *trade("long", path, 100, 121, cites=["H-1"]),
    ]
    events += trade("blink", path, 200, 200)
    other = trade("bare", path, 10, 12)
    events += [event | {"instrument": "SOL/USDC"} if "instrument" in event else event for event in other]
    events += trade("open", path, 300, 310)[:3]
    report = answer(tell(open_store(str(tmp_path / "x.db")), events))
    rows = {row.position: row for row in report.positions}
    assert {name for name, row in rows.items() if row.twins} == {"short"}
    for name, why in {
        "long": "span 19.0 of its holding times; 20 are needed",
        "blink": "left at the instant",
        "bare": "fewer than 2 marks of SOL/USDC",
    }.items():
        row = rows[name]
        assert (row.luck, row.selection, row.percentile, row.twins) == (None, None, None, 0)
        assert why in row.reasons["percentile"]
    assert report.reasons == {
        "positions": "3 positions without twins: 1 left at the instant of the entry, 1 of an instrument with fewer than 2"
        " known marks, 1 held so long that the known marks span fewer than 20 holding times"
    }
    assert report.total.pnl == rows["short"].pnl
    assert report.heuristics == []


def test_any_order_and_split_of_the_telling_answers_the_same_bytes_on_both_databases(
    store: Store, tmp_path: Path
) -> None:
    events = life(3)
    expected = answer(tell(open_store(str(tmp_path / "whole.db")), events)).model_dump_json()
    rng = random.Random(4)
    shuffled = rng.sample(events, len(events))
    for first in range(0, len(shuffled), 250):
        tell(store, shuffled[first : first + 250])
    assert answer(store).model_dump_json() == expected
    assert answer(store).heuristics


@pytest.mark.parametrize("moment", [120 * HOUR + 1, 333 * HOUR, 336 * HOUR, 700 * HOUR])
def test_a_journal_cut_at_any_instant_answers_what_the_whole_answers_as_of_it(
    tmp_path: Path, moment: int
) -> None:
    cut = START + moment  # 336 hours: two weeks end just then
    whole = tell(open_store(str(tmp_path / "whole.db")), life(5))
    ended = tell(open_store(str(tmp_path / "ended.db")), [event for event in life(5) if event["at"] < cut])
    assert answer(whole, cut * 1000).model_dump_json() == answer(ended, cut * 1000).model_dump_json()
    assert answer(whole) != answer(ended)


def test_a_week_that_ends_just_then_is_over_as_of_an_instant_and_one_microsecond_before_it_is_not(
    tmp_path: Path,
) -> None:
    path = walk(200, 3)
    week = START + 168 * HOUR
    events = [born(), *marks(path), *trade("p", path, 100, 104, cites=["H-1"])]
    store = tell(open_store(str(tmp_path / "x.db")), events)
    before = tell(open_store(str(tmp_path / "y.db")), [event for event in events if event["at"] < week])
    for database in (store, before):
        [row] = answer(database, week * 1000).heuristics
        assert row.weeks == 1
        [row] = answer(database, week * 1000 - 1).heuristics
        assert (row.weeks, row.e_for) == (0, None)
    # K, the last mark, lies within the second week; without an instant the cut one is as old as its last word
    assert [row.weeks for row in (*answer(store).heuristics, *answer(before).heuristics)] == [1, 0]


def test_marks_of_many_instruments_are_read_together(tmp_path: Path) -> None:
    path, counts = walk(60, 7), []
    for instruments in (2, 30):
        events = [born()]
        for n in range(instruments):
            other = f"C{n}/USDC"
            traded = trade(f"p{n}", path, 40, 42)
            events += marks(path, other)
            events += [event | {"instrument": other} if "instrument" in event else event for event in traded]
        store = tell(open_store(str(tmp_path / f"{instruments}.db")), events)
        report = answer(store)  # the book is settled
        assert [row.twins for row in report.positions] == [999] * instruments
        counts.append(statements_of(store, partial(answer, store)))
    assert counts[0] == counts[1]


def test_what_else_was_traded_moves_no_twin(tmp_path: Path) -> None:
    path = walk(500, 9)
    alone = [born(), *marks(path), *trade("p", path, 50, 60)]
    [row] = answer(tell(open_store(str(tmp_path / "alone.db")), alone)).positions
    beside = [*alone, *trade("o", path, 5, 20), *trade("q", path, 70, 80)]
    rows = answer(tell(open_store(str(tmp_path / "beside.db")), beside)).positions
    assert row in rows
