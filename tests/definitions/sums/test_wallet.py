"""What lies in the wallet, and what the agent says of its equity: held against each other whichever way it was told."""

from __future__ import annotations

import json
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.store.database import open_store
from tests.worlds.lives import live, position, report
from tests.worlds.oracle import (
    WEEK,
    Life,
    approx,
    clock,
    closes,
    components,
    documents,
    instant,
    life,
    life_of,
    told_in_parts,
)

__all__ = ["life"]


# stated and computed


@pytest.mark.parametrize("later", [{"value": 400}, {"balances": {"USDC": 400}}])
@pytest.mark.parametrize(
    "first", [{"value": 1000}, {"balances": {"USDC": 1000}}, {"value": 1000, "balances": {"USDC": 1000}}]
)
def test_a_later_statement_is_held_against_the_events_whichever_way_either_was_told(
    life: Life, first: dict[str, Any], later: dict[str, Any]
) -> None:
    """1,000 in the beginning, 400 on the second day, and nothing told in between."""
    life.tell(0, "equity", **first)
    life.tell(30, "equity", **later)
    life.until(48)
    day, week = life.day(1), life.week()
    assert (day.pnl.unattributed, week.pnl.unattributed, week.pnl.total) == approx((-600, -600, -600))
    assert any("stated equity" in warning for warning in week.data_quality.warnings)
    assert closes(week.pnl) == approx(0)


def test_balances_are_worth_what_their_marks_say_at_their_instant(life: Life) -> None:
    """1 ETH and 100 USDC; at noon of the second day 1 ETH and 130: 30 that no event explains, the ETH moved as it did."""
    life.market("ETH/USDC", {0: 1000, 24: 1100, 36: 1200, 48: 1150})
    life.tell(0, "equity", balances={"ETH": 1, "USDC": 100})
    life.tell(36, "equity", balances={"ETH": 1, "USDC": 130})
    life.until(48)
    first, second = life.day(0).pnl, life.day(1).pnl
    assert (first.unattributed, second.unattributed) == (None, approx(30))
    assert (first.wallet_pnl, second.wallet_pnl, second.total) == approx((100, 50, 80))


def test_balances_that_nothing_prices_state_no_worth(life: Life) -> None:
    life.tell(0, "equity", balances={"USDC": 100})
    life.tell(30, "equity", balances={"USDC": 100, "DUST": 5})
    life.until(48)
    assert life.week().pnl.unattributed is None


def test_balances_before_anything_moved_open_the_wallet_though_a_word_came_first(life: Life) -> None:
    """A decision at 0, the balances at 2: 1 ETH of the wallet moves with its market."""
    life.market("ETH/USDC", {0: 1000, 24: 1100})
    life.tell(0, "decision", action="hold", reasoning="hello")
    life.tell(2, "equity", balances={"ETH": 1, "USDC": 50})
    life.until(24)
    day = life.day(0)
    assert (components(day.pnl), day.equity[-1].equity) == (approx({"wallet_pnl": 100}), approx(1150))


def test_the_first_statement_is_the_first_however_the_journal_is_cut(tmp_path: Path) -> None:
    """10,000 by balances and a gain of 10; 9,500 stated in a second reading: -510 that nothing explains, both ways."""
    events = Life(tmp_path)
    events.market("ETH/USDC", dict.fromkeys(range(97), 2000))
    events.tell(0, "equity", balances={"USDC": 10000})
    events.trade("p", (5, 2000), (9, 2010))
    events.tell(30, "equity", value=9500)
    events.until(96)
    whole = documents(told_in_parts(tmp_path, "whole", events.events))
    for cut in range(1, len(events.events)):
        parts = told_in_parts(tmp_path, f"cut-{cut}", events.events[:cut], events.events[cut:])
        assert documents(parts) == whole
    pnl = report(told_in_parts(tmp_path, "again", events.events), "a", span=(instant(0), instant(96))).pnl
    assert (pnl.total, pnl.unattributed) == approx((-500, -510))


