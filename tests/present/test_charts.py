"""Charts: well-formed, described, deterministic, drawn by the figures, and drawable without style sheets."""

from __future__ import annotations

import itertools
import re
import struct
from typing import TypeVar
from xml.etree import ElementTree as ET

import pytest
import resvg_py
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.figures import MoneyStyle
from retro.present.charts.bars import WIDTH, forest, waterfall
from retro.present.charts.days import calendar, equity_curve
from retro.present.charts.odds import odds_by_week
from retro.present.charts.svg import DARK, INLINE, LIGHT, Palette
from retro.present.charts.trajectory import position_path
from retro.present.page.audit import audit_section
from retro.present.page.blocks import Bar, Days, OddsChart, Section, Verdicts
from retro.present.page.labels import attribution_bars
from retro.present.page.money import days_section
from retro.present.scale import amount_ticks, time_ticks
from retro.report import CalendarDay, RetrospectiveReport
from tests.worlds.samples import reports

SVG = "{http://www.w3.org/2000/svg}"
USDC = MoneyStyle("USDC")
WEEK = reports.weekly()
B = TypeVar("B")


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  drawn by us


def block_of(section: Section | None, place: int, kind: type[B]) -> B:
    """A block of a section, of the kind that it must be."""
    assert section is not None
    block = section.blocks[place]
    assert isinstance(block, kind)
    return block


def days_of(report: RetrospectiveReport = WEEK) -> Days:
    return block_of(days_section(report, USDC), 0, Days)


def verdicts_of(report: RetrospectiveReport = WEEK) -> Verdicts:
    return block_of(audit_section(report, USDC), 0, Verdicts)


def odds_of(report: RetrospectiveReport = WEEK) -> OddsChart:
    return block_of(audit_section(report, USDC), 1, OddsChart)


def charts(palette: Palette, report: RetrospectiveReport = WEEK) -> dict[str, str]:
    bars, days, verdicts = attribution_bars(report.pnl, USDC), days_of(report), verdicts_of(report)
    return {
        "waterfall": waterfall(bars.rows, bars.total, unit="USDC", palette=palette),
        "forest": forest(verdicts.rows, unit="USDC", palette=palette),
        "odds": odds_by_week(odds_of(report), palette=palette),
        "odds of one": odds_by_week(odds_of(report), odds_of(report).rows[0], palette=palette),
        "equity": equity_curve(days.rows, days.opening, unit="USDC", palette=palette),
        "calendar": calendar(days.rows, unit="USDC", palette=palette),
        "path": position_path(report.positions[0], unit="USDC", palette=palette),
        "small path": position_path(report.positions[0], unit="USDC", palette=palette, small=True),
    }


NAMES = sorted(charts(LIGHT))


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_is_well_formed_named_and_described(name: str) -> None:
    root = parse(charts(INLINE)[name])
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert all((title.text, desc.text))
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    idents = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(idents) == len(set(idents))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_a_chart_rasterises_with_colours_of_its_own(name: str, palette: Palette) -> None:
    svg = charts(palette)[name]
    assert "var(" not in svg
    assert "class=" not in svg
    assert svg == charts(palette)[name]
    picture = bytes(resvg_py.svg_to_bytes(svg_string=svg))
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">I", picture[16:20])[0] == WIDTH


@pytest.mark.parametrize("name", NAMES)
def test_everything_drawn_lies_inside_the_picture(name: str) -> None:
    root = parse(charts(LIGHT)[name])
    width, height = (float(root.get(side) or 0) for side in ("width", "height"))
    for element in root.iter():
        for key, most in (
            ("x", width),
            ("cx", width),
            ("x1", width),
            ("y", height),
            ("cy", height),
            ("y2", height),
        ):
            if element.get(key) and element.tag not in {f"{SVG}svg", f"{SVG}clipPath"}:
                assert -0.5 <= float(element.get(key) or 0) <= most + 0.5
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", element.get("points") or ""):
            assert -0.5 <= float(x) <= width + 0.5
            assert -0.5 <= float(y) <= height + 0.5


