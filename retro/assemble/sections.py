"""The parts of a report that are counts, groups and lists: actions, costs, predictions, breakdowns, effectiveness."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from retro.assemble.book import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.assemble.citations import resolve
from retro.assemble.lives import Words
from retro.assemble.replay import natural_key
from retro.kernels import accuracy as accuracy_kernel
from retro.kernels import breakdowns as groups
from retro.kernels import effectiveness
from retro.periods import day_of, format_instant, parse_instant
from retro.report import (
    Accuracy,
    Action,
    Breakdowns,
    Bucket,
    CalendarDay,
    Costs,
    Effectiveness,
    PnlAttribution,
    PositionRetrospective,
)
from retro.report import (
    Prediction as PredictionRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from retro.assemble.book import BookRow
    from retro.assemble.ledger import Books
    from retro.assemble.prices import Prices
    from retro.assemble.track import Track
    from retro.model import Cost, Decision, Prediction, Resolution
    from retro.periods import Period


def in_period(track: Track, period: Period) -> bool:
    """Whether a position belongs to a period's list: entered before its end, open or left since its start."""
    return track.opened_at < period.end and (track.closed_at is None or track.closed_at >= period.start)


def closed_in(track: Track, period: Period) -> bool:
    """Whether a position was closed in a period."""
    return track.closed_at is not None and period.start <= track.closed_at < period.end


def fees_between(track: Track, start: int, end: int) -> float:
    """Trading fees of the fills of a stretch of time, in base currency."""
    fees = [(o.at, o.fee) for o in track.openings] + [(c.at, c.fee) for c in track.closings]
    return fsum(fee for at, fee in fees if start <= at < end)


def slippage(tracks: Iterable[Track], prices: Prices, start: int, end: int) -> float | None:
    """Side x quantity x (fill - mark at its decision) over fills that have both; None when none has."""
    parts = []
    for track in tracks:
        line = prices.line(track.position.instrument)
        if not track.is_fill_based or track.flagged_at is not None or not len(line.t):
            continue
        for fills, side in ((track.openings, track.sign), (track.closings, -track.sign)):
            for fill in fills:
                told = [d.at for d in track.decisions if d.at <= fill.at]
                i = line.index(max(told)) if told else -1
                if start <= fill.at < end and i >= 0:
                    parts.append(side * fill.quantity * (fill.price - float(line.price[i])))
    return fsum(parts) if parts else None


def resolved_decisions(rows: Iterable[BookRow], period: Period) -> int:
    """Decisions whose outcome became known in the period: entries of closed positions, exits that can be judged."""
    count = 0
    for row in rows:
        if row.flagged_at is not None:
            continue
        if row.closed_at is not None and period.start <= row.closed_at < period.end:
            count += max(1, sum(c.action in ENTRY_ACTIONS for c in row.decisions))
        if row.exit_outcome is not None and row.exit_resolved_at is not None:
            count += (period.start <= row.exit_resolved_at < period.end) * sum(
                c.action in EXIT_ACTIONS for c in row.decisions
            )
    return count


def week_of(rows: Iterable[BookRow], start: int, end: int) -> effectiveness.InactionWeek:
    """The closed positions of a stretch of time against doing nothing."""
    values = [
        row.vs_inaction
        for row in rows
        if row.flagged_at is None
        and row.vs_inaction is not None
        and row.closed_at is not None
        and start <= row.closed_at < end
    ]
    return effectiveness.InactionWeek(len(values), sum(value < 0 for value in values), fsum(values))


def words_of(
    track: Track,
    predictions: Mapping[str, Prediction],
    resolutions: Mapping[str, Resolution],
    claims: Mapping[str, str],
) -> Words:
    """What the agent wrote about a position: cites by role, reasoning, the predictions that justified entry."""
    decisions = sorted(track.decisions, key=lambda d: (d.at, natural_key(d.id)))
    entry = [d for d in decisions if d.action in ENTRY_ACTIONS]
    left = [d for d in decisions if d.action in EXIT_ACTIONS]
    entry_ids = {d.id for d in entry}
    told = [
        p
        for p in predictions.values()
        if p.decision in entry_ids or (p.decision is None and p.position == track.position.position)
    ]
    told.sort(key=lambda p: (p.at, natural_key(p.id)))
    return Words(
        entry=list(resolve((cite for d in entry for cite in cites_of(d)), claims)),
        exit=list(resolve((cite for d in left for cite in cites_of(d)), claims)),
        reasoning=next((d.reasoning for d in entry if d.reasoning), None),
        exit_reasoning=next((d.reasoning for d in reversed(left) if d.reasoning), None),
        predictions=[_prediction_row(p, resolutions.get(p.id)) for p in told],
    )


