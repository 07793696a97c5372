"""The words and the chart of evidence: odds, both intervals, the gain that would undo a loser, when a verdict can come."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.figures import MoneyStyle
from retro.narrate.plain import words
from retro.present.charts.bars import WIDTH
from retro.present.charts.odds import odds_by_week
from retro.present.formats import render
from retro.present.page.blocks import OddsChart, OddsLine
from retro.present.page.odds import odds_chart
from retro.present.text.drawings import odds_line
from retro.report import BreakEvenGain, DetectorState, HeuristicReport, OddsPath, Recommendation
from retro.report.life import LifeReport
from tests.worlds.samples import reports
from tests.worlds.samples.rows import heuristic, heuristic_of_one_look

USDC = MoneyStyle("USDC")
DEMOTE = Recommendation(kind="demote", reason="by hand")
SVG = "{http://www.w3.org/2000/svg}"


def text_of(*rows: HeuristicReport) -> str:
    return " ".join(render(words(reports.weekly(heuristic_performance=list(rows))), "text").split())


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_a_row_says_its_odds_and_both_intervals_by_their_names(form: Any) -> None:
    row = heuristic(interval=[-14.8, 9.9], evidence="suggestive", e_against=14.97)
    page = " ".join(render(reports.weekly(heuristic_performance=[row]), form).split())
    plain = page.replace("&#46;", ".").replace("&#45;", "-")
    assert "suggestive (14 to 1): 3 citations, 95 % -14.8..+9.9 at every look" in plain
    assert "95 % -11.3..+7.1 USDC at this look alone" in plain
    assert "14 to 1 against it, 0.6 to 1 for it" in plain


def test_odds_are_rounded_down_so_that_no_page_says_ten_before_it_is() -> None:
    assert "weak (9 to 1)" in text_of(heuristic(e_against=9.99))
    assert "weak (0.9 to 1)" in text_of(heuristic(e_against=0.999))


@pytest.mark.parametrize(("unit", "name"), [("r", "R"), ("bps", "bps")])
def test_thresholds_in_another_unit_have_it_beside_every_figure_held_to_them(unit: str, name: str) -> None:
    row = heuristic(
        threshold_unit=unit, interval=[-0.31, -0.02], break_even=BreakEvenGain(gain=3.24, largest=0.3)
    )
    text = text_of(row)
    assert f"95 % -0.310..-0.020 {name} at every look" in text
    assert "95 % -11.3..+7.1 USDC at this look alone" in text
    assert f"one gain of 3.24 {name} would bring it to 0; its largest so far 0.30" in text


def test_a_loser_has_the_gain_that_would_undo_it_beside_its_largest() -> None:
    row = heuristic(break_even=BreakEvenGain(gain=32.4, largest=3.0))
    assert "one gain of 32.40 USDC would bring it to 0; its largest so far 3.00" in text_of(row)
    none_yet = heuristic(break_even=BreakEvenGain(gain=32.4, largest=None))
    assert "one gain of 32.40 USDC would bring it to 0; it has had none" in text_of(none_yet)
    assert "would bring it to 0" not in text_of(heuristic(break_even=None))


def test_gains_that_no_bet_counted_are_said_where_they_keep_a_demotion_away() -> None:
    said = (
        "31 % of its gains lie beyond the size of a bet and are not counted: no demotion rests on these odds"
    )
    assert said in text_of(heuristic(clipped=0.31))
    assert "not counted: no demotion" not in text_of(heuristic(clipped=0.2))


def test_the_alarm_of_a_rule_that_stopped_working_names_its_week() -> None:
    alarm = DetectorState(alarm=True, since="2026-W31", m=612.0)
    text = text_of(heuristic(stopped_working=alarm))
    assert "it has stopped working: what it lost from 2026-W31 on" in text
    assert "stopped working" not in text_of(heuristic())


def test_a_row_without_a_verdict_says_when_there_can_be_one_at_its_rate() -> None:
    """Three outcomes in the 528 hours since its text stands: 1.0 a week. 41 weeks from 23 November are in September."""
    row = heuristic(evidence_n=3)
    assert (
        "can be judged in 41 more weeks, at 1.0 a week: about September 2027; judge it in R, or cite it more"
        in text_of(row)
    )
    soon = text_of(heuristic(weeks_to_verdict=10))
    assert "about February 2027" in soon
    assert "cite it more" not in soon
    in_r = text_of(heuristic(threshold_unit="r", weeks_to_verdict=60))
    assert "; cite it more" in in_r
    assert "judge it in R" not in in_r
    never = {"weeks_to_verdict": "at its rate never: in more than 520 weeks"}
    assert "no verdict in sight, at its rate never: in more than 520 weeks; judge it in R" in text_of(
        heuristic(weeks_to_verdict=None, reasons=never)
    )
    of_one_week = {"weeks_to_verdict": "one week alone says nothing of how its weeks scatter"}
    text = text_of(heuristic(weeks_to_verdict=None, reasons=of_one_week))
    assert "no date for a verdict: one week alone says nothing of how its weeks scatter" in text
    assert "cite it more" not in text
    assert "more weeks" not in text_of(heuristic(evidence="supported", e_against=61.0))


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_reviews_stored_before_there_were_bets_are_drawn_still(form: Any) -> None:
    page = " ".join(render(reports.weekly(heuristic_performance=[heuristic_of_one_look()]), form).split())
    assert "95 % -11.3..+7.1 at this look alone" in page.replace("&#46;", ".").replace("&#45;", "-")
    assert not re.search(r"\(\d[\d.,]* to 1\)|to 1 against it", page)
    assert "Odds week by week" not in page


# The chart


def of_odds(name: str, against: list[float], first: str = "2026-W01", **changes: Any) -> HeuristicReport:
    in_favour = [1 / e for e in against]
    path = OddsPath(first=first, against=against, in_favour=in_favour)
    return heuristic(name, odds=path, e_against=against[-1], e_for=in_favour[-1], **changes)


def test_a_week_draws_what_matters_and_a_life_draws_all() -> None:
    keep = Recommendation(kind="keep", reason="by hand")
    rows = [
        of_odds("H-1", [1.2, 3.0], recommendation=keep),
        of_odds("H-2", [2.0, 4.0]),
        of_odds("H-3", [4.0, 61.0], evidence="supported", recommendation=keep),
        heuristic("H-4", odds=None, evidence="none"),
    ]
    week, life = odds_chart(rows), odds_chart(rows, whole_life=True)
    assert week is not None
    assert life is not None
    assert [row.name for row in week.rows] == ["H-3", "H-2"]
    assert week.note == "1 rule not drawn: retro review life has every one."
    assert [row.name for row in life.rows] == ["H-3", "H-2", "H-1"]
    assert life.note == ""
    assert odds_chart(rows[:1]) is None


def test_the_words_of_a_chart_say_the_week_in_which_the_line_was_crossed() -> None:
    chart = odds_chart([of_odds("H-3", [4.0, 9.9, 10.0, 8.0, 61.0], first="2026-W10")])
    assert chart is not None
    assert chart.rows[0].words == (
        "61 to 1 against it, 0.0 to 1 for it; 10 to 1 against it first in the week of 16 Mar 2026"
    )
    assert (chart.first, chart.last) == (date(2026, 3, 2), date(2026, 4, 5))


def points(svg: str) -> list[list[tuple[float, float]]]:
    """The lines of a chart, each its points."""
    root = ET.fromstring(svg)  # noqa: S314  drawn by us
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in (line.get("points") or "").split())]
        for line in root.iter(f"{SVG}polyline")
    ]


def line_at(svg: str, words: str) -> float:
    """How high a line of the scale lies, by its label."""
    root = ET.fromstring(svg)  # noqa: S314  drawn by us
    return next(float(text.get("y") or 0) - 4 for text in root.iter(f"{SVG}text") if text.text == words)


def test_the_scale_is_logarithmic_and_the_same_for_every_rule() -> None:
    rows = (
        OddsLine("H-1", "entry", date(2026, 1, 5), (1.0, 10.0, 100.0), (1.0, 0.1, 0.01), ""),
        OddsLine("H-2", "entry", date(2026, 1, 12), (1.0, 10.0), (1.0, 1.0), ""),
    )
    block = OddsChart(rows)
    svg = odds_by_week(block, rows[0])
    in_favour, against = points(svg)  # the one that leads lies over the other
    steps = [b[1] - a[1] for a, b in pairwise(against)]
    assert steps[0] == pytest.approx(steps[1], abs=0.02)
    assert against[1][1] == pytest.approx(line_at(svg, "10 to 1"), abs=0.02)
    assert against[0][1] == pytest.approx(line_at(svg, "1 to 1"), abs=0.02)
    assert in_favour[1][1] == in_favour[2][1]  # below 1 to 10 the edge
    second = points(odds_by_week(block, rows[1]))[-1]
    assert [x for x, _ in second] == [x for x, _ in against[1:]]  # it begins a week later
    assert second[1][1] == against[1][1]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=104), min_size=1, max_size=5),
    st.integers(60, 140),
)
def test_whatever_the_odds_every_drawing_keeps_its_room(paths: list[list[float]], width: int) -> None:
    rows = [of_odds(f"H-{i}", path, recommendation=DEMOTE) for i, path in enumerate(paths)]
    chart = odds_chart(rows, whole_life=True)
    assert chart is not None
    svg = odds_by_week(chart)
    height = float(ET.fromstring(svg).get("height") or 0)  # noqa: S314  drawn by us
    for x, y in (point for line in points(svg) for point in line):
        assert 0 <= x <= WIDTH
        assert 0 <= y <= height
    assert svg == odds_by_week(chart)
    text = render(reports.weekly(heuristic_performance=rows), "text", width=width)
    assert max(map(len, text.splitlines())) <= width
    assert not re.search(r"\b(?:nan|inf)\b", text + svg)


def test_a_line_of_signs_is_as_wide_as_asked_and_ends_with_the_newest_week() -> None:
    assert odds_line([0.05, 0.2, 0.9, 1.0, 5.0, 10.0, 50.0, 100.0], 20) == ("▁▂▃▄▅▆▇█", 1)
    assert odds_line([1.0] * 103 + [12.0], 26) == ("▄" * 25 + "▆", 4)
    assert odds_line([9.999, 10.0], 2) == ("▅▆", 1)


def test_a_life_is_drawn_in_text_with_its_weeks_and_its_legend() -> None:
    row = of_odds("H-3", [1.5, 4.0, 12.0, 61.0], evidence="supported")
    week = reports.weekly(heuristic_performance=[row])
    life = LifeReport(**dict(week), weeks=[])
    text = render(life, "text").splitlines()
    at = text.index("  Odds week by week")
    assert text[at + 1 : at + 3] == [
        "  H-3 entry  against ▄▅▆▇   61 to 1",
        "             for     ▃▂▁▁  0.0 to 1",
    ]
    assert "each sign 1 week: ▃ below 1" in " ".join(text[at + 3 : at + 5])
