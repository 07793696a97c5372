"""Live less backtest is the sum of its lines: of any two lists of trades, in any order, and 0 of a list and itself."""

from __future__ import annotations

import random
from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.evaluate.drift.answer import DriftTerms, drift_of
from retro.evaluate.drift.causes import Witness
from retro.evaluate.drift.pairs import TradePair
from retro.evaluate.drift.trades import ComparedTrade
from retro.report.evaluators.drift import DriftLines, DriftReport

MINUTE = 60_000_000
GAP = 5 * MINUTE
LAST = 10_000 * GAP
money = st.floats(0.01, 1e6, allow_nan=False)
small = st.floats(-1e3, 1e3, allow_nan=False)


@st.composite
def trades(draw: st.DrawFn) -> list[ComparedTrade]:
    chosen = []
    for number in range(draw(st.integers(0, 8))):
        opened = draw(st.integers(1, 40)) * GAP + draw(st.integers(0, 2 * GAP))
        candles_held = draw(st.one_of(st.none(), st.integers(0, 30)))
        chosen.append(
            ComparedTrade(
                name=f"t{number}",
                instrument=draw(st.sampled_from(["ETH/USDT", "BTC/USDT"])),
                sign=draw(st.sampled_from([1.0, -1.0])),
                tag=draw(st.sampled_from(["", "dip", "break"])),
                opened_at=opened,
                closed_at=None if candles_held is None else opened + candles_held * GAP,
                quantity=draw(money),
                cost=draw(money),
                proceeds=draw(money),
                fees=draw(small),
                funding=draw(small),
                exit_reason="open" if candles_held is None else draw(st.sampled_from(["", "roi", "stop"])),
                unfit=draw(st.sampled_from(["", "", "", "its fills are not believed"])),
            )
        )
    return chosen


def witness(side: list[ComparedTrade]) -> Witness:
    words = sorted(
        {at for trade in side for at in (trade.opened_at, trade.closed_at) if at is not None} | {0, LAST}
    )
    return Witness(tuple(side), words, (), 0, LAST)


def compared(live: list[ComparedTrade], backtest: list[ComparedTrade], within: float = 3.0) -> DriftReport:
    gaps = {"ETH/USDT": GAP, "BTC/USDT": GAP}
    return drift_of(witness(live), witness(backtest), gaps, DriftTerms(within=within))


def total(lines: DriftLines | None) -> float:
    assert lines is not None
    return fsum(lines.model_dump().values())


def size(*sides: list[ComparedTrade]) -> float:
    """The largest amount of money that goes into a line, whose digits rounding is measured by."""
    ratios = [max(a.quantity, b.quantity) / min(a.quantity, b.quantity) for a in sides[0] for b in sides[1]]
    return max([1.0, *(t.cost + t.proceeds for side in sides for t in side)]) * max([1.0, *ratios])


@given(trades(), trades(), st.sampled_from([0.5, 3.0, 20.0]))
def test_the_lines_add_up_to_the_difference_and_so_does_every_part(
    live: list[ComparedTrade], backtest: list[ComparedTrade], within: float
) -> None:
    drift = compared(live, backtest, within)
    near = pytest.approx(drift.difference, rel=1e-9, abs=1e-12 * size(live, backtest))
    assert drift.difference == fsum((drift.live or 0.0, -(drift.backtest or 0.0)))
    assert total(drift.lines) == near
    for row in drift.sensitivity:
        assert total(row.lines) == near
    assert fsum(row.difference for row in drift.by_tag) == near
    for pair in drift.pairs:
        parts = (pair.size, pair.entry_price, pair.exit_price, pair.exit_reason, pair.fees, pair.funding)
        assert fsum(parts) == pytest.approx(pair.difference, rel=1e-9, abs=1e-12 * size(live, backtest))
        assert not (pair.exit_price and pair.exit_reason)
    assert drift.lines is not None
    for causes, line in (
        (drift.live_only, drift.lines.live_only),
        (drift.backtest_only, drift.lines.backtest_only),
    ):
        assert causes is not None
        totals = [getattr(causes, name) for name in type(causes).model_fields]
        assert fsum(cause.amount for cause in totals) == pytest.approx(line, rel=1e-12, abs=1e-9)
    named = [p.live for p in drift.pairs] + [u.trade for u in drift.unmatched if u.only == "live"]
    assert len(named) == len({*named})


