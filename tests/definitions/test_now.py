"""What a review could know: K, --as-of, open positions, late and missing marks, provisional figures."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from retro.app.intake.ingest import ingest
from retro.app.reviews import build as review
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settle import settled_book
from retro.model import Batch, MarkSeries
from retro.periods import parse_instant
from retro.report import dump
from retro.store.database import open_store
from tests.worlds.lives import agent_of, live, settings_for
from tests.worlds.oracle import DAY, WEEK, Life, approx, clock, closes, components, life, life_of
from tests.worlds.random_facts import HOUR, START, World

__all__ = ["life"]


def test_shared_marks_do_not_move_the_clock(life: Life) -> None:
    """The agent's last event is at 10; the market goes on. Open positions stand at 10 o'clock's mark."""
    life.market("ETH/USDC", {h: 100 + h for h in range(100)})
    life.open(2, "p")
    life.fill(2, "p", "buy", 1, 102)
    life.until(10)
    for document in (life.day(0), life.week()):
        assert document.known_until == clock(10)
        p = life_of(document, "p")
        assert (p.open, p.final_pnl, p.period_pnl) == (True, approx(8), approx(8))
        assert document.pnl.total == approx(8)
    assert life.position("p").final_pnl == approx(8)
    assert life.day(1).pnl.total == approx(0)


def test_the_agents_own_marks_are_its_events(life: Life) -> None:
    life.open(2, "p")
    life.fill(2, "p", "buy", 1, 100)
    life.marks("ETH", {2: 100, 10: 108})
    assert life.day(0).known_until == clock(10)
    assert life.day(0).pnl.total == approx(8)


def test_an_open_position_in_a_past_period_is_valued_at_the_periods_end(life: Life) -> None:
    life.market("ETH/USDC", {h: 100 + h for h in range(100)})
    life.open(2, "p")
    life.fill(2, "p", "buy", 1, 102)
    life.fill(50, "p", "sell", 1, 150)
    life.until(60)
    p = life_of(life.day(0), "p")
    assert (p.open, p.exit_at, p.final_pnl) == (True, None, approx(22))
    assert "open" in p.flags
    assert [c.offset for c in p.pnl_trajectory if c.offset != "exit"] == ["1h", "4h"]
    assert life_of(life.day(1), "p").final_pnl == approx(48 - 2)
    assert life_of(life.day(1), "p").period_pnl == approx(24)
    assert life_of(life.day(2), "p").open is False


def test_as_of_forgets_everything_later(life: Life) -> None:
    """At 30 o'clock the position was open; the sale at 40, the loss and the fee are not known."""
    life.market("ETH/USDC", {h: 100 + h for h in range(100)})
    life.open(2, "p")
    life.fill(2, "p", "buy", 1, 102)
    life.tell(2, "decision", action="enter", position="p", cites=["H-1"])
    life.fill(40, "p", "sell", 1, 138, fee=1)
    life.tell(41, "cost", kind="gas", amount=5)
    life.until(60)
    document = life.as_of(0, WEEK, 30)
    p = life_of(document, "p")
    assert (p.open, p.final_pnl) == (True, approx(28))
    assert document.pnl.total == approx(28)
    assert document.costs.gas == 0
    assert [r.evaluated_count for r in document.heuristic_performance] == [0]
    assert document.effectiveness.closed_positions == 0
    assert document.resolved_decisions == 0
    assert [r.evidence_n for r in document.heuristic_performance] == [0]
    assert closes(document.pnl) < 1e-9
    later = life.as_of(0, WEEK, 40)
    assert [(r.evaluated_count, r.evidence_n) for r in later.heuristic_performance] == [(1, 0)]
    over = life.as_of(0, WEEK, WEEK)
    assert [(r.evaluated_count, r.evidence_n) for r in over.heuristic_performance] == [(1, 1)]


def test_as_of_exactly_an_event_knows_it(life: Life) -> None:
    life.market("ETH/USDC", dict.fromkeys(range(100), 100))
    life.trade("p", (2, 100), (40, 90))
    life.until(60)
    assert life_of(life.as_of(0, WEEK, 40), "p").open is False
    assert life_of(life.as_of(0, WEEK, 39.999), "p").open is True


