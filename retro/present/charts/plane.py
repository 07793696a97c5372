"""The plane time charts are drawn on: fractions of the time to the right, amounts upwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import money_of
from retro.present.charts.bars import WIDTH
from retro.present.charts.svg import Palette, label, stroke
from retro.present.scale import amount_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Plane", "amount_axis", "plane_of", "thousands"]

_LEFT: Final = 54.0


class Plane(NamedTuple):
    """Where points of a chart lie: x from a fraction of the time, y from an amount."""

    x: Callable[[float], float]
    y: Callable[[float], float]
    left_edge: float
    right_edge: float


def plane_of(low: float, high: float, top: float, bottom: float) -> Plane:
    """The plane between two amounts, `top` and `bottom` in the picture; equal amounts get room around them."""
    if high <= low:
        low, high = low - 1.0, high + 1.0
    right = WIDTH - 8

    def y(amount: float) -> float:
        return bottom - (amount - low) / (high - low) * (bottom - top)

    return Plane(lambda share: _LEFT + share * (right - _LEFT), y, _LEFT, right)


def amount_axis(plane: Plane, low: float, high: float, palette: Palette, unit: str) -> list[str]:
    """Round amounts with their lines, zero stronger."""
    money = money_of(unit, [low, high])
    parts = []
    for tick in amount_ticks(low, high, 4):
        zero = abs(tick) < 1e-12
        text = "0" if zero else money.signed(tick)
        y = plane.y(tick)
        parts += [
            stroke(
                plane.left_edge, y, plane.right_edge, y, palette.quiet if zero else palette.rule, width=0.8
            ),
            label(plane.left_edge - 6, y + 4, text, palette.quiet, anchor="end", size=10.5),
        ]
    return parts


def thousands(value: float) -> str:
    """A short form for narrow places: 12.5k, 3M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