def test_agent_names_are_escaped_in_a_chart() -> None:
    attack = '"><script>alert(1)</script><image href="x"/>'
    report = reports.week_quoting(attack)
    for svg in (
        forest(verdicts_of(report).rows),
        odds_by_week(odds_of(report)),
        position_path(report.positions[0]),
    ):
        tags = {element.tag for element in parse(svg).iter()}
        assert not tags & {f"{SVG}script", f"{SVG}image"}


amounts = st.floats(-1e6, 1e6).filter(lambda v: abs(v) > 1e-3)


@given(st.lists(amounts, min_size=1, max_size=12))
@settings(deadline=None, max_examples=80)
def test_each_step_of_a_waterfall_starts_where_the_last_one_ended(values: list[float]) -> None:
    rows = [Bar(f"line {i}", value, "") for i, value in enumerate(values)]
    total = Bar("Total", sum(values), "")
    boxes = [
        (float(r.get("x") or 0), float(r.get("width") or 0))
        for r in parse(waterfall(rows, total)).iter(f"{SVG}rect")
    ]
    at = boxes[0][0] if values[0] > 0 else boxes[0][0] + boxes[0][1]
    zero = at
    for value, (x, width) in zip(values, boxes, strict=False):
        start, end = (x, x + width) if value > 0 else (x + width, x)
        assert start == pytest.approx(at, abs=1.6)
        at = end
    x, width = boxes[-1]
    assert min(abs(x - zero), abs(x + width - zero)) <= 1.6


def test_a_path_marks_entry_checkpoints_best_exit_and_exit() -> None:
    svg = position_path(reports.position(), unit="USDC")
    root = parse(svg)
    texts = [t.text or "" for t in root.iter(f"{SVG}text")]
    assert "best exit +2.80" in texts
    assert "exit -4.20" in texts
    assert {"2d", "6d"} <= set(texts)
    assert len(list(root.iter(f"{SVG}circle"))) == 2
    closed = [p for p in root.iter(f"{SVG}polyline") if len((p.get("points") or "").split()) == 5]
    assert len(closed) == 4  # the checkpoints that have a pnl


def test_intervals_beyond_the_axis_are_cut_and_the_rest_keeps_its_scale() -> None:
    rows = [reports.heuristic(f"H-{i}", interval=[-2.0, 1.0], avg_pnl_per_citation=-0.5) for i in range(5)]
    rows.append(reports.heuristic("H-9", interval=[-9e5, 9e5], avg_pnl_per_citation=-0.4))
    report = reports.weekly(heuristic_performance=rows)
    widths = [float(r.get("width") or 0) for r in parse(forest(verdicts_of(report).rows)).iter(f"{SVG}rect")]
    assert min(widths) > 20
    assert max(widths) < WIDTH


def test_an_interval_of_two_outcomes_flattens_no_other() -> None:
    """A trial's page: one rule of two outcomes, its interval 509 wide on either side, beside three that matter."""
    rows = [
        reports.heuristic(f"H-{i}", interval=[-9.0, 3.0], avg_pnl_per_citation=-2.0, evidence_n=12)
        for i in range(2)
    ]
    rows.append(reports.heuristic("H-8", interval=[-509.0, 480.0], avg_pnl_per_citation=-14.5, evidence_n=2))
    svg = forest(verdicts_of(reports.weekly(heuristic_performance=rows)).rows)
    alone = forest(verdicts_of(reports.weekly(heuristic_performance=rows[:2])).rows)
    widths, lone = (
        [float(r.get("x2") or 0) - float(r.get("x1") or 0) for r in parse(text).iter(f"{SVG}line")][1:]
        for text in (svg, alone)
    )
    assert widths[:2] == pytest.approx(lone[:2])
    texts = [t.text or "" for t in parse(svg).iter(f"{SVG}text")]
    assert "beyond the axis" in texts
    assert "beyond the axis" not in [t.text or "" for t in parse(alone).iter(f"{SVG}text")]
    assert len(list(parse(svg).iter(f"{SVG}polygon"))) == 4  # both ends, the average, and what the mark means


def corners_of(svg: str) -> list[tuple[float, float]]:
    """The corners of the path itself: the first line that is drawn."""
    line = next(iter(parse(svg).iter(f"{SVG}polyline"))).get("points") or ""
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.split())]


