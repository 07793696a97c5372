"""Text for a terminal: complete, never wider than asked, coloured only when asked."""

from __future__ import annotations

import itertools
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from retro.narrate.plain import position_words, words
from retro.narrate.slots import report_slots
from retro.present.formats import render
from retro.present.page.blocks import Cell, Column, Table, TableRow
from retro.present.path import path_points, stepwise
from retro.present.text.drawings import diverging
from retro.present.text.tables import table_lines
from retro.present.widths import cells, cut, pad, wrap
from retro.report import Narrative, PathPoint, PositionRetrospective, Recommendation, RetrospectiveReport
from tests.worlds.samples import reports
from tests.worlds.samples.rows import heuristic

WIDE = "日本語の長い名前とても長い名前👍🏽ＦＵＬＬ é한국어"
DOCUMENTS: dict[str, RetrospectiveReport | PositionRetrospective] = {
    "week": words(reports.weekly()),
    "empty day": words(reports.empty_daily()),
    "position": position_words(reports.position()),
    "open position": reports.spot(open=True, exit_at=None, exit_price=None, flags=["open"]),
    "wide names": reports.week_quoting(WIDE * 3),
    "wide position": reports.position(
        position_id=WIDE * 4,
        agent=WIDE,
        instrument=WIDE,
        strategy=WIDE,
        entry_reasoning=WIDE * 40,
        exit_reason=WIDE,
    ),
    "one endless word": reports.week_quoting("x" * 5000),
    "huge amounts": reports.position(
        final_pnl=-1.5e300, mfe=1.5e300, regret=2e300, path=reports.wave(peak=1e300, end=-1e300)
    ),
}


