"""One period's report: the books, lives and citations of an agent, written down in `report`'s form. Pure."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Final

import numpy as np

from playbook.citation import resolve
from retro.accounting.attribution import attribution
from retro.accounting.prices import UNPRICED
from retro.evaluate.actions import actions, closed_in, in_period
from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.citations import Role, items_of
from retro.evaluate.audit.exits import with_results
from retro.evaluate.benchmark import benchmark_of
from retro.evaluate.breakdowns import breakdowns
from retro.evaluate.effectiveness import effectiveness_of, resolved_decisions, week_of
from retro.evaluate.inputs import Inputs, Options
from retro.evaluate.lives import lives_of
from retro.evaluate.market import market_of
from retro.evaluate.performance import equity_curve, period_attribution, returns, risk_of, yielding
from retro.evaluate.position.costs import NO_SLIPPAGE, costs
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.evaluate.predictions import accuracy
from retro.kernels import effectiveness as kernel
from retro.periods import format_instant
from retro.report import (
    DataQuality,
    Effectiveness,
    HeuristicReport,
    Implausible,
    Narrative,
    PnlAttribution,
    PositionRetrospective,
    Provenance,
    RetrospectiveReport,
    Risk,
    Unpriced,
)
from retro.report.form import finite_figures
from retro.report.lines import COMPONENTS, IMPLAUSIBLE, SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.accounting.track import PositionHistory
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


def _quality(inputs: Inputs, pnl: PnlAttribution, tracks: Sequence[PositionHistory]) -> DataQuality:
    warnings = list(inputs.warnings)
    size = fsum(abs(SIGNS[name] * getattr(pnl, name)) for name in COMPONENTS)
    if pnl.unattributed is not None and abs(pnl.unattributed) > max(0.01, 0.001 * size):
        warnings.append(
            f"the agent's stated equity and its events differ by {pnl.unattributed:+.2f} {inputs.base_currency}"
            " that no event explains: look for a missing event or wrong decimals"
        )
    by_name = sorted((track.position.position, track) for track in tracks)
    warnings += [f"{name}: {warning}" for name, track in by_name for warning in track.warnings]
    warnings += _disbelieved_marks(inputs)
    warnings += _outside_their_lives(inputs, {name for name, _ in by_name})
    flagged = [
        Implausible(
            position_id=name,
            reason=track.flagged_why,
            pnl=inputs.books.position_pnl(name, inputs.period.start, inputs.period.end)
            if track.is_quoted
            else None,
        )
        for name, track in by_name
        if track.flagged_at is not None
    ]
    missing = _missing_marks(inputs, tracks)
    return DataQuality(
        warnings=warnings,
        implausible=flagged,
        unpriced=_unpriced(inputs, tracks),
        quarantined=inputs.quarantined,
        missing_marks=missing,
        provisional=bool(missing),
    )


def _unpriced(inputs: Inputs, tracks: Sequence[PositionHistory]) -> list[Unpriced]:
    """The positions of the report that are open at its end and have no mark at all."""
    out = []
    for name in sorted(track.position.position for track in tracks):
        state = inputs.books.states[name][inputs.books.index(inputs.period.end)]
        if not state.is_priced:
            out.append(Unpriced(position_id=name, cost=abs(state.value) or None))
    return out


def _missing_marks(inputs: Inputs, tracks: Sequence[PositionHistory]) -> list[str]:
    """Which prices could not be relied on; of what was held without a mark only what is held at the end is named."""
    at_the_end = (track.knot_before(inputs.period.end) for track in tracks)
    assets = {asset for knot in at_the_end if knot is not None for asset in knot.assets}
    out, earlier = [], 0
    for symbol, why in sorted(inputs.prices.unreliable.items()):
        if why == UNPRICED and symbol not in assets:
            earlier += 1
        else:
            out.append(f"{symbol}: {why}")
    if earlier:
        number = "1 instrument" if earlier == 1 else f"{earlier:,} instruments"
        out.append(f"{number} without a mark while a position was open; none of these is held at the end")
    return out


def _disbelieved_marks(inputs: Inputs) -> list[str]:
    """The agent's own marks of the period that shared ones contradict, by instrument."""
    out = []
    for symbol, line in sorted(inputs.prices.disbelieved.items()):
        i, j = np.searchsorted(line.t, [inputs.period.start, inputs.period.end])
        if count := int(j - i):
            many = f"{count} marks" if count > 1 else "a mark"
            out.append(
                f"{symbol}: {many} of the agent's own, more than 2 % from the market, used for nothing (the first:"
                f" {line.price[i]:.10g} at {format_instant(int(line.t[i]))})"
            )
    return out


def _outside_their_lives(inputs: Inputs, reported_names: set[str]) -> list[str]:
    """What positions cost or brought in the period before they were entered or after they were left."""
    period, out = inputs.period, []
    for name, track in sorted(inputs.tracks.items()):
        pnl = 0.0 if name in reported_names else inputs.books.position_pnl(name, period.start, period.end)
        if pnl:
            was = "left" if track.opened_at < period.start else "entered"
            at = track.closed_at if track.opened_at < period.start else track.opened_at
            out.append(
                f"{name}: {pnl:+.2f} {inputs.base_currency} of this period, gas or funding, is in the total but in no"
                f" position listed: it was {was} {format_instant(at or 0)[:10]}"
            )
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
    """The report of a period, words still empty."""
    period = inputs.period
    pnl, risk = period_attribution(inputs), risk_of(inputs)
    tracks = [track for track in inputs.tracks.values() if in_period(track, period)]
    tracks.sort(key=lambda track: (track.opened_at, track.position.position))
    positions = lives_of(inputs, tracks)
    counted = [
        position
        for position, track in zip(positions, tracks, strict=True)
        if closed_in(track, period) and position.is_believed and position.final_pnl is not None
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
        actions_taken=actions(inputs.decisions, tracks, period, inputs.options.rules.claims),
        positions=positions,
        heuristic_performance=_audit(inputs, positions),
        costs=costs(pnl, inputs.costs, inputs.prices),
        breakdowns=breakdowns(counted, tracks, inputs.books, period, inputs.zone),
        effectiveness=_effectiveness(inputs, pnl, risk, counted),
        market=market_of(inputs, tracks, risk),
        benchmark=benchmark_of(inputs),
        what_worked="",
        what_failed="",
        hindsight="",
        playbook_proposals=[],
        confidence=resolved / (resolved + 10),
        resolved_decisions=resolved,
        narrative=Narrative(source="plain"),
        data_quality=_quality(inputs, pnl, tracks),
        provenance=Provenance(
            code_version=inputs.version,
            data_digest=inputs.digest,
            seed=inputs.seed,
            definitions=inputs.definitions,
        ),
        reasons=_reasons(inputs, pnl, risk),
    )


def _effectiveness(
    inputs: Inputs, pnl: PnlAttribution, risk: Risk, counted: Sequence[PositionRetrospective]
) -> Effectiveness:
    start, end = inputs.week_start, inputs.period.end
    components = inputs.books.between(start, end)
    weekly = attribution(components, start=0.0, end=0.0, yields=yielding(inputs, start, end))
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