def _prediction_row(told: Prediction, outcome: Resolution | None) -> PredictionRow:
    return PredictionRow(
        id=told.id,
        category=told.category,
        item=told.item,
        at=format_instant(told.at),
        predicted=told.predicted,
        low=told.low,
        high=told.high,
        unit=told.unit,
        actual=None if outcome is None else outcome.actual,
        hit=None if outcome is None else _hit(told, outcome),
    )


def _hit(told: Prediction, outcome: Resolution) -> bool | None:
    judged = accuracy_document([(told, outcome)])
    return judged.hits == 1 if judged.judged else None


def actions(
    decisions: Sequence[Decision], tracks: Sequence[Track], period: Period, claims: Mapping[str, str]
) -> list[Action]:
    """What the agent decided in the period, and trades no decision tells of."""
    by_name = {track.position.position: track for track in tracks}
    rows: list[tuple[int, tuple[str, ...], Action]] = []
    for decision in decisions:
        track = by_name.get(decision.position or "")
        rows.append(
            (
                decision.at,
                natural_key(decision.id),
                Action(
                    at=format_instant(decision.at),
                    action=decision.action,
                    position_id=decision.position,
                    instrument=decision.instrument or (track.position.instrument if track else None),
                    cites=list(resolve(cites_of(decision), claims)),
                    realized_pnl=_realized(track, decision)
                    if track and decision.action in EXIT_ACTIONS
                    else None,
                ),
            )
        )
    for track in tracks:
        rows += _untold(track, period)
    return [action for _, _, action in sorted(rows, key=lambda row: row[:2])]


def _realized(track: Track, decision: Decision) -> float | None:
    """What the fills of an exit decision realised: those until the position's next decision."""
    later = [d.at for d in track.decisions if d.at > decision.at]
    end = min(later, default=None)
    parts = [c.realized for c in track.closings if c.at >= decision.at and (end is None or c.at < end)]
    return fsum(parts) if parts else None


def _untold(track: Track, period: Period) -> list[tuple[int, tuple[str, ...], Action]]:
    told = {d.action for d in track.decisions}
    out: list[tuple[int, str, float | None]] = []
    if not told & ENTRY_ACTIONS and period.start <= track.opened_at < period.end:
        out.append((track.opened_at, "enter", None))
    if not told & EXIT_ACTIONS and closed_in(track, period) and track.closed_at is not None:
        out.append(
            (track.closed_at, "exit", fsum(c.realized for c in track.closings if c.at == track.closed_at))
        )
    return [
        (
            at,
            natural_key(track.position.position),
            Action(
                at=format_instant(at),
                action=action,
                position_id=track.position.position,
                instrument=track.position.instrument,
                cites=[],
                realized_pnl=pnl,
            ),
        )
        for at, action, pnl in out
    ]


def costs(pnl: PnlAttribution, facts: Iterable[Cost], prices: Prices) -> Costs:
    """Gas, inference and data, and what each tier of inference cost."""
    tiers: dict[str, list[float]] = defaultdict(list)
    tokens_in = tokens_out = 0
    for cost in facts:
        tokens_in += cost.tokens_in or 0
        tokens_out += cost.tokens_out or 0
        if cost.tier is not None:
            worth = (
                float(cost.amount)
                if cost.amount is not None
                else float(cost.quantity or 0) * prices.price(str(cost.asset), cost.at)
            )
            tiers[cost.tier].append(worth)
    return Costs(
        gas=pnl.gas_costs,
        inference=pnl.inference_costs,
        data=pnl.data_costs,
        by_tier={tier: fsum(parts) for tier, parts in sorted(tiers.items())},
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )


def accuracy(predictions: Mapping[str, Prediction], resolutions: Sequence[Resolution]) -> Accuracy:
    """The predictions resolved in the period."""
    pairs = [(predictions[r.prediction], r) for r in resolutions if r.prediction in predictions]
    pairs.sort(key=lambda pair: (pair[1].at, natural_key(pair[1].id)))
    return accuracy_document(pairs)


