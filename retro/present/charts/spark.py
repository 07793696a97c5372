"""A way in a line of a table as SVG: no axis, no figure; the figures stand beside it."""

from __future__ import annotations

from typing import Final

from retro.present.charts.svg import INLINE, Palette, num, polyline

__all__ = ["sparkline"]

_WIDTH: Final = 72.0
_HEIGHT: Final = 16.0
_EDGE: Final = 1.5


def sparkline(levels: bytes, *, palette: Palette = INLINE) -> str:
    """Levels, a byte each from the lowest of a way, 0, to its highest, 255, from left to right; nothing of nothing."""
    if not levels:
        return ""
    step = (_WIDTH - 2 * _EDGE) / max(1, len(levels) - 1)
    height = _HEIGHT - 2 * _EDGE
    points = [(_EDGE + i * step, _EDGE + height - level / 255 * height) for i, level in enumerate(levels)]
    return (
        f'<svg viewBox="0 0 {num(_WIDTH)} {num(_HEIGHT)}" width="{num(_WIDTH)}" height="{num(_HEIGHT)}"'
        f' aria-hidden="true">{polyline(points, palette.quiet, width=1.4)}</svg>'
    )
