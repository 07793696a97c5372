"""What accrued to a spot position and nobody withdrew: it leaves with the last fill, whatever is told of it later.

Each is worked by hand. Hours count from a Monday, 2026-01-05. 1 ETH is bought at 2,000, earns 0.1 ETH, is sold at 2,100.
"""

from __future__ import annotations

from tests.definitions.sums.parts import totals
from tests.worlds.oracle import Life, approx, life

__all__ = ["life"]


def earned(life: Life) -> None:
    """100 of the trade; the interest was worth 200 when it came, and is worth 10 more at the last fill."""
    life.tell(0, "equity", balances={"USDC": 10000})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 2000)
    life.flow(5, "p", "interest", "ETH", "0.1")
    life.fill(20, "p", "sell", 1, 2100)
    life.market("ETH/USDC", {0: 2000, 20: 2100, 23: 2200, 40: 2300, 47: 2500, 90: 2600})


def test_a_cost_told_after_the_last_fill_keeps_nothing_inside(life: Life) -> None:
    """Data for it is paid at exactly Tuesday's end: the interest left on Monday all the same."""
    earned(life)
    life.tell(48, "cost", kind="data", position="p", amount=5)
    life.until(96)
    assert totals(life) == approx([310, 0, -5, 0])
    assert life.week().pnl.total == approx(305)
    assert [edge.equity for edge in life.week().equity[:5]] == approx([0, 10310, 10310, 10305, 10305])
    assert life.position("p").final_pnl == approx(310)


def test_what_accrues_after_the_last_fill_leaves_at_once(life: Life) -> None:
    """Another 0.1 ETH on Wednesday morning, at 2,500: the first 0.1 had stayed until then, and made 40 more."""
    earned(life)
    life.flow(50, "p", "interest", "ETH", "0.1")
    life.until(96)
    assert totals(life) == approx([310, 0, 290, 0])
    assert life.week().pnl.total == approx(600)


def test_a_withdrawal_told_after_the_last_fill_is_of_what_accrued(life: Life) -> None:
    """Taken out on Wednesday morning, at 2,500: it had stayed until then, and made 40 more."""
    earned(life)
    life.flow(50, "p", "withdrawal", "ETH", "0.1")
    life.until(96)
    assert totals(life) == approx([310, 0, 40, 0])
    assert life.week().pnl.total == approx(350)
    assert life.position("p").final_pnl == approx(350)
