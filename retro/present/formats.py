"""One document, four formats: text, JSON, Markdown, HTML. The same figures in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from retro.figures import money_of
from retro.present.page.fleet import page_of_fleet
from retro.present.page.position import page_of_position
from retro.present.page.report import page_of_report
from retro.present.page.screens.today import page_of_today
from retro.present.text.page import text_of
from retro.report import PositionRetrospective, RetrospectiveReport, dump
from retro.report.fleet import FleetReport
from retro.report.today import TodayReport
from retro.safe import clean

if TYPE_CHECKING:
    from retro.present.page.blocks import Page
    from retro.report.evaluators.luck import TwinSpread

__all__ = ["Format", "Printable", "page_of", "render"]

Format = Literal["text", "json", "md", "html"]
Printable = RetrospectiveReport | PositionRetrospective | FleetReport | TodayReport
"""What has a page."""


def render(
    document: Printable,
    format: Format,  # noqa: A002  what the contract calls it
    *,
    width: int = 80,
    colour: bool = False,
    currency: str = "",
    twins: TwinSpread | None = None,
) -> str:
    """The document in a format; the same document gives the same text.

    `width` and `colour` (ANSI) concern text alone. A position does not say its unit: `currency` does; nor what its
    `twins` made.
    """
    document = clean(document)
    if format == "json":
        return dump(document)
    page = page_of(document, currency, twins)
    if format == "md":
        from retro.present.markdown import markdown_of  # noqa: PLC0415  who prints one format loads that one

        return markdown_of(page)
    if format == "html":
        from retro.present.html import html_of  # noqa: PLC0415  as above

        return html_of(page)
    return text_of(page, width=width, colour=colour)


def page_of(document: Printable, currency: str = "", twins: TwinSpread | None = None) -> Page:
    """The document as a page of blocks; it has to be clean already."""
    if isinstance(document, FleetReport):
        return page_of_fleet(document)
    if isinstance(document, TodayReport):
        return page_of_today(document)
    if isinstance(document, RetrospectiveReport):
        return page_of_report(document)
    amounts = [document.final_pnl, document.mfe, document.mae, document.period_pnl]
    return page_of_position(document, money_of(currency, amounts), twins)
