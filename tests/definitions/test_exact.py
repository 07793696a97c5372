"""Exactly is exactly: what decimals make equal stays equal, whatever float64 makes of it on the way."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.worlds.oracle import DAY, WEEK, Life, components, life, life_of, row_of

__all__ = ["life"]


@pytest.mark.parametrize(
    "losses", [("4.34", "4.11", "-5.45"), ("2.54", "3.90", "-3.44"), ("2.31", "2.42", "-1.73")]
)
def test_an_average_of_exactly_the_demote_threshold_is_investigated(
    life: Life, losses: tuple[str, str, str]
) -> None:
    """Bought at 100.37 and sold so that the three lose 3.00 together: -1.00 each, in decimals."""
    for i, loss in enumerate(losses):
        exit_price = float(Decimal("100.37") - Decimal(loss))
        life.trade(f"p{i}", (DAY * i, 100.37), (DAY * i + 2, exit_price), cites=["H-1"])
    life.until(WEEK)
    assert row_of(life.week(), "H-1").recommendation.kind == "investigate"


def test_an_average_of_exactly_the_investigate_threshold_is_kept(life: Life) -> None:
    for i, gain in enumerate(("0.31", "0.42", "0.77")):
        exit_price = float(Decimal("100.37") + Decimal(gain))
        life.trade(f"p{i}", (DAY * i, 100.37), (DAY * i + 2, exit_price), cites=["H-1"])
    life.until(WEEK)
    assert row_of(life.week(), "H-1").recommendation.kind == "keep"


@pytest.mark.parametrize("method", ["fifo", "average"])
def test_pieces_sold_together_at_their_price_made_nothing(tmp_path: Path, method: str) -> None:
    """0.1 and 0.2, 0.7 and 0.1: bought and sold at one price they are no win, no loss and in no part of the score."""
    life = Life(tmp_path, retrospective={"lot_method": method})
    for i, (first, second, price) in enumerate(
        (("0.1", "0.2", 10.1), ("0.7", "0.1", 33.3), ("0.3", "0.6", 0.7))
    ):
        life.open(DAY * i, f"p{i}")
        life.tell(DAY * i, "decision", action="enter", position=f"p{i}", cites=["H-1"])
        life.fill(DAY * i, f"p{i}", "buy", first, price)
        life.fill(DAY * i + 1, f"p{i}", "buy", second, price)
        life.fill(DAY * i + 2, f"p{i}", "sell", str(Decimal(first) + Decimal(second)), price)
    life.until(WEEK)
    week = life.week()
    assert [p.final_pnl for p in week.positions] == [0, 0, 0]
    assert components(week.pnl) == {}
    assert row_of(week, "H-1").win_rate == 0
    assert week.effectiveness.inaction_superiority_rate == 0
    assert week.effectiveness.score_parts == {}


@pytest.mark.parametrize(("before", "after"), [(3001.37, 2955.91), (1999.99, 2001.01), (0.07, 0.71)])
def test_lending_what_was_given_up_is_exactly_as_good_as_keeping_it(
    life: Life, before: float, after: float
) -> None:
    """3.3 ETH given up, lent and taken back without interest: exactly 0 is not inferior, and no win."""
    life.open(1, "p", "lending", instrument="ETH", funded_with={"ETH": "3.3"})
    life.marks("ETH", {1: before, 20: after})
    life.flow(1, "p", "deposit", "ETH", "3.3")
    life.flow(20, "p", "withdrawal", "ETH", "3.3")
    life.tell(20, "exit", position="p")
    life.until(WEEK)
    week = life.week()
    assert life_of(week, "p").vs_inaction == 0
    assert week.effectiveness.inaction_superiority_rate == 0
    assert "vs_inaction" not in week.effectiveness.score_parts


def test_the_smallest_of_quantities_still_wins_and_loses(life: Life) -> None:
    """A wei at 60,000: a thousandth of a femtodollar is no rounding when it is five percent of the position."""
    life.open(0, "p")
    life.fill(0, "p", "buy", "1e-18", 60000)
    life.tell(0, "decision", action="enter", position="p", cites=["H-1"])
    life.fill(5, "p", "sell", "1e-18", 63000)
    life.until(WEEK)
    week = life.week()
    assert life_of(week, "p").final_pnl == pytest.approx(3e-15)
    assert row_of(week, "H-1").win_rate == 1
