"""Our figures beside those of a source: worked by hand, the same on both databases, none where nobody can know it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.questions.bounds import ListBounds
from retro.app.questions.checks.rows import cursor_of
from retro.checks import PaidPart, SourceCheck
from retro.periods import HOUR
from retro.store.database import Store, open_store
from tests.app.questions.accounts import PERP, check, compared, figures, fill, opened, opening, tell
from tests.worlds.service_world import MONDAY, line

MONEY: tuple[PaidPart, ...] = ("fees", "funding")


@pytest.mark.parametrize(
    ("net_of", "result"),
    [((), "20"), (("fees",), "17.9"), (("funding",), "19.5"), (MONEY, "17.4")],
)
def test_a_position_is_compared_net_of_what_the_figure_is_net_of(
    store: Store, net_of: tuple[PaidPart, ...], result: str
) -> None:
    tell(store, PERP, [check("realized_pnl", "p", 3, result, net_of=net_of)])
    assert figures(store) == [("p", float(result), True)]


def test_a_third_asset_and_a_fee_in_kind_are_fees_too(store: Store) -> None:
    """Of 1 ETH for 100 a thousandth stays with the venue: 0.999 is sold at 120; 0.01 BNB at 300 is 3."""
    bnb = line("mark", "m", MONDAY, "ada", asset="BNB", price="300")
    events = [
        bnb,
        opened("p", 1),
        fill("b", "p", 1, "buy", "1", "100", fee="0.001", fee_asset="ETH"),
        fill("s", "p", 2, "sell", "0.999", "120", fee="0.01", fee_asset="BNB"),
    ]
    stated = [
        check("realized_pnl", "p", 2, "16.88", net_of=("fees",)),
        check("realized_pnl", "p", 2, "19.98", fill="s"),
    ]
    tell(store, events, stated)
    assert figures(store) == [("p", 16.88, True), ("s", 19.98, True)]


def test_a_fill_is_counted_at_average_cost_whatever_its_agents_lots_are(store: Store) -> None:
    """Bought at 100 and 110: sold at 120 one makes 15 and not 20, then at 100 it loses 5."""
    events = [
        opened("p", 1),
        fill("b1", "p", 1, "buy", "1", "100", fee="0.1"),
        fill("b2", "p", 2, "buy", "1", "110", fee="0.11"),
        fill("s1", "p", 3, "sell", "1", "120", fee="0.12"),
        fill("s2", "p", 4, "sell", "1", "100", fee="0.1"),
    ]
    stated = [
        check("realized_pnl", "p", 1, "-0.1", fill="b1", net_of=("fees",)),
        check("realized_pnl", "p", 2, "0", fill="b2"),
        check("realized_pnl", "p", 3, "14.88", fill="s1", net_of=("fees",)),
        check("realized_pnl", "p", 4, "-5", fill="s2"),
    ]
    tell(store, events, stated)
    assert figures(store) == [("b1", -0.1, True), ("b2", 0, True), ("s1", 14.88, True), ("s2", -5, True)]


def test_a_fill_that_crosses_zero_is_compared_with_the_fee_of_both_its_halves(store: Store) -> None:
    """3 sold at 110 with a fee of 0.33: one closes what cost 100, two open a short."""
    events = [
        opened("p", 1, "perp", of="ETH/USDC:USDC"),
        fill("b", "p", 1, "buy", "1", "100"),
        fill("x", "p", 2, "sell", "1", "110", fee="0.11"),
        opened("q", 2, "perp", "short", "ETH/USDC:USDC"),
        fill("x+", "q", 2, "sell", "2", "110", fee="0.22"),
    ]
    tell(store, events, [check("realized_pnl", "p", 2, "9.67", fill="x", net_of=("fees",))])
    assert figures(store) == [("x", 9.67, True)]


def test_a_venues_account_keeps_the_money_of_open_perps(store: Store) -> None:
    """1,000 less a fee of 1 while it is open, less 0.5 of funding, plus 20 less 1.1 when it is closed."""
    stated = [
        check("balance", "USDC", hour, stated) for hour, stated in ((1, "999"), (2, "998.5"), (3, "1017.4"))
    ]
    tell(store, [opening({"USDC": "1000"}), *PERP], stated)
    assert figures(store) == [("USDC", 999, True), ("USDC", 998.5, True), ("USDC", 1017.4, True)]


def test_a_short_perp_leaves_the_balance_alone_too(store: Store) -> None:
    events = [
        opened("p", 1, "perp", "short", "ETH/USDC:USDC"),
        fill("s", "p", 1, "sell", "2", "100", fee="1"),
        fill("b1", "p", 2, "buy", "1", "90"),
        fill("b2", "p", 3, "buy", "1", "120"),
    ]
    stated = [
        check("balance", "USDC", hour, stated) for hour, stated in ((1, "999"), (2, "1009"), (3, "989"))
    ]
    tell(store, [opening({"USDC": "1000"}), *events], stated)
    assert [row[1:] for row in figures(store)] == [(999, True), (1009, True), (989, True)]


def test_coins_of_spot_positions_lie_on_the_account(store: Store) -> None:
    events = [
        opening({"USDC": "1000", "ETH": "1"}),
        line("mark", "m", MONDAY, "ada", instrument="ETH/USDC", price="100"),
        opened("p", 1),
        fill("b", "p", 1, "buy", "2", "100", fee="1"),
        fill("s", "p", 3, "sell", "1", "110", fee="0"),
    ]
    stated = [
        check("balance", "ETH", 1, "3"),
        check("holding", "USDC", 1, "799"),
        check("balance", "ETH", 3, "2"),
        check("balance", "USDC", 3, "909"),
        check("equity", "", 3, "1099"),
    ]
    tell(store, events, stated)
    assert [row[1:] for row in figures(store)] == [
        (3, True),
        (799, True),
        (2, True),
        (909, True),
        (1099, True),
    ]


def test_lent_money_is_held_but_lies_on_no_account(store: Store) -> None:
    at = MONDAY + HOUR
    events = [
        opening({"USDC": "1000"}),
        line("position", "l", at, "ada", position="l", kind="lending", instrument="USDC"),
        line("flow", "d", at, "ada", position="l", kind="deposit", asset="USDC", quantity="400"),
        line("cost", "gas", MONDAY + 2 * HOUR, "ada", kind="gas", amount="1"),
    ]
    tell(store, events, [check("balance", "USDC", 2, "599"), check("holding", "USDC", 2, "999")])
    assert figures(store) == [("USDC", 599, True), ("USDC", 999, True)]


def deposit(name: str, hour: float, quantity: str) -> Any:
    return line("external", name, MONDAY + int(hour * HOUR), "ada", quantity=quantity)


def test_a_log_that_begins_in_the_middle_is_compared_with_its_first_statement(store: Store) -> None:
    """Nobody told of the 500 that were there: the first balance tells it, the later ones are held against that."""
    stated = [check("balance", "USDC", hour, stated) for hour, stated in ((1, "600"), (2, "800"), (3, "840"))]
    tell(store, [deposit("a", 1, "100"), deposit("b", 2, "200"), deposit("c", 3, "50")], stated)
    assert figures(store) == [("USDC", None, None), ("USDC", 800, True), ("USDC", 850, False)]
    first, *_ = compared(store)
    assert "this statement opens it" in first.document()["reasons"]["ours"]
    # a page that begins later says the same
    after = compared(store, ListBounds(after=cursor_of(first)))
    assert [row.ours for row in after] == [800, 850]


def test_a_log_that_begins_with_nothing_is_compared_from_its_first_statement_on(store: Store) -> None:
    tell(store, [deposit("a", 1, "100")], [check("balance", "USDC", 1, "100")])
    assert figures(store) == [("USDC", 100, True)]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (check("realized_pnl", "p", 1, "1"), "still open"),
        (check("realized_pnl", "nobody", 1, "1"), "no fact tells of this position"),
        (check("realized_pnl", "p", 1, "1", fill="nothing"), "no fact tells of this fill"),
        (check("realized_pnl", "p", 1, "1", fill="b", net_of=("funding",)), "funding"),
        (check("realized_pnl", "e", 1, "1"), "another currency than USDC"),
        (check("equity", "", 4, "1"), "no price"),
    ],
)
def test_what_nobody_can_compute_is_null_with_a_reason(store: Store, wrong: SourceCheck, words: str) -> None:
    events = [
        opening({"USDC": "1000", "XYZ": "1"}),
        opened("p", 1),
        fill("b", "p", 1, "buy", "2", "100"),
        opened("e", 1, of="ETH/EUR"),
        fill("eb", "e", 1, "buy", "1", "100"),
        fill("es", "e", 2, "sell", "1", "110"),
        line("mark", "eur", MONDAY, "ada", asset="EUR", price="1.1"),
    ]
    tell(store, events, [wrong])
    (row,) = compared(store)
    assert (row.ours, row.difference, row.within) == (None, None, None)
    assert words in row.document()["reasons"]["ours"]


def test_what_a_reader_booked_for_a_figures_sake_is_left_out_of_ours(store: Store) -> None:
    tell(store, PERP, [check("realized_pnl", "p", 3, "17.4", net_of=MONEY, booked=Decimal(-2))])
    (row,) = compared(store, failing=True)
    assert (row.ours, row.difference, row.within) == (pytest.approx(19.4), pytest.approx(2), False)


def test_a_difference_as_large_as_the_tolerance_is_within_it(store: Store) -> None:
    stated = [
        check("realized_pnl", "p", 3, "20.1", "0.1"),
        check("realized_pnl", "p", 3, "0.01", "0.01", fill="b"),
    ]
    tell(store, PERP, stated)
    assert [row.within for row in compared(store)] == [True, True]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    trades=st.lists(
        st.tuples(
            st.sampled_from(["buy", "sell"]), st.integers(1, 5), st.integers(50, 150), st.integers(0, 3)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_results_of_fills_add_up_to_those_of_positions_and_to_the_balance(
    tmp_path_factory: pytest.TempPathFactory, trades: list[tuple[str, int, int, int]]
) -> None:
    """A law that three ways of computing share: an account is what it began with and what fills made, less their fees."""
    opened_store = open_store(str(tmp_path_factory.mktemp("law") / "r.db"))
    events = [
        opening({"USDC": "1000"}),
        opened("p", 1, "perp", "short" if trades[0][0] == "sell" else "long"),
    ]
    stated = []
    for number, (side, quantity, price, fee) in enumerate(trades):
        hour = 1 + number / 4
        events.append(fill(f"f{number}", "p", hour, side, str(quantity), str(price), fee=str(fee)))
        stated.append(check("realized_pnl", "p", hour, "0", fill=f"f{number}", net_of=("fees",)))
        stated.append(check("balance", "USDC", hour, "0"))
    tell(opened_store, events, stated)
    rows = compared(opened_store)
    opened_store.close()
    results = [row.ours for row in rows if row.check.fill]
    balances = [row.ours for row in rows if row.check.what == "balance"]
    total = 1000.0
    for result, balance in zip(results, balances, strict=True):
        assert result is not None
        total += result
        assert balance == pytest.approx(total, abs=1e-6)
