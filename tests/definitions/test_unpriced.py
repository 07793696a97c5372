"""What has no mark is priced by the last fill, whoever made it and however long ago, and the report says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retro.present.page.report import page_of_report
from retro.report import dump
from retro.report.fleet import line_of
from retro.store.database import open_store
from tests.worlds.lives import live, report
from tests.worlds.oracle import DAY, WEEK, Life, approx, closes, components, life, life_of
from tests.worlds.random_facts import HOUR, START, World

__all__ = ["life"]


@pytest.fixture
def unpriced_life(life: Life) -> Life:
    """100 ARB in the wallet from the start; ARB was traded, at 2 and 3, in the first week and, at 2 and 4, in the second."""
    life.tell(0, "equity", balances={"USDC": 1000, "ARB": 100})
    life.trade("p", (1, 2), (5, 3), instrument="ARB/USDC")
    life.tell(6, "equity", value=1000 + 1 + 300)
    life.trade("q", (WEEK + DAY, 2), (WEEK + DAY + 5, 4), instrument="ARB/USDC")
    life.tell(2 * WEEK + 5, "equity", value=1003 + 400)
    life.until(4 * WEEK)
    return life


def test_the_wallet_is_worth_the_last_fill_in_every_week(unpriced_life: Life) -> None:
    ends = [unpriced_life.week(week).equity[-1].equity for week in range(4)]
    assert ends == approx([1301, 1403, 1403, 1403])
    assert [unpriced_life.week(week).equity[0].equity for week in range(1, 4)] == approx(ends[:-1])


def test_equity_and_pnl_agree_from_week_to_week(unpriced_life: Life) -> None:
    """Up 100 on the coin in the second week, and 2 on its trade; nothing that statements show is missing."""
    for week, total in enumerate((101, 102, 0, 0)):
        document = unpriced_life.week(week)
        assert document.pnl.total == approx(total)
        assert closes(document.pnl) < 1e-9
        assert document.pnl.unattributed == approx(0)


def test_it_is_provisional_and_says_which_price_it_is(unpriced_life: Life) -> None:
    document = unpriced_life.week(2)
    assert document.data_quality.provisional
    assert document.data_quality.missing_marks == ["ARB: no mark, fill price used"]


def test_an_open_position_without_any_mark_has_no_result_whatever_others_fetched(life: Life) -> None:
    """ "a" bought at 100 and stays; "z" sold the same coin at 130 weeks ago: no price of today."""
    life.open(1, "a")
    life.fill(1, "a", "buy", 1, 100, fee=2)
    life.trade("z", (2, 100), (4, 130))
    life.until(3 * WEEK)
    for week in range(3):
        document = life.week(week)
        a = life_of(document, "a")
        absent = (a.final_pnl, a.period_pnl, a.vs_inaction, a.vs_cash, a.mfe, a.mae, a.regret, a.path)
        assert absent == (None, None, None, None, None, None, None, [])
        assert a.flags[-1] == "unpriced"
        assert (
            a.reasons["final_pnl"]
            == a.reasons["vs_inaction"]
            == "it is open, and no mark says what it is worth"
        )
        assert [(row.position_id, row.cost) for row in document.data_quality.unpriced] == [("a", approx(102))]
        assert document.pnl.total == approx(30 if week == 0 else 0)
    assert life.position("a").final_pnl is None


def test_a_mark_that_comes_after_all_that_is_known_prices_nothing(life: Life) -> None:
    """The agent was last heard of at the end of Monday; the first mark, half an hour later, is read for exits alone."""
    life.market("ETH/USDC", {24.5: 150})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.until(24)
    assert life_of(life.day(0), "p").final_pnl is None
    assert life.day(0).pnl.total == approx(0)


def unmarked_week(life: Life) -> Life:
    """Four trades closed on Tuesday for -94.97 in all, ten of 81.24 each open since Wednesday, nothing marked."""
    life.tell(0, "equity", value=5000)
    for i, exit_price in enumerate((80, 90, 75, 60.03)):
        life.trade(f"t{i}", (25 + i, 100), (30 + i, exit_price), instrument="ETH/USDC")
    for i in range(10):
        life.open(50 + i, f"o{i}", instrument=f"C{i}/USDC")
        life.fill(50 + i, f"o{i}", "buy", 2, 40.5, fee=0.24)
    life.until(WEEK)
    return life


def test_the_headline_says_what_was_realised_and_what_cannot_be_priced(life: Life) -> None:
    document = unmarked_week(life).week()
    assert document.pnl.total == approx(-94.97)
    headline = page_of_report(document).headline
    assert headline.result == "Realised -94.97 USDC; 10 open positions cannot be priced (cost 812.40 USDC)"
    facts = {fact.label: fact.value for fact in headline.facts}
    assert facts["Best position"] == "-10.00 USDC"
    assert facts["Worst position"] == "-39.97 USDC"


def test_a_day_of_holdings_without_a_price_is_not_nought(life: Life) -> None:
    """Monday nothing is held: 0. Tuesday lost. From Wednesday on ten positions are open, and nobody knows."""
    document = unmarked_week(life).week()
    expected = [approx(0), approx(-94.97), None, None, None, None, None]
    assert [day.pnl for day in document.breakdowns.calendar] == expected
    assert [day.pnl for day in document.equity] == [None, *expected]
    assert [day.growth for day in document.equity] == [None, approx(0), approx(-94.97 / 5000), *[None] * 5]
    assert "had no price" in document.breakdowns.reasons["calendar.pnl"]
    assert "had no price" in document.reasons["equity.pnl"]


def test_pgr_and_plr_are_absent_where_something_open_had_no_price(life: Life) -> None:
    """Sold at a loss on Tuesday while one coin, fee 3, had no price: 100 % of the losses realised would be no finding."""
    life.open(1, "o", instrument="C/USDC")
    life.fill(1, "o", "buy", 1, 50, fee=3)
    life.trade("t", (25, 100), (30, 80))
    life.until(WEEK)
    breakdowns = life.week().breakdowns
    assert (breakdowns.pgr, breakdowns.plr) == (None, None)
    why = "an open position had no price on days with a sale"
    assert breakdowns.reasons["pgr"] == breakdowns.reasons["plr"] == why


def test_a_day_without_a_sale_asks_for_no_price_of_what_is_open(life: Life) -> None:
    """Sold on Tuesday at a loss; the coin without a price is bought on Wednesday."""
    life.trade("t", (25, 100), (30, 80))
    life.open(50, "o", instrument="C/USDC")
    life.fill(50, "o", "buy", 1, 50)
    life.until(WEEK)
    assert life.week().breakdowns.plr == approx(1)


def test_only_what_is_open_at_the_end_is_named_as_without_marks(life: Life) -> None:
    """A and B were held overnight and sold, C is open: none of them was ever marked."""
    for i, coin in enumerate("AB"):
        life.open(20 + i, coin, instrument=f"{coin}/USDC")
        life.fill(20 + i, coin, "buy", 1, 50)
        life.fill(30 + i, coin, "sell", 1, 60)
    life.open(50, "C", instrument="C/USDC")
    life.fill(50, "C", "buy", 1, 50)
    life.until(WEEK)
    quality = life.week().data_quality
    assert quality.missing_marks == [
        "C/USDC: no mark since its entry; open positions in it are not priced",
        "2 instruments without a mark while a position was open; none of these is held at the end",
    ]
    assert quality.provisional


def test_days_add_up_to_the_week_when_an_unmarked_position_is_left(life: Life) -> None:
    """Bought Monday at 100, sold Thursday at 130: the whole 30 - 2 is Thursday's, in days and in the week."""
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100, fee=1)
    life.fill(80, "p", "sell", 1, 130, fee=1)
    life.until(WEEK)
    days = [life.day(day).pnl.total for day in range(7)]
    assert days == approx([0, 0, 0, 28, 0, 0, 0])
    assert life.week().pnl.total == approx(28)
    assert [day.pnl for day in life.week().breakdowns.calendar] == [None, None, None, approx(28), 0, 0, 0]


