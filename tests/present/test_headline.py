"""What a headline names: heuristics whose evidence carries a decision; all others it counts. Exits speak for themselves."""

from __future__ import annotations

from typing import Any

import pytest

from retro.present.formats import render
from retro.present.page.answers import answers_of_report
from retro.present.page.report import money_of_report
from retro.report import RetrospectiveReport
from tests.present.test_text import DOCUMENTS

WEEK: Any = DOCUMENTS["week"]


def judged(*rows: tuple[str, str, str, list[float] | None]) -> RetrospectiveReport:
    """The sample week with an audit of (id, recommendation, evidence, interval)."""
    row = WEEK.heuristic_performance[0]
    performance = [
        row.model_copy(
            update={
                "heuristic_id": name,
                "recommendation": row.recommendation.model_copy(update={"kind": kind}),
                "evidence": evidence,
                "interval": interval,
                "evidence_avg": None if interval is None else sum(interval) / 2,
            }
        )
        for name, kind, evidence, interval in rows
    ]
    week: RetrospectiveReport = WEEK.model_copy(update={"heuristic_performance": performance})
    return week


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [("H-7", "demote", "weak", [-11.0, 7.0])],
            "Wants a decision None yet 1 by the thresholds, on weak evidence",
        ),
        (
            [("H-7", "demote", "supported", [-9.0, -1.0]), ("H-8", "investigate", "weak", [-1.0, 2.0])],
            "Wants a decision 1 H-7 DEMOTE; 1 more by the thresholds, on weak evidence",
        ),
        # demoted by its week while its life earns: the evidence speaks against it
        ([("H-7", "demote", "supported", [1.0, 3.0])], "None yet 1 by the thresholds, on weak evidence"),
        ([("H-7", "demote", "suggestive", [-3.0, -1.0])], "Wants a decision 1 H-7 DEMOTE "),
    ],
)
def test_a_headline_names_only_what_the_evidence_carries(rows: Any, said: str) -> None:
    text = " ".join(render(judged(*rows), "text").split())
    assert said in text


def test_a_mail_names_the_same_and_counts_the_others() -> None:
    document = judged(
        ("H-7", "demote", "supported", [-9.0, -1.0]),
        ("H-8", "demote", "weak", [-9.0, 1.0]),
        ("H-9", "investigate", "none", None),
    )
    (answer,) = (a for a in answers_of_report(document, money_of_report(document)) if a.key == "decisions")
    assert [line.name for line in answer.lines] == ["H-7"]
    assert (answer.answer, answer.note) == ("1", "2 more by the thresholds, on weak evidence")


def test_an_exit_row_says_that_it_counts_what_was_avoided() -> None:
    (row,) = (row for row in WEEK.heuristic_performance[:1])
    outcome = {"avg_pnl_per_citation": 31.49, "associated_pnl": 377.88, "shared_pnl": 377.88, "win_rate": 0.8}
    exits = row.model_copy(update={"role": "exit", "evaluated_count": 12, **outcome})
    text = " ".join(render(WEEK.model_copy(update={"heuristic_performance": [exits]}), "text").split())
    assert "31.49 USDC avoided" in text
    assert "right 80 % of 12, +377.88 USDC avoided in all, by what the price did after them" in text
    missed = exits.model_copy(update={"avg_pnl_per_citation": -5.0})
    assert "5.00 USDC missed" in render(WEEK.model_copy(update={"heuristic_performance": [missed]}), "text")
