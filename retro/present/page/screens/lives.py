"""A position seen otherwise: a part of its path, and beside other lives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from retro.figures import DASH, duration, percent, seconds_between
from retro.periods import format_instant, parse_instant
from retro.present.page.blocks import (
    Cell,
    Column,
    Diagrams,
    Notes,
    Page,
    PathChart,
    PathView,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.diagrams import LifeLine, LivesDiagram
from retro.present.page.market import price_section
from retro.present.path import path_points
from retro.present.references import PositionReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.market import PriceTrack
    from retro.report import PositionRetrospective

__all__ = ["Alignment", "Comparison", "beside", "with_price", "with_views"]

Alignment = Literal["entry", "peak", "exit"]
_AFTER: Final = 86_400.0
"""Seconds that a view of the first day shows."""


class Comparison(NamedTuple):
    """The other lives, by which moment all are aligned, and names that nothing is stored of."""

    others: Sequence[PositionRetrospective]
    align: Alignment
    absent: Sequence[str]


def with_views(
    page: Page, position: PositionRetrospective, window: tuple[float, float] | None = None
) -> Page:
    """The page with ways to parts of the path, and only the part drawn that lies in the window (seconds since the entry)."""
    views = _views(position, window)
    sections = []
    for section in page.sections:
        blocks = tuple(
            replace(block, window=window, views=views) if isinstance(block, PathChart) else block
            for block in section.blocks
        )
        sections.append(replace(section, blocks=blocks))
    return replace(page, sections=tuple(sections))


def _views(p: PositionRetrospective, window: tuple[float, float] | None) -> tuple[PathView, ...]:
    """The whole, the first day, entry to best exit, best exit to exit: those that are not what is drawn, nor nothing."""
    if len(p.path) < 2:
        return ()
    life = seconds_between(p.entry_at, p.path[-1].at)
    best = None if p.optimal_exit_at is None else seconds_between(p.entry_at, p.optimal_exit_at)
    parts: list[tuple[str, float, float]] = []
    if life > 2 * _AFTER:
        parts.append(("First day", 0.0, _AFTER))
    if best is not None and 0 < best < life:
        parts += [("Entry to best exit", 0.0, best), ("Best exit to exit", best, life)]
    views = []
    if window is not None:
        views.append(PathView("Whole life", PositionReference(p.agent, p.position_id)))
    for title, start, end in parts:
        if (start, end) != window:
            query = (("from", _instant(p, start)), ("to", _instant(p, end)))
            views.append(PathView(title, PositionReference(p.agent, p.position_id, query)))
    return tuple(views)


def _instant(p: PositionRetrospective, seconds: float) -> str:
    return format_instant(parse_instant(p.entry_at) + round(seconds * 1_000_000))


def beside(page: Page, position: PositionRetrospective, comparison: Comparison) -> Page:
    """The page with the life laid over others, in shares of what was put in; the section stands after the path."""
    rows = [_line(p, comparison.align) for p in (position, *comparison.others)]
    drawn = tuple(row for row in rows if row is not None)
    blocks: list[Diagrams | Table | Notes] = []
    if len(drawn) > 1:
        title = f"Aligned at {_MOMENTS[comparison.align]}, in per cent of what was put in"
        blocks.append(Diagrams((LivesDiagram(title, drawn),)))
    blocks.append(_table((position, *comparison.others)))
    remarks = [
        *(f"{name}: no review of it is stored yet" for name in comparison.absent),
        *(
            f"{p.position_id}: not drawn, for {'its size' if p.path else 'its path'} is not known"
            for p, row in zip((position, *comparison.others), rows, strict=True)
            if row is None
        ),
    ]
    if remarks:
        blocks.append(Notes(tuple(remarks)))
    return _after_path(page, Section("compare", "Beside other lives", tuple(blocks)))


def with_price(page: Page, position: PositionRetrospective, track: PriceTrack | None) -> Page:
    """The page with what its instrument cost meanwhile; the section stands after the path."""
    return page if track is None else _after_path(page, price_section(position, track))


def _after_path(page: Page, section: Section) -> Page:
    at = next((i + 1 for i, part in enumerate(page.sections) if part.key == "trajectory"), 0)
    return replace(page, sections=(*page.sections[:at], section, *page.sections[at:]))


_MOMENTS: Final = {"entry": "the entry", "peak": "the peak", "exit": "the exit"}


def _line(p: PositionRetrospective, align: Alignment) -> LifeLine | None:
    """A life in shares of its notional around the common moment; None where its size or its path is not known."""
    if not p.notional or len(p.path) < 2:
        return None
    points = path_points(p)
    moment = {
        "entry": 0.0,
        "peak": max(points, key=lambda point: point[1])[0],
        "exit": points[-1][0],
    }[align]
    shares = tuple((at - moment, pnl / p.notional) for at, pnl in points)
    return LifeLine(p.position_id, shares, percent(shares[-1][1], 2))


def _table(lives: Sequence[PositionRetrospective]) -> Table:
    def share(p: PositionRetrospective, value: float | None) -> Cell:
        if value is None or not p.notional:
            return Cell(DASH)
        return Cell(percent(value / p.notional, 2), tone_of(value))

    columns = (
        Column("Position", right=False, cut=8),
        Column("What", right=False, cut=8),
        Column("Held"),
        Column("Result"),
        Column("Peak"),
        Column("Deepest"),
    )
    rows = tuple(
        TableRow(
            (
                Cell(p.position_id, ref=PositionReference(p.agent, p.position_id)),
                Cell(p.instrument),
                Cell(duration(p.duration_s)),
                share(p, p.final_pnl),
                share(p, p.mfe),
                share(p, p.mae),
            )
        )
        for p in lives
    )
    return Table(columns, rows, note="Result, peak and deepest loss in per cent of what was put in.")
