"""What a careful owner read on a page and could not make sense of: each line of it once, in every format that draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retro import report as r
from retro.figures import money_of
from retro.present.charts.days import equity_curve
from retro.present.formats import render
from retro.present.page.amendments import evidence_in_words
from retro.present.page.answers import answers_of_report
from retro.present.page.blocks import Day, FigureList, Table
from retro.present.page.groups import actions_section
from retro.present.page.money import days_section
from retro.present.page.position import page_of_position
from retro.present.page.report import money_of_report, page_of_report
from retro.report.life import LifeReport, LifeWeek
from tests.worlds.commands import Retro, event, retro, round_trip
from tests.worlds.samples import reports

__all__ = ["retro"]

FORMATS = ("text", "md", "html")


def words(document: r.RetrospectiveReport, form: Any) -> str:
    """The page without its line breaks and Markdown's escapes."""
    return " ".join(render(document, form).replace("\\", "").replace("&#39;", "'").split())


def week(**breakdowns: Any) -> r.RetrospectiveReport:
    document = reports.weekly()
    return document.model_copy(
        update={"breakdowns": document.breakdowns.model_copy(update=breakdowns)},
    )


def test_a_day_without_a_result_is_drawn_and_says_why() -> None:
    why = "nothing moved while an open position had no price"
    full = reports.weekly().breakdowns
    calendar = [full.calendar[0].model_copy(update={"pnl": None}), *full.calendar[1:]]
    document = week(calendar=calendar, reasons=full.reasons | {"calendar.pnl": why})
    for form in FORMATS:
        assert why in words(document, form)
    assert why not in words(reports.weekly(), "text")


def test_days_without_capital_say_so_and_have_no_column_of_dashes() -> None:
    document = reports.weekly()
    bare = [day.model_copy(update={"equity": None, "growth": None}) for day in document.equity]
    document = document.model_copy(update={"equity": bare})
    section = days_section(document, money_of_report(document))
    assert section is not None
    for form in FORMATS:
        assert "the agent's capital is not known, and so neither equity nor drawdown" in words(document, form)
    assert ">Equity</th>" not in render(document, "html")


@pytest.mark.parametrize(
    ("gains", "losses", "said"),
    [
        (1.0, 1.0, "of losses on days with a sale; as of gains"),
        (1.0, 0.33, "below PGR: winners are sold sooner than losers"),
        (0.2, 0.5, "above PGR: losers are sold sooner than winners"),
    ],
)
def test_losses_realised_are_compared_with_the_gains_that_stand_above(
    gains: float, losses: float, said: str
) -> None:
    text = words(week(pgr=gains, plr=losses), "text")
    assert said in text
    assert text.count("PGR:") == 1 + ("PGR: w" in said) + ("PGR: l" in said)


def test_the_positions_that_moved_most_stand_in_that_order() -> None:
    many = [reports.spot(f"p{i:03}", float(i % 7 * 10 + i)) for i in range(30)]
    document = reports.weekly(positions=many)
    page = page_of_report(document)
    (table,) = (
        block
        for section in page.sections
        if section.key == "positions"
        for block in section.blocks
        if hasattr(block, "columns")
    )
    names = [row.cells[0].text for row in table.rows]
    by_size = sorted(many, key=lambda p: (-abs(p.period_pnl or 0.0), p.position_id))
    assert names == [p.position_id for p in by_size[:20]]
    assert "the 20 that moved most, the largest first" in table.note


def test_rows_on_weak_evidence_do_not_fill_the_page() -> None:
    """Ten weak rows and one that its evidence carries: that one and five of them are shown, five are counted."""
    rows = [reports.heuristic(f"H-{i}").model_copy(update={"evidence": "weak"}) for i in range(10)]
    strong = reports.heuristic("H-99").model_copy(update={"evidence": "supported"})
    document = reports.weekly(heuristic_performance=[*rows, strong])
    for form in FORMATS:
        text = words(document, form)
        assert "H-99" in text
        assert "on weak evidence or none: retro playbook audit and the JSON document have them all" in text
        assert "5 more (5 " in text
    block = next(s for s in page_of_report(document).sections if s.key == "audit").blocks[0]
    assert [row.name for row in block.rows] == ["H-0", "H-1", "H-2", "H-3", "H-4", "H-99"]
    assert len(document.heuristic_performance) == 11


def test_quiet_weeks_of_a_life_are_counted_and_columns_without_a_figure_left_out() -> None:
    def told(name: str, pnl: float, closed: int) -> LifeWeek:
        nothing: dict[str, Any] = dict.fromkeys(("equity", "growth", "drawdown", "vs_inaction"))
        return LifeWeek(
            week=name, days=7, pnl=pnl, cumulative_pnl=pnl, closed_positions=closed, wins=0, **nothing
        )

    fields = {name: getattr(reports.weekly(), name) for name in r.RetrospectiveReport.model_fields}
    quiet = [told(f"2026-W{week:02d}", 0.0, 0) for week in range(11, 18)]
    document = LifeReport(**fields, weeks=[told("2026-W10", 5.0, 1), *quiet, told("2026-W18", 0.0, 2)])
    for form in FORMATS:
        text = words(document, form)
        assert "7 weeks left out: nothing was closed and nothing moved" in text
        assert "without equity and return: the agent's capital is not known" in text
        assert "2026-W10" in text
        assert "2026-W18" in text
        assert "2026-W12" not in text
        assert "Below the peak" not in text