def test_a_path_goes_by_steps_and_its_checkpoints_lie_on_it() -> None:
    svg = position_path(reports.position(), unit="USDC")
    corners = corners_of(svg)
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(corners))
    diamonds = [p.get("points") or "" for p in parse(svg).iter(f"{SVG}polyline")][1:]
    for diamond in diamonds:
        places = [tuple(map(float, pair.split(","))) for pair in diamond.split()]
        x, y = places[0][0], places[1][1]
        assert any(
            min(a[0], b[0]) - 0.1 <= x <= max(a[0], b[0]) + 0.1
            and min(a[1], b[1]) - 0.1 <= y <= max(a[1], b[1]) + 0.1
            for a, b in itertools.pairwise(corners)
        )


@pytest.mark.parametrize("last", [-4.2, -0.5, 0.0, 1.5, 2.7])
def test_the_exits_caption_does_not_lie_on_the_line(last: float) -> None:
    shape = reports.wave()
    path = [*shape[:-1], shape[-1].model_copy(update={"pnl": last})]
    svg = position_path(reports.position(path=path, final_pnl=last, pnl_trajectory=[]), unit="USDC")
    caption = next(t for t in parse(svg).iter(f"{SVG}text") if (t.text or "").startswith("exit"))
    right, base = float(caption.get("x") or 0), float(caption.get("y") or 0)
    left, top, bottom = right - 6.4 * len(caption.text or ""), base - 10, base + 3
    inside = [
        (a, b)
        for a, b in itertools.pairwise(corners_of(svg))
        if max(a[0], b[0]) >= left
        and min(a[0], b[0]) <= right
        and max(a[1], b[1]) >= top
        and min(a[1], b[1]) <= bottom
    ]
    assert inside == []


def test_without_capital_the_curve_is_cumulative_pnl() -> None:
    equity = [day.model_copy(update={"equity": None}) for day in WEEK.equity]
    days = days_of(reports.weekly(equity=equity))
    svg = equity_curve(days.rows, days.opening, unit="USDC")
    assert "Cumulative PnL" in svg
    assert "to 6.70 USDC over 7 days" in svg
    assert all(day.drawdown is None for day in days.rows)


def test_drawdown_hangs_from_the_highest_point_so_far() -> None:
    falls = [day.drawdown for day in days_of().rows]
    assert falls[:2] == [0.0, 0.0]
    assert falls[2] == pytest.approx(1002.9 / 1003.3 - 1, abs=1e-9)
    assert falls[5] == pytest.approx(1001.3 / 1006.2 - 1, abs=1e-9)


@pytest.mark.parametrize(("n", "drawn"), [(7, 7), (42, 42), (365, 365)])
def test_the_calendar_has_a_cell_for_every_day(n: int, drawn: int) -> None:
    first = reports.START.date().toordinal()
    days = [
        CalendarDay(date=type(reports.START.date()).fromordinal(first + i).isoformat(), pnl=float(i % 3 - 1))
        for i in range(n)
    ]
    report = reports.weekly(breakdowns=reports.breakdowns(calendar=days))
    root = parse(calendar(days_of(report).rows))
    cells = {(r.get("x"), r.get("y")) for r in root.iter(f"{SVG}rect")}
    assert len(cells) == drawn


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
@settings(deadline=None, max_examples=200)
def test_ticks_are_round_evenly_spaced_and_inside(low: float, width: float) -> None:
    high = low + width
    if high <= low:
        return
    ticks = amount_ticks(low, high, 5)
    slack = 1e-6 * max(abs(low), abs(high), width)
    assert 1 <= len(ticks) <= 12
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    assert len({f"{b - a:.6g}" for a, b in itertools.pairwise(ticks)}) <= 2


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (7.2 * 86400, ["0", "1d", "2d", "3d", "4d", "5d", "6d", "7d"]),
        (32.8 * 3600, ["0", "6h", "12h", "18h", "24h", "30h"]),
        (3600, ["0", "15m", "30m", "45m", "60m"]),
        (40, ["0", "5s", "10s", "15s", "20s", "25s", "30s", "35s", "40s"]),
        (0, ["0"]),
        (400 * 86400, ["0", "60d", "120d", "180d", "240d", "300d", "360d"]),
    ],
)
def test_time_ticks_are_round(seconds: float, labels: list[str]) -> None:
    assert [label for _, label in time_ticks(seconds, 8)] == labels
