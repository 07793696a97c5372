"""One position with thousands of events: twice as many are twice the work, of whatever kind they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.worlds.oracle import DAY, Life, approx, life
from tests.worlds.steps import settle_anew, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["life"]

_SPAN = 6.0 * DAY
_TWICE = 2.2
"""Of work that grows with its size; what grows with its square comes to more."""


def turns(life: Life, count: int) -> None:
    """In and out again, each time for a reason that is cited."""
    life.open(0, "p", risk=15)
    for i in range(count):
        at, leave = _SPAN * i / count, _SPAN * (i + 0.5) / count
        life.tell(at, "decision", position="p", action="increase" if i else "enter", cites=[f"H-{i % 3}"])
        life.fill(at, "p", "buy", 1, 100 + i % 7)
        life.tell(leave, "decision", position="p", action="exit", cites=["X-1"])
        life.fill(leave, "p", "sell", 1, 100 + i % 5)
        life.tell(leave, "exit", position="p", reason="out")


def marked_exits(life: Life, count: int) -> None:
    """Half is sold at each exit; the rest leaves at its mark and comes back."""
    life.open(0, "p")
    for i in range(count):
        at, leave = _SPAN * i / count, _SPAN * (i + 0.5) / count
        life.fill(at, "p", "buy", 2, 100 + i % 7)
        life.fill(leave, "p", "sell", 1, 100 + i % 5)
        life.tell(leave, "exit", position="p", reason="out")


def pool(life: Life, count: int) -> None:
    """Liquidity put in, fees, some taken out, gas."""
    life.open(0, "p", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=50, upper=200)
    for i in range(count):
        at = _SPAN * i / count
        if i % 3:
            kind = "lp_fee" if i % 3 == 1 else "withdrawal"
            life.flow(at, "p", kind, "ETH", "0.01")
        else:
            life.flow(at, "p", "deposit", "ETH", 1)
            life.flow(at, "p", "deposit", "USDC", 100)
        life.tell(at, "cost", kind="gas", amount="0.1", position="p")


def snapshots(life: Life, count: int, **fields: object) -> None:
    """A pool of which the agent tells the state, again and again."""
    life.open(0, "p", "lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=50, upper=200)
    life.flow(0, "p", "deposit", "ETH", 1)
    life.flow(0, "p", "deposit", "USDC", 100)
    for i in range(1, count):
        state = {"ETH": f"{1 + i % 5 / 100}", "USDC": 100 - i % 7}
        claimable = {"ETH": f"{i / 1_000_000:f}"}
        life.tell(_SPAN * i / count, "snapshot", position="p", holdings=state, claimable=claimable, **fields)


def funded(life: Life, count: int) -> None:
    """A perp that pays funding."""
    life.open(0, "p", "perp")
    life.fill(0, "p", "buy", 1, 100)
    for i in range(1, count):
        life.flow(_SPAN * i / count, "p", "funding_paid" if i % 3 else "funding_received", "USDC", "0.05")


def loan(life: Life, count: int) -> None:
    """Lent and borrowed on, with interest both ways."""
    life.open(0, "p", "lending", instrument="ETH")
    life.flow(0, "p", "deposit", "ETH", 50)
    kinds = (
        ("withdrawal", "USDC", 100),
        ("borrow_interest", "USDC", 1),
        ("deposit", "USDC", 99),
        ("interest", "ETH", 1),
    )
    for i in range(1, count):
        life.flow(_SPAN * i / count, "p", *kinds[i % 4])


FAMILIES: dict[str, Callable[[Life, int], None]] = {
    "turns": turns,
    "marked exits": marked_exits,
    "a pool": pool,
    "states": snapshots,
    "states with a value": partial(snapshots, value=200),
    "funding": funded,
    "a loan": loan,
}


def long_life(folder: Path, family: str, count: int) -> Life:
    """A life of one position, marked every hour, settled."""
    life = Life(folder, f"a{count}")
    life.tell(0, "external", quantity=100_000)
    life.market("ETH/USDC", [100 + h % 13 for h in range(8 * DAY)])
    FAMILIES[family](life, count)
    life.until(8 * DAY)
    assert life.store
    return life


@pytest.mark.parametrize("family", FAMILIES)
def test_twice_the_events_are_twice_the_work(tmp_path: Path, family: str) -> None:
    """Settling, the position's review and the week's."""
    lives = [long_life(tmp_path, family, count) for count in (200, 400)]
    for work in (settle_anew, lambda life: life.position("p"), Life.week):
        few, many = (steps_of(partial(work, life)) for life in lives)
        assert many <= _TWICE * few, (work, few, many)


def test_what_an_exit_sent_away_at_its_mark_is_told_apart_from_a_fill_like_it(life: Life) -> None:
    """2 bought at 100, 1 sold at 110 and the exit sends the other away at the mark, 110, too; it is then told sold at 130.

    Only the second left at 130: on average they left at 120.
    """
    life.market("ETH/USDC", {0: 100, 5: 110, 40: 130})
    life.open(0, "p")
    life.fill(0, "p", "buy", 2, 100)
    life.fill(10, "p", "sell", 1, 110)
    life.tell(10, "exit", position="p")
    life.fill(40, "p", "sell", 1, 130)
    life.until(4 * DAY)
    document = life.position("p")
    assert document.final_pnl == approx(40)
    assert document.exit_price == approx(120)