def test_settling_step_by_step_finds_the_same_fills(unpriced_life: Life, tmp_path: Path) -> None:
    """Told in four pieces, each settled before the next, as a service does."""
    lines = unpriced_life.lines().splitlines(keepends=True)
    stepwise_life = Life(tmp_path, "pieces")
    stepwise_life._store = open_store(str(tmp_path / "pieces.db"))
    for piece in (lines[:2], lines[:5], lines[:9], lines):
        assert live(stepwise_life.store, b"".join(piece)).clean
        stepwise_life.name = "a"
        stepwise_life.week(0)
    for week in range(4):
        assert json.loads(dump(stepwise_life.week(week))) == json.loads(dump(unpriced_life.week(week)))


def test_gas_in_a_coin_without_marks_costs_what_the_coin_last_fetched(unpriced_life: Life) -> None:
    """5 ARB of gas in the third week, at the 4 of the week before."""
    unpriced_life.tell(2 * WEEK + 30, "cost", kind="gas", asset="ARB", quantity=5)
    third = unpriced_life.week(2)
    assert third.pnl.gas_costs == approx(20)
    assert third.equity[-1].equity == approx(1003 + 95 * 4)
    assert third.pnl.total == approx(-20)


@pytest.mark.parametrize(("base", "quote"), [("USDC", "USDT"), ("USD", "USDT"), ("USDT", "DAI")])
def test_a_dollar_without_marks_is_a_dollar_beside_a_dollar(tmp_path: Path, base: str, quote: str) -> None:
    """Traded in another dollar than the owner counts in: provisional and named, but not nothing."""
    life = Life(tmp_path, owner={"base_currency": base})
    life.tell(0, "equity", value=1000)
    life.market(f"ETH/{quote}", {h: 100 + h for h in range(WEEK)})
    life.trade("p", (1, 101), (9, 108), instrument=f"ETH/{quote}")
    life.open(20, "q", instrument=f"ETH/{quote}")
    life.fill(20, "q", "buy", 2, 120, fee="0.5", fee_asset=quote)
    life.until(DAY)
    day = life.day(0)
    p, q = day.positions
    assert (p.final_pnl, p.mfe, p.regret) == approx((7, 7, 0))
    assert q.final_pnl == approx(2 * 4 - 0.5)
    assert p.flags == ["provisional"]
    assert day.data_quality.missing_marks == [f"{quote}: no mark, taken at par with the base currency"]


