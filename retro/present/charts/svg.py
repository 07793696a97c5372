"""SVG by hand: a few elements, escaped and deterministic, and the palettes charts are drawn with. Pure.

Colours are attributes, so that a rasteriser without style sheets draws the same picture as a browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DARK",
    "INLINE",
    "LIGHT",
    "Palette",
    "circle",
    "document",
    "label",
    "num",
    "polygon",
    "polyline",
    "rect",
    "stroke",
]

_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a chart: text, quiet text, rules, paper, and one colour for each direction."""

    ink: str
    quiet: str
    rule: str
    paper: str
    up: str
    down: str
    warn: str
    font: str = _FONT

    def of(self, value: float) -> str:
        """The colour of an amount."""
        return self.down if value < 0 else self.up


LIGHT: Final = Palette("#1c2024", "#666d76", "#dfe2e5", "#ffffff", "#1f5fbf", "#b5482a", "#946800")
DARK: Final = Palette("#e8eaed", "#9aa1aa", "#363b42", "#15181c", "#7eb0ff", "#f08a68", "#d9aa3c")
INLINE: Final = Palette(
    "var(--ink)",
    "var(--quiet)",
    "var(--rule)",
    "var(--paper)",
    "var(--up)",
    "var(--down)",
    "var(--warn)",
    "inherit",
)
"""For a page that sets the colours itself and may be light or dark; not for a rasteriser."""


def num(value: float) -> str:
    """A coordinate: two decimals at most, never -0."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def document(
    width: float,
    height: float,
    body: list[str],
    *,
    ident: str,
    title: str,
    desc: str,
    font: str,
    rows: str = "",
    points: Sequence[tuple[float, float]] = (),
) -> str:
    """A whole SVG element: scales to its container, named and described for those who do not see it.

    `rows` is the id of a table that says in words what lies at `points`, one row each, for a cursor.
    """
    places = " ".join(f"{num(round(x, 1))},{num(round(y, 1))}" for x, y in points)
    extra = f' data-rows="{escape(rows)}" data-points="{places}"' if rows and places else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {num(width)} {num(height)}" width="{num(width)}"'
        f' height="{num(height)}" role="img" aria-labelledby="{ident}-t {ident}-d"{extra} font-family="{escape(font)}"'
        f' font-size="12"><title id="{ident}-t">{escape(title)}</title><desc id="{ident}-d">{escape(desc)}</desc>'
        f"{''.join(body)}</svg>"
    )


def label(
    x: float,
    y: float,
    text: str,
    colour: str,
    *,
    anchor: str = "start",
    size: float = 12,
    weight: int = 400,
    halo: str = "",
) -> str:
    """A text whose baseline starts, centres or ends at (x, y); a `halo` keeps it legible over lines."""
    extra = "" if anchor == "start" else f' text-anchor="{anchor}"'
    extra += "" if size == 12 else f' font-size="{num(size)}"'
    extra += "" if weight == 400 else f' font-weight="{weight}"'
    extra += f' stroke="{halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return f'<text x="{num(x)}" y="{num(y)}" fill="{colour}"{extra}>{escape(text)}</text>'


def rect(
    x: float, y: float, width: float, height: float, colour: str, *, opacity: float = 1, round_: float = 0
) -> str:
    """A filled rectangle."""
    extra = "" if opacity == 1 else f' fill-opacity="{num(opacity)}"'
    extra += f' rx="{num(round_)}"' if round_ else ""
    return (
        f'<rect x="{num(x)}" y="{num(y)}" width="{num(max(0.0, width))}" height="{num(max(0.0, height))}"'
        f' fill="{colour}"{extra}/>'
    )


def stroke(
    x1: float, y1: float, x2: float, y2: float, colour: str, *, width: float = 1, dash: str = ""
) -> str:
    """A straight line."""
    extra = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}" stroke="{colour}"'
        f' stroke-width="{num(width)}"{extra}/>'
    )


def polyline(points: list[tuple[float, float]], colour: str, *, width: float = 1.6, dash: str = "") -> str:
    """A line through points."""
    extra = f' stroke-dasharray="{dash}"' if dash else ""
    coordinates = " ".join(f"{num(x)},{num(y)}" for x, y in points)
    return (
        f'<polyline points="{coordinates}" fill="none" stroke="{colour}" stroke-width="{num(width)}"'
        f' stroke-linejoin="round" stroke-linecap="round"{extra}/>'
    )


def polygon(points: list[tuple[float, float]], colour: str, *, opacity: float = 1, clip: str = "") -> str:
    """A filled area; `clip` names a clip path."""
    extra = f' clip-path="url(#{clip})"' if clip else ""
    coordinates = " ".join(f"{num(x)},{num(y)}" for x, y in points)
    return f'<polygon points="{coordinates}" fill="{colour}" fill-opacity="{num(opacity)}"{extra}/>'


def circle(x: float, y: float, radius: float, fill: str, edge: str, *, width: float = 1.6) -> str:
    """A disc with an edge."""
    return (
        f'<circle cx="{num(x)}" cy="{num(y)}" r="{num(radius)}" fill="{fill}" stroke="{edge}"'
        f' stroke-width="{num(width)}"/>'
    )
