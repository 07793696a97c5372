"""Why a trade has no partner: each planted cause is named, and what follows from another difference says so."""

from __future__ import annotations

from collections.abc import Sequence

from retro.evaluate.drift.answer import DriftTerms, drift_of
from retro.evaluate.drift.causes import Witness
from retro.evaluate.drift.trades import ComparedTrade
from retro.report.evaluators.drift import DriftReport

HOUR = 3_600_000_000
DAY = 24 * HOUR
GAPS = {f"{pair}/USDT": HOUR for pair in ("ETH", "BTC", "SOL")}


def trade(
    name: str, opened: int, hours: int = 3, pair: str = "ETH", tag: str = "dip", pnl: float = 5.0
) -> ComparedTrade:
    at = opened * HOUR
    return ComparedTrade(
        name, f"{pair}/USDT", 1.0, tag, at, at + hours * HOUR, 1.0, 100.0, 100.0 + pnl, 0.0, 0.0, "roi"
    )


def side(
    trades: Sequence[ComparedTrade], unfilled: Sequence[tuple[str, int]] = (), last: int = 2000
) -> Witness:
    words = {at for each in trades for at in (each.opened_at, each.closed_at) if at is not None}
    return Witness(tuple(trades), sorted(words | {at for _, at in unfilled} | {0}), unfilled, 0, last * HOUR)


def causes(live: Witness, backtest: Witness, **terms: int) -> dict[str, tuple[str, list[str]]]:
    drift: DriftReport = drift_of(live, backtest, GAPS, DriftTerms(**terms))
    return {f"{row.only} {row.trade}": (row.cause, row.knock_on) for row in drift.unmatched}


def steady(count: int = 12, every: int = 10) -> list[ComparedTrade]:
    """One trade after another, never two at once."""
    return [trade(f"s{n}", every * (n + 1)) for n in range(count)]


def without(trades: list[ComparedTrade], *names: str) -> list[ComparedTrade]:
    return [each for each in trades if each.name not in names]


def test_an_order_that_was_never_filled_comes_first() -> None:
    live = side(without(steady(), "s4"), [("ETH/USDT", 50 * HOUR)])
    assert causes(live, side(steady())) == {"backtest s4": ("order_not_filled", [])}
    elsewhere = side(without(steady(), "s4"), [("BTC/USDT", 50 * HOUR)])
    assert causes(elsewhere, side(steady())) == {"backtest s4": ("signal_differs", [])}


def test_a_free_bot_that_was_there_saw_another_signal_and_of_a_backtest_nobody_knows() -> None:
    assert causes(side(without(steady(), "s4")), side(steady())) == {"backtest s4": ("signal_differs", [])}
    assert causes(side(steady()), side(without(steady(), "s4"))) == {"live s4": ("unknown", [])}


def test_another_tag_at_that_moment_is_another_signal() -> None:
    other = [*without(steady(), "s4"), trade("s4", 50, tag="break")]
    assert causes(side(steady()), side(other)) == {
        "live s4": ("signal_differs", []),
        "backtest s4": ("signal_differs", []),
    }


def test_a_bot_that_was_down_for_days_is_silent_and_for_one_missed_trade_it_is_not() -> None:
    names = [f"s{n}" for n in range(4, 9)]
    named = causes(side(without(steady(30), *names)), side(steady(30)))
    assert named == {f"backtest {name}": ("bot_silent", []) for name in names}


def test_beyond_what_a_side_tells_it_is_silent() -> None:
    live = side(steady(6), last=65)
    drift = drift_of(live, side(steady()), GAPS, DriftTerms(start=0, end=2000 * HOUR))
    assert {row.cause for row in drift.unmatched} == {"bot_silent"}
    assert len(drift.unmatched) == 6
    assert drift_of(live, side(steady()), GAPS, DriftTerms()).unmatched == []


def test_a_slot_that_another_difference_holds_is_a_knock_on_of_it() -> None:
    """Live holds one trade at a time. At 50 h it took a trade of its own, and so it could not take the backtest's at 52 h."""
    shared = without(steady(), "s4")
    live = side([*shared, trade("own", 50, 6, "SOL")])
    backtest = side([*shared, trade("missed", 52, 2, "BTC")])
    named = causes(live, backtest)
    assert named["backtest missed"] == ("slot_taken", ["own"])
    assert named["live own"][0] == "unknown"


def test_one_trade_a_pair_is_a_slot_of_its_own() -> None:
    """Live still holds ETH, which the backtest left and entered again."""
    longer = [*without(steady(), "s4"), trade("s4", 50, 8)]
    again = [*steady(), trade("again", 56, 2)]
    assert causes(side(longer), side(again)) == {"backtest again": ("slot_taken", ["s4"])}


def test_a_limit_that_is_told_stands_for_the_one_that_shows() -> None:
    shared = [trade(f"{pair}{n}", 20 * n + 10, 4, pair) for n in range(5) for pair in ("ETH", "BTC")]
    extra = [*shared, trade("x", 51, 2, "SOL")]
    assert causes(side(shared), side(extra)) == {"backtest x": ("slot_taken", [])}
    assert causes(side(shared), side(extra), slots=3) == {"backtest x": ("signal_differs", [])}


def test_a_slot_that_is_freed_at_that_instant_is_free() -> None:
    shared = [trade(f"s{n}", 10 * n + 10, 5) for n in range(6)]
    extra = [*shared, trade("x", 35, 2, "BTC")]  # s2 is held from 30 to 35
    assert causes(side(shared), side(extra)) == {"backtest x": ("signal_differs", [])}
