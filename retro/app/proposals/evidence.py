"""What the citations say of each heuristic: the audit's rows, as the rules of proposal read them.

A proposal rests on everything since the heuristic's text last changed, not on one period; so counts, wins and averages
are taken from all outcomes that resolved, and what the bets say from the audit, which has it cumulative already. A
review gathers its evidence from its own audit and the outcomes up to its end; a proposal asked for now, from the
agent's whole life. What follows from either is `justification`'s to say.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from playbook import AuditRow
from retro.app.settlement.audit import audit_life, citations_of_life
from retro.app.settlement.settings import rules_of
from retro.app.settlement.settle import settled_book
from retro.evaluate.audit.audit import audit_standing
from retro.evaluate.audit.bets import in_unit, since_of
from retro.evaluate.audit.history import RECORD, identity
from retro.kernels.audit import recommend
from retro.periods import SECOND, parse_instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from playbook import Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.bets import Bets
    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules
    from retro.report import HeuristicReport, RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["CitationEvidence", "audit_rows", "evidence_of_life", "evidence_of_review"]

_NOTHING: Final = np.empty(0, RECORD)


class CitationEvidence(NamedTuple):
    """What the citations say under the rules of one playbook, up to the weeks that are complete at `until`.

    `rows` are what proposals rest on, `outcomes` everything behind them.
    """

    rows: Sequence[AuditRow]
    outcomes: History
    rules: AuditRules
    until: int


def evidence_of_review(
    report: RetrospectiveReport, settings: AgentSettings, outcomes: History, bets: Bets
) -> CitationEvidence:
    """What a review's own audit says, and that of every heuristic the period itself says nothing of.

    `outcomes` are those that had resolved by the period's end: a review made late rests on nothing later. Of labels that
    the playbook does not know only those are read whose evidence is supported: no other can lead to anything.
    """
    rules, end = settings.options.rules, parse_instant(report.period_end)
    names = _proposable(settings.playbook, bets)
    reported = [row for row in report.heuristic_performance if names is None or row.heuristic_id in names]
    seed = report.provenance.seed
    beyond = audit_standing(outcomes, bets, rules, end, seed, without=reported, names=names)
    rows = audit_rows([*reported, *beyond], outcomes, rules, report.base_currency)
    rows = [replace(row, reviews=(report.id,)) for row in rows]
    return CitationEvidence(rows, outcomes, rules, bets.until)


def _proposable(book: Playbook | None, bets: Bets) -> set[str] | None:
    """The heuristics of which a review may propose anything; None: of all, into a playbook that holds nothing yet."""
    if book is not None and not book.heuristics:
        return None
    heuristics = () if book is None else book.heuristics
    return {heuristic.id for heuristic in heuristics} | bets.supported()


def evidence_of_life(
    store: Store, agent: Agent, settings: AgentSettings, book: Playbook, *, as_of: int | None = None
) -> CitationEvidence:
    """The audit of the agent's life under this playbook, which need not be the one the positions were settled by.

    The settled book stays as it is: only what a tag stands for may differ, and that is resolved anew.
    """
    with settled_book(store, agent.name, settings) as settled:
        settled_rules = settled.settings.options.rules
        rules = replace(settled_rules, rules=rules_of(book, settings.zone))
        life = citations_of_life(settled, rules, as_of=as_of)
        reported = audit_life(settled, life, as_of=as_of)
    advantages = {identity(row.position): row.vs_inaction for row in life.rows if row.vs_inaction is not None}
    rows = audit_rows(reported, life.history, rules, settings.base_currency, advantages)
    return CitationEvidence(rows, life.history, rules, life.known_until)


def audit_rows(
    rows: Iterable[HeuristicReport],
    outcomes: History,
    rules: AuditRules,
    currency: str,
    advantages: Mapping[int, float] | None = None,
) -> list[AuditRow]:
    """Rows of an audit with everything that resolved since each heuristic's text stands, not one period's part of it.

    `advantages` over doing nothing by the identity of the position; `currency` is what the agent counts in.
    """
    ever = outcomes.by_heuristic(since_of(rules))
    return [
        replace(
            _row(row, ever.get((row.heuristic_id, row.role), _NOTHING), rules, advantages or {}),
            currency=currency,
        )
        for row in rows
    ]


def _row(
    row: HeuristicReport, ever: NDArray[Any], rules: AuditRules, advantages: Mapping[int, float]
) -> AuditRow:
    is_whole = row.evaluated_count == len(ever)  # nothing resolved outside the audit's own period
    measured = in_unit(ever, ever["value"], rules.unit)
    values = measured[~np.isnan(measured)].tolist()
    average = row.avg_in_unit if is_whole else fsum(values) / len(values) if values else None
    began, gain = row.evidence_since, row.break_even
    return AuditRow(
        heuristic_id=row.heuristic_id,
        role=row.role,
        kind=row.recommendation.kind if is_whole else recommend(len(values), average, rules.thresholds),
        grade=row.evidence,
        evaluated_count=len(ever),
        win_count=int((ever["value"] > 0).sum()),
        avg=average,
        averaged=len(values),
        citation_count=row.citation_count if is_whole else None,
        interval=None if row.interval is None else (row.interval[0], row.interval[1]),
        e_against=row.e_against,
        e_for=row.e_for,
        bets=row.bets,
        bound=row.bound,
        clipped=row.clipped,
        break_even=None if gain is None else (gain.gain, gain.largest),
        unit=row.threshold_unit,
        since=None
        if began is None
        else datetime.fromtimestamp(parse_instant(began) // SECOND, tz=UTC).date(),
        partners=tuple((partner.heuristic_id, partner.jaccard) for partner in row.inseparable_from),
        vs_inaction=_against_nothing(row, ever, advantages),
    )


def _against_nothing(
    row: HeuristicReport, ever: NDArray[Any], advantages: Mapping[int, float]
) -> float | None:
    """What the entries made beyond doing nothing, on average and in money; None unless it is known of all of them."""
    if row.role != "entry" or row.threshold_unit != "usd" or not len(ever):
        return None
    advantages_known = [
        advantages[position] for position in ever["position"].tolist() if position in advantages
    ]
    return fsum(advantages_known) / len(advantages_known) if len(advantages_known) == len(ever) else None
