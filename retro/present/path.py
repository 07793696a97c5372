"""A position's path as it is drawn: a value holds until the next one is known, so the line goes by steps. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from retro.figures import seconds_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.report import PositionRetrospective

__all__ = ["path_points", "stepwise"]


def path_points(position: PositionRetrospective) -> list[tuple[float, float]]:
    """(seconds since the entry, PnL) of the path and its checkpoints, in order of time.

    The path is thinned for drawing, so that a checkpoint may lie between what was left of it: with its own point the
    line goes through it.
    """
    points = [(seconds_between(position.entry_at, point.at), point.pnl) for point in position.path]
    known, last = {at for at, _ in points}, points[-1][0]
    checkpoints = [
        (seconds_between(position.entry_at, point.at), point.pnl)
        for point in position.pnl_trajectory[:-1]
        if point.pnl is not None
    ]
    points += [(at, pnl) for at, pnl in checkpoints if at not in known and at < last]
    return sorted(
        points, key=lambda point: point[0]
    )  # stable: of one instant the later value stays the later


def stepwise(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the line through points that holds each value until the next."""
    corners = list(points[:1])
    for (_, held), (at, value) in pairwise(points):
        if value != held:
            corners.append((at, held))
        corners.append((at, value))
    return corners