def accuracy_document(pairs: Sequence[tuple[Prediction, Resolution]]) -> Accuracy:
    """Accuracy over pairs of prediction and resolution."""
    resolved = accuracy_kernel.Resolved(
        predicted=_column(p.predicted for p, _ in pairs),
        low=_column(p.low for p, _ in pairs),
        high=_column(p.high for p, _ in pairs),
        actual=_column(r.actual for _, r in pairs),
        correct=_column(None if r.correct is None else float(r.correct) for _, r in pairs),
    )
    found = accuracy_kernel.accuracy(resolved)
    by_category = accuracy_kernel.accuracy_by([p.category or "uncategorised" for p, _ in pairs], resolved)
    reasons = {}
    if found.hit_rate is None:
        reasons["hit_rate"] = "no resolved prediction can be judged right or wrong"
    if found.mean_residual is None:
        reasons["mean_residual"] = reasons["mean_abs_residual"] = (
            "no resolved prediction has both a figure and an actual"
        )
    if found.interval_coverage is None:
        reasons["interval_coverage"] = "no resolved prediction has an interval"
    return Accuracy(
        total=found.total,
        hits=found.hits,
        judged=found.judged,
        hit_rate=found.hit_rate,
        mean_residual=found.mean_residual,
        mean_abs_residual=found.mean_absolute_residual,
        interval_coverage=found.interval_coverage,
        sample_sufficient=found.sample_sufficient,
        by_category={
            name: {"total": row.total, "hits": row.hits, "hit_rate": row.hit_rate}
            for name, row in by_category.items()
        },
        reasons=reasons,
    )


def regimes(tracks: Iterable[Track]) -> dict[str, str]:
    """The regime the agent stated when it entered, by position."""
    out: dict[str, str] = {}
    for track in tracks:
        for decision in track.decisions:
            regime = (decision.context or {}).get("regime")
            if decision.action in ENTRY_ACTIONS and isinstance(regime, str) and regime:
                out.setdefault(track.position.position, regime)
    return out


def _bucket(row: groups.Row) -> Bucket:
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


