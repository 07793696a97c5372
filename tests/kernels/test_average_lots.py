"""Lots at average cost: what every sale took of every lot, held to a book that keeps each lot by itself."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels.average_lots import LotClosings
from retro.kernels.lots import LotBook
from tests.worlds.steps import steps_of

D = Decimal
QUANTITIES = st.integers(-50, 50).filter(bool).map(lambda n: Decimal(n) / 10)
TRADES = st.lists(
    st.tuples(QUANTITIES, st.floats(0.5, 500), st.floats(-0.5, 2), st.integers(0, 6)), max_size=40
)
Piece = tuple[int, Fraction, float, float]


class EachLot:
    """The definition: every sale takes one fraction of every lot, which is worked out at once and exactly."""

    def __init__(self) -> None:
        self.lots: list[tuple[int, Fraction, float]] = []

    def trade(self, traded: Decimal, price: float, fee: float, tag: int) -> list[Piece]:
        quantity = Fraction(traded)
        open_ = sum((size for _, size, _ in self.lots), Fraction(0))
        if not open_ or (open_ > 0) == (quantity > 0):
            self.open(tag, quantity, float(quantity) * price + fee)
            return []
        share = min(-quantity / open_, Fraction(1))
        closing_fee = fee * float(open_ * share / -quantity)
        cash = float(open_ * share) * price - closing_fee
        taken = [(tag, size * share, cost * float(share)) for tag, size, cost in self.lots]
        pairs = zip(self.lots, taken, strict=True)
        self.lots = [(tag, size - gone, cost - paid) for (tag, size, cost), (_, gone, paid) in pairs]
        if share == 1:
            self.lots = []
            if rest := quantity + open_:
                self.open(tag, rest, float(rest) * price + fee - closing_fee)
        total = float(sum(gone for _, gone, _ in taken))
        return [(tag, gone, paid, cash * float(gone) / total) for tag, gone, paid in taken]

    def open(self, tag: int, quantity: Fraction, cost: float) -> None:
        if self.lots and self.lots[-1][0] == tag:
            _, already, paid = self.lots.pop()
            quantity, cost = already + quantity, paid + cost
        self.lots.append((tag, quantity, cost))


def play(rows: list[tuple[Decimal, float, float, int]]) -> tuple[list[list[Piece]], list[Any], LotBook]:
    plain, book, expected, done = EachLot(), LotBook("average"), [], []
    for quantity, price, fee, tag in rows:
        expected.append(plain.trade(quantity, price, fee, tag))
        done.append(book.trade(quantity, price, fee, tag))
    return expected, done, book


@given(TRADES)
@settings(deadline=None)
def test_every_sale_takes_of_every_lot_what_the_definition_says(
    rows: list[tuple[Decimal, float, float, int]],
) -> None:
    expected, done, book = play(rows)
    scale = sum(abs(float(q)) * price + abs(fee) for q, price, fee, _ in rows)
    for pieces, realised in zip(expected, done, strict=True):
        assert [match.tag for match in realised.matched] == [piece[0] for piece in pieces]
        for match, (_, quantity, cost, proceeds) in zip(realised.matched, pieces, strict=True):
            assert float(match.quantity) == pytest.approx(float(quantity), rel=1e-12)
            assert match.entry_cost == pytest.approx(cost, rel=1e-10, abs=1e-12 * scale)
            assert match.proceeds == pytest.approx(proceeds, rel=1e-10, abs=1e-12 * scale)
        pnl = sum(proceeds - cost for _, _, cost, proceeds in pieces)
        if pieces:
            assert realised.pnl == pytest.approx(pnl, rel=1e-9, abs=1e-11 * scale)
    again = LotBook.from_json("average", book.to_json())
    assert again.to_json() == book.to_json()
    assert again.trade(D(1), 10.0, 0.0, 9).pnl == book.copy().trade(D(1), 10.0, 0.0, 9).pnl


@given(TRADES, st.integers(0, 41))
@settings(deadline=None)
def test_what_was_closed_of_each_lot_is_the_sum_of_its_pieces(
    rows: list[tuple[Decimal, float, float, int]], before: int
) -> None:
    """Up to any instant, however the sales follow one another: through zero, of a lot alone, of lots of one tag."""
    expected, done, _ = play(rows)
    scale = sum(abs(float(q)) * price + abs(fee) for q, price, fee, _ in rows)
    lot_closings = LotClosings((at, realised.matched) for at, realised in enumerate(done))
    for limit, end in ((inf, len(rows)), (before, min(before, len(rows)))):
        for tag in range(7):
            pieces = [piece for each in expected[:end] for piece in each if piece[0] == tag]
            gone = lot_closings.of(tag, limit)
            quantity = sum(abs(float(piece[1])) for piece in pieces)
            pnl = sum(proceeds - cost for _, _, cost, proceeds in pieces)
            assert sum(each.quantity for each in gone) == pytest.approx(quantity, rel=1e-9, abs=1e-12)
            assert sum(each.pnl for each in gone) == pytest.approx(pnl, rel=1e-9, abs=1e-10 * scale)


def test_two_lots_of_which_two_sales_take_half_each_time() -> None:
    """1 at 10 and 3 at 30; 2 sold at 50, then 1 at 20: a half of both, and a half of what was left of both.

    Of the first left 0.5 at 50 and 0.25 at 20, which cost 7.5: 25 + 5 - 7.5 = 22.5; of the second 75 + 15 - 67.5 = 22.5.
    """
    book = LotBook("average")
    rows = ((D(1), 10.0, 1), (D(3), 30.0, 2), (D(-2), 50.0, 3), (D(-1), 20.0, 4))
    done = [book.trade(quantity, price, 0.0, tag) for quantity, price, tag in rows]
    lot_closings = LotClosings((at, realised.matched) for at, realised in enumerate(done))
    assert lot_closings.of(1) == [(0.75, 22.5)]
    assert lot_closings.of(2) == [(2.25, 22.5)]
    assert lot_closings.of(1, 3) == [(0.5, 20.0)], "before the second sale"
    assert lot_closings.of(1, 2) == []
    assert [book.quantity, book.basis] == [1, 25.0]


def test_thousands_of_sales_leave_nothing_that_underflows() -> None:
    """A tenth is sold and bought again 9,000 times: of the first lot nothing is left, and all it cost has gone."""
    book = LotBook("average")
    done = [book.trade(D(10), 100.0, 0.0, 0)]
    for n in range(9_000):
        done.append(book.trade(D(-1), 110.0, 0.0, 2 * n + 1))
        done.append(book.trade(D(1), 110.0, 0.0, 2 * n + 2))
    (gone,) = [LotClosings((at, realised.matched) for at, realised in enumerate(done)).of(0)[i] for i in (1,)]
    (first,) = done[1].matched
    assert first.pnl == pytest.approx(10)
    assert gone.quantity == pytest.approx(9.0)
    assert gone.pnl == pytest.approx(90.0)


def test_a_life_of_lots_takes_as_many_steps_as_it_has_trades() -> None:
    def life(count: int) -> None:
        book = LotBook("average")
        done = []
        for n in range(count):
            done.append(book.trade(D(2), 100.0 + n % 7, 0.1, 2 * n))
            done.append(book.trade(D(-1), 101.0 + n % 5, 0.1, 2 * n + 1))
        lot_closings = LotClosings((at, realised.matched) for at, realised in enumerate(done))
        for n in range(count):
            lot_closings.of(2 * n)

    assert steps_of(lambda: life(800)) < 2.2 * steps_of(lambda: life(400))
