"""Figures that contradict each other never reach a report, a page or the book."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from retro.accounting.movements import Booking
from retro.errors import InvariantError
from retro.evaluate.audit.audit import _check_shared, audit_period
from retro.evaluate.audit.bets import bets_of
from retro.evaluate.audit.citations import CreditItem, citing
from retro.evaluate.audit.history import history_from
from retro.evaluate.audit.rules import AuditRules
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.position.measures import measures_of
from retro.evaluate.position.retrospective import AgentWords, retrospect
from retro.evaluate.position.summary import book_rows
from retro.periods import DAY
from retro.report import Costs, PositionRetrospective
from retro.report.form import finite_figures
from tests.accounting.test_invariants import T0, history, prices
from tests.worlds.commands import SAMPLE, Retro, retro, sample_db

__all__ = ["retro", "sample_db"]


def retrospective(track: Any, period_pnl: float | None = None) -> PositionRetrospective:
    horizon = Lookahead(end=T0 + 3 * DAY, known_until=T0 + 9 * DAY, after_until=None, offsets=())
    life, words = PositionPath(track, horizon, prices()), AgentWords([], [], None, None, [])
    (measures,) = measures_of([life])
    with finite_figures():
        return retrospect(life, measures, words, period_pnl=period_pnl, agent="bot", slips=[])


# positions


@pytest.mark.parametrize("wrong", [1e-4, -7.0])
def test_a_position_whose_components_are_not_its_pnl_is_refused(wrong: float) -> None:
    track = history()
    assert retrospective(track).attribution.total == pytest.approx(retrospective(track).final_pnl)
    track.bookings.append(Booking(T0 + DAY, "funding", wrong))
    with pytest.raises(InvariantError, match=r"a position's components come to its pnl \(p: "):
        retrospective(track)


def test_no_figure_that_is_no_number_reaches_a_document() -> None:
    with pytest.raises(
        InvariantError, match=r"every figure is a number or absent \(PositionRetrospective: period_pnl\)"
    ):
        retrospective(history(), period_pnl=float("nan"))
    with pytest.raises(InvariantError, match=r"\(Costs: gas, data\)"), finite_figures():
        Costs(gas=float("inf"), inference=0.0, data=float("nan"), by_tier={})
    with pytest.raises(ValueError, match="valid number"), finite_figures():
        Costs(gas="dear", inference=0.0, data=0.0, by_tier={})  # type: ignore[arg-type]


def test_no_outcome_that_is_no_number_enters_the_book() -> None:
    track = history()
    assert book_rows([track], prices(), T0 + 9 * DAY)[0].final_pnl == pytest.approx(23.0)
    track.knots[-1] = replace(track.knots[-1], cash=float("nan"))
    with pytest.raises(InvariantError, match=r"every figure is a number or absent \(p: "):
        book_rows([track], prices(), T0 + 9 * DAY)


# the audit


def test_shared_credit_that_does_not_add_up_to_the_outcomes_is_refused() -> None:
    items = [
        CreditItem("entry", f"p{n}", cites, value, T0, 20_000, 100.0, None, citing((), {}))
        for n, (cites, value) in enumerate([(("H-1", "H-2"), 9.0), (("H-2",), -4.0), ((), 50.0)])
    ]
    rules = AuditRules()
    history = history_from([], rules)
    rows = audit_period(items, history, bets_of(history, rules, T0 + DAY), rules, T0, T0 + DAY, 7)
    assert [row.shared_pnl for row in rows] == [4.5, 0.5]
    for wrong in (rows[:1], [*rows, rows[0]], [rows[0].model_copy(update={"shared_pnl": 9.0}), rows[1]]):
        with pytest.raises(InvariantError, match="shared_pnl adds up to the outcomes"):
            _check_shared(wrong, items)


# what a person sees


def test_a_review_by_hand_of_a_damaged_book_is_one_sentence_and_exit_1(
    sample_db: Path, tmp_path: Path, retro: Retro
) -> None:
    copy = tmp_path / "damaged.db"
    copy.write_bytes(sample_db.read_bytes())
    with sqlite3.connect(copy) as conn:
        for at, text in conn.execute("SELECT at, wallet FROM book_days").fetchall():
            wallet = json.loads(text)
            wallet["assets"]["ETH"] = {
                "lots": [[0, "-1", -2000.0]],
                "quantity": "-1",
                "basis": -2000.0,
                "opened": "1",
            }
            conn.execute("UPDATE book_days SET wallet = ? WHERE at = ?", (json.dumps(wallet), at))
    result = retro("--config", SAMPLE / "config.toml", "--db", copy, "review", "weekly")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "retro: the figures contradict each other, so they are withheld: no asset of the wallet is short (ETH)\n"
    )
