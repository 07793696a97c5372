"""Hindsight proves nothing: what is dated, changed or told after the fact moves no evidence, and the page says so."""

from __future__ import annotations

import io
import json
from contextlib import closing
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from retro.app.intake.ingest import IngestTerms, ingest
from retro.ingest.journal import reader as journal
from retro.periods import parse_instant
from retro.present.page.report import page_of_report
from retro.store.database import open_store
from tests.worlds.lives import LATER, report, settings_for
from tests.worlds.oracle import DAY, WEEK, Life, approx, clock, instant, life, life_of, row_of

__all__ = ["life"]
LOSSES = [-4.0, -6.0, -5.0, -7.0, -3.0, -5.5, -6.5, -4.5, -5.0, -6.0, -4.0, -7.0, -5.0, -6.0, -4.5, -5.5]
"""What sixteen trades by a losing rule made, one a day: average -5.25, every interval below 0."""
GAINS = [20.0 + i for i in range(12)]
"""What twelve trades without a citation made, on the first twelve of those days."""


def losing_rule(life: Life) -> None:
    """Sixteen losers that cite H-1, twelve winners that cite nothing; one of each a day."""
    for day, loss in enumerate(LOSSES):
        life.trade(f"lost-{day}", (day * DAY + 1, 100), (day * DAY + 3, 100 + loss), cites=["H-1"])
    for day, gain in enumerate(GAINS):
        life.trade(f"won-{day}", (day * DAY + 5, 100), (day * DAY + 7, 100 + gain))


def a_week_before(life: Life) -> None:
    """Thirteen rules that make 1 or lose 1 in the week before: by them bets know what a large week is."""
    for i in range(13):
        at = i * 10 - WEEK
        life.trade(f"small-{i}", (at, 100), (at + 1, 100 + (-1) ** i), cites=[f"S-{i}"])


def told_again(life: Life, *corrections: dict[str, Any], now: int | None = None) -> None:
    """A second reading that replaces what the first said."""
    lines = io.BytesIO(b"".join(json.dumps(event).encode() + b"\n" for event in corrections))
    terms = IngestTerms(replace="the agent says otherwise")
    batches = journal.read(lines, "again.jsonl", now=LATER)
    assert ingest(life.store, "again.jsonl", batches, settings_for(), terms, now=now).clean


def test_holds_dated_after_the_winners_were_closed_move_no_evidence(life: Life) -> None:
    """The attack of the issue: twelve `hold` decisions that cite the losing rule for what has won already."""
    a_week_before(life)
    losing_rule(life)
    for day in range(12):
        life.tell(day * DAY + 8, "decision", action="hold", position=f"won-{day}", cites=["H-1"])
    life.until(3 * WEEK)
    row = row_of(life.span(0, 3 * WEEK), "H-1")
    assert (row.recommendation.kind, row.evidence) == ("demote", "supported")
    assert (row.evidence_n, row.evaluated_count) == (16, 16)
    assert row.associated_pnl == approx(fsum(LOSSES))
    assert (row.citation_count, row.after_the_fact_count) == (28, 12)
    assert row.after_the_fact_pnl == approx(fsum(GAINS))


def test_a_hold_at_the_instant_of_the_exit_still_counts(life: Life) -> None:
    life.trade("p", (0, 100), (5, 110))
    life.tell(5, "decision", action="hold", position="p", cites=["H-1"])
    life.until(10)
    row = row_of(life.week(), "H-1")
    assert (row.evaluated_count, row.after_the_fact_count, row.associated_pnl) == (1, 0, 10)


def test_an_entry_dated_after_the_last_fill_it_could_explain_is_no_evidence(life: Life) -> None:
    """In at 0 and again at 2: a decision at 2 explains the second fill, one at 3 none."""
    life.open(0, "p")
    life.fill(0, "p", "buy", 1, 100)
    life.fill(2, "p", "buy", 1, 100)
    life.tell(2, "decision", action="enter", position="p", cites=["H-1"])
    life.tell(3, "decision", action="enter", position="p", cites=["H-2"])
    life.fill(5, "p", "sell", 2, 110)
    life.until(10)
    early, late = (row_of(life.week(), name) for name in ("H-1", "H-2"))
    assert (early.evaluated_count, early.associated_pnl, early.after_the_fact_count) == (1, 20, 0)
    assert (late.evaluated_count, late.citation_count, late.after_the_fact_count) == (0, 1, 1)
    assert late.after_the_fact_pnl == 20


