"""Answers of the evaluators as pages: whole files, the figures of the JSON, and one clear error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retro.present.html import html_of
from retro.present.markdown import markdown_of
from retro.present.page.evaluators.answers import page_of_learning
from retro.present.page.evaluators.forecasts import page_of_calibration
from retro.report.evaluators.claims import CalibrationRow, CurvePoint, ReliabilityBin
from retro.report.evaluators.learning import (
    LearningGroups,
    LearningReport,
    SurvivingShare,
    TimeToCompetence,
)
from tests.worlds.commands import SAMPLE, Retro, retro, sample_db

__all__ = ["retro", "sample_db"]


def plain(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize("words", [("calibration",), ("whatif", "--grid"), ("luck",), ("learning",)])
def test_each_answer_is_a_page_written_whole(words: tuple[str, ...], sample_db: Path, retro: Retro) -> None:
    common: tuple[str | Path, ...] = ("--config", SAMPLE / "config.toml", "--db", sample_db, "-q", *words)
    assert retro(*common, "--format", "html", "-o", "page.html").code == 0
    page = Path("page.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert not re.search(r"<script|src=[\"']https?:|@import", page)
    assert retro(*common, "--format", "md").out.startswith("# ")
    assert "--format takes text, json, md or html" in retro(*common, "--format", "pdf").err


def test_a_what_if_page_has_every_difference_and_says_that_it_is_hindsight(
    sample_db: Path, retro: Retro
) -> None:
    common: tuple[str | Path, ...] = (
        "--config",
        SAMPLE / "config.toml",
        "--db",
        sample_db,
        "whatif",
        "stop -1%",
        "without H-7",
    )
    report = retro(*common, "--json").data
    page = plain(retro(*common, "--format", "html").out)
    for rule in report["rules"]:
        assert f"{rule['difference']:+.2f}" in page
    assert f"best of 2 tried; p {report['search']['p_max']:.2f} once the search is counted" in page
    assert "Hindsight: every price was known. It moves no rule, and proposes none." in page


def test_luck_s_page_counts_every_position_once_in_words_too(sample_db: Path, retro: Retro) -> None:
    common: tuple[str | Path, ...] = ("--config", SAMPLE / "config.toml", "--db", sample_db, "luck")
    report = retro(*common, "--json").data
    judged = [row["percentile"] for row in report["positions"] if row["percentile"] is not None]
    text = retro(*common, "--format", "md").out
    tenths = re.search(r"worst first: ([\d, ]+)", text)
    assert tenths is not None
    counts = [int(number) for number in tenths[1].split(",")]
    assert counts == [sum(min(int(10 * share), 9) == k for share in judged) for k in range(10)]
    assert sum(counts) == len(judged)


def test_a_strangers_category_is_text_and_its_alarm_stands_at_the_top() -> None:
    row = CalibrationRow(
        category="<script>x",
        regime="any",
        n=40,
        active=True,
        ece_raw=0.4,
        ece_calibrated=0.35,
        ece_band=(0.3, 0.5),
        brier_raw=0.3,
        brier_calibrated=0.2,
        alarm=True,
        bins=[ReliabilityBin(lo=0.9, hi=0.95, n=40, stated=0.9, right=20)],
        curve=[CurvePoint(p=0.9, q=0.5)],
    )
    page = html_of(page_of_calibration("a", [row]))
    assert "Off by 40 % as stated" in page, "fewer than 30 were corrected: that error is not in use yet"
    corrected = row.model_copy(update={"calibrated": True})
    assert "Off by 35 % corrected" in html_of(page_of_calibration("a", [corrected]))
    assert "<script" not in page
    assert "Alarm: confidence stated in &lt;script&gt;x misleads (n 40)." in page
    assert "stated 90 %: 50 % of 40 came true" in page


def test_the_survival_of_rules_is_drawn_and_said() -> None:
    report = LearningReport(
        week="2026-W10",
        score=None,
        groups=LearningGroups(corrector=None, memory=None, attention=None, heuristics=None, generations=None),
        negative_weeks=0,
        ageing_multiplier=1.0,
        epistemic_multiplier=1.0,
        half_life_days=30.0,
        survival=[SurvivingShare(days=12.0, share=0.75), SurvivingShare(days=30.0, share=0.5)],
        competence=TimeToCompetence(decisions=None, at=None),
        generations=None,
    )
    assert "after 12 days 75 % of rules stand; after 30 days 50 % of rules stand" in plain(
        markdown_of(page_of_learning("a", report)).replace("&#46;", ".")
    )
    assert html_of(page_of_learning("a", report)).count("<polyline") == 1
