"""The citation audit of a period: which heuristics made or lost money, and how sure that is (numbers.md section 3)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from playbook.citation import resolve
from retro.accounting.attribution import agree
from retro.evaluate.audit.history import RECORD, History, identity
from retro.invariant import invariant
from retro.kernels import audit as kernel
from retro.kernels import uncertainty
from retro.periods import format_instant
from retro.report import HeuristicReport, Partner, Recommendation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.audit.citations import AuditRules, CreditItem, Role, Rule, Unit

__all__ = ["audit_period", "audit_standing"]

_ROLES: Final[tuple[Role, ...]] = ("entry", "exit")
_IN_UNIT: Final = ("avg_in_unit", "largest_share", "recommendation_without_largest")
_UNIT_WORD: Final = {"usd": "", "r": " R", "bps": " bps of notional"}


@dataclass(slots=True)
class _Tally:
    """Everything about one (heuristic, role); `ever` are records of its history.

    `hindsight` are decisions that cite it after the fact, `left_out` the outcomes that only such decisions cite it for.
    """

    period: list[CreditItem] = field(default_factory=list)
    ever: NDArray[Any] = field(default_factory=lambda: np.empty(0, RECORD))
    decisions: set[str] = field(default_factory=set)
    hindsight: set[str] = field(default_factory=set)
    left_out: list[CreditItem] = field(default_factory=list)


def _tally(
    items: Iterable[CreditItem], history: History, rules: AuditRules, start: int, end: int
) -> dict[tuple[str, Role], _Tally]:
    table: dict[tuple[str, Role], _Tally] = defaultdict(_Tally)
    since = {rule.id: rule.since for rule in rules.rules.values() if rule.since is not None}
    for key, records in history.before(end).by_heuristic(since).items():
        table[key].ever = records
    claims = rules.claims
    for item in items:
        inside = _inside(item, start, end)
        if inside:
            for heuristic in item.cites:
                table[heuristic, item.role].period.append(item)
            for heuristic in item.left_out:
                table[heuristic, item.role].left_out.append(item)
        for decision in item.decisions:
            if inside or start <= decision.at < end:
                for heuristic in resolve(decision.cites, claims):
                    row = table[heuristic, item.role]
                    row.decisions.add(decision.id)
                    if decision.after_the_fact:
                        row.hindsight.add(decision.id)
    return table


def _by_position(items: Sequence[CreditItem], unit: Unit | None = None) -> list[tuple[CreditItem, float]]:
    """One outcome per position: several outcomes of one heuristic in one role there are added."""
    sums: dict[str, tuple[CreditItem, list[float]]] = {}
    for item in items:
        value = item.value if unit is None else item.in_unit(unit)
        if value is not None:
            sums.setdefault(item.position, (item, []))[1].append(value)
    return [(item, fsum(values)) for item, values in sums.values()]


def audit_period(
    items: Sequence[CreditItem],
    history: History,
    rules: AuditRules,
    start: int,
    end: int,
    seed: int,
    *,
    stray: Mapping[tuple[str, Role], set[str]] | None = None,
) -> list[HeuristicReport]:
    """One row per heuristic and role with anything to say in [start, end); playbook rules never cited come too.

    `stray` are decisions of the period, whatever became of them: they count as citations only.
    """
    table = _tally(items, history, rules, start, end)
    for key, decisions in (stray or {}).items():
        table[key].decisions |= decisions
    keys = {key for key, row in table.items() if row.period or row.decisions}
    cited = {heuristic for heuristic, _ in keys}
    keys |= {(rule.id, "entry") for rule in rules.rules.values() if rule.watched and rule.id not in cited}
    within = [item for item in items if _inside(item, start, end)]
    rows = _rows(table, keys, within, history, rules, seed)
    _check_shared(rows, within)
    return rows


def _check_shared(rows: Iterable[HeuristicReport], within: Iterable[CreditItem]) -> None:
    """Shared credit must add up to the outcomes that were cited for: nothing is credited twice, nothing is lost."""
    outcomes = [item.value for item in within if item.cites and item.value is not None]
    credited, earned = fsum(row.shared_pnl or 0.0 for row in rows), fsum(outcomes)
    if not agree(credited, earned, fsum(map(abs, outcomes))):
        detail = f"{credited:.10g} is credited for outcomes of {earned:.10g}"
        invariant(holds=False, name="shared_pnl adds up to the outcomes", detail=detail)


def audit_standing(
    history: History, rules: AuditRules, end: int, seed: int, *, without: Iterable[HeuristicReport]
) -> list[HeuristicReport]:
    """Rows of everybody else with an outcome before `end`: what is known of those the period itself says nothing of."""
    table = _tally((), history, rules, end, end)
    beyond = table.keys() - {(row.heuristic_id, row.role) for row in without}
    return _rows(table, beyond, (), history, rules, seed) if beyond else []


def _rows(
    table: Mapping[tuple[str, Role], _Tally],
    keys: Iterable[tuple[str, Role]],
    within: Sequence[CreditItem],
    history: History,
    rules: AuditRules,
    seed: int,
) -> list[HeuristicReport]:
    roles = {role: _role_of(history, role) for role in _ROLES}
    estimates = {
        key: uncertainty.mean_estimate(_sample(row.ever), roles[key[1]].spread)
        for key, row in table.items()
        if len(row.ever)
    }
    tested = {key: estimate.p for key, estimate in estimates.items() if estimate.p is not None}
    adjusted = uncertainty.benjamini_hochberg(list(tested.values())) if tested else np.empty(0)
    q_values = {key: float(q) for key, q in zip(tested, adjusted.tolist(), strict=True)}
    pairs = _partners(table)
    out = []
    for key in sorted(keys, key=lambda key: (_id_key(key[0]), key[1])):
        row = table.get(key, _Tally())
        rng = np.random.default_rng(_child_seed(seed, *key))
        uncited_items = [item for item in within if item.role == key[1] and key[0] not in item.cites]
        mean = roles[key[1]].mean
        facts = _Facts(estimates.get(key), q_values.get(key), mean, uncited_items, pairs.get(key, []))
        out.append(_report(key, row, rules, facts, rng))
    return out


class _Role(NamedTuple):
    """All outcomes of a role, cited or not: their mean, and how they scatter."""

    mean: float | None
    spread: uncertainty.Spread | None


def _role_of(history: History, role: Role) -> _Role:
    records = history.of_role(role)
    values = records["value"].tolist()
    mean = fsum(values) / len(values) if values else None
    return _Role(mean, uncertainty.spread_of(records["value"], records["day"]))


def _sample(records: NDArray[Any]) -> uncertainty.DaySums:
    return uncertainty.by_day(records["value"], records["day"])


def _id_key(heuristic: str) -> tuple[int, str, int]:
    head, _, tail = heuristic.rpartition("-")
    return (0, head, int(tail)) if tail.isascii() and tail.isdigit() and head else (1, heuristic, 0)


def _child_seed(seed: int, heuristic: str, role: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}|{heuristic}|{role}".encode()).digest()[:8], "big")


def _partners(table: Mapping[tuple[str, Role], _Tally]) -> dict[tuple[str, Role], list[Partner]]:
    out: dict[tuple[str, Role], list[Partner]] = defaultdict(list)
    for role in ("entry", "exit"):
        keys = sorted(key for key in table if key[1] == role)
        cited = [_positions(table[key]) for key in keys]
        key_index = np.repeat(np.arange(len(keys)), [len(positions) for positions in cited])
        _, position_index = np.unique(np.concatenate([np.empty(0, np.int64), *cited]), return_inverse=True)
        for pair in kernel.partners(key_index, position_index) if len(key_index) else []:
            first, second = keys[pair.first], keys[pair.second]
            out[first].append(Partner(heuristic_id=second[0], jaccard=pair.jaccard))
            out[second].append(Partner(heuristic_id=first[0], jaccard=pair.jaccard))
    return out


def _positions(row: _Tally) -> NDArray[np.int64]:
    """The positions for which it was ever cited, resolved or not."""
    now = [identity(item.position) for item in row.period]
    return np.concatenate([row.ever["position"], np.array(now, np.int64)])


class _Facts(NamedTuple):
    """What a row is judged by besides its own outcomes of the period."""

    estimate: uncertainty.MeanEstimate | None
    q_value: float | None
    role_mean: float | None
    uncited_items: list[CreditItem]
    partners: list[Partner]


def _report(
    key: tuple[str, Role], row: _Tally, rules: AuditRules, facts: _Facts, rng: np.random.Generator
) -> HeuristicReport:
    heuristic, role = key
    rule = rules.rules.get(heuristic)
    reasons: dict[str, str] = {}
    period = _of_the_period(heuristic, row, rules, reasons)
    evidence = _evidence(row, rule, facts, reasons)
    return HeuristicReport(
        heuristic_id=heuristic,
        heuristic_text=None if rule is None else rule.text,
        role=role,
        threshold_unit=rules.unit,
        inseparable_from=sorted(facts.partners, key=lambda partner: partner.heuristic_id),
        **period,
        **_left_out(row, reasons),
        **evidence,
        **_compared(row, facts.uncited_items, rng, reasons),
        reasons=reasons,
    )


def _of_the_period(heuristic: str, row: _Tally, rules: AuditRules, reasons: dict[str, str]) -> dict[str, Any]:
    """Counts, pnl, win rate and recommendation."""
    outcomes = _by_position(row.period)
    values = [value for _, value in outcomes]
    won = uncertainty.by_day([float(value > 0) for value in values], [item.day for item, _ in outcomes])
    in_unit = [value for _, value in _by_position(row.period, rules.unit)]
    n, total, wins = len(values), fsum(values), sum(value > 0 for value in values)
    average = fsum(in_unit) / len(in_unit) if in_unit else None
    kind = kernel.recommend(len(in_unit), average, rules.thresholds)
    if n == 0:
        names = ("associated_pnl", "shared_pnl", "win_rate", "avg_pnl_per_citation", "win_rate_interval")
        reasons |= dict.fromkeys((*names, *_IN_UNIT), "no outcome resolved in the period")
    elif average is None:
        unknown = "risk (R)" if rules.unit == "r" else "notional"
        reasons |= dict.fromkeys(_IN_UNIT, f"the positions do not know their {unknown}")
    largest = kernel.largest_trade(in_unit, rules.thresholds) if in_unit else None
    if largest is not None and largest.share is None:
        reasons["largest_share"] = "all outcomes are 0"
    shared = [item.value / len(item.cites) for item in row.period if item.value is not None]
    why = _why(kind, n, average, len(row.decisions), rules) + _told_in_time(heuristic, row, rules, kind)
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


def _told_in_time(heuristic: str, row: _Tally, rules: AuditRules, kind: str) -> str:
    """What those outcomes recommend that were cited before they were known, where the others change it."""
    claims, limits = rules.claims, rules.thresholds
    early = [item for item in row.period if not item.told_late(heuristic, claims)]
    values = [value for _, value in _by_position(early, rules.unit)]
    if len(early) == len(row.period) or len(values) < limits.min_citations:
        return ""
    before = kernel.recommend(len(values), fsum(values) / len(values), limits)
    return "" if before == kind else f"; {before} by the {len(values)} cited before they were known"


def _left_out(row: _Tally, reasons: dict[str, str]) -> dict[str, Any]:
    """What is cited for it after the fact, in which it has no part; and how much of its evidence was told late."""
    values = [value for _, value in _by_position(row.left_out)]
    if not values:
        reasons["after_the_fact_pnl"] = "no outcome was left out"
    if not len(row.ever):
        reasons["told_late"] = "no outcome resolved since the heuristic's text stands"
    return {
        "after_the_fact_count": len(row.hindsight),
        "after_the_fact_pnl": fsum(values) if values else None,
        "told_late": float(row.ever["late"].mean()) if len(row.ever) else None,
    }


def _evidence(row: _Tally, rule: Rule | None, facts: _Facts, reasons: dict[str, str]) -> dict[str, Any]:
    """How sure that is, over everything since the heuristic's text last changed."""
    estimate = facts.estimate
    if estimate is None or estimate.interval is None:
        reasons |= dict.fromkeys(
            ("interval", "interval_method"), "outcomes on fewer than 2 days, or all alike"
        )
    if facts.q_value is None:
        reasons |= dict.fromkeys(("p_value", "q_value"), "outcomes on fewer than 2 days, or all 0")
    only_sign = uncertainty.rule_of_three(row.ever["value"], row.ever["day"])
    if only_sign is None:
        reasons["rule_of_three"] = "the outcomes have no one sign"
    first = int(row.ever["resolved_at"].min()) if len(row.ever) else None
    since = rule.since if rule is not None and rule.since is not None else first
    fields: dict[str, Any] = {
        "evidence_since": None if since is None else format_instant(since),
        "q_value": facts.q_value,
        "rule_of_three": only_sign,
    }
    if since is None:
        reasons["evidence_since"] = "no outcome resolved yet"
    if estimate is None:
        reasons["shrunk_mean"] = "no outcome resolved since the heuristic's text stands"
        nothing = dict.fromkeys(("interval", "interval_method", "p_value", "shrunk_mean"))
        return {**fields, **nothing, "evidence": "none", "evidence_n": 0, "evidence_days": 0}
    shrunk = None
    if estimate.mean is not None and facts.role_mean is not None:
        shrunk = uncertainty.shrunk_mean(estimate.mean * estimate.n, estimate.n, facts.role_mean)
    return {
        **fields,
        "evidence": kernel.grade(estimate.days, estimate.interval, facts.q_value),
        "evidence_n": estimate.n,
        "evidence_days": estimate.days,
        "interval": list(estimate.interval) if estimate.interval is not None else None,
        "interval_method": estimate.method,
        "p_value": estimate.p,
        "shrunk_mean": shrunk,
    }