def test_as_of_beyond_the_last_event_values_then_what_is_open(life: Life) -> None:
    life.market("ETH/USDC", {h: 100 + h for h in range(100)})
    life.open(2, "p")
    life.fill(2, "p", "buy", 1, 102)
    life.until(10)
    assert life.as_of(0, DAY, 10).pnl.total == approx(8)
    assert life.as_of(0, DAY, 20).pnl.total == approx(18)
    assert life.as_of(0, DAY, 40).pnl.total == approx(22)


def test_events_after_the_as_of_leave_no_trace_in_predictions(life: Life) -> None:
    life.tell(1, "prediction", category="c", predicted=1)
    life.tell(20, "resolution", prediction="e1", actual=2)
    life.until(30)
    assert life.as_of(0, DAY, 10).prediction_accuracy.total == 0
    assert life.as_of(0, DAY, 20).prediction_accuracy.total == 1


@pytest.mark.parametrize(("last", "provisional"), [(0, False), (-0.01, True)])
def test_a_mark_older_than_a_day_makes_the_report_provisional(
    life: Life, last: float, provisional: bool
) -> None:
    """The price at the end of Monday is from 24 hours before, or older."""
    life.market("ETH/USDC", {last: 105})
    life.open(-1, "p")
    life.fill(-1, "p", "buy", 1, 100)
    life.until(24)
    document = life.day(0)
    assert document.data_quality.provisional is provisional
    assert (document.data_quality.missing_marks != []) is provisional
    if provisional:
        assert "ETH" in document.data_quality.missing_marks[0]


def test_a_price_that_is_old_is_still_the_price(life: Life) -> None:
    life.market("ETH/USDC", {0: 105})
    life.open(-1, "p")
    life.fill(-1, "p", "buy", 1, 100)
    life.until(4 * 24)
    document = life.day(3)
    assert document.pnl.unrealized_pnl_end == approx(5)
    assert document.data_quality.provisional
    assert "provisional" in life_of(document, "p").flags


def test_without_any_mark_an_open_position_stands_at_what_it_cost(life: Life) -> None:
    """Its own last fill is no price of now: it moves no sum until it is left or a mark is told."""
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.fill(2, "p", "buy", 1, 110)
    life.until(24)
    document = life.day(0)
    assert document.pnl.total == approx(0)
    assert life_of(document, "p").final_pnl is None
    assert document.data_quality.provisional


def test_only_what_rests_on_the_old_mark_is_provisional(life: Life) -> None:
    """One position of ETH closed by its fills, one open on a mark of two days ago."""
    life.market("ETH/USDC", dict.fromkeys(range(24), 100))
    life.open(20, "open")
    life.fill(20, "open", "buy", 1, 100)
    life.trade("closed", (50, 100), (60, 101))
    life.until(72)
    document = life.day(2)
    assert "provisional" in life_of(document, "open").flags
    assert "provisional" not in life_of(document, "closed").flags
    assert document.data_quality.provisional


def test_the_last_fill_of_another_prices_no_open_position(life: Life) -> None:
    """No marks: "a" bought at 100 on Monday, "z" sold the same coin at 130, "b" bought at 120 between."""
    life.open(1, "a")
    life.fill(1, "a", "buy", 1, 100)
    life.open(2, "z")
    life.fill(2, "z", "buy", 1, 110)
    life.open(4, "b")
    life.fill(4, "b", "buy", 1, 120)
    life.fill(6, "z", "sell", 1, 130)
    life.until(24)
    document = life.day(0)
    assert [life_of(document, name).final_pnl for name in "abz"] == [None, None, approx(20)]
    assert document.pnl.total == approx(20)


def test_a_day_without_open_positions_needs_no_marks(life: Life) -> None:
    life.trade("p", (1, 100), (5, 104))
    life.until(24)
    document = life.day(0)
    assert document.data_quality.provisional is False
    assert document.data_quality.missing_marks == []


