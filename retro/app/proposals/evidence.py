"""What the citations say of each heuristic: the audit's rows, as the rules of proposal read them.

A proposal rests on everything since the heuristic's text last changed, not on one period; so counts, wins and averages
are taken from all outcomes that resolved, and grade, interval and q from the audit, which has them cumulative already.
A review gathers its evidence from its own audit and the outcomes up to its end; a proposal asked for now, from the
agent's whole life. What follows from either is `justification`'s to say.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from playbook import AuditRow
from retro.app.settlement.audit import audit_life
from retro.app.settlement.settings import rules_of
from retro.app.settlement.settle import settled_book
from retro.evaluate.audit.audit import audit_period, audit_standing
from retro.evaluate.audit.citations import items_of
from retro.evaluate.audit.history import RECORD, history_from, identity
from retro.kernels.audit import recommend
from retro.kernels.uncertainty import by_day, mean_estimate, spread_of
from retro.periods import FOREVER, SECOND, parse_instant
from retro.store.books import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from playbook import Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.citations import AuditRules, CreditItem, Role
    from retro.evaluate.audit.history import History
    from retro.kernels.uncertainty import Spread
    from retro.report import HeuristicReport, RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["CitationEvidence", "Size", "audit_rows", "evidence_of_life", "evidence_of_review"]

_ROLES: Final[tuple[Role, ...]] = ("entry", "exit")
_NOTHING: Final = np.empty(0, RECORD)


class CitationEvidence(NamedTuple):
    """What the citations say under the rules of one playbook.

    `rows` are what proposals rest on, `outcomes` everything behind them that resolved. `items` are the same outcomes
    one by one, by which merged proposals are judged; none in a review, which judges nothing.
    """

    rows: Sequence[AuditRow]
    outcomes: History
    items: Sequence[CreditItem] = ()


class Size(NamedTuple):
    """What an outcome is measured by besides money, and what doing nothing would have made; None where not known."""

    notional: float | None
    risk: float | None
    vs_inaction: float | None


def evidence_of_review(
    conn: Connection, report: RetrospectiveReport, settings: AgentSettings, outcomes: History
) -> CitationEvidence:
    """What a review's own audit says, and that of every heuristic the period itself says nothing of.

    `outcomes` are those that had resolved by the period's end: a review made late rests on nothing later.
    """
    rules, end = settings.options.rules, parse_instant(report.period_end)
    reported = report.heuristic_performance
    beyond = audit_standing(outcomes, rules, end, report.provenance.seed, without=reported)
    # in money no outcome is divided by its size, so the sizes are not read
    measured = positions.sizes(conn, report.agent, end) if rules.unit != "usd" else ()
    sizes = {identity(position): Size(notional, risk, None) for position, notional, risk in measured}
    rows = audit_rows([*reported, *beyond], outcomes, sizes, rules, report.base_currency)
    return CitationEvidence([replace(row, reviews=(report.id,)) for row in rows], outcomes)


def evidence_of_life(store: Store, agent: Agent, settings: AgentSettings, book: Playbook) -> CitationEvidence:
    """The audit of the agent's life under this playbook, which need not be the one the positions were settled by.

    The settled book stays as it is: only what a tag stands for may differ, and that is resolved anew.
    """
    rules = replace(settings.options.rules, rules=rules_of(book, settings.zone))
    has_same_claims = rules.claims == settings.options.rules.claims
    options = replace(settings.options, rules=rules) if has_same_claims else settings.options
    under = replace(settings, options=options, playbook=book)
    with settled_book(store, agent.name, under) as settled:
        reported, summaries = audit_life(settled), settled.positions()
        measured = settled.settings.options.rules
        rules = replace(rules, unit=measured.unit, thresholds=measured.thresholds)
    items = [item for summary in summaries for item in items_of(summary, rules, rules.claims)]
    outcomes = history_from(summaries, rules)
    if not has_same_claims:
        reported = audit_period(items, outcomes, rules, agent.first_at or 0, FOREVER, seed=0)
    sizes = {
        identity(summary.position): Size(summary.notional, summary.risk, summary.vs_inaction)
        for summary in summaries
    }
    rows = audit_rows(reported, outcomes, sizes, rules, settings.base_currency)
    return CitationEvidence(rows, outcomes, items)


def audit_rows(
    rows: Iterable[HeuristicReport],
    outcomes: History,
    sizes: Mapping[int, Size],
    rules: AuditRules,
    currency: str,
) -> list[AuditRow]:
    """Rows of an audit with everything that resolved since each heuristic's text stands, not one period's part of it.

    `sizes` by the identity of the position; those that are not known count neither in R nor in basis points. `currency`
    is what the agent counts in.
    """
    ever = outcomes.by_heuristic(_since(rules))
    spreads = {role: _spread(outcomes.of_role(role), sizes, rules.unit) for role in _ROLES}
    return [
        replace(
            _row(row, ever.get((row.heuristic_id, row.role), _NOTHING), sizes, rules, spreads[row.role]),
            currency=currency,
        )
        for row in rows
    ]


def _since(rules: AuditRules) -> dict[str, int]:
    return {rule.id: rule.since for rule in rules.rules.values() if rule.since is not None}


def _spread(records: NDArray[Any], sizes: Mapping[int, Size], unit: str) -> Spread | None:
    """How the outcomes of a role scatter, in a unit that is not money: the audit measures that in money alone."""
    return None if unit == "usd" else spread_of(*_in_unit(records, sizes, unit))


def _row(
    row: HeuristicReport,
    ever: NDArray[Any],
    sizes: Mapping[int, Size],
    rules: AuditRules,
    spread: Spread | None,
) -> AuditRow:
    is_whole = row.evaluated_count == len(ever)  # nothing resolved outside the audit's own period
    measured, days = _in_unit(ever, sizes, rules.unit)
    average = row.avg_in_unit if is_whole else fsum(measured) / len(measured) if measured else None
    kind = recommend(len(measured), average, rules.thresholds)
    interval = (row.interval[0], row.interval[1]) if row.interval is not None else None
    if rules.unit != "usd":
        interval = mean_estimate(by_day(measured, days), spread).interval
    began = row.evidence_since
    return AuditRow(
        heuristic_id=row.heuristic_id,
        role=row.role,
        kind=row.recommendation.kind if is_whole else kind,
        grade=row.evidence,
        evaluated_count=len(ever),
        win_count=int((ever["value"] > 0).sum()),
        avg=average,
        averaged=len(measured),
        citation_count=row.citation_count if is_whole else None,
        interval=interval,
        q=row.q_value,
        unit=row.threshold_unit,
        since=None
        if began is None
        else datetime.fromtimestamp(parse_instant(began) // SECOND, tz=UTC).date(),
        partners=tuple((partner.heuristic_id, partner.jaccard) for partner in row.inseparable_from),
        vs_inaction=_against_nothing(row, ever, sizes),
    )


def _in_unit(records: NDArray[Any], sizes: Mapping[int, Size], unit: str) -> tuple[list[float], list[int]]:
    """The outcomes in a unit with their days; those of a position whose size is not known are left out."""
    if unit == "usd":
        return records["value"].tolist(), records["day"].tolist()
    values, days = [], []
    rows = zip(records["position"].tolist(), records["value"].tolist(), records["day"].tolist(), strict=True)
    for position, value, day in rows:
        size = sizes.get(position)
        measure = None if size is None else size.risk if unit == "r" else size.notional
        if measure:
            values.append(value / measure * (1.0 if unit == "r" else 1e4))
            days.append(day)
    return values, days


def _against_nothing(row: HeuristicReport, ever: NDArray[Any], sizes: Mapping[int, Size]) -> float | None:
    """What the entries made beyond doing nothing, on average and in money; None unless it is known of all of them."""
    if row.role != "entry" or row.threshold_unit != "usd" or not len(ever):
        return None
    outcome_sizes = [sizes.get(position) for position in ever["position"].tolist()]
    advantages = [
        size.vs_inaction for size in outcome_sizes if size is not None and size.vs_inaction is not None
    ]
    return fsum(advantages) / len(advantages) if len(advantages) == len(ever) else None
