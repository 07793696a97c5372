"""The records that a review leaves: which files, whose figures, what happens the second time and when one is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memory
from retro.app.experience.lessons import damaged_records
from retro.app.experience.records import Records, records_channel, records_of
from retro.config import Config
from retro.deliver.channel import Message, Rejected, Retry, Sent
from retro.report import RetrospectiveReport
from retro.store.database import open_store
from retro.store.jobs.reviews import Review
from tests.worlds.commands import event
from tests.worlds.reviews import House, house, one_store, two_trades

__all__ = ["house", "one_store"]


def message(document: Any, review: Review, *, previous: Any = None) -> Message:
    return Message(
        review_id=review.id, agent="ada", kind=review.kind, revision=getattr(document, "revision", 1), period_key="",
        subject_line="", document=document, generated_at_us=0, recipient="memory", previous=previous,
    )  # fmt: skip


def test_the_records_channel_is_off_when_records_are() -> None:
    assert records_channel(Config()).recipients(Config()) == ("memory",)
    off = Config.model_validate({"memory": {"records": False}})
    assert records_channel(off).recipients(off) == ()
    assert damaged_records(off) == ()


def test_a_weekly_review_leaves_an_experiment_for_itself_and_each_heuristic_it_tested(
    house: House, tmp_path: Path
) -> None:
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    for _ in range(2):
        assert channel.send(message(report, review)) == Sent()
    heuristic, whole = memory.load_experiments(directory=channel.directory)[::-1]
    assert whole["context"]["review"] == "ada.weekly.2026-W10"
    assert whole["id"].startswith("exp_20260309_000000_")
    assert whole["results"]["net_pnl"] == pytest.approx(3.0)
    assert (whole["results"]["total_trades"], whole["results"]["win_rate"]) == (2, 0.5)
    assert "sharpe_ratio" not in whole["results"]  # no capital: not known, and not 0
    assert (heuristic["context"]["heuristic"], heuristic["results"]["average_pnl"]) == ("H-7", -5.0)
    [claim] = memory.get_all_hypotheses(directory=channel.directory)
    assert (claim["id"], claim["heuristic"], claim["status"]) == ("H_001", "H-7", "untested")
    assert claim["tested_by"] == [heuristic["id"]]


def test_reviews_of_other_kinds_leave_no_records(house: House, tmp_path: Path) -> None:
    review, document = house.position("won")
    assert records_of(document) is None
    assert Records(tmp_path / "memory").send(message(document, review)) == Sent()
    assert not (tmp_path / "memory").exists()


def judged(report: RetrospectiveReport, **row: Any) -> RetrospectiveReport:
    """The report with these figures for its heuristic."""
    [performance] = report.heuristic_performance
    kind = row.pop("kind")
    recommendation = performance.recommendation.model_copy(update={"kind": kind})
    average = sum(row["interval"]) / 2  # bets go the way of the average
    changed = performance.model_copy(
        update={"evidence_avg": average, **row, "recommendation": recommendation}
    )
    return report.model_copy(update={"heuristic_performance": [changed]})


@pytest.mark.parametrize(
    ("row", "status", "verdict"),
    [
        ({"kind": "keep", "evidence": "supported", "interval": [0.2, 0.9]}, "validated", "strong_signal"),
        ({"kind": "demote", "evidence": "supported", "interval": [-3.0, -1.0]}, "refuted", "no_signal"),
        (
            {"kind": "investigate", "evidence": "supported", "interval": [0.1, 0.4]},
            "inconclusive",
            "strong_signal",
        ),
        ({"kind": "keep", "evidence": "suggestive", "interval": [0.2, 0.9]}, "untested", "weak_signal"),
        ({"kind": "keep", "evidence": "weak", "interval": [-1.0, 2.0]}, "untested", "no_signal"),
        ({"kind": "demote", "evidence": "weak", "interval": [-3.0, 1.0]}, "untested", "no_signal"),
        (
            {"kind": "insufficient_data", "evidence": "supported", "interval": [0.2, 0.9]},
            "untested",
            "strong_signal",
        ),
        (
            {
                "kind": "keep",
                "evidence": "weak",
                "interval": [-1.0, 2.0],
                "recommendation_without_largest": "demote",
            },
            "untested",
            "no_signal",
        ),
    ],
)
def test_statuses_and_verdicts_follow_from_the_figures(
    tmp_path: Path, row: dict[str, Any], status: str, verdict: str
) -> None:
    house = House(open_store(str(tmp_path / "r.db")), two_trades())
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    channel.send(message(judged(report, **row), review))
    assert memory.get_all_hypotheses(directory=channel.directory)[0]["status"] == status
    assert memory.load_experiments(directory=channel.directory)[1]["assessment"]["verdict"] == verdict
    house.store.close()


def test_a_proposed_candidate_becomes_a_hypothesis_too(house: House, tmp_path: Path) -> None:
    review, report = house.week()
    proposal = {
        "id": "P-1", "op": "add", "heuristic": "H-9", "old": None, "evidence": "none yet",
        "new": "- H-9 [0.35] Leave before the news {status: candidate}", "falsified_by": "ten losing exits",
    }  # fmt: skip
    channel = Records(tmp_path / "memory")
    channel.send(message(report.model_copy(update={"playbook_proposals": [proposal]}), review))
    hypothesis = memory.get_open_hypotheses(directory=channel.directory)[-1]
    assert (hypothesis["text"], hypothesis["heuristic"]) == ("Leave before the news", "H-9")
    assert "ten losing exits" in hypothesis["rationale"]


def test_a_new_revision_keeps_its_id_and_the_figures_are_the_new_ones(house: House, tmp_path: Path) -> None:
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    channel.send(message(report, review))
    before = sorted(path.name for path in (channel.directory / "experiments").iterdir())
    house.tell(event("cost", "gas", "2026-03-02T09:00:00Z", kind="gas", amount="2", position="lost"))
    again = house.week()[1].model_copy(update={"revision": 2})
    assert channel.send(message(again, review, previous=report)) == Sent()
    assert sorted(path.name for path in (channel.directory / "experiments").iterdir()) == before
    whole = memory.load_experiments(directory=channel.directory)[0]
    assert (whole["results"]["net_pnl"], whole["context"]["revision"]) == (pytest.approx(1.0), 2)


def test_a_damaged_file_is_tried_again_later_named_and_never_rewritten(house: House, tmp_path: Path) -> None:
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    channel.directory.mkdir()
    (channel.directory / "hypotheses.yaml").write_text("hypotheses: {")
    outcome = channel.send(message(report, review))
    assert isinstance(outcome, Retry)
    assert outcome.reason.startswith("hypotheses.yaml: line ")
    assert len(memory.load_experiments(directory=channel.directory)) == 2
    assert (channel.directory / "hypotheses.yaml").read_text() == "hypotheses: {"
    config = Config.model_validate({"memory": {"directory": channel.directory}})
    assert [Path(record.path).name for record in damaged_records(config)] == ["hypotheses.yaml"]


def test_a_folder_that_takes_no_files_is_tried_again(house: House, tmp_path: Path) -> None:
    review, report = house.week()
    (tmp_path / "file").write_text("no folder")
    outcome = Records(tmp_path / "file" / "memory").send(message(report, review))
    assert isinstance(outcome, Retry)
    assert not isinstance(outcome, Rejected)
