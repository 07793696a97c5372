"""One period's report: the books, lives and citations of an agent, written down in `report.py`'s form. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING

from retro.assemble import sections
from retro.assemble.book import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.assemble.citations import AuditRules, Role, audit_period, items_of, resolve
from retro.assemble.ledger import COMPONENTS, SIGNS, YIELD_KINDS, attribution, signed_sum
from retro.assemble.lives import Horizon, retrospect
from retro.kernels import effectiveness
from retro.periods import format_instant
from retro.report import (
    DataQuality,
    Effectiveness,
    EquityDay,
    Implausible,
    Narrative,
    PnlAttribution,
    PositionRetrospective,
    Provenance,
    RetrospectiveReport,
    Risk,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from retro.assemble.book import BookRow
    from retro.assemble.citations import History
    from retro.assemble.ledger import Books
    from retro.assemble.prices import Prices
    from retro.assemble.track import Track
    from retro.model import Cost, Decision, Prediction, Resolution
    from retro.periods import Period

__all__ = ["Inputs", "Options", "build", "retrospective_of"]

_REASONS = {
    "too_few_days": "fewer than 2 daily returns",
    "zero_volatility": "the daily returns do not vary",
    "no_downside": "no losing day",
    "no_drawdown": "no drawdown",
    "not_finite": "beyond what a number holds",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The configuration that numbers depend on."""

    offsets: tuple[tuple[str, int], ...]
    settle_lag: int
    annualisation_days: float = 365.0
    use_highs_lows: bool = False
    rules: AuditRules = field(default_factory=AuditRules)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a report is made of. `books` reach from at least 7 days before the period's end to its end.

    `known_until` is K; `told_until` the agent's last own event among those that the report could know.
    """

    agent: str
    base_currency: str
    zone: ZoneInfo
    period: Period
    known_until: int
    told_until: int
    capital_known: bool
    tracks: Mapping[str, Track]
    books: Books
    prices: Prices
    rows: Sequence[BookRow]
    history: History
    implausible_before: Sequence[float]
    decisions: Sequence[Decision]
    costs: Sequence[Cost]
    predictions: Mapping[str, Prediction]
    resolutions: Sequence[Resolution]
    last_resolutions: Mapping[str, Resolution]
    discrepancies: Sequence[tuple[int, float]]
    warnings: Sequence[str]
    quarantined: int
    digest: str
    seed: int
    version: str
    options: Options


def _unattributed(inputs: Inputs, boundary: int) -> float | None:
    """Stated less computed equity at the last statement at or before a boundary, less the first; None unstated."""
    seen = [gap for at, gap in inputs.discrepancies if at <= boundary]
    if seen:
        return seen[-1]
    return 0.0 if inputs.discrepancies else None


def _period_pnl(inputs: Inputs) -> PnlAttribution:
    books, period = inputs.books, inputs.period
    components = books.between(period.start, period.end)
    i, j = books.index(period.start), books.index(period.end)
    told = [_unattributed(inputs, boundary) for boundary in books.boundaries[i : j + 1]]
    stated = any(at <= period.end for at, _ in inputs.discrepancies)
    gaps = [(after or 0.0) - (before or 0.0) if stated else None for before, after in pairwise(told)]
    total = fsum(signed_sum(day, gap) for day, gap in zip(books.days[i:j], gaps, strict=True))
    unattributed = fsum(gap or 0.0 for gap in gaps) if stated else None
    alive = [
        t
        for t in inputs.tracks.values()
        if t.opened_at < period.end and (t.closed_at is None or t.closed_at >= period.start)
    ]
    yields = any(t.position.kind in YIELD_KINDS for t in alive)
    yields = yields or any(
        components[name] for name in ("lp_fees_earned", "lending_interest_earned", "staking_rewards")
    )
    pnl = attribution(
        components,
        start=books.unrealized[i],
        end=books.unrealized[j],
        yields=yields,
        unattributed=unattributed,
        trading_fees=fsum(
            sections.fees_between(t, period.start, period.end) for t in alive if t.flagged_at is None
        ),
        slippage=sections.slippage(alive, inputs.prices, period.start, period.end),
    )
    ratio = (
        None
        if pnl.net_yield is None
        else effectiveness.risk_adjusted_return(pnl.net_yield, books.plausible_pnl[i:j])
    )
    return pnl.model_copy(update={"risk_adjusted_return": ratio, "total": total})


def _returns(inputs: Inputs, start: int, end: int) -> list[float]:
    """Plausible daily returns of [start, end): money that was not believed is left out of pnl and of equity."""
    books = inputs.books
    i, j = books.index(start), books.index(end)
    gone = fsum([*inputs.implausible_before, *(day["implausible_pnl"] for day in books.days[:i])])
    out = []
    for day in range(i, j):
        base = books.equity[day] - gone
        gone += books.days[day]["implausible_pnl"]
        out.append(books.plausible_pnl[day] / base if base > 0 else float("nan"))
    return out


def _risk(inputs: Inputs) -> Risk:
    if not inputs.capital_known:
        names = ("sharpe", "sortino", "max_drawdown", "calmar", "psr", "volatility")
        reasons = dict.fromkeys(names, "the agent's capital is not known")
        return Risk(days=0, noisy=True, reasons=reasons, **dict.fromkeys(names))
    found = effectiveness.return_metrics(
        _returns(inputs, inputs.period.start, inputs.period.end), inputs.options.annualisation_days
    )
    return Risk(
        days=found.days,
        sharpe=found.sharpe,
        sortino=found.sortino,
        max_drawdown=found.max_drawdown,
        calmar=found.calmar,
        psr=found.psr,
        volatility=found.volatility,
        noisy=found.noisy,
        reasons={name: _REASONS[reason] for name, reason in found.reasons.items()},
    )


def _equity(inputs: Inputs) -> list[EquityDay]:
    books, period = inputs.books, inputs.period
    i, j = books.index(period.start), books.index(period.end)
    days = []
    for k in range(i, j + 1):
        worth = books.equity[k] if inputs.capital_known else None
        pnl = books.plausible_pnl[k - 1] if k > i else None
        days.append(
            EquityDay(
                at=format_instant(books.boundaries[k]),
                equity=worth,
                pnl=pnl,
                flow=books.flows[k - 1] if k > i else 0.0,
            )
        )
    return days


def retrospective_of(inputs: Inputs, track: Track, *, whole: bool = False) -> PositionRetrospective:
    """One position's document; `whole` for a position review, where its life is the period."""
    period = inputs.period
    horizon = Horizon(
        end=period.end,
        known_until=inputs.known_until,
        after_until=None if whole else period.end + inputs.options.settle_lag,
        offsets=inputs.options.offsets,
        use_highs_lows=inputs.options.use_highs_lows,
    )
    words = sections.words_of(track, inputs.predictions, inputs.last_resolutions, inputs.options.rules.claims)
    pnl = None if whole else inputs.books.position_pnl(track.position.position, period.start, period.end)
    return retrospect(track, horizon, inputs.prices, words, period_pnl=pnl, agent=inputs.agent)


