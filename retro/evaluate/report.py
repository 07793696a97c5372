"""One period's report: the books, lives and citations of an agent, written down in `report`'s form. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from playbook.citation import resolve
from retro.accounting.attribution import attribution
from retro.evaluate.actions import actions, in_period
from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.citations import Role, items_of
from retro.evaluate.audit.exits import with_results
from retro.evaluate.benchmark import benchmark_of, weighed_tracks
from retro.evaluate.breakdowns import breakdowns, outlines_of
from retro.evaluate.effectiveness import effectiveness_of, resolved_decisions, week_of
from retro.evaluate.inputs import Inputs, Options
from retro.evaluate.lives import lives_of
from retro.evaluate.market import market_of
from retro.evaluate.performance import equity_curve, period_attribution, returns, risk_of, yielding
from retro.evaluate.position.costs import NO_SLIPPAGE, costs, slips_of
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.evaluate.predictions import accuracy
from retro.evaluate.quality import doubts_of, quality_of
from retro.kernels import effectiveness as kernel
from retro.periods import format_instant
from retro.report import (
    Effectiveness,
    HeuristicReport,
    Narrative,
    PnlAttribution,
    PositionRetrospective,
    Provenance,
    RetrospectiveReport,
    Risk,
)
from retro.report.form import finite_figures
from retro.report.lines import COMPONENTS, IMPLAUSIBLE, SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.model import Decision

__all__ = ["Inputs", "Options", "build", "citations_of"]


_WITHOUT_GROWTH: Final = (
    "the first boundary ends no day; nor has a day a return before the capital is known, or where a stretch between the"
    " owner's flows began at 0 or below, or nothing moved while an open position had no price"
)
_WITHOUT_RESULT: Final = "the first boundary ends no day; and where nothing moved while an open position had no price the result is not known"


def citations_of(
    decisions: Iterable[Decision], claims: Mapping[str, str]
) -> dict[tuple[str, Role], set[str]]:
    """Which decisions cite a heuristic, by role: those count even where no outcome is theirs, as for a skip."""
    out: dict[tuple[str, Role], set[str]] = {}
    for decision in decisions:
        role: Role | None = (
            "entry"
            if decision.action in ENTRY_ACTIONS
            else "exit"
            if decision.action in EXIT_ACTIONS
            else None
        )
        if role is not None:
            for heuristic in resolve(cites_of(decision), claims):
                out.setdefault((heuristic, role), set()).add(decision.id)
    return out


def _audit(inputs: Inputs, positions: Sequence[PositionRetrospective]) -> list[HeuristicReport]:
    period, rules = inputs.period, inputs.options.rules
    items = [item for row in inputs.rows for item in items_of(row, rules, rules.claims)]
    stray = citations_of(inputs.decisions, rules.claims)
    standing = {position.position_id: position.final_pnl for position in positions if position.open}
    rows = audit_period(
        items,
        inputs.history,
        inputs.bets,
        rules,
        period.start,
        period.end,
        inputs.seed,
        stray=stray,
        standing=standing,
    )
    return with_results(rows, inputs.rows, rules.claims, period.start, period.end)


def _reasons(inputs: Inputs, pnl: PnlAttribution, risk: Risk) -> dict[str, str]:
    """Why figures of the report itself are null."""
    reasons: dict[str, str] = {}
    if pnl.net_yield is None:
        names = ("net_yield", "net_yield_after_costs", "risk_adjusted_return")
        reasons |= dict.fromkeys((f"pnl.{name}" for name in names), "no LP, lending or staking in the period")
    elif pnl.risk_adjusted_return is None:
        reasons["pnl.risk_adjusted_return"] = "fewer than 2 days, or daily pnl does not vary"
    if pnl.unattributed is None:
        reasons["pnl.unattributed"] = "the agent has not stated its equity"
    if pnl.slippage is None:
        reasons["pnl.slippage"] = NO_SLIPPAGE
    if pnl.slippage_mark_age_s is None:
        reasons["pnl.slippage_mark_age_s"] = "no mark was needed"
    reasons["equity.pnl"] = _WITHOUT_RESULT
    reasons["equity.growth"] = (
        f"{_WITHOUT_GROWTH}; {risk.reasons['days']}" if risk.ruined else _WITHOUT_GROWTH
    )
    if not inputs.capital_known:
        reasons["equity"] = "the agent's capital is not known"
    return reasons


@finite_figures()
def build(inputs: Inputs) -> RetrospectiveReport:
    """The report of a period, words still empty.

    It lets go of the inputs' positions as it writes them down: whatever else is read of them is read before.
    """
    period = inputs.period
    tracks = [track for track in inputs.tracks.values() if in_period(track, period)]
    tracks.sort(key=lambda track: (track.opened_at, track.position.position))
    slips = {track.position.position: slips_of(track, inputs.prices) for track in tracks}
    pnl, risk = period_attribution(inputs, slips), risk_of(inputs)
    outlines, doubts = outlines_of(tracks), doubts_of(inputs, tracks)
    actions_taken = actions(inputs.decisions, tracks, period, inputs.options.rules.claims)
    market, weighed = market_of(inputs, tracks, risk), weighed_tracks(inputs)
    weekly = _weekly(inputs)
    positions = lives_of(inputs, tracks, slips)
    counted = [
        position
        for position, outline in zip(positions, outlines, strict=True)
        if outline.closed_in(period) and position.is_believed and position.final_pnl is not None
    ]
    resolved = resolved_decisions(inputs.rows, period)
    return RetrospectiveReport(
        id=f"{inputs.agent}.{period.horizon}.{period.key}",
        agent=inputs.agent,
        horizon=period.horizon,
        period_start=format_instant(period.start),
        period_end=format_instant(period.end),
        generated_at=format_instant(period.end + inputs.options.settle_lag),
        revision=1,
        base_currency=inputs.base_currency,
        time_zone=inputs.zone.key or "UTC",
        known_until=format_instant(inputs.told_until),
        pnl=pnl,
        risk=risk,
        equity=equity_curve(inputs),
        prediction_accuracy=accuracy(inputs.predictions, inputs.resolutions),
        actions_taken=actions_taken,
        positions=positions,
        heuristic_performance=_audit(inputs, positions),
        costs=costs(pnl, inputs.costs, inputs.prices),
        breakdowns=breakdowns(counted, outlines, inputs.books, period, inputs.zone),
        effectiveness=_effectiveness(inputs, pnl, risk, counted, weekly),
        market=market,
        benchmark=benchmark_of(inputs, weighed),
        what_worked="",
        what_failed="",
        hindsight="",
        playbook_proposals=[],
        confidence=resolved / (resolved + 10),
        resolved_decisions=resolved,
        narrative=Narrative(source="plain"),
        data_quality=quality_of(inputs, pnl, doubts),
        provenance=Provenance(
            code_version=inputs.version,
            data_digest=inputs.digest,
            seed=inputs.seed,
            definitions=inputs.definitions,
        ),
        reasons=_reasons(inputs, pnl, risk),
    )


def _weekly(inputs: Inputs) -> PnlAttribution:
    """Where the money of the rolling week came from."""
    start, end = inputs.week_start, inputs.period.end
    components = inputs.books.between(start, end)
    return attribution(components, start=0.0, end=0.0, yields=yielding(inputs, start, end))


def _effectiveness(
    inputs: Inputs,
    pnl: PnlAttribution,
    risk: Risk,
    counted: Sequence[PositionRetrospective],
    weekly: PnlAttribution,
) -> Effectiveness:
    start, end = inputs.week_start, inputs.period.end
    days, no_returns = returns(inputs, start, end)
    signed = [SIGNS[name] * getattr(pnl, name) for name in COMPONENTS if name != IMPLAUSIBLE]
    signed.append(pnl.implausible_pnl - pnl.unbelieved_pnl)
    return effectiveness_of(
        counted,
        None if inputs.week_before is None else week_of(inputs.rows, *inputs.week_before),
        signed,
        net_yield=weekly.net_yield_after_costs,
        week=kernel.return_metrics(days if no_returns is None else (), inputs.options.annualisation_days),
        psr=None if risk.noisy else risk.psr,
        no_returns=no_returns,
        inferior_rate=inputs.history.losing_share("entry"),
    )
