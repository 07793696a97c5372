"""Evidence that holds at every look, through the audit: against bets reckoned here by hand, week by week (evidence.md)."""

from __future__ import annotations

import json
import math
import random
from math import fsum
from typing import TYPE_CHECKING, Any

import pytest

from retro.app.intake.ingest import ingest
from retro.app.questions.audit import audited, ripening, row_document
from retro.app.settlement.settle import settled_book
from retro.model import Batch
from retro.store.books import positions
from retro.store.database import open_store
from tests.worlds.lives import agent_of, live, settings_for
from tests.worlds.oracle import WEEK, Life, approx, clock, instant, life

if TYPE_CHECKING:
    from pathlib import Path

    from retro.store.database import Store

__all__ = ["life"]

STAKES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)


def wealth(x: list[float], bound: float) -> float:
    """E against, straight from its definition."""
    return fsum(math.prod(1 - c * min(v, bound) / bound for v in x) for c in STAKES) / 7


def traded(life: Life, outcomes: dict[str, list[list[float]]]) -> None:
    """One trade for each outcome of each label and week, closed within the week, on a flat market."""
    weeks = max(len(of) for of in outcomes.values())
    for week in range(weeks):
        for k, (label, of) in enumerate(sorted(outcomes.items())):
            for i, pnl in enumerate(of[week] if week < len(of) else ()):
                at = week * WEEK + 3 * k + 20 * i + 1
                life.trade(f"{label}-{week}-{i}", (at, 100), (at + 1, 100 + pnl), cites=[label])
    life.until(weeks * WEEK)


def rows_of(life: Life, **question: Any) -> dict[str, dict[str, Any]]:
    """The rows of the audit with their weeks, by heuristic, entries only."""
    settings = settings_for(life.configuration)(agent_of(life.store, life.name))
    answer = audited(life.store, agent_of(life.store, life.name), settings, history=True, **question)
    rows = [row_document(row, weeks) for row, weeks in zip(answer.rows, answer.weeks, strict=True)]
    return {row["heuristic_id"]: row for row in rows if row["role"] == "entry"}


def draws(seed: int, weeks: int, mean: float, a_week: int = 2) -> list[list[float]]:
    rng = random.Random(seed)
    return [[round(rng.gauss(mean, 2), 2) for _ in range(a_week)] for _ in range(weeks)]


def test_a_rule_is_bet_on_with_a_bound_fixed_before_the_first_bet(life: Life) -> None:
    """A and B make 26 sums in 13 weeks; C begins in week 9, when 18 are known: B is 3 rms of those, for ever."""
    outcomes: dict[str, list[list[float]]] = {
        "A": draws(1, 13, 0.3),
        "B": draws(2, 13, -1.5),
        "C": [[]] * 9 + draws(3, 4, -3.0),
    }
    traded(life, outcomes)
    sums = {name: [fsum(week) for week in of] for name, of in outcomes.items()}
    rows = rows_of(life)

    def bound(first: int) -> float:
        pool = [
            sums[name][week] for name in outcomes for week in range(min(first, 13)) if outcomes[name][week]
        ]
        return 3 * math.sqrt(fsum(v * v for v in pool) / len(pool))

    # 14 sums are known when week 7 begins: A and B are fixed there, C where it begins
    for name, first in (("A", 7), ("B", 7), ("C", 9)):
        row, x = rows[name], sums[name][first:]
        assert row["bound"] == approx(bound(first))
        assert row["bound_since"] == clock(first * WEEK)
        assert row["bets"] == len(x)
        assert row["e_against"] == approx(wealth(x, bound(first)))
        assert row["e_for"] == approx(wealth([-v for v in x], bound(first)))
        weeks = row["weeks"]
        assert [week["x"] for week in weeks][-len(x) :] == approx(x)
        began = next(week for week in range(13) if outcomes[name][week])
        assert [week["e_against"] for week in weeks][: first - began] == [None] * (first - began)
        for n in range(1, len(x) + 1):
            assert weeks[first - began + n - 1]["e_against"] == approx(wealth(x[:n], bound(first)))


def test_before_a_bound_there_is_a_reason_and_no_grade(life: Life) -> None:
    traded(life, {"A": draws(1, 6, -3.0), "B": draws(2, 6, 1.0)})
    row = rows_of(life)["A"]
    absent = ("bound", "bound_since", "e_against", "e_for", "anytime_p", "interval", "clipped")
    assert [row[name] for name in absent] == [None] * 7
    assert {row["reasons"][name] for name in absent} == {"its scale is not known yet: 12 of 13 weeks"}
    assert (row["evidence"], row["evidence_n"]) == ("none", 12)


def test_a_loser_is_supported_once_and_for_all_and_says_when(life: Life) -> None:
    traded(life, {"A": draws(1, 60, 0.0), "B": draws(2, 60, -2.0)})
    row = rows_of(life)["B"]
    assert (row["evidence"], row["recommendation"]["kind"]) == ("supported", "demote")
    grades = [week["evidence"] for week in row["weeks"]]
    assert grades.index("suggestive") < grades.index("supported") if "suggestive" in grades else True
    assert row["anytime_p"] == approx(min(1, 1 / max(week["e_against"] or 0 for week in row["weeks"])))
    assert row["interval"][1] < 0
    assert row["break_even"]["gain"] == approx(-fsum(v for week in draws(2, 60, -2.0) for v in week))
    settings = settings_for()(agent_of(life.store, "a"))
    ripe = {each.heuristic: each for each in ripening(life.store, agent_of(life.store, "a"), settings)}
    assert ripe["B"].bets == row["bets"]
    assert ripe["B"].weeks_to_verdict is not None
    assert ripe["B"].date is not None