def _column(values: Iterable[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def breakdowns(
    closed: Sequence[PositionRetrospective],
    tracks: Sequence[Track],
    books: Books,
    period: Period,
    zone: ZoneInfo,
    pnl: PnlAttribution,
    regime: Mapping[str, str],
) -> Breakdowns:
    """Closed positions of the period by everything a trading journal groups them by."""
    table = groups.ClosedPositions(
        pnl=_column(p.final_pnl for p in closed),
        r=_column(p.pnl_r for p in closed),
        hold_s=_column(p.duration_s for p in closed),
        regret_ratio=_column(p.regret_ratio for p in closed),
        vs_inaction=_column(p.vs_inaction for p in closed),
    )
    entry = [p.cites.entry[0] if p.cites.entry else None for p in closed]
    reason = [p.exit_reason or (p.cites.exit[0] if p.cites.exit else None) for p in closed]
    local = [_local(p.entry_at, zone) for p in closed]

    def rows(labels: Sequence[str | None], order: Sequence[str] | None = None) -> list[Bucket]:
        return [_bucket(row) for row in groups.breakdown(labels, table, order)]

    ordered = sorted(closed, key=lambda p: (p.exit_at or "", p.position_id))
    fees = [p.attribution.trading_fees + p.attribution.gas_costs for p in closed]
    drag = groups.fee_drag(table.pnl, fees, pnl.inference_costs + pnl.data_costs) if closed else None
    concentration = groups.concentration(table.pnl) if closed else None
    disposition = _disposition(closed, tracks, books, period, zone)
    reasons = {}
    if drag is None:
        reasons["fee_drag"] = "no gross gain in the period"
    if concentration is None:
        reasons["concentration"] = "the closed positions made nothing net"
    if disposition.pgr is None:
        reasons["pgr"] = "no gains, realised or on paper, on days with a sale"
    if disposition.plr is None:
        reasons["plr"] = "no losses, realised or on paper, on days with a sale"
    return Breakdowns(
        by_instrument=rows([p.instrument for p in closed]),
        by_side=rows([p.side for p in closed]),
        by_strategy=rows([p.strategy or None for p in closed]),
        by_entry_tag=rows(entry),
        by_exit_reason=rows(reason),
        by_tag_and_exit=rows([f"{a} x {b}" if a and b else None for a, b in zip(entry, reason, strict=True)]),
        by_hour=rows([groups.HOURS[hour] for hour, _ in local], groups.HOURS),
        by_weekday=rows([groups.WEEKDAYS[day] for _, day in local], groups.WEEKDAYS),
        by_holding_time=rows(groups.holding_times(table.hold_s), groups.HOLDING_TIMES),
        by_regime=rows([regime.get(p.position_id) for p in closed]),
        fee_drag=drag,
        concentration=concentration,
        longest_losing_streak=groups.longest_losing_streak(_column(p.final_pnl for p in ordered)),
        pgr=disposition.pgr,
        plr=disposition.plr,
        calendar=_calendar(books, period, zone),
        reasons=reasons,
    )


def _local(instant: str, zone: ZoneInfo) -> tuple[int, int]:
    local = datetime.fromtimestamp(parse_instant(instant) // 1_000_000, tz=UTC).astimezone(zone)
    return local.hour, local.weekday()


def _calendar(books: Books, period: Period, zone: ZoneInfo) -> list[CalendarDay]:
    i, j = books.index(period.start), books.index(period.end)
    return [
        CalendarDay(date=day_of(books.boundaries[k], zone).isoformat(), pnl=books.plausible_pnl[k])
        for k in range(i, j)
    ]


def _disposition(
    closed: Sequence[PositionRetrospective],
    tracks: Sequence[Track],
    books: Books,
    period: Period,
    zone: ZoneInfo,
) -> groups.Disposition:
    sold = {
        p.position_id: (p.final_pnl, day_of(parse_instant(p.exit_at), zone).toordinal())
        for p in closed
        if p.exit_at
    }
    paper, paper_day = [], []
    i, j = books.index(period.start), books.index(period.end)
    for k in range(i, j):
        boundary = books.boundaries[k + 1]
        for track in tracks:
            still_open = track.opened_at < boundary and (
                track.closed_at is None or track.closed_at >= boundary
            )
            if still_open and track.flagged_at is None:
                paper.append(books.states[track.position.position][k + 1].pnl)
                paper_day.append(day_of(books.boundaries[k], zone).toordinal())
    return groups.disposition([v for v, _ in sold.values()], [d for _, d in sold.values()], paper, paper_day)


def effectiveness_of(
    counted: Sequence[PositionRetrospective],
    week_before: effectiveness.InactionWeek | None,
    components: Sequence[float],
    *,
    net_yield: float | None,
    sharpe: float | None,
    psr: float | None,
    capital_known: bool,
) -> Effectiveness:
    """Whether the strategy as a whole works: score, inaction superiority, the two-week alarm and how lucky it may be."""
    values = [p.vs_inaction for p in counted if p.vs_inaction is not None]
    rate = effectiveness.inaction_superiority_rate(values)
    week = effectiveness.InactionWeek(len(values), sum(value < 0 for value in values), fsum(values))
    alarm = effectiveness.inaction_alarm(week_before, week) if week_before is not None else None
    score = effectiveness.effectiveness_score(
        values, psr, components, cap=alarm is not None and alarm.caps_score
    )
    reasons = {}
    if net_yield is None:
        reasons["net_yield_7d"] = "no LP, lending or staking in the period"
    if sharpe is None:
        reasons["sharpe_7d"] = (
            "fewer than 2 daily returns, or they do not vary"
            if capital_known
            else "the agent's capital is not known"
        )
    if rate is None:
        reasons["inaction_superiority_rate"] = "no position was closed in the period"
    if score.value is None:
        reasons["score"] = "fewer than two of its parts are known"
    text = None
    if alarm is not None and alarm.alarmed and week_before is not None:
        text = (
            f"doing nothing was better for {week.inferior} of {week.closed} positions this week and"
            f" {week_before.inferior} of {week_before.closed} the week before; luck alone does that in"
            f" {alarm.luck:.1%} of such pairs of weeks"
        )
    return Effectiveness(
        net_yield_7d=net_yield,
        sharpe_7d=sharpe,
        inaction_superiority_rate=rate,
        closed_positions=len(counted),
        sum_vs_inaction=fsum(values) if values else None,
        score=score.value,
        score_parts=dict(score.parts),
        alarm=alarm is not None and alarm.alarmed,
        alarm_text=text,
        luck=None if alarm is None else alarm.luck,
        reasons=reasons,
    )