@pytest.mark.parametrize("width", [60, 80, 100, 137])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_line_is_wider_than_asked(name: str, width: int) -> None:
    for line in render(DOCUMENTS[name], "text", width=width).splitlines():
        naive = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        assert max(cells(line), cell_len(line), naive) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_colour_is_only_ever_added(name: str) -> None:
    plain = render(DOCUMENTS[name], "text")
    coloured = render(DOCUMENTS[name], "text", colour=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert [line.rstrip() for line in re.sub(r"\x1b\[\d+m", "", coloured).splitlines()] == plain.splitlines()


def text_of(name: str) -> str:
    return " ".join(render(DOCUMENTS[name], "text").split())


def test_the_first_screen_answers_in_the_owners_order() -> None:
    text = text_of("week")
    answers = (
        "WEEKLY REVIEW: golem-7 Mon 16 to Sun 22 Nov 2026 (2026-W47), UTC",
        "▲ Up 8.41 USDC LP fees earned +14.20 and trading gains +6.40; against that impermanent loss -8.20",
        "Against doing nothing closed +0.45, open -1.53 USDC acting beat doing nothing over 3 closed positions,",
        "Best position +6.20 USDC BTC/USDC spot, spot-1",
        "Worst position -4.20 USDC ETH/USDC LP, aero-lp-3",
        "Wants a decision 1 H-15 INVESTIGATE; 1 more by the thresholds, on weak evidence",
        "HEURISTIC AUDIT",
    )
    places = [text.index(answer) for answer in answers]
    assert places == sorted(places)
    assert render(DOCUMENTS["week"], "text").splitlines()[:22].count("") <= 4


def test_a_heuristic_stands_with_its_doubt_on_one_line() -> None:
    row = heuristic(interval=None, e_against=None, interval_one_look=None)
    short = render(words(reports.weekly(heuristic_performance=[row])), "text").splitlines()
    assert "DEMOTE (weak: 3 citations)" in next(line for line in short if line.startswith("▸ H-7"))
    lines = render(DOCUMENTS["week"], "text").splitlines()
    line = next(line for line in lines if line.startswith("▸ H-7"))
    assert "    weak (1.4 to 1): 3 citations, 95 % +9.90 or below at every look" in lines
    assert line.endswith("-2.10 USDC avg")
    text = text_of("week")
    assert "average -2.10 over 3, below -1.00; won 33 % of 3, sum -6.30 USDC (-4.20 shared)" in text
    assert "cannot be told apart from H-12 (0.92)" in text
    assert "Never cited in the period, condition never triggered: H-9." in text
    assert text.index("▸ H-7 ") < text.index("▸ H-15 ") < text.index("▸ H-3 ")


def test_evidence_of_all_outcomes_against_the_verdict_of_a_week_is_told_as_such() -> None:
    """A rule that lost over its life and won this week: kept, by the thresholds; what supports that is nothing."""
    recommendation = Recommendation(kind="keep", reason="average +1.40 over 8, at or above +0.50")
    fields = {
        "recommendation": recommendation,
        "avg_pnl_per_citation": 1.4,
        "evaluated_count": 8,
        "evidence_n": 127,
    }
    row = heuristic("H-9", evidence="supported", e_against=61.9, interval=[-17.9, -1.7], **fields)
    text = render(words(reports.weekly(heuristic_performance=[row])), "text")
    flat = " ".join(text.split())
    assert (
        "supported against it (61 to 1): 3 citations, 95 % -17.9..-1.7 at every look since 1 Nov 2026, n 127"
        in flat
    )
    assert "keep it, by the thresholds; but the evidence of all 127 outcomes shows that it loses." in flat
    assert "the evidence supports it" not in flat
    standing = report_slots(reports.weekly(heuristic_performance=[row])).by_name["h.H-9.name"].standing
    assert standing is not None
    assert standing.evidence == "none"


def test_a_week_in_which_nothing_moved_names_no_best_position() -> None:
    still = [reports.position(position_id=f"p-{n}", period_pnl=0.0) for n in range(3)]
    text = render(reports.weekly(positions=still), "text")
    assert "Best position – all 3 stood still" in " ".join(text.split())
    assert "Worst position" not in text


def test_the_attribution_shows_its_lines_and_its_total_and_no_line_of_nothing() -> None:
    text = (
        render(DOCUMENTS["week"], "text").split("WHERE THE MONEY CAME FROM")[1].split("Inside the lines")[0]
    )
    labelled_amounts = re.findall(r"^  (\S[A-Za-z ]+?)  .*?([-+][\d.,]+)$", text, re.MULTILINE)
    *lines, (last, total) = [(label, float(amount)) for label, amount in labelled_amounts]
    assert last == "Total"
    assert sum(amount for _, amount in lines) == pytest.approx(total) == pytest.approx(8.41)
    assert "Staking" not in text


@pytest.mark.parametrize(
    "text",
    [
        "RISK ───────────────────────────────────────────────────────────── noisy: 7 days",
        "Above luck      22 %     probability that it is above the best of 9",
        "Record needed   64 days  for a PSR of 95 %",
        "Calmar ratio    –        beyond what a number holds",
        "Prediction accuracy    76.5 %  26 of 34 that can be judged were right",
        "Inference  0.36 USDC  51,234 tokens in, 4,120 out",
        "~ ETH/USDC    1   -4.20",
        "fewer than 3 positions: not ranked",
        "ghost                    fill 91 x the price of its candle",
        "2 foreign rows could not be used, or not as told: `retro faults` lists them.",
        "AERO: no mark since 2026-11-19T04:00:00Z",
        "In hindsight (it knew the ending)",
        "Words written by code from the figures on this page (no model was asked).",
        "data 3efbe9a6b0724baa, seed 1501719407",
        "perp-9",
        "Hold   5  none with a citation",
    ],
)
def test_the_week_tells(text: str) -> None:
    assert text in render(DOCUMENTS["week"], "text")


def test_an_empty_day_says_so_with_reasons_and_no_zero_in_the_place_of_a_figure() -> None:
    text = text_of("empty day")
    assert "DAILY REVIEW: golem-7 Mon 16 Nov 2026" in text
    assert "Flat Nothing was earned, lost or spent." in text
    assert "Against doing nothing – no position was closed in the period" in text
    assert "Effectiveness score – fewer than two of its parts are known" in text
    assert "RISK" in text
    assert "– the agent's capital is not known." in text


def test_few_days_of_returns_are_not_shown() -> None:
    risk = reports.weekly().risk.model_copy(update={"days": 4, "sharpe": 9.87})
    text = render(reports.weekly(risk=risk), "text")
    assert "4 daily returns: too few to show" in text
    assert "9.87" not in text


def test_a_model_is_named_as_the_author_of_its_words() -> None:
    narrative = Narrative(source="model", model="some-model", cost=0.0123)
    text = render(reports.weekly(narrative=narrative, what_worked="It held."), "text")
    assert "Words by some-model; every figure in them was filled in by code." in text
    assert "$0.0123" in text


def test_long_lists_are_cut_and_say_how_much_is_missing() -> None:
    many = [reports.spot(f"p{i:03}", float(i)) for i in range(57)]
    rows = [reports.heuristic(f"H-{i}") for i in range(45)]
    text = render(reports.weekly(positions=many, heuristic_performance=rows), "text")
    assert "and 37 more" in text
    assert "40 more (40 " in text
    assert " p056 " in text
    assert " p036 " not in text


def test_rules_nobody_cited_are_named_while_there_is_room_and_counted_beyond() -> None:
    silent = [
        reports.heuristic(f"H-{i}", citation_count=0, evaluated_count=0, evidence_n=0) for i in range(1234)
    ]
    report = reports.weekly(heuristic_performance=silent)
    for form in ("text", "md"):
        text = " ".join(render(report, form).split())
        assert "H-18, H-19, and 1,214 more: retro playbook audit and the JSON document have them all" in text
        assert "H-20" not in text
    assert '"H-1233"' in render(report, "json")
    few = render(reports.weekly(heuristic_performance=silent[:20]), "text")
    assert "H-19." in few
    assert " more: retro" not in few


def test_names_too_long_for_their_column_stand_whole_above_their_row() -> None:
    columns = (Column("Group", right=False, cut=6), Column("n"), Column("PnL"))
    rows = tuple(
        TableRow((Cell(f"breakout_48h x {name}"), Cell("7"), Cell("+1.00")), faint=name == "roi")
        for name in ("roi", "stop")
    )
    lines = ["".join(span.text for span in line) for line in table_lines(Table(columns, rows), 26)]
    assert [line.rstrip() for line in lines[1:]] == [
        "~ breakout_48h x roi",
        "                  7  +1.00",
        "  breakout_48h x stop",
        "                  7  +1.00",
    ]


def test_one_wide_row_does_not_break_all_the_others() -> None:
    """A bot's week: every trade was held for hours but one, which is open."""
    columns = (Column("Position", right=False, cut=6), Column("Held"), Column("USDT"))
    held = ["3.1 h"] * 5 + ["open 44.2 h"]
    rows = tuple(
        TableRow((Cell(f"ft-{n} ENJ/USDT"), Cell(text), Cell("+1.00"))) for n, text in enumerate(held)
    )
    lines = ["".join(span.text for span in line).rstrip() for line in table_lines(Table(columns, rows), 30)]
    assert lines == [
        "  Position        Held   USDT",
        *(f"  ft-{n} ENJ/USDT  3.1 h  +1.00" for n in range(5)),
        "  ft-5 ENJ/USDT",
        "           open 44.2 h  +1.00",
    ]


def test_a_drawn_path_holds_each_value_until_the_next() -> None:
    path = [
        PathPoint(at="2026-11-16T00:00:00Z", pnl=0.0),
        PathPoint(at="2026-11-17T00:00:00Z", pnl=8.0),
        PathPoint(at="2026-11-18T00:00:00Z", pnl=-2.0),
    ]
    position = reports.position(pnl_trajectory=[], path=path, optimal_exit_at=None, optimal_exit_pnl=None)
    assert stepwise(path_points(position)) == [
        (0.0, 0.0),
        (86400.0, 0.0),
        (86400.0, 8.0),
        (172800.0, 8.0),
        (172800.0, -2.0),
    ]


def test_long_names_leave_the_first_screen_readable() -> None:
    lines = render(DOCUMENTS["one endless word"], "text").splitlines()
    start = next(i for i, line in enumerate(lines) if "Only position" in line)
    end = next(i for i, line in enumerate(lines) if line.startswith("HEURISTIC AUDIT"))
    assert end - start < 16


def test_the_position_page_reads_as_the_seed_drew_it() -> None:
    text = render(DOCUMENTS["position"], "text", currency="USDC")
    flat = " ".join(text.split())
    lines = (
        "POSITION RETROSPECTIVE: ETH/USDC LP",
        "Lifecycle 7.2 d 2026-11-16 00:00 to 2026-11-23 04:48, UTC",
        "Entry cites H-7, H-12",
        "Entry predictions 3 registered 1 right of 2 judged",
        "│ Fee rate 2.3x its 7-day average; enter a tight range (H-7).",
        "said by golem-7, at the entry",
        "PNL TRAJECTORY",
        "○ entry ◆ checkpoint ▲ best exit ● exit",
        "HINDSIGHT ANALYSIS",
        "Peak PnL +2.80 USDC at 2,585.00",
        "Optimal exit +2.80 USDC 60 h",
        "Actual exit -4.20 USDC 7.2 d",
        "Regret 7.00 USDC",
        "Regret ratio 2.10 1 = luck",
        "Against doing nothing -5.35 USDC",
        "Against holding +1.15 USDC",
        "Against cash -4.20 USDC",
        "Left on the table – not defined for LP, lending and staking",
        "Impermanent loss",
        "What went wrong",
        "Lesson",
    )
    places = [flat.index(line) for line in lines if line != "Optimal exit +2.80 USDC 60 h"]
    assert places == sorted(places)
    chart = text.split("PNL TRAJECTORY")[1].split("After")[0]
    assert {"○", "◆", "▲", "●"} <= set(chart.split("○ entry")[0])
    assert sum("\u2800" < c <= "\u28ff" for c in chart) > 60
    assert "7d" in chart


def test_the_drawn_path_falls_where_the_pnl_falls() -> None:
    """Reading the chart column by column gives the path back: up to the peak, then down to the exit."""
    text = render(reports.position(pnl_trajectory=[], path=reports.wave()), "text")
    rows = text.split("PNL TRAJECTORY")[1].splitlines()[1:13]
    axis_end = rows[0].index("┤" if "┤" in rows[0] else "│") + 1
    first: dict[int, int] = {}
    for y, row in enumerate(rows):
        for x, c in enumerate(row[axis_end:]):
            if "\u2800" < c <= "\u28ff" or c in "○▲●":
                first.setdefault(x, y)
    columns = sorted(first)
    peak = min(columns, key=lambda x: (first[x], x))
    assert peak == pytest.approx(0.35 * columns[-1], abs=6)
    assert first[columns[-1]] == 11
    assert all(first[b] - first[a] <= 1 for a, b in itertools.pairwise(columns) if b <= peak)
    assert all(first[b] - first[a] >= -1 for a, b in itertools.pairwise(columns) if a >= peak)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8), st.integers(8, 60))
