"""Which marks and prices may be a position's extremes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.worlds.commands import Retro, retro
from tests.worlds.oracle import Life, approx, clock, life

__all__ = ["life", "retro"]


NEAR = {"abs": 1e-9, "rel": 1e-12}


def test_highs_and_lows_are_candidates_where_the_owner_says_so(tmp_path: Path) -> None:
    """Closes 100..104 with candles of -3..+5 around them: the best is the high at 4 o'clock, for a short the low."""
    for side, entry_side, best, worst in (("long", "buy", (108, 4), 97), ("short", "sell", (97, 2), 108)):
        for use_highs_lows in (True, False):
            life = Life(tmp_path, f"{side}{use_highs_lows}", retrospective={"use_highs_lows": use_highs_lows})
            prices = {h: 100 + h - 1 for h in range(8)}
            bands = {
                h: ((97, 101) if h == 2 else (p - 1, p + 5 if h == 4 else p + 1)) for h, p in prices.items()
            }
            life.market("ETH/USDC", prices, bands)
            life.open(1, "p", "perp", side=side)
            life.fill(1, "p", entry_side, 1, 100)
            life.fill(6, "p", "sell" if side == "long" else "buy", 1, 102)
            life.until(7)
            p = life.position("p")
            if use_highs_lows:
                assert (p.mfe_price, p.mae_price) == (best[0], worst)
                assert p.optimal_exit_at == clock(best[1])
                assert p.optimal_exit_pnl == abs(best[0] - 100)
            else:
                closes = [101, 102, 103, 104]
                gains = [(c - 100) * (1 if side == "long" else -1) for c in closes]
                assert p.optimal_exit_pnl == max(gains)


def test_the_price_of_an_extreme_at_the_exit_is_that_of_the_closing_fill(life: Life) -> None:
    """A part sold before at 103; the rest, at 110, is the best moment."""
    life.marks("ETH", {0: 100, 1: 104, 2: 103, 3: 105})
    life.open(0, "p")
    life.fill(0, "p", "buy", 2, 100)
    life.fill(2, "p", "sell", 1, 103)
    life.fill(4, "p", "sell", 1, 110)
    life.until(5)
    p = life.position("p")
    assert (p.mfe, p.mfe_price, p.exit_price) == (13, 110, 106.5)


def test_a_candle_that_began_before_the_entry_lends_no_extreme(tmp_path: Path) -> None:
    """The candle of 6 to 7 ranges from 1700 to 2300, over before the entry at 6:54; after it the market stays at 2000."""
    life = Life(tmp_path, retrospective={"use_highs_lows": True})
    prices = dict.fromkeys(range(12), 2000.0)
    life.market("ETH/USDC", prices, dict.fromkeys(prices, (1995.0, 2010.0)) | {7: (1700.0, 2300.0)})
    life.trade("p", (6.9, 2000), (9.5, 2000))
    life.until(11)
    p = life.position("p")
    assert (p.mfe, p.mae, p.regret) == (10, -5, 10)


def test_without_a_mark_on_the_way_nobody_knows_how_good_or_bad_it_was(life: Life, retro: Retro) -> None:
    """2,000 to 2,020 and no mark between: a deepest loss of 0.00 would be a claim."""
    life.marks("ETH", {0: 2000})
    life.trade("p", (24, 2000), (72, 2020), risk=10)
    life.until(80)
    p = life.position("p")
    absent = ("mfe", "mae", "mfe_price", "mae_price", "mfe_r", "mae_r")
    assert [getattr(p, name) for name in absent] == [None] * 6
    assert {p.reasons[name] for name in absent} == {"no mark lies between its entry and its exit"}
    assert (p.final_pnl, p.pnl_r) == (20, 2)
    table = retro("--db", str(life.store.path), "positions", "--format", "csv").out
    row = next(csv.DictReader(io.StringIO(table)))
    assert [row[name] for name in ("mfe", "mae", "mfe_r", "mae_r")] == [""] * 4


def test_the_drawn_path_and_the_deepest_loss_agree_about_the_entry(life: Life) -> None:
    """A fee of 3 and a mark at 2,010: the entry itself is not on the way, so the path begins at 0 and mae is 0."""
    life.marks("ETH", {0: 2000, 1: 2010, 2: 2005})
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 2000, fee=3)
    life.fill(3, "p", "sell", 1, 2006)
    life.until(5)
    p = life.position("p")
    assert [point.pnl for point in p.path] == approx([0, 7, 2, 3])
    assert (p.mfe, p.mae) == approx((7, 0))
