"""The weeks of a life, from the days and positions of its report. Pure."""

from __future__ import annotations

from itertools import accumulate, groupby
from math import fsum, prod
from typing import TYPE_CHECKING

from retro.periods import day_of, parse_instant, zone
from retro.report.life import LifeReport, LifeWeek

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from zoneinfo import ZoneInfo

    from retro.report import PositionRetrospective, RetrospectiveReport

__all__ = ["falls", "life_of"]


def life_of(report: RetrospectiveReport) -> LifeReport:
    """The report with its weeks beside it, in order of time."""
    fields = {name: getattr(report, name) for name in type(report).model_fields}
    return LifeReport(**fields, weeks=list(_weeks(report)))


def _weeks(report: RetrospectiveReport) -> Iterator[LifeWeek]:
    tz = zone(report.time_zone)
    ends = [day.at for day in report.equity[1:]]
    fallen = dict(
        zip(ends, falls([day.growth for day in report.equity[1:]], ruined=report.risk.ruined), strict=True)
    )
    closed = _closed_by_week(report, tz)
    total = 0.0
    for week, group in groupby(report.equity[1:], key=lambda day: _week_of(parse_instant(day.at) - 1, tz)):
        days = list(group)
        pnl = fsum(day.pnl or 0.0 for day in days)
        total = fsum([total, pnl])
        growths = [day.growth for day in days if day.growth is not None]
        positions = closed.get(week, [])
        idle = [p.vs_inaction for p in positions if p.vs_inaction is not None]
        yield LifeWeek(
            week=week,
            days=len(days),
            pnl=pnl,
            cumulative_pnl=total,
            equity=days[-1].equity,
            growth=prod(1 + growth for growth in growths) - 1 if len(growths) == len(days) else None,
            drawdown=fallen[days[-1].at],
            closed_positions=len(positions),
            wins=sum(p.final_pnl is not None and p.final_pnl > 0 for p in positions),
            vs_inaction=fsum(idle) if idle else None,
        )


def _week_of(at: int, tz: ZoneInfo) -> str:
    year, week, _ = day_of(at, tz).isocalendar()
    return f"{year:04d}-W{week:02d}"


def _closed_by_week(report: RetrospectiveReport, tz: ZoneInfo) -> dict[str, list[PositionRetrospective]]:
    weeks: dict[str, list[PositionRetrospective]] = {}
    for position in report.believed_positions:
        if position.exit_at is not None:
            weeks.setdefault(_week_of(parse_instant(position.exit_at), tz), []).append(position)
    return weeks


def falls(growths: Sequence[float | None], *, ruined: bool = False) -> list[float | None]:
    """(n,) daily returns -> (n,) fall of them chained from their peak so far, 0 or below; the peak starts at 1.

    A day without a return stands still; where no day has one there is no fall to tell, nor after the last return of what
    is `ruined`.
    """
    worths = list(accumulate((1 + (growth or 0.0) for growth in growths), lambda a, b: a * b))
    peaks = accumulate([1.0, *worths], max)
    next(peaks)
    known = [i for i, growth in enumerate(growths) if growth is not None]
    end = (known[-1] + 1 if ruined else len(growths)) if known else 0
    falls_so_far = [worth / peak - 1 for worth, peak in zip(worths, peaks, strict=True)]
    return [*falls_so_far[:end], *[None] * (len(growths) - end)]
