"""Books that a wrong value has got into are refused, with the name of what it broke."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from retro.accounting.attribution import attribution
from retro.accounting.books import DailyBooks, keep_books
from retro.accounting.liquidity import LiquidityBook
from retro.accounting.movements import Booking
from retro.accounting.prices import Prices
from retro.accounting.replay import replay
from retro.accounting.track import PositionHistory
from retro.accounting.wallet import Wallet
from retro.errors import InvariantError
from retro.model import External, Fill, MarkSeries, Position
from retro.periods import DAY
from retro.report.lines import COMPONENTS

T0 = 20_000 * DAY
GRID = [T0, T0 + DAY, T0 + 2 * DAY, T0 + 3 * DAY]


def prices() -> Prices:
    t = np.arange(T0, T0 + 3 * DAY, DAY // 4)
    marks = MarkSeries("bot", "ETH/USDC", t, 2000 + np.arange(len(t), dtype=np.float64) * 1.5)
    return Prices("USDC", {"ETH/USDC": marks}, {})


def fill(name: str, at: int, side: Any, price: int) -> Fill:
    return Fill(
        id=name,
        agent="bot",
        at=at,
        position="p",
        side=side,
        quantity=Decimal(2),
        price=Decimal(price),
        fee=Decimal("0.5"),
    )


def history() -> PositionHistory:
    """Two ETH bought on the first day and sold on the third."""
    facts = [
        Position(id="o", agent="bot", at=T0 + 1, position="p", kind="spot", instrument="ETH/USDC"),
        fill("b", T0 + DAY // 2, "buy", 2003),
        fill("s", T0 + 2 * DAY + DAY // 2, "sell", 2015),
    ]
    track = replay(facts, prices(), "fifo")
    assert track is not None
    return track


def books(track: PositionHistory, grid: list[int] = GRID, wallet: Wallet | None = None) -> DailyBooks:
    money = External(id="in", agent="bot", at=T0, quantity=Decimal(10_000))
    return keep_books({"p": track}, wallet or Wallet("USDC", "fifo"), [money], grid, T0 + 9 * DAY, prices())


def test_true_books_close() -> None:
    kept = books(history())
    assert sum(kept.plausible_pnl) == pytest.approx(2 * 12 - 1)


@pytest.mark.parametrize("grid", [[*GRID[:2], *GRID[1:]], GRID[::-1], [GRID[0], GRID[2], GRID[1]]])
def test_days_that_overlap_or_run_backwards_are_refused(grid: list[int]) -> None:
    with pytest.raises(InvariantError, match="each day starts where the one before ends"):
        books(history(), grid)


@pytest.mark.parametrize("wrong", [0.001, -5.0, float("nan"), float("inf")])
def test_money_booked_that_never_moved_is_refused(wrong: float) -> None:
    track = history()
    track.bookings.append(Booking(T0 + DAY, "funding", wrong))
    with pytest.raises(InvariantError, match="a day's components come to its change of equity"):
        books(track)


def test_money_moved_that_was_never_booked_is_refused() -> None:
    track = history()
    track.bookings = [booking for booking in track.bookings if booking.component != "trading_gains"]
    with pytest.raises(InvariantError, match="a day's components come to its change of equity"):
        books(track)


def test_a_booking_on_the_wrong_day_is_refused_though_the_whole_still_adds_up() -> None:
    track = history()
    track.bookings = [booking._replace(at=booking.at - DAY) for booking in track.bookings]
    with pytest.raises(InvariantError, match="from 2024-10-05"):
        books(track)


def test_components_that_do_not_make_their_total_are_refused() -> None:
    components = dict.fromkeys(COMPONENTS, 0.0) | {"trading_gains": 3.0, "gas_costs": 1.0}
    assert attribution(components, start=0.0, end=0.0, yields=False, total=2.0 + 1e-12).total == 2.0 + 1e-12
    for wrong in (2.1, 4.0, float("nan")):
        with pytest.raises(InvariantError, match="the components add up to the total"):
            attribution(components, start=0.0, end=0.0, yields=False, total=wrong)


def test_a_wallet_that_is_short_or_holds_no_number_is_neither_valued_nor_stored() -> None:
    wallet = Wallet("USDC", "fifo")
    wallet.receive("ETH", Decimal(1), 2000.0)
    wallet.check()
    wallet.assets["ETH"].trade(Decimal(-3), 2000.0)
    for use in (wallet.to_json, lambda: books(history(), wallet=wallet)):
        with pytest.raises(InvariantError, match=r"no asset of the wallet is short \(ETH\)"):
            use()
    wallet = Wallet("USDC", "fifo")
    wallet.cash = float("nan")
    with pytest.raises(InvariantError, match="the wallet's cash is a number"):
        wallet.to_json()


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_liquidity_below_nothing_is_refused(wrong: float) -> None:
    pool = Position(
        id="o",
        agent="bot",
        at=T0,
        position="p",
        kind="lp",
        instrument="ETH/USDC",
        token0="ETH",
        token1="USDC",
    )
    book = LiquidityBook(pool, prices(), "fifo")
    book.view()
    book.liquidity = wrong
    with pytest.raises(InvariantError, match="a pool's liquidity is never negative"):
        book.view()
