"""A page as one self-contained HTML file: no script, nothing remote, light and dark, charts drawn by us."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, percent
from retro.present.charts.bars import forest, waterfall
from retro.present.charts.days import calendar, equity_curve
from retro.present.charts.trajectory import position_path

if TYPE_CHECKING:
    from jinja2 import Environment

    from retro.present.page.blocks import Bars, Days, Page, PathChart, Verdicts

__all__ = ["html_of"]

_TEMPLATES: Final = Path(__file__).parent / "templates"


def html_of(page: Page) -> str:
    """The page as HTML; every string in it is escaped by the template engine, charts escape their own."""
    return _environment().get_template("page.html.j2").render(page=page)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  loaded when a page is drawn
    from markupsafe import Markup  # noqa: PLC0415  comes with it

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def bars(block: Bars) -> str:
        return Markup(waterfall(block.rows, block.total, unit=block.unit))  # noqa: S704  our own, escaped there

    def intervals(block: Verdicts) -> str:
        return Markup(forest(block.rows, unit=block.unit))  # noqa: S704  our own, escaped there

    def equity(block: Days) -> str:
        return Markup(equity_curve(block.rows, block.opening, unit=block.unit))  # noqa: S704  our own, escaped there

    def strip(block: Days) -> str:
        return Markup(calendar(block.rows, unit=block.unit))  # noqa: S704  our own, escaped there

    def path(block: PathChart, ident: str) -> str:
        drawn = position_path(block.position, unit=block.unit, ident=ident, small=block.small)
        return Markup(drawn)  # noqa: S704  our own, escaped there

    environment.filters |= {
        "bars": bars,
        "intervals": intervals,
        "equity": equity,
        "strip": strip,
        "path": path,
    }
    environment.filters |= {"percent": lambda share: percent(share, 1)}
    environment.tests |= {"block": lambda block, name: type(block).__name__ == name}
    environment.globals |= {"DASH": DASH, "style": Markup((_TEMPLATES / "page.css").read_text("utf-8"))}  # noqa: S704  our own
    return environment