def test_a_statement_values_coins_of_the_wallet_by_fills_in_another_coin(life: Life) -> None:
    """1 GNO in the wallet, another bought for 0.003 BTC of 60,000: nothing else prices it, and 10,180 is all there is."""
    life.market("BTC/USDC", dict.fromkeys(range(97), 60000))
    life.tell(0, "equity", balances={"USDC": 10000, "GNO": 1})
    life.open(5, "p", instrument="GNO/BTC")
    life.fill(5, "p", "buy", 1, 0.003)
    life.tell(30, "equity", value=10180)
    life.until(96)
    week = life.week()
    assert (week.pnl.unattributed, week.equity[2].equity) == approx((0, 10180))


def test_a_statement_values_a_coin_that_came_as_a_rebate_by_the_last_fill_before_it(life: Life) -> None:
    """0.1 GNO of rebate; another position buys GNO at 180; its first mark, 200, comes days later: 18 until then."""
    life.market("ETH/USDC", dict.fromkeys(range(97), 2000))
    life.market("GNO/USDC", {60: 200, 90: 200})
    life.tell(0, "equity", balances={"USDC": 10000})
    life.trade("p", (5, 2000), (6, 2000))
    life.events[-1] |= {"fee": "-0.1", "fee_asset": "GNO"}
    life.trade("q", (8, 180), (9, 180), instrument="GNO/USDC")
    life.tell(30, "equity", value=10018)
    life.until(96)
    week = life.week()
    assert (week.pnl.unattributed, week.equity[2].equity) == approx((0, 10018))


@pytest.mark.parametrize("marks_first", [True, False])
def test_a_wallet_opens_at_the_first_fact_though_marks_were_settled_before_it(
    tmp_path: Path, marks_first: bool
) -> None:
    """15,000 configured; own marks from 0 on, the first fact at 30: no equity and no day of it before that."""
    table = {"agent": {"a": {"capital": 15000}}}
    life = Life(tmp_path)
    life.marks("ETH", PRICES)
    life.tell(30, "cost", kind="data", amount=5)
    life.until(96)
    marks, facts = life.events[:97], life.events[97:]
    store = open_store(str(tmp_path / "w.db"))
    for i, part in enumerate((marks, facts) if marks_first else (facts, marks)):
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{i}.jsonl", configuration=table).clean
    document = report(store, "a", span=(instant(0), instant(96)), configuration=table)
    assert [day.equity for day in document.equity] == [0, 0, 14995, 14995, 14995]
    assert document.risk.days == 3