def test_a_mark_of_the_other_dollar_comes_before_par(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.marks("USDT", {0: 0.9, 8: 0.8})
    life.trade("p", (1, 100), (9, 110), instrument="ETH/USDT")
    life.until(DAY)
    day = life.day(0)
    assert life_of(day, "p").final_pnl == approx(0.8 * 110 - 0.9 * 100)
    assert day.data_quality.missing_marks == []


def test_a_quote_that_nothing_prices_is_flagged_and_named(life: Life) -> None:
    """110 euros less 100 are some amount, but not known and not nothing: out of every rate."""
    life.trade("p", (1, 100), (9, 110), instrument="ETH/EUR", cites=["H-1"])
    life.until(DAY)
    day = life.day(0)
    assert "implausible" in life_of(day, "p").flags
    assert day.data_quality.missing_marks == ["EUR: no mark and no fill price"]
    assert "what the quote of ETH/EUR was worth" in day.data_quality.implausible[0].reason
    assert day.effectiveness.inaction_superiority_rate is None


def test_what_nothing_prices_has_no_figure_where_it_would_be_a_zero(life: Life) -> None:
    """Marks of the coin in dollars, an owner who counts in euros: not flat, not 0.00, and no exit that missed all of it."""
    life.market("ETH/USDC", {h: 100 + h for h in range(30)})
    life.trade("p", (1, 100), (9, 110), instrument="ETH/EUR", cites=["H-1"])
    life.until(DAY)
    day = life.day(0)
    row = life_of(day, "p")
    unknown = (row.final_pnl, row.period_pnl, row.entry_price, row.notional, row.vs_inaction, row.regret)
    assert unknown == (None,) * 6
    assert "what the quote of ETH/EUR was worth" in row.reasons["final_pnl"]
    assert [day.data_quality.implausible[0].pnl, day.result, line_of(day).pnl] == [None] * 3
    assert [date.pnl for date in day.breakdowns.calendar] == [None]
    headline = page_of_report(day).headline
    assert headline.result == "Not priced"
    assert any("no mark says what EUR is worth in USDC" in alarm for alarm in headline.alarms)
    assert [audited.evaluated_count for audited in day.heuristic_performance] == [0] * len(
        day.heuristic_performance
    )


def test_what_flows_were_said_to_be_worth_is_what_they_cost_where_nothing_else_is(life: Life) -> None:
    """A pool of FOO, staked BAR and a present of BAZ, none with a mark, all with a value: that stands, also weeks later.

    It says what was put in, not what it is worth today: the open positions have no result.
    """
    life.tell(0, "equity", balances={"USDC": 5000})
    life.open(1, "lp", "lp", instrument="FOO/USDC", token0="FOO", token1="USDC", lower=None, upper=None)
    life.flow(1, "lp", "deposit", "FOO", 100, value=1000)
    life.flow(1, "lp", "deposit", "USDC", 1000)
    life.open(2, "stake", "staking", instrument="BAR")
    life.flow(2, "stake", "deposit", "BAR", 10, value=500)
    life.flow(30, "stake", "reward", "BAR", 1, value=52)
    life.tell(40, "external", asset="BAZ", quantity=7, value=70)
    life.until(4 * WEEK)
    assert components(life.week(0).pnl) == approx({"staking_rewards": 52})
    for week in range(3):
        document = life.week(week)
        assert [p.final_pnl for p in document.positions] == [None, None]
        assert [row.cost for row in document.data_quality.unpriced] == approx([2000, 552])
        assert document.equity[-1].equity == approx(5000 + 52 + 70)
        assert len(document.data_quality.missing_marks) == 3
    assert components(life.week(2).pnl) == {}


def test_a_pool_of_which_one_half_has_no_price_keeps_the_other(life: Life) -> None:
    """Nothing says what FOO is worth: the 1,000 USDC beside it are still there."""
    life.tell(0, "equity", balances={"USDC": 5000, "FOO": 100})
    life.open(
        1,
        "lp",
        "lp",
        instrument="FOO/USDC",
        token0="FOO",
        token1="USDC",
        funded_with={"FOO": 100, "USDC": 1000},
    )
    life.flow(1, "lp", "deposit", "FOO", 100)
    life.flow(1, "lp", "deposit", "USDC", 1000)
    life.until(2 * DAY)
    document = life.day(1)
    assert document.equity[-1].equity == approx(5000)
    assert life_of(document, "lp").final_pnl is None
    assert [row.cost for row in document.data_quality.unpriced] == [1000]
    assert [text.partition(":")[0] for text in document.data_quality.missing_marks] == ["FOO"]


@pytest.mark.parametrize("seed", [1, 3])
def test_a_world_without_any_mark_loses_nothing_from_day_to_day(tmp_path: Path, seed: int) -> None:
    """Every day begins with the equity the day before ended with, and what lies between is pnl and the owner's money."""
    world = World(seed, days=9)
    gift = {"type": "flow", "asset": "ARB"}  # may come before anything was dealt in it
    world.events = [e for e in world.events if e["type"] != "mark" and not gift.items() <= e.items()]
    for event in world.events:  # a minute past: what is dealt at midnight is a price of the next day
        event["at"] = event["at"].replace(":00:00Z", ":01:00Z")
    store = open_store(str(tmp_path / "w.db"))
    assert live(store, world.lines()).clean
    dealt = {
        e["instrument"].partition("/")[0]: e["at"] for e in reversed(world.events) if e["type"] == "fill"
    }
    assert len(dealt) == 3
    before: float | None = 0.0
    for day in range(world.days):
        document = report(store, "w", "daily", at=START + (24 * day + 12) * HOUR)
        first, last = document.equity
        if max(dealt.values()) < first.at or not day:  # until then nobody knew what that coin would fetch
            assert first.equity == pytest.approx(before, abs=1e-7)
        assert last.equity - first.equity - last.flow == pytest.approx(document.pnl.total, abs=1e-7)
        before = last.equity


# marks from before


@pytest.mark.parametrize(("last", "pnl"), [(5.9, None), (6, 100), (29, 100)])
def test_a_mark_older_than_a_day_at_the_entry_prices_no_position(
    life: Life, last: float, pnl: float | None
) -> None:
    """1 ETH bought at 2,000 at hour 30; the only mark before it, 2,100, is of hour `last`, and none comes after."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.market("ETH/USDC", {last: 2100})
    life.open(30, "p")
    life.fill(30, "p", "buy", 1, 2000)
    life.until(60)
    week = life.week()
    assert life_of(week, "p").final_pnl == (None if pnl is None else approx(pnl))
    assert week.pnl.total == approx(pnl or 0)
    assert [row.position_id for row in week.data_quality.unpriced] == ([] if pnl else ["p"])
    assert sum(life.day(day).pnl.total for day in range(7)) == approx(week.pnl.total)


def test_a_position_is_priced_from_the_first_mark_on_that_is_not_older_than_its_entry(life: Life) -> None:
    """A mark of two days before says nothing; at hour 80, when one of 2,050 comes, 1 ETH bought at 2,000 has made 50."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.market("ETH/USDC", {1: 4000, 80: 2050, 100: 2050})
    life.open(50, "p")
    life.fill(50, "p", "buy", 1, 2000)
    life.until(120)
    assert [life.day(day).pnl.total for day in range(5)] == approx([0, 0, 0, 50, 0])
    week = life.week()
    assert (week.pnl.total, life_of(week, "p").final_pnl) == approx((50, 50))
    assert min(edge.equity for edge in week.equity[1:] if edge.equity is not None) == approx(10000)


def test_a_closed_position_that_nothing_prices_stands_in_no_rate_and_withholds_no_review(life: Life) -> None:
    """A pool closed with a debt of 1 X, which nothing ever priced, beside a trade that made 100."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.market("ETH/USDC", {0: 2000, 90: 2000})
    life.trade("q", (5, 2000), (6, 2100))
    life.open(1, "p", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=500, upper=2010)
    life.flow(30, "p", "withdrawal", "X", 1, kept=True)
    life.tell(40, "exit", position="p")
    life.until(96)
    week = life.week()
    assert {p.position_id: p.final_pnl for p in week.positions} == {"p": None, "q": 100}
    assert week.effectiveness.closed_positions == 1
    assert [row.pnl for row in week.breakdowns.by_instrument] == [100]