def _stray(inputs: Inputs) -> dict[tuple[str, Role], set[str]]:
    """Citations of decisions that name no position."""
    claims = inputs.options.rules.claims
    out: dict[tuple[str, Role], set[str]] = {}
    for decision in inputs.decisions:
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


def _quality(inputs: Inputs, pnl: PnlAttribution) -> DataQuality:
    warnings = list(inputs.warnings)
    size = fsum(abs(SIGNS[name] * getattr(pnl, name)) for name in COMPONENTS)
    if pnl.unattributed is not None and abs(pnl.unattributed) > max(0.01, 0.001 * size):
        warnings.append(
            f"the agent's stated equity and its events differ by {pnl.unattributed:+.2f} {inputs.base_currency}"
            " that no event explains: look for a missing event or wrong decimals"
        )
    flagged, made = [], inputs.books
    for name, track in sorted(inputs.tracks.items()):
        warnings += [f"{name}: {warning}" for warning in track.warnings]
        if track.flagged_at is not None and sections.in_period(track, inputs.period):
            flagged.append(
                Implausible(
                    position_id=name,
                    reason=track.flagged_why,
                    pnl=made.position_pnl(name, inputs.period.start, inputs.period.end),
                )
            )
    missing = [f"{symbol}: {why}" for symbol, why in sorted(inputs.prices.unreliable.items())]
    return DataQuality(
        warnings=warnings,
        implausible=flagged,
        quarantined=inputs.quarantined,
        missing_marks=missing,
        provisional=bool(missing),
    )


