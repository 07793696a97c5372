"""Closed positions by everything a trading journal groups them by."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.evaluate.columns import column
from retro.evaluate.position.foresight import foreseen
from retro.kernels import breakdowns as kernel
from retro.periods import SECOND, day_of
from retro.report import Breakdowns, Bucket, CalendarDay, PositionRetrospective

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from retro.accounting.books import DailyBooks
    from retro.accounting.track import PositionHistory
    from retro.periods import Period

__all__ = ["TrackOutline", "breakdowns", "outlines_of"]

_OF_ALL: Final = {
    "fee_drag": "no gross gain in the period",
    "concentration": "the closed positions made nothing net",
    "pgr": "no gains, realised or on paper, on days with a sale",
    "plr": "no losses, realised or on paper, on days with a sale",
}
_OF_A_ROW: Final = {
    "win_rate": "no position in the row",
    "expectancy": "no position in the row",
    "expectancy_r": "no position of the row knows its risk (R)",
    "mean_hold_s": "no position in the row",
    "mean_regret_ratio": "no position of the row has a regret ratio",
    "share_below_inaction": "no position of the row can be compared with doing nothing",
}
_RUNNING: Final = ("gas_costs", "inference_costs", "data_costs")
"""What the wallet paid for no position: beside the fees and gas of positions, it counts towards the drag once."""


@dataclass(frozen=True, slots=True)
class TrackOutline:
    """What grouping needs of a replayed position: when it lived, whether it is believed, in which regime it was entered."""

    position: str
    opened_at: int
    closed_at: int | None
    flagged_at: int | None
    regime: str | None

    def closed_in(self, period: Period) -> bool:
        """Whether it was closed in a period."""
        return self.closed_at is not None and period.start <= self.closed_at < period.end


def outlines_of(tracks: Iterable[PositionHistory]) -> list[TrackOutline]:
    """The outlines of positions, in order."""
    return [
        TrackOutline(
            track.position.position, track.opened_at, track.closed_at, track.flagged_at, _regime(track)
        )
        for track in tracks
    ]


def _regime(track: PositionHistory) -> str | None:
    """The regime the agent stated by its entry, or in an `enter` that came in time: who learns it later did not enter in it."""
    for decision in track.decisions:
        regime = (decision.context or {}).get("regime")
        if not (isinstance(regime, str) and regime):
            continue
        if decision.at <= track.opened_at or (decision.action == "enter" and decision in foreseen(track)):
            return regime
    return None


def _bucket(row: kernel.GroupFigures) -> Bucket:
    return Bucket(
        key=row.key,
        n=row.n,
        pnl=row.pnl,
        win_rate=row.win_rate,
        expectancy=row.expectancy,
        expectancy_r=row.expectancy_r,
        mean_hold_s=row.mean_hold_s,
        mean_regret_ratio=row.mean_regret_ratio,
        share_below_inaction=row.share_below_inaction,
        ranked=row.ranked,
    )


def breakdowns(
    closed: Sequence[PositionRetrospective],
    outlines: Sequence[TrackOutline],
    books: DailyBooks,
    period: Period,
    zone: ZoneInfo,
) -> Breakdowns:
    """Closed positions of the period by everything a trading journal groups them by."""
    table = kernel.ClosedPositions(
        pnl=column(p.final_pnl for p in closed),
        r=column(p.pnl_r for p in closed),
        hold_s=column(p.duration_s for p in closed),
        regret_ratio=column(p.regret_ratio for p in closed),
        vs_inaction=column(p.vs_inaction for p in closed),
    )
    entry = [p.cites.entry[0] if p.cites.entry else None for p in closed]
    reason = [p.exit_reason or (p.cites.exit[0] if p.cites.exit else None) for p in closed]
    by_name = {outline.position: outline for outline in outlines}
    local = [_local(by_name[p.position_id].opened_at, zone) for p in closed]

    def rows(labels: Sequence[str | None], order: Sequence[str] | None = None) -> list[Bucket]:
        return [_bucket(row) for row in kernel.breakdown(labels, table, order)]

    ordered = sorted(closed, key=lambda p: (p.exit_at or "", p.position_id))
    fees = [p.attribution.trading_fees + p.attribution.gas_costs for p in closed]
    i, j = books.index(period.start), books.index(period.end)
    running = fsum(day[name] for day in books.wallet_days[i:j] for name in _RUNNING)
    drag = kernel.fee_drag(table.pnl, fees, running) if closed else None
    concentration = kernel.concentration(table.pnl) if closed else None
    sales = _disposition(closed, outlines, books, period, zone)
    calendar = _calendar(books, period, zone)
    buckets = {
        "by_instrument": rows([p.instrument for p in closed]),
        "by_side": rows([p.side for p in closed]),
        "by_strategy": rows([p.strategy or None for p in closed]),
        "by_entry_tag": rows(entry),
        "by_exit_reason": rows(reason),
        "by_tag_and_exit": rows(
            [f"{a} x {b}" if a and b else None for a, b in zip(entry, reason, strict=True)]
        ),
        "by_hour": rows([kernel.HOURS[hour] for hour, _ in local], kernel.HOURS),
        "by_weekday": rows([kernel.WEEKDAYS[day] for _, day in local], kernel.WEEKDAYS),
        "by_holding_time": rows(kernel.holding_times(table.hold_s), kernel.HOLDING_TIMES),
        "by_regime": rows([by_name[p.position_id].regime for p in closed]),
    }
    figures = dict(zip(_OF_ALL, (drag, concentration, sales.pgr, sales.plr), strict=True))
    return Breakdowns(
        **buckets,
        fee_drag=drag,
        concentration=concentration,
        pgr=sales.pgr,
        plr=sales.plr,
        longest_losing_streak=kernel.longest_losing_streak(column(p.final_pnl for p in ordered)),
        calendar=calendar,
        reasons=_reasons(figures, buckets) | _of_days(calendar) | sales.reasons,
    )


def _reasons(figures: Mapping[str, float | None], buckets: Mapping[str, Sequence[Bucket]]) -> dict[str, str]:
    """Why figures are null, of the breakdowns themselves or of some of their rows."""
    nulls = {name for name, value in figures.items() if value is None}
    for rows in buckets.values():
        nulls |= {name for row in rows for name in _OF_A_ROW if getattr(row, name) is None}
    return {name: why for name, why in (_OF_ALL | _OF_A_ROW).items() if name in nulls}


def _of_days(calendar: Sequence[CalendarDay]) -> dict[str, str]:
    """Why days of the calendar have no result."""
    absent = any(day.pnl is None for day in calendar)
    return {"calendar.pnl": "nothing moved while an open position had no price"} if absent else {}


def _local(at: int, zone: ZoneInfo) -> tuple[int, int]:
    local = datetime.fromtimestamp(at // SECOND, tz=zone)
    return local.hour, local.weekday()


def _calendar(books: DailyBooks, period: Period, zone: ZoneInfo) -> list[CalendarDay]:
    i, j = books.index(period.start), books.index(period.end)
    return [
        CalendarDay(
            date=day_of(books.boundaries[k], zone).isoformat(),
            pnl=None if books.is_unpriced(k) else books.plausible_pnl[k],
        )
        for k in range(i, j)
    ]


class _Sales(NamedTuple):
    """Shares of gains and of losses realised on days with a sale, and why both are null where something had no price."""

    pgr: float | None
    plr: float | None
    reasons: dict[str, str]


def _disposition(
    closed: Sequence[PositionRetrospective],
    outlines: Sequence[TrackOutline],
    books: DailyBooks,
    period: Period,
    zone: ZoneInfo,
) -> _Sales:
    i, j = books.index(period.start), books.index(period.end)
    days = [day_of(boundary, zone).toordinal() for boundary in books.boundaries[i:j]]
    by_name = {outline.position: outline for outline in outlines}
    sold: list[tuple[float, int]] = []
    for p in closed:
        closed_at = by_name[p.position_id].closed_at
        if closed_at is not None and p.final_pnl is not None:
            sold.append((p.final_pnl, days[bisect_right(books.boundaries, closed_at, i, j) - 1 - i]))
    sale_days = {day for _, day in sold}
    paper, paper_day = [], []
    unpriced: set[str] = set()
    for k, day in enumerate(days, i):
        # paper gains count only on days with a sale (Odean 1998): the kernel drops the others, by the owner's day
        boundary = books.boundaries[k + 1]
        for outline in outlines:
            if outline.opened_at >= boundary or (
                outline.closed_at is not None and outline.closed_at < boundary
            ):
                continue
            state = books.states[outline.position][k + 1]
            if outline.flagged_at is None and state.is_priced:
                paper.append(state.pnl)
                paper_day.append(day)
            elif not state.is_priced and day in sale_days:
                unpriced.add(outline.position)
    if unpriced:
        # what is on paper there is not known, and the share realised of what is known would be that of the sales alone
        number = "an open position" if len(unpriced) == 1 else f"{len(unpriced):,} open positions"
        return _Sales(None, None, dict.fromkeys(("pgr", "plr"), f"{number} had no price on days with a sale"))
    got = kernel.disposition([pnl for pnl, _ in sold], [day for _, day in sold], paper, paper_day)
    return _Sales(got.pgr, got.plr, {})