def test_a_week_is_no_unit_before_it_is_over(life: Life) -> None:
    """Asked on the Sunday evening of the last week: its outcomes count in the row, and in no bet."""
    traded(life, {"A": draws(1, 20, 0.0), "B": draws(2, 20, -2.0)})
    now, before = rows_of(life), rows_of(life, as_of=instant(20 * WEEK - 1))
    assert before["B"]["evaluated_count"] == now["B"]["evaluated_count"] == 40
    assert (before["B"]["evidence_n"], now["B"]["evidence_n"]) == (38, 40)
    assert before["B"]["weeks"] == now["B"]["weeks"][:-1]


def test_what_is_said_of_a_week_is_what_was_said_at_its_end(life: Life) -> None:
    traded(life, {"A": draws(4, 30, 0.0), "B": draws(5, 30, -2.0), "C": draws(6, 30, 1.5)})
    now = rows_of(life)
    for week in (8, 15, 29):
        then = rows_of(life, as_of=instant(week * WEEK))
        for name, row in then.items():
            assert row["weeks"] == now[name]["weeks"][: len(row["weeks"])]
            newest = row["weeks"][-1]
            figures = {field: row[field] for field in ("e_against", "e_for", "evidence")}
            assert {field: newest[field] for field in figures} == figures
            assert newest["recommendation"] == row["recommendation"]["kind"]


def test_marked_money_is_bet_on_and_not_what_was_closed(life: Life) -> None:
    """Winners are closed, losers kept: thirty of thirty won, and the bets see the open ones fall."""
    marks = {h: 100.0 - 4 * h / WEEK for h in range(0, 16 * WEEK, 12)}
    life.market("ETH/USDC", marks)
    traded(life, {"A": draws(3, 15, 0.0)})
    for week in range(15):
        at = week * WEEK + 40
        price = 100.0 - 4 * at / WEEK
        life.trade(f"won-{week}", (at, price), (at + 2, price + 1), cites=["H-1"])
        life.open(at + 5, f"bag-{week}")
        life.fill(at + 5, f"bag-{week}", "buy", 1, 100.0 - 4 * (at + 5) / WEEK)
        life.tell(at + 5, "decision", action="enter", position=f"bag-{week}", cites=["H-1"])
    life.until(15 * WEEK + 1)
    row = rows_of(life)["H-1"]
    assert (row["win_rate"], row["recommendation"]["kind"]) == (1.0, "keep")
    assert row["open_pnl"] < -300
    assert row["e_for"] < 0.5
    assert row["evidence"] == "weak"


LIFE = {"A": draws(7, 16, 0.2), "B": draws(8, 16, -1.0)}


def held_for_weeks(life: Life) -> None:
    """What lies across week ends, closed and open, in another market, with marks that come late and have gaps."""
    told = random.Random(9)
    for hour in range(0, 16 * WEEK, 31):
        if told.random() < 0.7:
            life.tell(hour, "mark", instrument="BTC/USDC", price=round(200 + 30 * told.random(), 2))
    for i in range(6):
        at, label = 100 + 200 * i, "AB"[i % 2]
        life.open(at, f"long-{i}", instrument="BTC/USDC")
        life.tell(at, "decision", action="enter", position=f"long-{i}", cites=[label])
        life.fill(at, f"long-{i}", "buy", 2, 210)
        life.tell(at + 90, "decision", action="increase", position=f"long-{i}", cites=["C"])
        life.fill(at + 90, f"long-{i}", "buy", 1, 215)
        if i < 4:
            life.fill(at + 300 * (i + 1), f"long-{i}", "sell", 3, 220)
            life.tell(at + 300 * (i + 1), "decision", action="exit", position=f"long-{i}", cites=["D"])


def bytes_of(store: Store) -> str:
    agent = agent_of(store, "a")
    answer = audited(store, agent, settings_for()(agent), history=True)
    return json.dumps(
        [row_document(row, weeks) for row, weeks in zip(answer.rows, answer.weeks, strict=True)]
    )


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_any_split_of_a_life_gives_the_same_bytes_on_both_databases(
    tmp_path: Path, database_url: str, parts: int
) -> None:
    told = Life(tmp_path)
    traded(told, LIFE)
    held_for_weeks(told)
    marks = Batch(marks=told.shared)
    whole = bytes_of(told.store)
    store = open_store(database_url)
    ingest(store, "candles", [marks], settings_for())
    lines = told.lines().splitlines(keepends=True)
    random.Random(parts).shuffle(lines)
    for i in range(parts):
        assert live(store, b"".join(lines[i::parts]), name=f"{i}.jsonl").clean
        bytes_of(store)
    assert bytes_of(store) == whole
    with store.write() as conn:
        positions.forget_book(conn, "a")
    assert bytes_of(store) == whole
    with settled_book(store, "a", settings_for()(agent_of(store, "a"))) as book:
        assert book.history().weeks.tobytes()
    store.close()