def build(inputs: Inputs) -> RetrospectiveReport:
    """The report of a period, words still empty."""
    period, rules = inputs.period, inputs.options.rules
    pnl = _period_pnl(inputs)
    shown = [t for t in inputs.tracks.values() if sections.in_period(t, period)]
    shown.sort(key=lambda t: (t.opened_at, t.position.position))
    positions = [retrospective_of(inputs, track) for track in shown]
    closed = [p for p, t in zip(positions, shown, strict=True) if sections.closed_in(t, period)]
    counted = [p for p in closed if "implausible" not in p.flags]
    claims = rules.claims
    items = [item for row in inputs.rows for item in items_of(row, rules, claims)]
    heuristics = audit_period(
        items, inputs.history, rules, period.start, period.end, inputs.seed, stray=_stray(inputs)
    )
    risk = _risk(inputs)
    resolved = sections.resolved_decisions(inputs.rows, period)
    reasons: dict[str, str] = {}
    if pnl.net_yield is None:
        reasons["pnl.net_yield"] = reasons["pnl.net_yield_after_costs"] = (
            "no LP, lending or staking in the period"
        )
        reasons["pnl.risk_adjusted_return"] = reasons["pnl.net_yield"]
    elif pnl.risk_adjusted_return is None:
        reasons["pnl.risk_adjusted_return"] = "fewer than 2 days, or daily pnl does not vary"
    if pnl.unattributed is None:
        reasons["pnl.unattributed"] = "the agent has not stated its equity"
    if pnl.slippage is None:
        reasons["pnl.slippage"] = "no fill has a mark at its decision"
    if not inputs.capital_known:
        reasons["equity"] = "the agent's capital is not known"
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
        equity=_equity(inputs),
        prediction_accuracy=sections.accuracy(inputs.predictions, inputs.resolutions),
        actions_taken=sections.actions(inputs.decisions, shown, period, claims),
        positions=positions,
        heuristic_performance=heuristics,
        costs=sections.costs(pnl, inputs.costs, inputs.prices),
        breakdowns=sections.breakdowns(
            counted, shown, inputs.books, period, inputs.zone, pnl, sections.regimes(shown)
        ),
        effectiveness=_effectiveness(inputs, pnl, risk, counted),
        what_worked="",
        what_failed="",
        hindsight="",
        playbook_proposals=[],
        confidence=resolved / (resolved + 10),
        resolved_decisions=resolved,
        narrative=Narrative(source="plain"),
        data_quality=_quality(inputs, pnl),
        provenance=Provenance(code_version=inputs.version, data_digest=inputs.digest, seed=inputs.seed),
        reasons=reasons,
    )


def _effectiveness(
    inputs: Inputs, pnl: PnlAttribution, risk: Risk, counted: Sequence[PositionRetrospective]
) -> Effectiveness:
    period, books = inputs.period, inputs.books
    week_start = books.boundaries[max(0, books.index(period.end) - 7)]
    components = books.between(week_start, period.end)
    weekly = attribution(components, start=0.0, end=0.0, yields=pnl.net_yield is not None)
    sharpe = None
    if inputs.capital_known:
        returns = _returns(inputs, week_start, period.end)
        sharpe = effectiveness.return_metrics(returns, inputs.options.annualisation_days).sharpe
    signed = [SIGNS[name] * getattr(pnl, name) for name in COMPONENTS if name != "implausible_pnl"]
    return sections.effectiveness_of(
        counted,
        sections.week_of(inputs.rows, period.start - (period.end - period.start), period.start)
        if period.horizon == "weekly"
        else None,
        signed,
        net_yield=weekly.net_yield_after_costs,
        sharpe=sharpe,
        psr=risk.psr,
        capital_known=inputs.capital_known,
    )
