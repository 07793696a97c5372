"""Whether the strategy as a whole works, and on how many resolved decisions a review rests."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Final

from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS
from retro.kernels import effectiveness as kernel
from retro.report import Effectiveness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.evaluate.position.summary import PositionSummary
    from retro.periods import Period
    from retro.report import PositionRetrospective

__all__ = ["effectiveness_of", "resolved_decisions", "week_of"]

_NO_SCORE: Final = (
    "fewer than two of its parts are known; PSR counts from 30 days on, gains over doing nothing from"
    f" {kernel.ALARM_POSITIONS} closed positions on"
)


def resolved_decisions(rows: Iterable[PositionSummary], period: Period) -> int:
    """Decisions whose outcome became known in the period: entries of closed positions, exits that can be judged."""
    count = 0
    for row in rows:
        final = row.final_pnl if row.final_pnl is not None else 0.0
        if row.closed_at is not None and period.start <= row.closed_at < period.end and row.counts(final):
            count += max(1, sum(c.action in ENTRY_ACTIONS and not c.after_the_fact for c in row.decisions))
        judged = row.exit_outcome is not None and row.counts(row.exit_outcome)
        if judged and row.exit_resolved_at is not None:
            count += (period.start <= row.exit_resolved_at < period.end) * sum(
                c.action in EXIT_ACTIONS and not c.after_the_fact for c in row.decisions
            )
    return count


def week_of(rows: Iterable[PositionSummary], start: int, end: int) -> kernel.InactionWeek:
    """The closed positions of a stretch of time against doing nothing."""
    values = [
        row.vs_inaction
        for row in rows
        if row.vs_inaction is not None
        and row.counts(row.vs_inaction)
        and row.closed_at is not None
        and start <= row.closed_at < end
    ]
    return kernel.InactionWeek(len(values), sum(value < 0 for value in values), fsum(values))


def effectiveness_of(
    counted: Sequence[PositionRetrospective],
    week_before: kernel.InactionWeek | None,
    components: Sequence[float],
    *,
    net_yield: float | None,
    week: kernel.ReturnMetrics,
    psr: float | None,
    no_returns: str | None,
    inferior_rate: float | None,
) -> Effectiveness:
    """Whether the strategy as a whole works, `week` its returns of 7 days: score, inaction superiority, the two-week alarm.

    `no_returns` says why the week has none. `inferior_rate` is the share of the life's positions that lost, by which luck
    alone is reckoned.
    """
    values = [p.vs_inaction for p in counted if p.vs_inaction is not None and p.counts(p.vs_inaction)]
    rate = kernel.inaction_superiority_rate(values)
    own = kernel.InactionWeek(len(values), sum(value < 0 for value in values), fsum(values))
    chance = 0.5 if inferior_rate is None else inferior_rate
    alarm = kernel.inaction_alarm(week_before, own, chance) if week_before is not None else None
    capped = alarm is not None and alarm.caps_score
    judged = values if own.closed >= kernel.ALARM_POSITIONS else ()
    score = kernel.effectiveness_score(judged, psr, components, cap=capped)
    reasons: dict[str, str] = {}
    if net_yield is None:
        reasons["net_yield_7d"] = "no LP, lending or staking in the period"
    reasons |= _why_no_sharpe(week, no_returns)
    if rate is None:
        reasons["inaction_superiority_rate"] = "no position was closed in the period"
        reasons["sum_vs_inaction"] = reasons["inaction_superiority_rate"]
    # weeks of fewer positions raise no alarm, by luck or otherwise: a chance of 0 would say that it is rare
    can_alarm = week_before is not None and min(own.closed, week_before.closed) >= kernel.ALARM_POSITIONS
    luck = alarm if can_alarm else None
    if not can_alarm:
        why = f"the alarm takes two weeks in a row, each with {kernel.ALARM_POSITIONS} closed positions"
        reasons |= dict.fromkeys(("luck", "luck_in_a_year"), why)
    if score.value is None:
        reasons["score"] = _NO_SCORE
    alarm_text = None
    if alarm is not None and alarm.alarmed and week_before is not None:
        cash = " (holding cash)" if all(p.vs_inaction == p.vs_cash for p in counted) else ""
        alarm_text = _alarm_text(alarm, own, week_before, chance, cash)
    return Effectiveness(
        net_yield_7d=net_yield,
        sharpe_7d=week.sharpe if week.reportable else None,
        sharpe_7d_standard_error=week.sharpe_standard_error if week.reportable else None,
        sharpe_7d_interval=[*week.sharpe_interval] if week.sharpe_interval and week.reportable else None,
        inaction_superiority_rate=rate,
        closed_positions=len(counted),
        sum_vs_inaction=fsum(values) if values else None,
        score=score.value,
        score_parts=dict(score.parts),
        alarm=alarm_text is not None,
        alarm_text=alarm_text,
        luck=None if luck is None else luck.luck,
        luck_in_a_year=None if luck is None else luck.luck_in_a_year,
        reasons=reasons,
    )


def _why_no_sharpe(week: kernel.ReturnMetrics, no_returns: str | None) -> dict[str, str]:
    """Why the Sharpe ratio of 7 days, or what says how sure it is, is absent."""
    names = ("sharpe_7d", "sharpe_7d_standard_error", "sharpe_7d_interval")
    if week.sharpe is None:
        return dict.fromkeys(names, no_returns or "fewer than 2 daily returns, or they do not vary")
    if not week.reportable:
        few = f"{week.days} daily returns: too few to show, from {kernel.SHOWN_FROM} on they are"
        return dict.fromkeys(names, few)
    return {} if week.sharpe_interval else dict.fromkeys(names[1:], "their errors are no number")


def _alarm_text(
    alarm: kernel.InactionAlarm,
    own: kernel.InactionWeek,
    before: kernel.InactionWeek,
    inferior_rate: float,
    cash: str,
) -> str:
    """What raised the alarm, and in how many years luck alone does."""
    return (
        f"doing nothing{cash} was better for {own.inferior} of {own.closed} positions this week and"
        f" {before.inferior} of {before.closed} the week before; an agent without any edge that loses"
        f" {inferior_rate * 100:.0f} % of its trades, as this one does, is told so in"
        f" {alarm.luck_in_a_year * 100:.0f} of 100 years"
    )
