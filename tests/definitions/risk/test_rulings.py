"""An owner's word on a position that looks impossible: confirmed it counts, rejected nothing of it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.worlds.commands import Retro, retro
from tests.worlds.oracle import Life, approx, closes, life, life_of

if TYPE_CHECKING:
    from retro.report import RetrospectiveReport

__all__ = ["life", "retro"]

MARKET = dict.fromkeys(range(60), 100.0)


@pytest.fixture
def lived(life: Life) -> Life:
    """10,000; `up` sold at 500 (+800) and `down` at 20 (-160) while the market says 100; `good` made 3."""
    life.market("ETH/USDC", MARKET, dict.fromkeys(MARKET, (98.0, 103.0)))
    life.tell(0, "equity", balances={"USDC": 10000})
    life.trade("up", (5, 100), (30, 500), 2, cites=["H-1"])
    life.trade("down", (6, 100), (31, 20), 2, cites=["H-1"])
    life.trade("good", (7, 100), (32, 103), 1, cites=["H-1"])
    life.until(59)
    assert life.store  # everything is told
    return life


def rule(retro: Retro, life: Life, *words: str) -> None:
    result = retro("--db", life.path / "a.db", "positions", *words)
    assert result.code == 0, result.err


def outcomes(week: RetrospectiveReport) -> tuple[int, float | None]:
    """How many outcomes H-1 has, and what they come to."""
    (row,) = week.heuristic_performance
    return row.evaluated_count, row.associated_pnl


def test_until_its_owner_rules_a_flagged_loss_counts_and_a_flagged_gain_does_not(lived: Life) -> None:
    week = lived.week()
    assert outcomes(week) == (2, approx(-160 + 3))
    assert week.effectiveness.closed_positions == 2
    assert week.pnl.unbelieved_pnl == approx(800)


def test_a_confirmed_position_counts_as_any_other(lived: Life, retro: Retro) -> None:
    rule(retro, lived, "confirm", "up")
    week = lived.week()
    assert outcomes(week) == (3, approx(800 - 160 + 3))
    assert (week.pnl.unbelieved_pnl, week.pnl.trading_gains) == approx((0, 803))
    assert [row.position_id for row in week.data_quality.implausible] == ["down"]
    assert life_of(week, "up").flags == ["confirmed"]
    assert closes(week.pnl) < 1e-9


def test_of_a_rejected_position_nothing_counts_not_even_its_loss(lived: Life, retro: Retro) -> None:
    rule(retro, lived, "reject", "down")
    week = lived.week()
    assert outcomes(week) == (1, approx(3))
    assert week.pnl.total == approx(643)
    assert week.pnl.unbelieved_pnl == approx(800 - 160)
    assert [day.pnl for day in week.equity if day.pnl is not None][1] == approx(3)
    (reason,) = (row.reason for row in week.data_quality.implausible if row.position_id == "down")
    assert "rejected by" in reason
    assert closes(week.pnl) < 1e-9


def test_the_newest_ruling_counts_and_the_ones_before_it_stay(lived: Life, retro: Retro) -> None:
    before = lived.week()
    rule(retro, lived, "confirm", "up")
    rule(retro, lived, "reject", "up")
    week = lived.week()
    assert outcomes(week) == outcomes(before)
    assert week.pnl.unbelieved_pnl == approx(800)
    listed = retro("--db", lived.path / "a.db", "positions", "--format", "json").data
    assert {row["position_id"]: row["flags"] for row in listed} == {
        "up": "implausible,rejected",
        "down": "implausible",
        "good": "",
    }


def test_there_is_nothing_to_rule_on_what_is_believed_or_not_there(lived: Life, retro: Retro) -> None:
    believed = retro("--db", lived.path / "a.db", "positions", "confirm", "good")
    assert (believed.code, believed.out) == (2, "")
    assert "good is not implausible" in believed.err
    nobody = retro("--db", lived.path / "a.db", "positions", "reject", "nobody")
    assert (nobody.code, nobody.out) == (1, "")
    assert "no position 'nobody'" in nobody.err


def test_a_ruling_changes_the_provenance_and_makes_reviews_that_are_done_stale(
    lived: Life, retro: Retro
) -> None:
    before = lived.week().provenance.data_digest
    rule(retro, lived, "confirm", "up")
    assert lived.week().provenance.data_digest != before