def test_what_acting_won_says_what_stands_open_beside_it(retro: Retro) -> None:
    """+10 over one closed position, and a bag of 5 bought at 100 that is marked 80: -100."""
    bag = {"position": "bag", "instrument": "SOL/USDC"}
    lines = [
        round_trip("won", profit=10),
        event("position", "bag-p", "2026-03-03T09:00:00Z", kind="spot", side="long", **bag),
        event("fill", "bag-b", "2026-03-03T09:00:00Z", side="buy", quantity="5", price="100", **bag),
        event("mark", "m", "2026-03-03T12:00:00Z", instrument="SOL/USDC", price="80"),
    ]
    Path("a.jsonl").write_text("".join(lines))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    text = " ".join(retro("review", "weekly").out.split())
    assert "closed +10.00, open -100.00 USDC" in text
    assert "over 1 closed position, 1 open position stands at -100.00 USDC" in text
    document = r.RetrospectiveReport.model_validate_json(retro("review", "weekly", "--json").out)
    (answer,) = (a for a in answers_of_report(document, money_of_report(document)) if a.key == "acting")
    assert answer.answer == "Closed +10.00, open -100.00 USDC"
    assert "1 open position stands at -100.00 USDC" in answer.note


def test_an_open_position_ends_now_and_not_at_an_exit() -> None:
    still = reports.spot(open=True, exit_at=None, exit_price=None, flags=["open"])
    for position, name in ((still, "now"), (reports.spot(), "exit")):
        (section,) = (
            s for s in page_of_position(position, money_of("USDC", [])).sections if s.key == "trajectory"
        )
        (table,) = (block for block in section.blocks if isinstance(block, Table))
        assert [row.cells[0].text for row in table.rows] == [name]


def test_an_exit_row_that_missed_gains_avoids_no_negative_sum() -> None:
    missed: dict[str, Any] = dict.fromkeys(("associated_pnl", "shared_pnl"), -377.88)
    row = reports.heuristic(role="exit", avg_pnl_per_citation=-31.49, **missed)
    text = words(reports.weekly(heuristic_performance=[row]), "text")
    assert ", 377.88 USDC missed in all, by what the price did after them" in text
    assert "-377.88 USDC avoided" not in text


def test_an_amount_that_has_no_room_before_the_curve_is_shortened() -> None:
    """Nine characters do not fit there: 19,000.00 lost its first digit in a mail."""
    days = [
        Day(f"2026-03-{n + 2:02d}", "", -200.0, "-200.00", 19200.0 - 200 * n, "", -0.01 * n) for n in range(7)
    ]
    drawing = equity_curve(days, 19400.0, unit="USDC")
    assert ">19k<" in drawing
    assert "19,000.00" not in drawing.split("</desc>")[1]


def test_a_proposal_says_of_how_many_were_won_where_its_average_is_of_fewer() -> None:
    """17 of 26 outcomes have an R; 22 of the 26 were won."""
    figures = {"unit": "r", "role": "entry", "resolved": 26, "averaged": 17, "average": 0.21, "wins": 22}
    text = evidence_in_words({"evidence": figures}, "USDC")
    assert text == "average +0.21 R over 17 of 26 resolved entry citations, 22 of 26 won"


def test_an_interval_of_all_outcomes_says_since_when_beside_an_average_of_the_period() -> None:
    """-20.00 of this week's 3, and -1.1 to +16.1 of the 230 since October."""
    fields = {"interval": [-1.1, 16.1], "evidence_n": 230, "evidence_since": "2026-10-03T08:00:00Z"}
    row = reports.heuristic("H-9", avg_pnl_per_citation=-20.0, **fields)
    document = reports.weekly(heuristic_performance=[row])
    for form in FORMATS:
        assert "95 % -1.1..+16.1 at every look since 3 Oct 2026, n 230" in words(document, form)


def test_nothing_to_report_claims_no_marks_that_nobody_told() -> None:
    document = reports.weekly()
    clean = document.data_quality.model_copy(
        update={
            "provisional": False,
            "missing_marks": [],
            "unpriced": [],
            "implausible": [],
            "warnings": [],
            "quarantined": 0,
        }
    )
    text = words(document.model_copy(update={"data_quality": clean}), "text")
    assert "every mark was there" not in text
    assert "no result lacked a mark" in text


def test_a_long_headline_is_broken_and_not_cut() -> None:
    document = reports.weekly()
    unpriced = [r.Unpriced(position_id=f"o{i}", cost=4_329_000.9) for i in range(1005)]
    quality = document.data_quality.model_copy(update={"unpriced": unpriced})
    text = render(document.model_copy(update={"data_quality": quality}), "text")
    assert "1,005 open positions cannot be priced (cost 4,350,645,904.50 USDC)" in " ".join(text.split())
    assert "\N{HORIZONTAL ELLIPSIS}" not in text.partition("Against doing nothing")[0]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("funding", [0.0, 127.37])
def test_what_exits_realised_is_told_as_without_funding_where_there_is_some(funding: float) -> None:
    actions = [
        r.Action(
            at="2026-11-10T00:00:00Z",
            action="exit",
            position_id="p",
            instrument="ETH/USDC",
            cites=[],
            realized_pnl=-2299.56,
        )
    ]
    document = reports.weekly()
    section = actions_section(actions, money_of_report(document), funding)
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, FigureList)
    assert block.rows[0].note == "none with a citation; -2,299.56 USDC realised by 1" + (
        ", without funding" if funding else ""
    )
