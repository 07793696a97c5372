"""Losers that are never closed: the row names them, and its reason where they change the sign."""

from __future__ import annotations

import pytest

from retro.app.settlement.audit import audit_life
from retro.app.settlement.settle import settled_book
from retro.evaluate.weeks import life_of as weeks_of
from retro.narrate.plain import words
from retro.narrate.slots import report_slots
from retro.present.page.answers import answers_of_report
from retro.present.page.report import money_of_report, page_of_report
from retro.present.page.revision import changes
from retro.present.text.page import text_of
from retro.report import RetrospectiveReport
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


def page_text(report: RetrospectiveReport) -> str:
    return " ".join(text_of(page_of_report(report)).split())


def test_no_page_mail_or_sentence_tells_of_closed_positions_alone(life: Life) -> None:
    """Twenty closed at +100 beside five at -200: whoever reads the one reads the other, and it is no gain."""
    bags(life, 20, 60)
    week = life.week()
    assert (week.effectiveness.sum_vs_inaction, week.effectiveness.closed_positions) == (100, 20)
    assert (week.open_positions.size, week.open_positions.pnl) == (5, approx(-200))
    both, standing = "closed +100.00, open -200.00 USDC", "5 open positions stand at -200.00 USDC"
    facts = {fact.label: fact for fact in page_of_report(week).headline.facts}
    headline = facts["Against doing nothing"]
    assert (headline.value, headline.tone) == (both, "down")
    assert f"over 20 closed positions, {standing}" in headline.note
    page = page_text(week)
    assert page.count(f"Against doing nothing {both}") == 2  # the headline and its section
    assert f"In none of it: {standing}." in page  # the breakdowns, with what they say was won
    money = money_of_report(week)
    answer = answers_of_report(week, money)[0]
    assert (answer.answer, answer.tone) == (f"Closed{both.removeprefix('closed')}", "down")
    assert standing in answer.note
    sentence = next(s for s in words(week).what_worked.split(". ") if "beat doing nothing" in s)
    assert sentence.endswith(f"over 20 closed positions; {standing}")
    slots = report_slots(week).by_name
    for name in ("vs_inaction.sum", "inaction_superiority_rate"):
        assert slots[name].text.endswith(f"20 closed positions ({standing})")
    assert f"won and vs inaction are of closed ones, {standing}" in page_text(weeks_of(week))


def test_an_open_gain_makes_no_closed_loss_look_good(life: Life) -> None:
    """One closed at -5, five open at +200."""
    bags(life, 0, 140)
    life.events.pop()  # until
    life.trade("lost", (1, 100), (4, 95))
    life.until(WEEK - 1)
    facts = {fact.label: fact for fact in page_of_report(life.week()).headline.facts}
    headline = facts["Against doing nothing"]
    assert (headline.value, headline.tone) == ("closed -5.00, open +200.00 USDC", "down")


def test_where_nothing_was_closed_the_open_ones_are_told_all_the_same(life: Life) -> None:
    bags(life, 0, 60)
    page = page_text(life.week())
    assert "no position was closed in the period; 5 open positions stand at -200.00 USDC" in page


def test_without_an_open_position_nothing_is_said_of_any(life: Life) -> None:
    life.trade("p", (1, 100), (5, 105))
    life.until(WEEK - 1)
    week = life.week()
    facts = {fact.label: fact for fact in page_of_report(week).headline.facts}
    assert facts["Against doing nothing"].value == "+5.00 USDC"
    assert "open position" not in page_text(week)


def test_what_a_revision_changes_tells_both(life: Life) -> None:
    bags(life, 20, 60)
    week = life.week()
    kept = [p for p in week.positions if p.position_id != "kept-4"]
    (change,) = [
        c
        for c in changes(week.model_copy(update={"positions": kept}), week)
        if c.label == "Against doing nothing"
    ]
    assert (change.before, change.after) == (
        "closed +100.00, open -160.00 USDC",
        "closed +100.00, open -200.00 USDC",
    )


@pytest.mark.parametrize("side", ["long", "short"])
@pytest.mark.parametrize(
    ("out", "open_"), [("10", False), ("9.999999999995", False), ("9.99999999998", True), ("9.999", True)]
)
def test_a_remainder_of_rounding_is_closed_and_any_larger_one_open(
    life: Life, side: str, out: str, open_: bool
) -> None:
    """Of 10 that were opened 1e-12 is 1e-11: 5e-12 left is rounding, 2e-11 is held, on either side."""
    enter, leave = ("buy", "sell") if side == "long" else ("sell", "buy")
    life.market("ETH/USDC:USDC", dict.fromkeys(range(10), 100))
    life.open(0, "p", "perp", side=side)
    life.fill(0, "p", enter, 10, 100)
    life.fill(5, "p", leave, out, 101)
    life.until(9)
    assert life.position("p").open is open_