@example([5e-324], 8)
@settings(deadline=None, max_examples=150)
def test_bars_share_one_zero_line_and_one_scale(amounts: list[float], width: int) -> None:
    bars = diverging(amounts, width)
    assert {cells(loss_bar) + cells(gain_bar) for loss_bar, gain_bar in bars} == {width}
    assert len({cells(loss_bar) for loss_bar, _ in bars}) == 1
    for amount, (loss_bar, gain_bar) in zip(amounts, bars, strict=True):
        assert not (loss_bar.strip() and gain_bar.strip())
        if amount > 1e-3:
            assert gain_bar.strip()
        if amount < -1e-3:
            assert loss_bar.strip()
    lengths = [len((loss_bar + gain_bar).strip()) for loss_bar, gain_bar in bars]
    ranked = sorted(zip(map(abs, amounts), lengths, strict=True))
    assert all(b >= a - 1 for (_, a), (_, b) in itertools.pairwise(ranked))


@given(st.text(max_size=60), st.integers(2, 40))
@settings(deadline=None, max_examples=200)
def test_cutting_padding_and_wrapping_keep_to_their_width(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width
    assert cells(pad(text, width)) == width
    lines = wrap(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_title_keeps_its_per_cent_sign_where_no_cell_needs_its_room() -> None:
    columns = (Column("Rule", right=False), Column("95 %"), Column("Share of it %"))
    rows = (TableRow((Cell("H-1"), Cell("-"), Cell("2"))),)
    heading = [
        "".join(span.text for span in line).rstrip() for line in table_lines(Table(columns, rows), 40)
    ][:-1]
    assert [line.split() for line in heading] == [["Share"], ["Rule", "95", "%", "of", "it", "%"]]
