"""Charts as pictures a mail can carry: our own SVG drawn to PNG with the font that ships here, in light and dark.

The bytes are the same on every machine: no font of the system is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.present.charts.bars import forest, waterfall
from retro.present.charts.days import equity_curve
from retro.present.charts.odds import odds_by_week
from retro.present.charts.svg import DARK, LIGHT
from retro.present.charts.trajectory import position_path
from retro.present.page.blocks import Bars, Days, OddsChart, PathChart, Verdicts
from retro.present.widths import cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.present.charts.svg import Palette
    from retro.present.page.blocks import Block

__all__ = ["Picture", "picture_of", "png_of"]

_FONT: Final = "Inter"
_FONT_FILE: Final = Path(__file__).parent / "fonts" / "Inter.ttf"
_ZOOM: Final = 2.0  # pixels for each unit of the drawing: sharp on a phone, small on the way
_ALT: Final = 600
_LIGHT: Final = replace(LIGHT, font=_FONT)
_DARK: Final = replace(DARK, font=_FONT)


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart for light and for dark surroundings; `alt` says what it shows, with its figures."""

    name: str
    alt: str
    light: bytes
    dark: bytes


def picture_of(block: Block, name: str) -> Picture | None:
    """The block drawn, or None where it has no drawing or nothing to draw."""
    draw = _drawing(block)
    if draw is None:
        return None
    try:
        light, dark = png_of(draw(_LIGHT), _LIGHT), png_of(draw(_DARK), _DARK)
    except ValueError:  # a drawing nobody can draw: the mail says the same in words
        return None
    return Picture(name, cut(_alt_text(block), _ALT), light, dark)


@lru_cache(maxsize=32)  # a mail's charts are the same for each of its recipients
def png_of(svg: str, palette: Palette) -> bytes:
    """The drawing on the palette's paper; letters the shipped font lacks stay empty."""
    import resvg_py  # noqa: PLC0415  loaded when a mail has a chart

    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            background=palette.paper,
            skip_system_fonts=True,
            font_files=[str(_FONT_FILE)],
            font_family=_FONT,
            sans_serif_family=_FONT,
            zoom=_ZOOM,
        )
    )


def _drawing(block: Block) -> Callable[[Palette], str] | None:
    match block:
        case Bars() if block.rows:
            return lambda palette: waterfall(block.rows, block.total, unit=block.unit, palette=palette)
        case Verdicts() if block.is_drawn:
            return lambda palette: forest(block.rows, unit=block.unit, palette=palette)
        case OddsChart() if block.rows:
            return lambda palette: odds_by_week(block, palette=palette)
        case Days() if block.rows:
            return lambda palette: equity_curve(block.rows, block.opening, unit=block.unit, palette=palette)
        case PathChart() if len(block.position.path) > 1:
            return lambda palette: position_path(
                block.position, unit=block.unit, palette=palette, small=block.small
            )
    return None


def _alt_text(block: Block) -> str:
    """What the picture shows, in figures that the text part holds as well."""
    match block:
        case Bars():
            lines = [f"{row.label} {row.amount_text}" for row in block.rows]
            total = f"total {block.total.amount_text} {block.unit}".strip()
            return f"Where the money came from: {', '.join(lines)}; {total}"
        case Verdicts():
            rows = [f"{row.name} {row.role} {row.verdict} {row.average_text}".strip() for row in block.rows]
            return f"Average outcome of each heuristic and its 95 % interval: {'; '.join(rows)}"
        case OddsChart():
            rows = [f"{row.name} {row.role} {row.words}" for row in block.rows]
            return f"Odds week by week: {'; '.join(rows)}"
        case Days():
            last = block.rows[-1]
            if block.opening is None:
                return f"PnL added up day by day until {last.date}"
            return f"Equity and drawdown day by day; {last.equity_text} {block.unit}".strip() + " at the end"
        case PathChart():
            p = block.position
            return f"PnL of {p.position_id} from its entry to {'now' if p.open else 'its exit'}"
    return ""