def test_an_exit_dated_after_its_fill_is_no_evidence(life: Life) -> None:
    life.marks("ETH", dict.fromkeys(range(10), 100) | {10: 90})
    life.trade("p", (0, 100), (5, 100))
    life.tell(6, "decision", action="exit", position="p", cites=["H-15"])
    life.until(12)
    row = row_of(life.week(), "H-15", "exit")
    assert (row.evaluated_count, row.after_the_fact_count, row.after_the_fact_pnl) == (0, 1, 10)


def test_what_a_pool_was_entered_for_must_precede_the_deposit(life: Life) -> None:
    life.open(0, "l", "lending", instrument="USDC")
    life.flow(0, "l", "deposit", "USDC", 100)
    life.tell(1, "decision", action="enter", position="l", cites=["H-1"])
    life.flow(5, "l", "withdrawal", "USDC", 103)
    life.tell(5, "exit", position="l")
    life.until(10)
    row = row_of(life.week(), "H-1")
    assert (row.evaluated_count, row.after_the_fact_count) == (0, 1)


def test_a_correction_after_the_exit_leaves_the_evidence_as_it_was(life: Life) -> None:
    """The loser said H-1 when it was entered; told to have been H-2 all along, H-1 keeps the loss and H-2 gets none."""
    life.trade("p", (0, 100), (5, 90), cites=["H-1"])
    life.until(10)
    entered = next(event for event in life.events if event.get("cites"))
    before = row_of(life.week(), "H-1").associated_pnl
    told_again(life, {**entered, "cites": ["H-2"]})
    document = life.week()
    one, two = row_of(document, "H-1"), row_of(document, "H-2")
    assert (before, one.associated_pnl, one.evaluated_count) == (-10, -10, 1)
    assert (two.evaluated_count, two.after_the_fact_count, two.after_the_fact_pnl) == (0, 1, -10)


def test_a_correction_before_the_exit_is_a_correction(life: Life) -> None:
    """By the clock it came an hour into the position, which closed after five."""
    life.trade("p", (0, 100), (5, 90), cites=["H-1"])
    life.until(10)
    entered = next(event for event in life.events if event.get("cites"))
    told_again(life, {**entered, "cites": ["H-2"]}, now=instant(1))
    rows = {row.heuristic_id: row for row in life.week().heuristic_performance}
    assert rows.keys() == {"H-2"}
    assert (rows["H-2"].associated_pnl, rows["H-2"].after_the_fact_count) == (-10, 0)


def test_a_decision_moved_to_a_winner_after_the_fact_stays_with_its_loser(life: Life) -> None:
    life.trade("lost", (0, 100), (5, 90), cites=["H-1"])
    life.trade("won", (1, 100), (6, 130))
    life.until(10)
    entered = next(event for event in life.events if event.get("cites"))
    told_again(life, {**entered, "position": "won"})
    row = row_of(life.week(), "H-1")
    assert (row.evaluated_count, row.associated_pnl) == (1, -10)
    assert (row.after_the_fact_count, row.after_the_fact_pnl) == (1, 30)


@pytest.mark.parametrize(("now", "share"), [(None, 1.0), (instant(20 * DAY), 1.0), (instant(2), 0.0)])
def test_the_share_told_late_is_that_of_outcomes_known_before_their_citation_was(
    tmp_path: Path, now: int | None, share: float
) -> None:
    """An imported history is told late whole; told two hours in, before the exit at 5, it is told in time."""
    life = Life(tmp_path)
    life.trade("p", (1, 100), (5, 110), cites=["H-1"])
    life.until(10)
    with closing(open_store(str(tmp_path / "clock.db"))) as store:
        batches = journal.read(io.BytesIO(life.lines()), "life.jsonl", now=LATER)
        ingest(store, "life.jsonl", batches, settings_for(), now=now)
        assert row_of(report(store, "a", at=instant(84)), "H-1").told_late == share


def test_entries_told_later_and_dated_back_are_shown_as_told_late(tmp_path: Path) -> None:
    """The second attack: read as it lives, the losing rule is demoted; twelve citations told at the end say otherwise."""
    life = Life(tmp_path)
    losing_rule(life)
    life.until(3 * WEEK)
    with closing(open_store(str(tmp_path / "attacked.db"))) as store:
        for day in range(len(LOSSES)):
            own = [e for e in life.events if instant(day * DAY) <= instant_of(e) < instant((day + 1) * DAY)]
            at_once = [e for e in own if instant_of(e) < instant(day * DAY + 3)]
            for part, hour in ((at_once, 2), ([e for e in own if e not in at_once], 8)):
                tell(store, part, now=instant(day * DAY + hour))
        tell(store, life.events[-1:], now=instant(3 * WEEK))
        honest = row_of(report(store, "a", span=(instant(0), instant(3 * WEEK))), "H-1")
        assert (honest.recommendation.kind, honest.told_late) == ("demote", 0.0)
        back_dated = [
            {"type": "decision", "id": f"x{day}", "agent": "a", "action": "enter", "position": f"won-{day}",
             "at": next(e["at"] for e in life.events if e.get("position") == f"won-{day}"), "cites": ["H-1"]}
            for day in range(12)
        ]  # fmt: skip
        tell(store, back_dated, now=instant(3 * WEEK))
        attacked = row_of(report(store, "a", span=(instant(0), instant(3 * WEEK))), "H-1")
        assert (attacked.evidence_n, attacked.told_late) == (28, approx(12 / 28))
        assert "demote by the 16 cited before they were known" in attacked.recommendation.reason


