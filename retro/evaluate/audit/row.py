"""One row of the audit: what the period's outcomes recommend, how sure all of them make it, and what was left out."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.evaluate.audit.evidence import add_evidence
from retro.evaluate.audit.tally import by_position
from retro.kernels import audit as kernel
from retro.kernels import uncertainty
from retro.report import HeuristicReport, Recommendation

if TYPE_CHECKING:
    import numpy as np

    from retro.evaluate.audit.citations import Role
    from retro.evaluate.audit.evidence import RowFacts
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.audit.tally import Tally
    from retro.evaluate.audit.uncited import RoleOutcomes

__all__ = ["report_of"]

_IN_UNIT: Final = ("avg_in_unit", "largest_share", "recommendation_without_largest")
_SIZE: Final = {"usd": "amount", "r": "risk (R)", "bps": "notional"}
_UNIT_WORD: Final = {"usd": "", "r": " R", "bps": " bps of notional"}


class _OutcomeCounts(NamedTuple):
    """Of a row in the period: decisions that cite it, outcomes, and those whose size in the unit is known."""

    cited: int
    evaluated: int
    in_unit: int


def report_of(
    key: tuple[str, Role], row: Tally, rules: AuditRules, facts: RowFacts, rng: np.random.Generator
) -> HeuristicReport:
    """The row of one heuristic in one role."""
    heuristic, role = key
    rule = rules.rules.get(heuristic)
    reasons: dict[str, str] = {}
    period = _of_the_period(key, row, rules, reasons)
    evidence: dict[str, Any] = {}
    add_evidence(evidence, row, rule, facts, reasons)
    if facts.partners.total > len(facts.partners.nearest):
        reasons["inseparable_from"] = f"the {len(facts.partners.nearest)} nearest of {facts.partners.total:,}"
    return HeuristicReport(
        heuristic_id=heuristic,
        heuristic_text=None if rule is None else rule.text,
        role=role,
        threshold_unit=rules.unit,
        inseparable_from=facts.partners.nearest,
        **period,
        **_left_out(row, reasons),
        **_open(row, reasons),
        **evidence,
        **_compared(row, facts.outcomes, rng, reasons),
        reasons=reasons,
    )


def _of_the_period(
    key: tuple[str, Role], row: Tally, rules: AuditRules, reasons: dict[str, str]
) -> dict[str, Any]:
    """Counts, pnl, win rate and recommendation."""
    heuristic, role = key
    outcomes = by_position(row.period)
    values = [value for _, value in outcomes]
    won = uncertainty.by_day([float(value > 0) for value in values], [item.day for item, _ in outcomes])
    in_unit = [value for _, value in by_position(row.period, rules.unit)]
    n, total, wins = len(values), fsum(values), sum(value > 0 for value in values)
    average = fsum(in_unit) / len(in_unit) if in_unit else None
    kind = kernel.recommend(len(in_unit), average, rules.thresholds)
    if n == 0:
        names = ("associated_pnl", "shared_pnl", "win_rate", "avg_pnl_per_citation", "win_rate_interval")
        reasons |= dict.fromkeys((*names, *_IN_UNIT), "no outcome resolved in the period")
    elif average is None:
        reasons |= dict.fromkeys(_IN_UNIT, f"the positions do not know their {_SIZE[rules.unit]}")
    largest = kernel.largest_trade(in_unit, rules.thresholds) if in_unit else None
    if largest is not None and largest.share is None:
        reasons["largest_share"] = "all outcomes are 0"
    shared = [item.value / len(item.cites) for item in row.period if item.value is not None]
    counts = _OutcomeCounts(len(row.decisions), n, len(in_unit))
    why = _why(kind, counts, average, rules, is_exit=role == "exit")
    why += _told_in_time(heuristic, row, rules, kind) + _with_open(row, total)
    return {
        "citation_count": max(len(row.decisions), n),
        "evaluated_count": n,
        "associated_pnl": total if n else None,
        "shared_pnl": fsum(shared) if n else None,
        "win_rate": wins / n if n else None,
        "avg_pnl_per_citation": total / n if n else None,
        "avg_in_unit": average,
        "recommendation": Recommendation(kind=kind, reason=why),
        "win_rate_interval": list(uncertainty.rate_interval(won) or ()) or None,
        "largest_share": None if largest is None else largest.share,
        "recommendation_without_largest": None if largest is None else largest.recommendation_without,
    }


def _told_in_time(heuristic: str, row: Tally, rules: AuditRules, kind: str) -> str:
    """What those outcomes recommend that were cited before they were known, where the others change it."""
    limits = rules.thresholds
    early = [item for item in row.period if not item.told_late(heuristic)]
    values = [value for _, value in by_position(early, rules.unit)]
    if len(early) == len(row.period) or len(values) < limits.min_citations:
        return ""
    before = kernel.recommend(len(values), fsum(values) / len(values), limits)
    return "" if before == kind else f"; {before} by the {len(values)} cited before they were known"


def _with_open(row: Tally, total: float) -> str:
    """What the positions that are still open say, where they turn what the closed ones made into its opposite."""
    priced = [pnl for pnl in row.standing if pnl is not None]
    level = fsum(priced)
    if not row.period or not priced or (total > 0) == (total + level > 0):
        return ""
    number = f"{len(priced)} open position{'s' if len(priced) > 1 else ''}"
    return f"; with its {number} at {level:+.2f} the sum of {total:+.2f} is {total + level:+.2f}"


def _open(row: Tally, reasons: dict[str, str]) -> dict[str, Any]:
    """The open positions whose entry cites it: how many, and what those that have a price stand at."""
    priced = [pnl for pnl in row.standing if pnl is not None]
    if not priced:
        reasons["open_pnl"] = "no open position" if not row.standing else "no open position has a price"
    return {"open_count": len(row.standing), "open_pnl": fsum(priced) if priced else None}


def _left_out(row: Tally, reasons: dict[str, str]) -> dict[str, Any]:
    """What is cited for it after the fact, in which it has no part; and how much of its evidence was told late."""
    values = [value for _, value in by_position(row.left_out)]
    if not values:
        reasons["after_the_fact_pnl"] = "no outcome was left out"
    if not len(row.ever):
        reasons["told_late"] = "no outcome resolved since the heuristic's text stands"
    return {
        "after_the_fact_count": len(row.hindsight),
        "after_the_fact_pnl": fsum(values) if values else None,
        "told_late": float(row.ever["late"].mean()) if len(row.ever) else None,
    }


def _compared(
    row: Tally, of_role: RoleOutcomes, rng: np.random.Generator, reasons: dict[str, str]
) -> dict[str, Any]:
    """The memo: outcomes of the role in the period without the citation."""
    outcomes = by_position(row.period)
    values = [value for _, value in outcomes]
    mean, count = of_role.mean_without(row.period), of_role.count_without(row.period)
    if mean is None:
        reasons["uncited_avg"] = "no decision of this role without the citation"
    if mean is None or not values:
        reasons |= dict.fromkeys(("uncited_difference", "uncited_p"), "nothing to compare with in the period")
        return {"uncited_avg": mean, "uncited_count": count, "uncited_difference": None, "uncited_p": None}
    days = uncertainty.by_day(values, [item.day for item, _ in outcomes])
    return {
        "uncited_avg": mean,
        "uncited_count": count,
        "uncited_difference": fsum(values) / len(values) - mean,
        "uncited_p": uncertainty.permutation_of_days(days, of_role.days_without(row.period), rng),
    }


def _why(
    kind: str, counts: _OutcomeCounts, average: float | None, rules: AuditRules, *, is_exit: bool
) -> str:
    """What the thresholds were applied to, in words; of exits it is what they avoided, and no result of a trade."""
    limits, unit = rules.thresholds, _UNIT_WORD[rules.unit]
    if kind == "insufficient_data" or average is None:
        if not counts.cited and not counts.evaluated:
            return "condition never triggered"
        unsized = counts.evaluated - counts.in_unit
        known = f", the {_SIZE[rules.unit]} of {counts.in_unit} known" if unsized else ""
        return f"{counts.evaluated} evaluated{known}, {limits.min_citations} are needed"
    exits = " exits" if is_exit else ""
    text = f"{'avoided on ' if is_exit else ''}average {average:+.2f}{unit} over {counts.in_unit}{exits}"
    if kind == "demote":
        return f"{text}, below {limits.demote:+.2f}{unit}"
    if kind == "investigate":
        return f"{text}, between {limits.demote:+.2f} and {limits.investigate:+.2f}{unit}"
    return f"{text}, at or above {limits.investigate:+.2f}{unit}"
