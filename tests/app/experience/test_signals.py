"""What a review says of its own experiment: no Sharpe ratio of one week, however good, is a strong signal."""

from __future__ import annotations

from typing import Any

import pytest

from retro.app.experience.signals import review_verdict
from retro.report import Recommendation, RetrospectiveReport
from tests.worlds.samples import reports
from tests.worlds.samples.rows import heuristic

KEEP = Recommendation(kind="keep", reason="average +0.55 over 12, above +0.50")
EARNS: dict[str, Any] = {"interval": [0.2, 0.9], "evaluated_count": 12, "recommendation": KEEP}


def gained(**row: Any) -> RetrospectiveReport:
    """A week of twenty decisions that gained 8.41 and beat doing nothing by 5, no trade carrying it, PSR 0.999."""
    week = reports.weekly()
    return week.model_copy(
        update={
            "risk": week.risk.model_copy(update={"psr": 0.999}),
            "effectiveness": week.effectiveness.model_copy(update={"sum_vs_inaction": 5.0}),
            "breakdowns": week.breakdowns.model_copy(update={"concentration": 0.4}),
            "heuristic_performance": [heuristic("H-1", **(EARNS | row))],
            "resolved_decisions": 20,
        }
    )


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"evidence": "supported"}, "strong_signal"),
        ({"evidence": "suggestive"}, "weak_signal"),
        ({"evidence": "weak"}, "weak_signal"),
        ({"evidence": "supported", "interval": [-0.9, -0.2]}, "weak_signal"),
        ({"evidence": "supported", "evaluated_count": 0}, "weak_signal"),  # this week did not test it
    ],
)
def test_a_week_that_gained_is_a_strong_signal_by_evidence_that_holds_at_every_look(
    row: dict[str, Any], verdict: str
) -> None:
    assert review_verdict(gained(**row)) == verdict


@pytest.mark.parametrize(
    ("part", "changes", "verdict"),
    [
        ("pnl", {"total": -1.0}, "no_signal"),
        ("effectiveness", {"sum_vs_inaction": -1.0}, "no_signal"),
        ("breakdowns", {"concentration": 1.2}, "weak_signal"),
    ],
)
def test_it_has_to_gain_beat_doing_nothing_and_not_rest_on_one_trade(
    part: str, changes: dict[str, Any], verdict: str
) -> None:
    report = gained(evidence="supported")
    changed = report.model_copy(update={part: getattr(report, part).model_copy(update=changes)})
    assert review_verdict(changed) == verdict
    few = gained(evidence="supported").model_copy(update={"resolved_decisions": 9})
    assert review_verdict(few) == "weak_signal"
