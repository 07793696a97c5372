"""When a decision is marked: beyond the owner's unit where one was chosen, else beyond what is usual for the agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

import memory
from memory.settings import Settings
from retro.store.database import open_store

USUAL = Settings(usual_outcomes=True)
DAY = 86_400_000_000
START = 1_772_000_000_000_000


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Connection]:
    store = open_store(str(tmp_path / "r.db"))
    with store.write() as conn:
        yield conn
    store.close()


def lived(conn: Connection, outcomes: list[float], unit: str = "usd", notional: float = 1000.0) -> None:
    """A trade a day with these outcomes in money; each is judged, with a regret twice as large as it moved."""
    for number, pnl in enumerate(outcomes):
        at = START + number * DAY
        row = {
            "id": f"t-{number:02d}", "agent": "ada", "at": memory.written(at), "pnl": pnl, "entry_price": notional, "size": 1,
        }  # fmt: skip
        assert memory.remember(conn, [row]).stored == 1
        size = notional / 1e4 if unit == "bps" else 1.0
        found = memory.Retrospective(
            "r",
            at,
            vs_inaction=pnl / size,
            regret=2 * abs(pnl) / size,
            pnl=pnl,
            unit=unit,  # type: ignore[arg-type]
        )
        memory.amend(conn, "ada", f"t-{number:02d}", found)


LIFE = [40.0, -50.0, 60.0, -45.0, 55.0, -50.0, 48.0, -52.0, 50.0, -300.0, 51.0]
"""Outcomes about 50, so that one usual outcome is 50 / 0.6745 = 74.13, and one loss of four of them."""


def test_a_usual_loss_marks_nothing_and_a_loss_of_four_usual_outcomes_does(conn: Connection) -> None:
    lived(conn, LIFE)
    marks = memory.markers(conn, "ada", settings=USUAL)
    assert [(mark.episode, mark.outcome) for mark in marks] == [("t-09", "MissedExit"), ("t-09", "Regret")]
    missed, regret = marks
    assert regret.scale == pytest.approx(50 / 0.6745)
    assert regret.confidence == pytest.approx(300 / (50 / 0.6745) / 10)
    assert missed.confidence == pytest.approx(600 / (50 / 0.6745) / 10)
    assert len(memory.markers(conn, "ada")) == 11 + 5, "in dollars every trade is marked"


def test_a_small_account_is_marked_by_the_same_measure(conn: Connection) -> None:
    lived(conn, [pnl / 1000 for pnl in LIFE])
    assert [mark.episode for mark in memory.markers(conn, "ada", settings=USUAL)] == ["t-09", "t-09"]
    assert memory.markers(conn, "ada") == ()


def test_in_basis_points_the_usual_outcome_is_held_against_each_trades_size(conn: Connection) -> None:
    lived(conn, LIFE, unit="bps")
    marks = memory.markers(conn, "ada", settings=USUAL)
    assert [mark.episode for mark in marks] == ["t-09", "t-09"]
    assert marks[1].confidence == pytest.approx(300 / (50 / 0.6745) / 10)


def test_r_is_a_measure_of_its_own(conn: Connection) -> None:
    lived(conn, [1.5, -0.5, -2.0] * 4, unit="r")
    regrets = [mark for mark in memory.markers(conn, "ada", settings=USUAL) if mark.outcome == "Regret"]
    assert {(mark.scale, mark.confidence) for mark in regrets} == {(1.0, 0.2)}


def test_before_ten_outcomes_the_unit_counts(conn: Connection) -> None:
    lived(conn, LIFE[:9])
    assert {mark.scale for mark in memory.markers(conn, "ada", settings=USUAL)} == {1.0}


def test_recall_says_so_of_the_same_decisions(conn: Connection) -> None:
    lived(conn, LIFE)
    hits = memory.recall(conn, "ada", {}, k=20, settings=USUAL)
    assert [hit.id for hit in hits if "its exit came too late" in hit.reason] == ["t-09"]
    assert [hit.id for hit in hits if "it felt better than it was" in hit.reason] == ["t-09"]


def test_the_newest_markers_are_the_first_of_all_of_them(conn: Connection) -> None:
    lived(conn, LIFE)
    everything = memory.markers(conn, "ada")
    assert memory.markers(conn, "ada", limit=3) == everything[:3]
