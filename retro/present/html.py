"""A page as one self-contained HTML file: no script, nothing remote, light and dark, charts drawn by us."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retro.figures import DASH, percent
from retro.present.charts.bars import forest, waterfall
from retro.present.charts.days import calendar, equity_curve
from retro.present.charts.diagrams import drawn_diagram
from retro.present.charts.odds import odds_by_week
from retro.present.charts.spark import sparkline
from retro.present.charts.trajectory import position_path
from retro.present.environment import environment_of, markup
from retro.present.page.screens.stops import stop_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment

    from retro.present.page.blocks import Bars, Days, OddsChart, OddsLine, Page, PathChart, Verdicts
    from retro.present.page.diagrams import Diagram
    from retro.present.references import Reference

__all__ = ["TEMPLATES", "environment_of_pages", "html_of"]

TEMPLATES: Final = Path(__file__).parent / "templates"
"""Where pages and screens are laid out, with their styles."""


def html_of(page: Page) -> str:
    """The page as HTML; every string in it is escaped by the template engine, charts escape their own.

    It leads nowhere: a file is read where none of its references can be followed.
    """
    return (
        environment_of_pages()
        .get_template("page.html.j2")
        .render(page=page, link=_nowhere, live=False, why="")
    )


def _nowhere(_: Reference) -> None:
    return None


@cache
def environment_of_pages() -> Environment:
    """The engine that draws blocks; `link`, given to each template, says where a reference leads."""
    environment = environment_of(TEMPLATES, _FILTERS, {"style": "page.css"})
    environment.globals["DASH"] = DASH
    return environment


def _bars(block: Bars) -> str:
    return markup(waterfall(block.rows, block.total, unit=block.unit))


def _intervals(block: Verdicts) -> str:
    return markup(forest(block.rows, unit=block.unit))


def _odds(block: OddsChart, row: OddsLine, ident: str) -> str:
    return markup(odds_by_week(block, row, ident=ident))


def _equity(block: Days, rows: str = "") -> str:
    return markup(equity_curve(block.rows, block.opening, unit=block.unit, rows=rows))


def _strip(block: Days) -> str:
    return markup(calendar(block.rows, unit=block.unit))


def _path(block: PathChart, ident: str, rows: str = "") -> str:
    return markup(
        position_path(
            block.position, unit=block.unit, ident=ident, small=block.small, window=block.window, rows=rows
        )
    )


def _diagram(block: Diagram, ident: str) -> str:
    return markup(drawn_diagram(block, ident=ident))


def _spark(levels: bytes) -> str:
    return markup(sparkline(levels))


def _percent(share: float | None) -> str:
    return percent(share, 1)


_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "bars": _bars,
    "intervals": _intervals,
    "odds": _odds,
    "equity": _equity,
    "strip": _strip,
    "path": _path,
    "stops": stop_rows,
    "diagram": _diagram,
    "percent": _percent,
    "spark": _spark,
}
"""What a template draws with: charts escape what strangers wrote themselves."""
