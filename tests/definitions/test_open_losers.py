"""Losers that are never closed: the row names them, and its reason where they change the sign."""

from __future__ import annotations

from retro.app.settlement.audit import audit_life
from retro.app.settlement.settle import settled_book
from tests.worlds.lives import agent_of, settings_for
from tests.worlds.oracle import DAY, WEEK, Life, approx, life, row_of

__all__ = ["life"]


def bags(life: Life, closed: int, price: float) -> float:
    """Winners of 5 that are closed, and five entries at 100 that are kept while the price goes to `price`."""
    life.market("ETH/USDC", {h: 100.0 if h < 5 * DAY else price for h in range(WEEK + 1)})
    for i in range(closed):
        life.trade(f"won-{i}", (i * 5, 100), (i * 5 + 1, 105), cites=["H-1"])
    for i in range(5):
        life.open(i * DAY + 2, f"kept-{i}")
        life.fill(i * DAY + 2, f"kept-{i}", "buy", 1, 100)
        life.tell(i * DAY + 2, "decision", action="enter", position=f"kept-{i}", cites=["H-1"])
    life.until(WEEK - 1)
    return 5 * (price - 100)


def test_open_losers_that_change_the_sign_stand_in_the_reason(life: Life) -> None:
    """Twenty winners, +100, and five at 60 that nobody closed, -200: "keep" is said with what is not counted."""
    level = bags(life, 20, 60)
    row = row_of(life.week(), "H-1")
    assert (row.evaluated_count, row.associated_pnl, row.recommendation.kind) == (20, 100, "keep")
    assert (row.open_count, row.open_pnl) == (5, approx(level))
    assert row.recommendation.reason.endswith(
        "; with its 5 open positions at -200.00 the sum of +100.00 is -100.00"
    )
    with settled_book(life.store, life.name, settings_for()(agent_of(life.store, life.name))) as book:
        (whole,) = audit_life(book)
    assert (whole.open_count, whole.open_pnl) == (5, approx(level))
    assert "5 open positions" in whole.recommendation.reason


def test_open_positions_that_change_no_sign_are_in_the_row_alone(life: Life) -> None:
    level = bags(life, 20, 90)
    row = row_of(life.week(), "H-1")
    assert (row.open_count, row.open_pnl) == (5, approx(level))
    assert "open" not in row.recommendation.reason


def test_what_is_closed_after_the_period_was_open_in_it(life: Life) -> None:
    life.market("ETH/USDC", {h: 100.0 if h < 20 else 90.0 for h in range(60)})
    life.trade("p", (1, 100), (30, 90), cites=["H-1"])
    life.until(48)
    monday, tuesday = row_of(life.day(0), "H-1"), row_of(life.day(1), "H-1")
    assert (monday.open_count, monday.open_pnl) == (1, -10)
    assert (tuesday.open_count, tuesday.open_pnl) == (0, None)


def test_an_exit_row_has_no_open_positions(life: Life) -> None:
    life.marks("ETH", dict.fromkeys(range(24), 100))
    life.open(0, "p")
    life.fill(0, "p", "buy", 2, 100)
    life.fill(5, "p", "sell", 1, 100)
    life.tell(5, "decision", action="reduce", position="p", cites=["H-15"])
    life.until(20)
    row = row_of(life.week(), "H-15", "exit")
    assert (row.open_count, row.open_pnl) == (0, None)