def _compared(
    row: _Tally, uncited_items: list[CreditItem], rng: np.random.Generator, reasons: dict[str, str]
) -> dict[str, Any]:
    """The memo: outcomes of the role in the period without the citation."""
    outcomes = _by_position(row.period)
    cited = {item.position for item, _ in outcomes}
    values = [value for _, value in outcomes]
    others = [(item, value) for item, value in _by_position(uncited_items) if item.position not in cited]
    uncited = [value for _, value in others]
    mean = fsum(uncited) / len(uncited) if uncited else None
    if mean is None:
        reasons["uncited_avg"] = "no decision of this role without the citation"
    if mean is None or not values:
        reasons |= dict.fromkeys(("uncited_difference", "uncited_p"), "nothing to compare with in the period")
        return {
            "uncited_avg": mean,
            "uncited_count": len(uncited),
            "uncited_difference": None,
            "uncited_p": None,
        }
    return {
        "uncited_avg": mean,
        "uncited_count": len(uncited),
        "uncited_difference": fsum(values) / len(values) - mean,
        "uncited_p": uncertainty.permutation_of_days(_days_of(outcomes), _days_of(others), rng),
    }


def _days_of(outcomes: Sequence[tuple[CreditItem, float]]) -> uncertainty.DaySums:
    return uncertainty.by_day([value for _, value in outcomes], [item.day for item, _ in outcomes])


def _inside(item: CreditItem, start: int, end: int) -> bool:
    return item.resolved_at is not None and start <= item.resolved_at < end


def _why(kind: str, n: int, average: float | None, cited: int, rules: AuditRules) -> str:
    limits, unit = rules.thresholds, _UNIT_WORD[rules.unit]
    if kind == "insufficient_data" or average is None:
        if not cited and not n:
            return "condition never triggered"
        return f"{n} evaluated, {limits.min_citations} are needed"
    text = f"average {average:+.2f}{unit} over {n}"
    if kind == "demote":
        return f"{text}, below {limits.demote:+.2f}{unit}"
    if kind == "investigate":
        return f"{text}, between {limits.demote:+.2f} and {limits.investigate:+.2f}{unit}"
    return f"{text}, at or above {limits.investigate:+.2f}{unit}"
