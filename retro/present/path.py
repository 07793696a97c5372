"""A position's path as it is drawn: a value holds until the next one is known, so the line goes by steps. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from retro.figures import seconds_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.report import PositionRetrospective

__all__ = ["PathStop", "in_window", "path_points", "path_stops", "stepwise"]


class PathStop(NamedTuple):
    """A point of a drawn path: seconds since the entry, its instant, the PnL, and which moment of the life it is.

    `kind` is "entry", "checkpoint", "best" or "exit"; "" of a mark between them. `name` says it in words.
    """

    seconds: float
    at: str
    pnl: float
    kind: str = ""
    name: str = ""


def path_stops(position: PositionRetrospective) -> list[PathStop]:
    """Every point that is drawn, in order of time: marks, checkpoints, the best exit, entry and exit."""
    path, entry = position.path, position.entry_at
    stops = [PathStop(seconds_between(entry, point.at), point.at, point.pnl) for point in path]
    stops[0] = stops[0]._replace(kind="entry", name="entry")
    last = stops[-1].seconds
    places = {stop.at: i for i, stop in enumerate(stops)}
    for point in position.pnl_trajectory[:-1]:
        seconds = seconds_between(entry, point.at)
        if point.pnl is None or seconds >= last:
            continue
        checkpoint = PathStop(seconds, point.at, point.pnl, "checkpoint", f"checkpoint {point.offset}")
        if point.at in places:
            stops[places[point.at]] = checkpoint
        else:
            stops.append(checkpoint)
    best = position.optimal_exit_at
    if best is not None and position.optimal_exit_pnl is not None and best != path[-1].at:
        stops.append(
            PathStop(seconds_between(entry, best), best, position.optimal_exit_pnl, "best", "best exit")
        )
    name = "now" if position.open else "best exit, taken" if best == path[-1].at else "exit"
    stops[len(path) - 1] = stops[len(path) - 1]._replace(kind="exit", name=name)
    return sorted(stops, key=lambda stop: stop.seconds)


def in_window(
    points: Sequence[tuple[float, float]], window: tuple[float, float]
) -> list[tuple[float, float]]:
    """The part of a path between two offsets: it begins with what held there, and ends with what holds at the end."""
    start, end = window
    inside = [(at, value) for at, value in points if start <= at <= end]
    before = [value for at, value in points if at < start]
    if before and (not inside or inside[0][0] > start):
        inside.insert(0, (start, before[-1]))
    if inside and inside[-1][0] < end:
        inside.append((end, inside[-1][1]))
    return inside


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
