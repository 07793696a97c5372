"""What the citations up to an instant justify changing in a playbook: the audit's rows as its rules of proposal read them.

A proposal rests on everything since the heuristic's text last changed, not on one period; so counts, wins and averages
are taken from all outcomes that resolved, and grade, interval and q from the audit, which has them cumulative already.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import playbook
from playbook import AuditRow
from playbook.proposal import BLANK
from retro.app.proposals.selection import allowed
from retro.evaluate.audit.audit import audit_standing
from retro.evaluate.audit.history import RECORD, identity
from retro.kernels.audit import recommend
from retro.kinds import KINDS
from retro.periods import SECOND, parse_instant
from retro.store import proposals
from retro.store.books import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from playbook import Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.citations import AuditRules
    from retro.evaluate.audit.history import History
    from retro.report import HeuristicReport, RetrospectiveReport
    from retro.store.proposals import Proposal

__all__ = [
    "Size",
    "audit_rows",
    "is_applied",
    "proposed_by",
    "touched",
    "with_adopted",
    "with_history",
]

_NOTHING: Final = np.empty(0, RECORD)
_ACCEPTED: Final = frozenset({"merged", "validated", "refuted"})


class Size(NamedTuple):
    """What an outcome is measured by besides money, and what doing nothing would have made; None where not known."""

    notional: float | None
    risk: float | None
    vs_inaction: float | None


def audit_rows(
    rows: Iterable[HeuristicReport], history: History, sizes: Mapping[int, Size], rules: AuditRules
) -> list[AuditRow]:
    """Rows of an audit with everything that resolved since each heuristic's text stands, not one period's part of it.

    `sizes` by the identity of the position; those that are not known count neither in R nor in basis points.
    """
    ever = history.by_heuristic(_since(rules))
    return [_row(row, ever.get((row.heuristic_id, row.role), _NOTHING), sizes, rules) for row in rows]


def _since(rules: AuditRules) -> dict[str, int]:
    return {rule.id: rule.since for rule in rules.rules.values() if rule.since is not None}


def _row(row: HeuristicReport, ever: NDArray[Any], sizes: Mapping[int, Size], rules: AuditRules) -> AuditRow:
    is_whole = row.evaluated_count == len(ever)  # nothing resolved outside the audit's own period
    measured = ever["value"].tolist() if rules.unit == "usd" else list(_in_unit(ever, sizes, rules.unit))
    average = row.avg_in_unit if is_whole else fsum(measured) / len(measured) if measured else None
    kind = recommend(len(measured), average, rules.thresholds)
    has_money = row.interval is not None and row.threshold_unit == "usd"
    began = row.evidence_since
    return AuditRow(
        heuristic_id=row.heuristic_id,
        role=row.role,
        kind=row.recommendation.kind if is_whole else kind,
        grade=row.evidence,
        evaluated_count=len(ever),
        win_count=int((ever["value"] > 0).sum()),
        avg=average,
        citation_count=row.citation_count if is_whole else None,
        interval=(row.interval[0], row.interval[1]) if row.interval and has_money else None,
        q=row.q_value,
        unit=row.threshold_unit,
        since=None
        if began is None
        else datetime.fromtimestamp(parse_instant(began) // SECOND, tz=UTC).date(),
        partners=tuple((partner.heuristic_id, partner.jaccard) for partner in row.inseparable_from),
        vs_inaction=_against_nothing(row, ever, sizes),
    )


def _in_unit(ever: NDArray[Any], sizes: Mapping[int, Size], unit: str) -> Iterator[float]:
    for position, value in zip(ever["position"].tolist(), ever["value"].tolist(), strict=True):
        size = sizes.get(position)
        measure = None if size is None else size.risk if unit == "r" else size.notional
        if measure:
            yield value / measure * (1.0 if unit == "r" else 1e4)


def _against_nothing(row: HeuristicReport, ever: NDArray[Any], sizes: Mapping[int, Size]) -> float | None:
    """What the entries made beyond doing nothing, on average and in money; None unless it is known of all of them."""
    if row.role != "entry" or row.threshold_unit != "usd" or not len(ever):
        return None
    outcome_sizes = [sizes.get(position) for position in ever["position"].tolist()]
    advantages = [
        size.vs_inaction for size in outcome_sizes if size is not None and size.vs_inaction is not None
    ]
    return fsum(advantages) / len(advantages) if len(advantages) == len(ever) else None


def with_history(rows: Iterable[AuditRow], lives: Sequence[Proposal], history: History) -> list[AuditRow]:
    """The rows with what merged amendments have made of them: the confidence from before, and what came since."""
    accepted: dict[str, list[Proposal]] = {}
    for life in sorted(lives, key=lambda life: life.told_until):
        if life.state in _ACCEPTED:
            for name in touched(life.document):
                accepted.setdefault(name, []).append(life)
    if not accepted:
        return list(rows)
    ever = history.by_heuristic({})
    return [
        _recalled(row, accepted[row.heuristic_id], ever.get((row.heuristic_id, row.role), _NOTHING))
        if row.heuristic_id in accepted
        else row
        for row in rows
    ]


def _recalled(row: AuditRow, lives: Sequence[Proposal], ever: NDArray[Any]) -> AuditRow:
    since = None if row.since is None else row.since.isoformat()
    moved = [life.document["evidence"] for life in lives if life.document["evidence"].get("since") == since]
    priors = [evidence["prior"] for evidence in moved if isinstance(evidence.get("prior"), float | int)]
    count = int((ever["told_at"] > lives[-1].told_until).sum())
    return replace(row, prior=priors[0] if priors else row.prior, resolved_since=count)


def is_applied(book: Playbook, life: Proposal) -> bool:
    """Whether the document says what the proposal wants it to."""
    lines = {heuristic.head.raw.strip() for heuristic in book.heuristics}
    return all(
        heuristic.head.raw.strip() in lines for heuristic in playbook.parse(life.document["new"]).heuristics
    )


def with_adopted(lives: Iterable[Proposal], book: Playbook) -> list[Proposal]:
    """The lives as the document shows them: what it says already was accepted, whatever the ledger has heard of it."""
    return [
        life._replace(state="merged")
        if life.state in {"proposed", "open"} and is_applied(book, life)
        else life
        for life in lives
    ]


def touched(proposal: Mapping[str, Any]) -> set[str]:
    """The heuristics a proposal speaks of; one that is new by the id it got."""
    return {
        proposal["heuristic"],
        *(heuristic.id for heuristic in playbook.parse(proposal["new"]).heuristics),
    }


def proposed_by(
    conn: Connection, report: RetrospectiveReport, settings: AgentSettings, history: History
) -> list[dict[str, Any]]:
    """What a review proposes, as its `playbook_proposals`; of the ledger it knows what was decided before it was made.

    Without a playbook only what the evidence supports: a first one is `retro playbook propose`'s to offer.
    """
    if not KINDS[report.horizon].proposes:
        return []
    rules, end, made_at = (
        settings.options.rules,
        parse_instant(report.period_end),
        parse_instant(report.generated_at),
    )
    reported = report.heuristic_performance
    beyond = audit_standing(history, rules, end, report.provenance.seed, without=reported)
    size_rows = positions.sizes(conn, report.agent, end) if rules.unit != "usd" else ()
    sizes = {identity(position): Size(notional, risk, None) for position, notional, risk in size_rows}
    rows = audit_rows([*reported, *beyond], history, sizes, rules)
    book = settings.playbook if settings.playbook is not None else playbook.parse(BLANK)
    lives = with_adopted(proposals.stored(conn, report.agent, as_of=made_at), book)
    rows = [replace(row, reviews=(report.id,)) for row in with_history(rows, lives, history)]
    if settings.playbook is None:
        rows = [row for row in rows if row.grade == "supported"]
    return [playbook.to_json(amendment) for amendment in allowed(playbook.propose(book, rows), lives)]