@given(trades(), trades(), st.randoms(use_true_random=False))
def test_the_order_in_which_trades_are_told_changes_no_byte(
    live: list[ComparedTrade], backtest: list[ComparedTrade], rng: random.Random
) -> None:
    before = compared(live, backtest).model_dump_json()
    rng.shuffle(live)
    rng.shuffle(backtest)
    assert compared(live, backtest).model_dump_json() == before


@given(trades())
def test_a_backtest_against_itself_is_0_in_every_line(side: list[ComparedTrade]) -> None:
    drift = compared(side, side)
    assert drift.lines is not None
    assert drift.difference == 0
    assert {*drift.lines.model_dump().values()} == {0.0}
    assert drift.unmatched == []
    assert all(pair.live == pair.backtest and pair.entry_delay_s == 0 for pair in drift.pairs)


def ordinary(**changes: object) -> ComparedTrade:
    trade = ComparedTrade("a", "ETH/USDT", 1.0, "dip", GAP, 9 * GAP, 2.0, 200.0, 220.0, 1.0, 0.0, "roi")
    return replace(trade, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("live", "line", "amount"),
    [
        (ordinary(cost=202.0), "entry_price", -2.0),  # 2 at 101 instead of 100
        (ordinary(proceeds=216.0), "exit_price", -4.0),
        (ordinary(proceeds=216.0, exit_reason="stop"), "exit_reason", -4.0),
        (ordinary(quantity=3.0, cost=300.0, proceeds=330.0), "size", 10.0),
        (ordinary(fees=1.5), "fees", -0.5),
        (ordinary(funding=-0.25), "funding", -0.25),
        (ordinary(closed_at=None, proceeds=190.0, exit_reason="open"), "exit_reason", -30.0),
    ],
)
def test_one_planted_difference_comes_back_on_its_own_line(
    live: ComparedTrade, line: str, amount: float
) -> None:
    drift = compared([live], [ordinary()])
    assert drift.lines is not None
    assert {name: value for name, value in drift.lines if value} == {line: pytest.approx(amount, abs=1e-12)}
    assert drift.difference == pytest.approx(amount, abs=1e-12)


def test_the_lines_of_a_pair_are_taken_in_their_order() -> None:
    """Size at the backtest's prices, entry price at the live size, exit price at the live size and entry."""
    live = ordinary(quantity=3.0, cost=3 * 101.0, proceeds=3 * 112.0, fees=2.0, funding=0.5)
    lines = TradePair(live, ordinary()).lines
    assert lines.size == pytest.approx(1 * 10.0)
    assert lines.entry_price == pytest.approx(3 * -1.0)
    assert lines.exit_price == pytest.approx(3 * 2.0)
    assert (lines.fees, lines.funding, lines.exit_reason) == (-1.0, 0.5, 0.0)


def test_a_short_gains_where_it_is_entered_higher() -> None:
    lines = TradePair(ordinary(sign=-1.0, cost=204.0), ordinary(sign=-1.0)).lines
    assert lines.entry_price == pytest.approx(4.0)


def test_what_cannot_be_believed_leaves_both_sums_with_its_partner() -> None:
    wild = ordinary(proceeds=1e9, unfit="its fills are not believed")
    drift = compared(
        [wild, ordinary(name="b", opened_at=90 * GAP)], [ordinary(), ordinary(name="b", opened_at=90 * GAP)]
    )
    assert (drift.matched, drift.live, drift.backtest) == (1, 19.0, 19.0)
    assert drift.reasons["left_out"] == (
        "1 trade left out: its fills are not believed; 1 trade left out: its partner can be in no sum"
    )


def test_a_pair_belongs_to_the_time_of_its_live_entry() -> None:
    live, backtest = [ordinary(opened_at=10 * GAP)], [ordinary(opened_at=9 * GAP)]
    gaps = {"ETH/USDT": GAP}

    def between(start: int, end: int) -> DriftReport:
        return drift_of(witness(live), witness(backtest), gaps, DriftTerms(start=start, end=end))

    assert [between(0, 10 * GAP).matched, between(10 * GAP, 11 * GAP).matched] == [0, 1]
    assert between(0, 10 * GAP).unmatched == []


def test_nothing_in_common_is_null_with_a_reason_and_no_0() -> None:
    early, late = (
        replace(witness([]), last=GAP, words=[0]),
        replace(witness([]), first=2 * GAP, words=[2 * GAP]),
    )
    drift = drift_of(early, late, {}, DriftTerms())
    assert (drift.live, drift.difference, drift.lines) == (None, None, None)
    assert "no time in common" in drift.reasons["difference"]
