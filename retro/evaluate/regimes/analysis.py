"""By regime: what positions made, what rules earn, and the contrast of the two where the evidence carries it."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise
from math import fsum
from typing import TYPE_CHECKING

from retro.evaluate.regimes.bets import MOST_REGIMES, cells_of
from retro.kernels import betting
from retro.report import RegimeAnalysis, RegimeRow, RuleContrast, RuleInRegime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.regimes.bets import RegimeCell
    from retro.evaluate.regimes.labels import RegimeLabels
    from retro.kernels.audit import Grade
    from retro.report import PositionRetrospective

__all__ = ["regime_analysis"]


def regime_analysis(
    closed: Sequence[PositionRetrospective],
    labels: RegimeLabels,
    history: History,
    rules: AuditRules,
    start: int,
    until: int,
) -> RegimeAnalysis | None:
    """The analysis of [start, until) for its `closed` positions; None where there is nothing to say.

    Rows are of the period; what is known of rules is of all complete weeks before `until` since their texts stand.
    """
    shares = _shares(labels.statements, start, until)
    groups: dict[str, list[PositionRetrospective]] = defaultdict(list)
    for position in closed:
        if (regime := labels.by_position.get(position.position_id)) is not None:
            groups[regime].append(position)
    cells = cells_of(history, labels.by_position, rules, until)
    if not (closed or cells or shares):
        return None
    unlabelled = len(closed) - sum(map(len, groups.values()))
    reasons = {}
    if unlabelled and labels.source == "from marks":
        reasons["unlabelled"] = (
            "no regime is stated, and too few marks are known before the entry: 37 days are needed"
        )
    elif unlabelled:
        reasons["unlabelled"] = "no decision up to the entry states a regime"
    different = len(set(labels.by_position.values()))
    if different > MOST_REGIMES:
        reasons["heuristics"] = (
            f"of {different:,} regimes the {MOST_REGIMES} that most positions were entered in"
        )
    heuristics, contrasts = _judged(cells)
    return RegimeAnalysis(
        source=labels.source,
        regimes=[_row(regime, groups.get(regime, ()), shares) for regime in sorted({*groups, *shares})],
        unlabelled=unlabelled,
        threshold_unit=rules.unit,
        heuristics=heuristics,
        contrasts=contrasts,
        reasons=reasons,
    )


def _shares(statements: Sequence[tuple[int, str]], start: int, until: int) -> dict[str, float]:
    """Of the time from the first decision of the period that has a regime: each lasts until the next one."""
    inside = [(at, regime) for at, regime in statements if start <= at < until]
    if not inside:
        return {}
    lengths: dict[str, int] = defaultdict(int)
    for (at, regime), (following, _) in pairwise([*inside, (until, "")]):
        lengths[regime] += following - at
    return {regime: length / (until - inside[0][0]) for regime, length in lengths.items()}


def _row(regime: str, group: Sequence[PositionRetrospective], shares: Mapping[str, float]) -> RegimeRow:
    pnl = [position.final_pnl or 0.0 for position in group]
    against = [position.vs_inaction for position in group if position.vs_inaction is not None]
    in_r = [position.pnl_r for position in group if position.pnl_r is not None]
    reasons = {}
    if not group:
        reasons["win_rate"] = "no position was closed"
    if not against:
        reasons["vs_inaction"] = "no position can be compared with doing nothing"
    if not in_r:
        reasons["mean_r"] = "no position knows its risk (R)"
    if not shares:
        reasons["share_of_time"] = "no decision of the period has a regime"
    return RegimeRow(
        regime=regime,
        n=len(group),
        pnl=fsum(pnl),
        vs_inaction=fsum(against) if against else None,
        win_rate=sum(amount > 0 for amount in pnl) / len(pnl) if pnl else None,
        mean_r=fsum(in_r) / len(in_r) if in_r else None,
        share_of_time=shares.get(regime, 0.0) if shares else None,
        reasons=reasons,
    )


def _judged(cells: Sequence[RegimeCell]) -> tuple[list[RuleInRegime], list[RuleContrast]]:
    """Rows and contrasts graded as one family: each row that is bet on is a member, and each pair of such rows of a rule.

    A rule does better in a than in b wherever its mean is above 0 in a and below 0 in b. Who doubts the difference
    doubts one of the two; so the smaller of the two odds holds against the difference, whatever the two share.
    """
    bet_on: dict[str, list[RegimeCell]] = defaultdict(list)
    for cell in cells:
        if cell.evidence.e_for is not None:
            bet_on[cell.heuristic].append(cell)
    pairs = [pair for of_rule in bet_on.values() for pair in combinations(of_rule, 2)]
    family = sum(map(len, bet_on.values())) + len(pairs)
    contrasts = [
        (earns, loses, min(earns.evidence.e_for or 0.0, loses.evidence.e_against or 0.0))
        for pair in pairs
        for earns, loses in (pair, pair[::-1])
        if (earns.evidence.average or 0.0) > 0 > (loses.evidence.average or 0.0)
    ]
    of_cells = _grades([(cell.evidence.n, cell.evidence.e, cell.direction) for cell in cells], family)
    of_contrasts = _grades(
        [(min(earns.evidence.n, loses.evidence.n), e, 1) for earns, loses, e in contrasts], family
    )
    grade = {(cell.heuristic, cell.regime): word for cell, word in zip(cells, of_cells, strict=True)}
    rows = [_rule_row(cell, grade[cell.heuristic, cell.regime]) for cell in cells]
    return rows, [
        RuleContrast(
            heuristic=earns.heuristic,
            earns_in=earns.regime,
            loses_in=loses.regime,
            e=e,
            evidence=word,
            is_supported={word, *(grade[cell.heuristic, cell.regime] for cell in (earns, loses))}
            == {"supported"},
        )
        for (earns, loses, e), word in zip(contrasts, of_contrasts, strict=True)
    ]


def _grades(figures: Sequence[tuple[int, float | None, int]], family: int) -> list[Grade]:
    """What is said of each (outcomes, E of its direction, direction) among so many."""
    words: list[Grade] = []
    chosen = {
        side: betting.e_benjamini_hochberg(
            [e if e is not None and way == side else float("nan") for _, e, way in figures], family
        )
        for side in (-1, 1)
    }
    for place, (n, e, way) in enumerate(figures):
        if e is None or n < betting.GRADED_FROM:
            words.append("none" if way or n < betting.GRADED_FROM else "weak")
        elif chosen[way][place] and n >= betting.SUPPORTED_FROM:
            words.append("supported")
        else:
            words.append("suggestive" if e >= betting.TEN_TO_ONE else "weak")
    return words


def _rule_row(cell: RegimeCell, grade: Grade) -> RuleInRegime:
    evidence, reasons = cell.evidence, {}
    if evidence.average is None:
        reasons["average"] = "no outcome resolved in a complete week"
    if evidence.bound is None:
        why = (
            f"its scale is not known yet: {evidence.pool} of {betting.BOUND_FROM} weeks"
            if evidence.pool < betting.BOUND_FROM
            else "nothing was held in a complete week since its scale is known"
        )
        reasons |= dict.fromkeys(("bound", "e_against", "e_for", "interval"), why)
    elif evidence.interval is None:
        reasons["interval"] = "no mean is left that the bets do not reject, or no outcome resolved"
    return RuleInRegime(
        heuristic=cell.heuristic,
        regime=cell.regime,
        n=evidence.n,
        average=evidence.average,
        interval=evidence.interval,
        bets=evidence.bets,
        bound=evidence.bound,
        e_against=evidence.e_against,
        e_for=evidence.e_for,
        evidence=grade,
        reasons=reasons,
    )