def instant_of(event: dict[str, Any]) -> int:
    return parse_instant(event["at"])


def tell(store: Any, events: list[dict[str, Any]], now: int) -> None:
    lines = io.BytesIO(b"".join(json.dumps(event).encode() + b"\n" for event in events))
    assert ingest(
        store, "live.jsonl", journal.read(lines, "live.jsonl", now=LATER), settings_for(), now=now
    ).clean


def test_a_dust_fill_flags_nothing(life: Life) -> None:
    """1e-12 at twice the market: the loser stays in the audit, whole."""
    life.market("ETH/USDC", dict.fromkeys(range(24), 100.0))
    life.open(1, "p")
    life.tell(1, "decision", action="enter", position="p", cites=["H-1"])
    life.fill(1, "p", "buy", 1, 100)
    life.fill(2, "p", "buy", "0.000000000001", 200)
    life.fill(5, "p", "sell", "1.000000000001", 95)
    life.until(20)
    document = life.week()
    assert document.data_quality.implausible == []
    assert "implausible" not in life_of(document, "p").flags
    assert row_of(document, "H-1").associated_pnl == approx(-5)


def test_a_fill_that_is_no_dust_still_flags(life: Life) -> None:
    life.market("ETH/USDC", dict.fromkeys(range(24), 100.0))
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.fill(2, "p", "buy", "0.001", 200)
    life.fill(5, "p", "sell", "1.001", 95)
    life.until(20)
    assert [row.position_id for row in life.week().data_quality.implausible] == ["p"]


def test_risk_stated_after_the_entry_is_no_r(tmp_path: Path) -> None:
    """The same loss of 10: -1 R of the 10 stated at entry; a `position` told an hour later states no R."""
    for late, expected in ((0, -1.0), (1, None)):
        life = Life(tmp_path, f"a{late}")
        life.open(late, "p", risk=10)
        life.fill(0, "p", "buy", 1, 100)
        life.fill(5, "p", "sell", 1, 90)
        life.until(10)
        p = life_of(life.week(), "p")
        assert p.pnl_r == expected
        assert expected is not None or "after the entry" in p.reasons["pnl_r"]


def test_risk_corrected_after_the_entry_leaves_r_as_it_was_stated(life: Life) -> None:
    """A loss of 10 on a risk of 10 is -1 R; told to have risked 100 all along it would have been -0.1."""
    life.trade("p", (0, 100), (5, 90), risk=10)
    life.until(10)
    opened = next(event for event in life.events if event["type"] == "position")
    told_again(life, {**opened, "risk": 100})
    assert life_of(life.week(), "p").pnl_r == -1


def test_a_prediction_dated_after_its_target_is_not_judged(life: Life) -> None:
    """Three that say 1.0 and got it: before the target, at it, and after it."""
    for i, (at, target) in enumerate(((1, 5), (5, 5), (6, 5))):
        life.tell(at, "prediction", id=f"f{i}", predicted=1.0, low=0.5, high=1.5, target_at=clock(target))
        life.tell(8, "resolution", prediction=f"f{i}", actual=1.0)
    life.tell(9, "prediction", id="late", predicted=1.0)
    life.tell(8, "resolution", prediction="late", actual=1.0)
    life.until(10)
    accuracy = life.week().prediction_accuracy
    assert (accuracy.total, accuracy.judged, accuracy.hits) == (4, 2, 2)
    assert accuracy.after_the_fact == 2
    assert accuracy.mean_residual == 0


def test_the_page_says_what_was_left_out_and_whom_it_would_have_helped(life: Life) -> None:
    losing_rule(life)
    for day in range(12):
        life.tell(day * DAY + 8, "decision", action="hold", position=f"won-{day}", cites=["H-1"])
    life.until(3 * WEEK)
    page = repr(page_of_report(life.span(0, 3 * WEEK)))
    assert "12 citations left out: dated, or changed, after the fact; would have helped it by" in page
