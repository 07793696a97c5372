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


def test_a_hold_has_no_part_in_what_was_made_before_it(life: Life) -> None:
    """Bought at 100; 110 when H-9 says hold, on the second Tuesday; 104 when the week ends, sold at 120."""
    said_at = WEEK + DAY + 12
    marks = {h: 100.0 + (10 if h > 30 else 0) for h in range(said_at + 1)}
    life.market("ETH/USDC", {**marks, **dict.fromkeys(range(said_at + 1, 3 * WEEK), 104.0)})
    life.trade("p", (10, 100), (2 * WEEK + 5, 120), cites=["H-1"])
    life.tell(said_at, "decision", action="hold", position="p", cites=["H-9"])
    life.until(3 * WEEK)
    assert weeks_of(life) == {0: approx(10), 1: approx(-6), 2: approx(16)}
    assert weeks_of(life, "H-9") == {1: approx(-6), 2: approx(16)}


def test_an_exit_has_no_part_in_what_pieces_avoided_that_left_before(life: Life) -> None:
    """Nine of ten sold at 100; the price falls; the last sold at 90, citing H-9, and nothing moves any more."""
    life.market("ETH/USDC", {h: 100.0 if h < WEEK else 90.0 for h in range(5 * WEEK)})
    life.open(10, "p")
    life.fill(10, "p", "buy", 10, 100)
    life.fill(50, "p", "sell", 9, 100)
    life.fill(WEEK + 50, "p", "sell", 1, 90)
    life.tell(WEEK + 50, "decision", action="exit", position="p", cites=["H-9"])
    life.until(5 * WEEK)
    assert not any(weeks_of(life, "H-9", "exit").values())


def test_a_week_is_measured_by_what_was_in_when_it_began(life: Life) -> None:
    """100 put in, -10 by Sunday: -1,000 basis points; 900 more on the tenth day measure the weeks after."""
    life.market(
        "ETH/USDC",
        {h: 100.0 if h < 40 else 90.0 for h in range(WEEK)} | dict.fromkeys(range(WEEK, 3 * WEEK), 90.0),
    )
    life.open(10, "p")
    life.tell(10, "decision", action="enter", position="p", cites=["H-1"])
    life.fill(10, "p", "buy", 1, 100)
    life.fill(10 * DAY, "p", "buy", 10, 90)
    life.fill(2 * WEEK + 5, "p", "sell", 11, 95)
    life.until(3 * WEEK)
    with settled_book(life.store, life.name, settings_for()(agent_of(life.store, life.name))) as book:
        history = book.history()
    first, last = (row for row in history.weeks if history.names[row["name"]] == "H-1")
    assert (first["change"], first["notional"]) == (approx(-10), approx(100))
    assert (last["change"], last["notional"]) == (approx(55), approx(1000))