def test_only_what_comes_after_an_exit_reads_beyond_the_period(tmp_path: Path) -> None:
    """Out at 23, half an hour later judged: the settle lag of an hour reaches 25 o'clock's mark, not 26's."""
    for leave, judged in ((23, False), (12.5, True)):
        life = Life(tmp_path, f"l{judged}")
        life.market("ETH/USDC", {h / 2: 100 + h for h in range(200)})
        enter = leave - 12 if judged else leave - 6
        life.trade("p", (enter, 100), (leave, 100), exit_cites=["H-15"])
        life.until(90)
        daily = life_of(life.day(0), "p")
        assert (daily.hold_on is not None) is judged
        assert life.position("p").hold_on is not None


def test_a_settle_lag_reaches_beyond_the_period(tmp_path: Path) -> None:
    """Exit at 20, h = 4.5 h: 24.5 is known with a lag of one hour (default) and not with none."""
    for lag, judged in ((1, True), (0, False)):
        life = Life(tmp_path, f"lag{lag}", retrospective={"settle_lag_hours": lag})
        life.market("ETH/USDC", {h / 8: 100 for h in range(400)})
        life.trade("p", (15.5, 100), (20, 100))
        life.until(48)
        assert (life_of(life.day(0), "p").hold_on is not None) is judged


def test_positions_listed_are_those_alive_in_the_period(life: Life) -> None:
    """Entry before its end and open, or left at or after its start."""
    life.market("ETH/USDC", dict.fromkeys(range(100), 100))
    life.trade("before", (1, 100), (23, 101))
    life.trade("edge", (1, 100), (24, 101))
    life.trade("inside", (30, 100), (31, 101))
    life.trade("across", (1, 100), (60, 101))
    life.trade("later", (48, 100), (50, 101))
    life.open(47, "open")
    life.fill(47, "open", "buy", 1, 100)
    life.until(72)
    assert {p.position_id for p in life.day(1).positions} == {"edge", "inside", "across", "open"}


def test_the_position_review_knows_all_marks_there_are(life: Life) -> None:
    life.market("ETH/USDC", {h: 100 + h for h in range(400)})
    life.trade("p", (0, 100), (100, 200))
    life.until(100)
    p = life.position("p")
    assert p.hold_on == approx(100)
    assert p.left_on_table == approx(100)
    assert [c.offset for c in p.post_exit_trajectory][:3] == ["1h", "4h", "1d"]


def test_levels_of_unrealised_pnl_are_levels(life: Life) -> None:
    life.market("ETH/USDC", {0: 100, 24: 110, 48: 90})
    life.open(0, "p")
    life.fill(0, "p", "buy", 2, 100)
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert (first.unrealized_pnl_start, first.unrealized_pnl_end, first.unrealized_pnl) == approx((0, 20, 20))
    assert (second.unrealized_pnl_start, second.unrealized_pnl_end, second.unrealized_pnl) == approx(
        (20, -20, -40)
    )
    assert components(life.week().pnl) == approx({"unrealized_pnl": -20})


@pytest.mark.parametrize("seed", range(3))
def test_as_of_an_event_is_knowing_no_more_than_that(tmp_path: Path, seed: int) -> None:
    """The bytes of a review as of an event are those of a database that was told nothing later."""
    world, rng = World(seed, days=6), random.Random(seed)
    facts = [event for event in world.events if event["type"] != "mark"]
    cutoff = rng.choice([event["at"] for event in facts if event["at"] > "2026-01-03"])
    t = np.array([START + h * HOUR for h in range(world.days * 24 + 1)], np.int64)
    market = [MarkSeries(None, f"{name}/USDC", t, np.array(path)) for name, path in world.price.items()]
    documents = []
    for name, events in (("all", facts), ("past", [e for e in facts if e["at"] <= cutoff])):
        store = open_store(str(tmp_path / f"{name}.db"))
        ingest(store, "candles", [Batch(marks=market)], settings_for())
        assert live(store, b"".join(json.dumps(event).encode() + b"\n" for event in events)).clean
        agent = agent_of(store, "w")
        settings = settings_for()(agent)
        for span in ((0, 144), (48, 72), (5, 200)):
            limits = (START + span[0] * HOUR, START + span[1] * HOUR)
            period = choose_period(agent, settings, "weekly", span=limits)
            as_of = parse_instant(cutoff) if name == "all" else None
            with settled_book(store, "w", settings) as book:
                documents.append(dump(review.review_period(book, period, as_of=as_of)))
    assert documents[:3] == documents[3:]