PRICES = [2000 + (hour * 37 % 211) + hour / 7 for hour in range(97)]
AMOUNTS = st.integers(1, 10**7).map(lambda n: n / 1000)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_statements_of_any_kind_give_the_same_bytes_in_any_split(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Costs, owner's coins and statements at random; told at once, or in pieces with reviews in between."""
    path = tmp_path_factory.mktemp("w")
    life = Life(path)
    life.marks("ETH", PRICES[:1])
    for number in range(data.draw(st.integers(2, 8))):
        hours = data.draw(st.integers(0, 90))
        kind = data.draw(st.sampled_from(["value", "balances", "cost", "gas", "external"]))
        amount = data.draw(AMOUNTS)
        if kind == "value":
            life.tell(hours, "equity", value=amount)
        elif kind == "balances":
            life.tell(hours, "equity", balances={"USDC": amount, "ETH": number})
        elif kind == "cost":
            life.tell(hours, "cost", kind="data", amount=amount)
        elif kind == "gas":
            life.tell(hours, "cost", kind="gas", asset="ETH", quantity=amount / 1000)
        else:
            life.tell(hours, "external", asset="ETH", quantity=amount / 100, value=amount * 20)
    for hour, price in enumerate(PRICES[1:], 1):
        life.tell(hour, "mark", asset="ETH", price=price)
    life.until(96)
    events = data.draw(st.permutations(life.events))
    edges = sorted({0, len(events), *data.draw(st.lists(st.integers(0, len(events)), max_size=4))})
    pieces = told_in_parts(path, "pieces", *(events[a:b] for a, b in pairwise(edges)))
    assert documents(pieces) == documents(told_in_parts(path, "once", life.events))


# what the wallet's coins made


def test_positions_wallet_and_costs_add_up_and_the_wallet_has_its_line(life: Life) -> None:
    """0.9 ETH lie in the wallet, 0.1 was burnt as gas at 2,100, a trade made 30, data cost 4."""
    life.market("ETH/USDC", {h: 2000 + 10 * h for h in range(WEEK + 1)})
    life.tell(0, "equity", balances={"USDC": 5000, "ETH": 1})
    life.trade("p", (5, 2050), (8, 2080))
    life.tell(10, "cost", kind="gas", asset="ETH", quantity="0.1")
    life.tell(20, "cost", kind="data", amount=4)
    life.until(WEEK)
    for document in (life.day(0), life.week()):
        end = 24 if document.horizon == "daily" else WEEK
        assert document.pnl.wallet_pnl == approx(0.1 * 100 + 0.9 * 10 * end)
        assert components(document.pnl) == approx(
            {"trading_gains": 30, "gas_costs": 210, "data_costs": 4, "wallet_pnl": 10 + 9 * end}
        )
        positions = fsum(p.period_pnl or 0.0 for p in document.positions)
        assert document.pnl.total == approx(positions + document.pnl.wallet_pnl - 210 - 4)
        assert (document.pnl.unrealized_pnl_start, document.pnl.unrealized_pnl_end) == (0, 0)
        assert closes(document.pnl) == approx(0)


def test_coins_given_up_for_a_position_realise_what_they_made_in_the_wallet(life: Life) -> None:
    """1 ETH opened at 2,000 and given up at 2,200 for a loan of it: 200 is the wallet's, what follows the position's."""
    life.market("ETH/USDC", {0: 2000, 10: 2200, 20: 2300, 48: 2300})
    life.tell(0, "equity", balances={"USDC": 100, "ETH": 1})
    life.open(11, "l", "lending", instrument="ETH", funded_with={"ETH": 1})
    life.flow(11, "l", "deposit", "ETH", 1)
    life.until(48)
    document = life.week()
    assert document.pnl.wallet_pnl == approx(200)
    assert life_of(document, "l").period_pnl == approx(100)
    assert document.pnl.total == approx(300)


def test_income_told_without_a_position_keeps_its_name_and_the_coins_move_in_the_wallet(life: Life) -> None:
    life.marks("ARB", {0: 1, 10: 2, 24: 3, 48: 3})
    life.tell(0, "equity", balances={"USDC": 100})
    life.flow(10, None, "reward", "ARB", 10)
    life.until(48)
    assert components(life.week().pnl) == approx({"staking_rewards": 20, "wallet_pnl": 10})


# tokens that come out of a pool and stay


def pool(life: Any, **withdrawn: Any) -> None:
    """1 ETH and 2,000 USDC into a pool at 2,000; out again at 2,100, 0.9 ETH of it; ETH ends at 2,400."""
    life.market("ETH/USDC", {0: 2000, 10: 2000, 29: 2100, 40: 2100, 50: 2400, WEEK: 2400})
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(10, "lp", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=1000, upper=4000)
    life.flow(10, "lp", "deposit", "ETH", 1)
    life.flow(10, "lp", "deposit", "USDC", 2000)
    life.tell(
        29, "snapshot", position="lp", holdings={"ETH": "0.9", "USDC": 2200}, claimable={"USDC": 0, "ETH": 0}
    )
    life.flow(30, "lp", "withdrawal", "ETH", "0.9", **withdrawn)
    life.flow(30, "lp", "withdrawal", "USDC", 2200)
    life.tell(30, "exit", position="lp")


@pytest.mark.parametrize("how", ["kept", "balances", "sold", "neither"])
def test_tokens_withdrawn_in_kind_stay_where_the_agent_says_so(life: Life, how: str) -> None:
    """The pool made 0.9 x 2,100 + 2,200 - 4,000 = 90; 0.9 ETH that stayed make 0.9 x 300 = 270 more, in the wallet."""
    pool(life, **{"kept": {"kept": True}, "sold": {"kept": False}}.get(how, {}))
    shown = {"ETH": "0.9", "USDC": 8200}
    if how in {"balances", "sold"}:
        life.tell(40, "equity", balances=shown)
    life.until(WEEK)
    week = life.week()
    stays = how in {"kept", "balances"}
    assert life_of(week, "lp").final_pnl == approx(90)
    assert week.pnl.wallet_pnl == approx(270 if stays else 0)
    assert week.equity[-1].equity == approx(10000 + 90 + (270 if stays else 0))
    positions = fsum(p.period_pnl or 0.0 for p in week.positions)
    assert week.pnl.total == approx(positions + week.pnl.wallet_pnl + (week.pnl.unattributed or 0))
    days = [life.day(d).pnl for d in range(7)]
    for name in ("total", "wallet_pnl", "trading_gains"):
        assert getattr(week.pnl, name) == fsum(getattr(day, name) for day in days), name


def test_tokens_that_stayed_are_in_every_later_statement(life: Life) -> None:
    """Kept 0.9 ETH: what the agent says it is worth at 2,400 agrees with its events."""
    pool(life, kept=True)
    life.tell(60, "equity", value=2200 + 6000 + 0.9 * 2400)
    life.until(WEEK)
    assert life.week().pnl.unattributed == approx(0)


def test_balances_show_what_stayed_from_then_on_and_the_move_before_is_unattributed(life: Life) -> None:
    """Shown at 55, when ETH has risen to 2,400 already: the 270 of the time between are what no event explains."""
    pool(life)
    life.tell(55, "equity", balances={"ETH": "0.9", "USDC": 8200})
    life.market("ETH/USDC", {60: 2500})
    life.until(WEEK)
    pnl = life.week().pnl
    assert (pnl.unattributed, pnl.wallet_pnl) == approx((270, 0))


def test_what_was_put_into_the_next_pool_did_not_stay(life: Life) -> None:
    """0.9 ETH out of one pool and into another; the balances count the pool's: nothing lies in the wallet."""
    pool(life)
    life.open(31, "q", "lending", instrument="ETH")
    life.flow(31, "q", "deposit", "ETH", "0.9")
    life.tell(40, "equity", balances={"ETH": "0.9", "USDC": 8200})
    life.until(WEEK)
    week = life.week()
    assert (week.pnl.wallet_pnl, week.pnl.unattributed) == approx((0, 0))
    assert life_of(week, "q").period_pnl == approx(270)


def test_a_wallet_day_remembers_what_may_have_stayed(tmp_path: Path) -> None:
    """The withdrawal on one day, the balances on the next, told in two readings or in one."""
    life = Life(tmp_path)
    pool(life)
    life.tell(49, "equity", balances={"ETH": "0.9", "USDC": 8200})
    life.until(96)
    marks = [
        {"type": "mark", "id": f"m{h}", "agent": "a", "at": clock(h), "asset": "ETH", "price": p}
        for h, p in {0: 2000, 10: 2000, 29: 2100, 40: 2100, 50: 2400}.items()
    ]
    early = [event for event in life.events if event["at"] < clock(40)]
    late = [event for event in life.events if event["at"] >= clock(40)]
    split = told_in_parts(tmp_path, "split", [*marks, *early], late)
    assert documents(split) == documents(told_in_parts(tmp_path, "whole", [*marks, *life.events]))
    assert position(split, "a", "lp").final_pnl == approx(90)
    pnl = report(split, "a", span=(instant(0), instant(96))).pnl
    assert (pnl.wallet_pnl, pnl.unattributed) == approx((270, 0))
