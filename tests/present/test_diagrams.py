"""Diagrams: sound SVG whatever is in it, everything inside the picture, and words for those who do not see it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.present.charts.diagrams import drawn_diagram
from retro.present.charts.raster import png_of
from retro.present.charts.svg import DARK, LIGHT
from retro.present.page.diagrams import (
    Diagram,
    HistogramDiagram,
    RangeDiagram,
    RangeRow,
    ReliabilityDiagram,
    ReliabilityPoint,
    StepDiagram,
    TwinsDiagram,
    WaterfallDiagram,
    WaterfallStep,
)

SVG = "{http://www.w3.org/2000/svg}"
shares = st.floats(0, 1)
figures = st.floats(-1e9, 1e9)
maybe = st.none() | figures
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)


def ranges(low: float | None, value: float | None, high: float | None) -> tuple[float | None, ...]:
    known = sorted(x for x in (low, value, high) if x is not None)
    return (known[0], known[1], known[2]) if len(known) == 3 else (None, value, None)


rows = st.builds(
    lambda name, ends, text: RangeRow(name, ends[1], ends[0], ends[2], text),
    texts,
    st.builds(ranges, maybe, maybe, maybe),
    texts,
)
steps = st.builds(WaterfallStep, texts, figures | st.just(0.0), texts)


def waterfall_of(title: str, first: WaterfallStep, between: list[WaterfallStep]) -> WaterfallDiagram:
    total = sum((step.amount for step in between), first.amount)
    return WaterfallDiagram(title, first, tuple(between), WaterfallStep("live", total, ""))


diagrams: st.SearchStrategy[Diagram] = st.one_of(
    st.builds(
        ReliabilityDiagram,
        texts,
        st.lists(st.builds(ReliabilityPoint, shares, shares, st.integers(1, 10**6)), max_size=20).map(tuple),
        st.lists(st.tuples(shares, shares), max_size=8).map(lambda points: tuple(sorted(points))),
    ),
    st.builds(RangeDiagram, texts, st.lists(rows, min_size=1, max_size=12).map(tuple), texts),
    st.builds(
        HistogramDiagram,
        texts,
        st.lists(st.integers(0, 10**6), min_size=1, max_size=30).map(tuple),
        st.floats(-1e6, 0),
        st.floats(0, 1e6),
        texts,
        texts,
        maybe,
        texts,
        st.none() | st.floats(0, 1e6),
    ),
    st.builds(
        StepDiagram,
        texts,
        st.lists(st.tuples(st.floats(0, 1e4), shares), max_size=10).map(lambda points: tuple(sorted(points))),
        st.floats(0, 1e4),
    ),
    st.builds(
        TwinsDiagram,
        texts,
        st.tuples(*[figures] * 5).map(lambda quantiles: tuple(sorted(quantiles))),
        st.tuples(*[texts] * 5),
        figures,
        texts,
        texts,
    ),
    st.builds(waterfall_of, texts, steps, st.lists(steps, max_size=9)),
)


@settings(max_examples=150, deadline=None)
@given(diagrams)
def test_every_diagram_is_sound_and_lies_inside_its_picture(diagram: Diagram) -> None:
    drawn = drawn_diagram(diagram, ident="d")
    assert drawn == drawn_diagram(diagram, ident="d")
    root = ET.fromstring(drawn)  # noqa: S314  drawn by us
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    assert root.findtext(f"{SVG}title") == diagram.title
    for element in root.iter():
        for name, value in element.items():
            if name in {"x", "x1", "x2", "cx"}:
                assert -10 <= float(value) <= width + 10, ET.tostring(element)
            if name in {"y", "y1", "y2", "cy"}:
                assert -10 <= float(value) <= height + 10, ET.tostring(element)
        for pair in (element.get("points") or "").split():
            x, y = map(float, pair.split(","))
            assert (-1 <= x <= width + 1, -1 <= y <= height + 1) == (True, True)
    assert not {element.tag.removeprefix(SVG) for element in root.iter()} - {
        *("svg", "title", "desc", "text", "line", "rect", "circle", "polyline")
    }


def test_a_strangers_name_is_text() -> None:
    row = RangeRow('<script>"&', 1.0, 0.5, 2.0, "]]><b>")
    drawn = drawn_diagram(RangeDiagram("</title><script>", (row,)), ident="d")
    assert not re.search(r"<script|<b>", drawn)
    assert ET.fromstring(drawn).findtext(f"{SVG}desc") == '<script>"&: ]]><b>'  # noqa: S314


def test_the_words_of_each_hold_its_figures() -> None:
    def words(diagram: Diagram) -> str:
        return ET.fromstring(drawn_diagram(diagram, ident="d")).findtext(f"{SVG}desc") or ""  # noqa: S314

    assert words(ReliabilityDiagram("r", (ReliabilityPoint(0.8, 0.5, 40),))) == (
        "stated 80 %: 50 % of 40 came true"
    )
    assert words(StepDiagram("s", ((12.5, 0.75), (30.0, 0.5)), 60.0)) == (
        "after 12.5 days 75 % are left; after 30 days 50 % are left"
    )
    assert words(HistogramDiagram("h", (3, 4), 0.0, 1.0, "0 %", "100 %", 0.7, "mean 70 %")) == (
        "from 0 % to 100 %: 3, 4; mean 70 %"
    )


def test_a_waterfall_s_bars_begin_where_the_one_before_ended() -> None:
    """From -50 down 20 to -70, up 100 to +30: (where it begins, how wide it is)."""
    rows = [WaterfallStep("fees", -20.0, "-20"), WaterfallStep("size", 100.0, "+100")]
    drawn = drawn_diagram(waterfall_of("w", WaterfallStep("backtest", -50.0, "-50"), rows), ident="d")
    bars = [
        (float(bar.get("x", "")), float(bar.get("width", "")))
        for bar in ET.fromstring(drawn).iter(f"{SVG}rect")  # noqa: S314
    ]
    unit = bars[2][1] / 100
    spans = [(round((x - bars[1][0]) / unit - 70), round(width / unit)) for x, width in bars]
    assert spans == [(-50, 50), (-70, 20), (-70, 100), (0, 30)]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_a_diagram_is_a_picture_too_the_same_bytes_each_time(palette: object) -> None:
    diagram = StepDiagram("Rules", ((12.5, 0.75), (30.0, 0.5)), 60.0)
    shade = LIGHT if palette is LIGHT else DARK
    picture = png_of(drawn_diagram(diagram, palette=shade), shade)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 2_000
