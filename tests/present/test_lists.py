"""Lists are tables of a page: a terminal, Markdown and HTML draw the same rows, and rows lead to what they name."""

from __future__ import annotations

from dataclasses import replace

from retro.present.charts.spark import sparkline
from retro.present.html import html_of
from retro.present.markdown import markdown_of
from retro.present.page.blocks import Headline, Page, Section, Table
from retro.present.page.screens.lists import agents_table, letters_table, positions_table, reviews_table
from retro.present.references import AgentReference, PositionReference, ReviewReference
from retro.present.text.page import text_of
from retro.report.overviews import AgentOverview, LetterOverview, PositionOverview, ReviewOverview

HOUR = 3_600_000_000
POSITION = PositionOverview(
    name="t-1",
    agent="bot",
    kind="perp",
    instrument="BTC/USDC:USDC",
    strategy="s",
    side="short",
    opened_at=0,
    closed_at=3 * HOUR,
    final_pnl=-12.5,
    vs_inaction=1.25,
    notional=100.0,
    implausible=False,
    ruling=None,
    mfe=1.0,
    mae=-13.0,
    regret=13.5,
    spark=bytes(range(0, 240, 10)),
)
REVIEW = ReviewOverview(
    "bot.daily.1970-01-01", "bot", "daily", "", 0, 24 * HOUR, "parked", 0, 3, False, "no marks"
)


def page_with(table: Table) -> Page:
    return Page(Headline("List", "t", "s", "r", "w", "plain"), (Section("list", "List", (table,)),))


def test_a_position_has_its_figures_in_every_format_and_its_way_drawn() -> None:
    page = page_with(positions_table([POSITION, replace(POSITION, name="t-2", spark=None)], "USDC"))
    text, markdown, html = text_of(page, width=140), markdown_of(page), html_of(page)
    for figure in ("t-1", "BTC/USDC:USDC short", "3 h", "-12.50", "+1.25", "13.50"):
        assert figure in text
        assert figure in markdown.replace("&#58;", ":")
        assert figure in html
    assert "▁▂" in text
    assert "▁▂" in markdown
    assert html.count("<polyline") == 1


def test_the_column_of_doubts_stands_only_where_there_is_one() -> None:
    assert "implausible" not in text_of(page_with(positions_table([POSITION], "USDC")))
    doubted = positions_table([POSITION, replace(POSITION, implausible=True)], "USDC")
    assert [row.cells[-1].text for row in doubted.rows] == ["", "implausible"]


def test_rows_lead_to_what_they_name() -> None:
    agent = AgentOverview("bot", 0, None, 3, 2, 1, "USDC", None)
    letter = LetterOverview(1, "bot.weekly.1970-W01", 1, "mail", "owner@example.org", "sent")
    assert agents_table([agent]).rows[0].cells[0].ref == AgentReference("bot")
    assert positions_table([POSITION], "USDC").rows[0].cells[0].ref == PositionReference("bot", "t-1")
    assert letters_table([letter]).rows[0].cells[0].ref == ReviewReference("bot.weekly.1970-W01")
    assert reviews_table([replace(REVIEW, revision=1)]).rows[0].cells[0].ref == ReviewReference(REVIEW.id)


def test_a_review_that_was_never_made_leads_nowhere_and_says_what_stands_in_its_way() -> None:
    (row,) = reviews_table([REVIEW]).rows
    assert row.cells[0].ref is None
    assert [cell.text for cell in row.cells[2:]] == ["parked", "0", "–", "–", "no marks"]


def test_a_file_leads_nowhere() -> None:
    assert "<a " not in html_of(page_with(positions_table([POSITION], "USDC")))


def test_a_spark_runs_from_left_to_right_and_up_with_its_levels() -> None:
    drawn = sparkline(bytes([0, 255]))
    assert 'points="1.5,14.5 70.5,1.5"' in drawn
    assert sparkline(b"") == ""
