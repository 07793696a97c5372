"""The weeks of marked money that bets are made on: what no way of closing can bend (numbers-amended 14 and 15)."""

from __future__ import annotations

from math import fsum

from retro.app.settlement.settle import settled_book
from retro.periods import week_of
from tests.worlds.lives import agent_of, settings_for
from tests.worlds.oracle import DAY, WEEK, Life, approx, instant, life

__all__ = ["life"]


def weeks_of(life: Life, heuristic: str = "H-1", role: str = "entry") -> dict[int, float]:
    """What each week of a life changed for a heuristic, by the week's place in the life."""
    first = week_of(instant(0), None)
    with settled_book(life.store, life.name, settings_for()(agent_of(life.store, life.name))) as book:
        history = book.history()
    sums: dict[int, list[float]] = {}
    for row in history.weeks:
        if history.names[row["name"]] == heuristic and row["exit"] == (role == "exit"):
            sums.setdefault(int(row["week"]) - first, []).append(float(row["change"]))
    return {week: fsum(changes) for week, changes in sorted(sums.items())}


def test_a_trade_within_a_week_is_that_week(life: Life) -> None:
    life.market("ETH/USDC", dict.fromkeys(range(2 * WEEK), 100.0))
    life.trade("p", (10, 100), (20, 107), cites=["H-1"])
    life.until(2 * WEEK)
    assert weeks_of(life) == {0: approx(7)}


def test_a_life_of_three_weeks_is_marked_at_the_end_of_each(life: Life) -> None:
    """Bought at 100; 110 on the first Sunday, 90 on the second, sold at 105: +10, -20, +15, in all the outcome."""
    marks = {h: 110.0 if h <= WEEK else 90.0 for h in range(DAY, 2 * WEEK + DAY)}
    life.market("ETH/USDC", {**dict.fromkeys(range(DAY), 100.0), **marks})
    life.trade("p", (10, 100), (2 * WEEK + 5, 105), cites=["H-1"])
    life.until(3 * WEEK)
    assert weeks_of(life) == {0: approx(10), 1: approx(-20), 2: approx(15)}


def test_what_nobody_closed_is_marked_too(life: Life) -> None:
    life.market("ETH/USDC", {h: 100.0 - h / DAY for h in range(3 * WEEK)})
    life.open(1, "p")
    life.fill(1, "p", "buy", 2, 100)
    life.tell(1, "decision", action="enter", position="p", cites=["H-1"])
    life.until(2 * WEEK + 1)
    first, second, third = (2 * (-7 * k) for k in (1, 2, 3))
    weeks = weeks_of(life)
    assert list(weeks) == [0, 1, 2]
    assert (weeks[0], weeks[1]) == (approx(first), approx(second - first))
    assert third < weeks[0] + weeks[1] + weeks[2] < second


def test_a_week_without_a_price_changes_nothing_and_the_next_has_both(life: Life) -> None:
    """No mark from the first Monday to the second Tuesday: the fall is known, and counted, in the second week."""
    life.market("ETH/USDC", {0: 100.0, 1: 100.0, WEEK + DAY: 80.0})
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.tell(1, "decision", action="enter", position="p", cites=["H-1"])
    life.until(2 * WEEK)
    assert weeks_of(life) == {0: 0, 1: approx(-20)}


def test_an_increase_is_marked_by_its_own_lots(life: Life) -> None:
    """H-2 bought one more at 120; the week ends at 110: it stands at -10 and H-1's whole position at 0; sold at 130."""
    life.market("ETH/USDC", dict.fromkeys(range(3 * WEEK), 110.0))
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.tell(1, "decision", action="enter", position="p", cites=["H-1"])
    life.tell(5, "decision", action="increase", position="p", cites=["H-2"])
    life.fill(5, "p", "buy", 1, 120)
    life.fill(WEEK + 5, "p", "sell", 2, 130)
    life.until(2 * WEEK)
    assert weeks_of(life) == {0: approx(0), 1: approx(40)}
    assert weeks_of(life, "H-2") == {0: approx(-10), 1: approx(20)}


def test_an_exit_is_marked_until_its_time_has_passed(life: Life) -> None:
    """Held for four days and left on Sunday at 100; 95 when the week ends, 104 four days later: +5, then -9."""
    exit_at = 6 * DAY + 12
    marks = {h: 100.0 if h <= exit_at else 95.0 if h <= WEEK else 104.0 for h in range(3 * WEEK)}
    life.market("ETH/USDC", marks)
    life.open(exit_at - 4 * DAY, "p")
    life.fill(exit_at - 4 * DAY, "p", "buy", 1, 100)
    life.fill(exit_at, "p", "sell", 1, 100)
    life.tell(exit_at, "decision", action="exit", position="p", cites=["H-9"])
    life.until(3 * WEEK)
    assert weeks_of(life, "H-9", "exit") == {0: approx(5), 1: approx(-9)}


def test_the_weeks_of_a_closed_position_add_up_to_its_outcome(life: Life) -> None:
    life.market("ETH/USDC", {h: 100.0 + h % 37 for h in range(5 * WEEK)})
    for i in range(6):
        life.trade(f"p-{i}", (i * 30, 100 + i), (WEEK * i // 2 + 40 + i * 30, 96 + 3 * i), cites=["H-1"])
    life.until(5 * WEEK)
    outcomes = [96 + 3 * i - (100 + i) for i in range(6)]
    assert fsum(weeks_of(life).values()) == approx(sum(outcomes))
