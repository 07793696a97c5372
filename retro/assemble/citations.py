"""The citation audit of a period: which heuristics made or lost money, and how sure that is (numbers.md section 3)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from retro.assemble.book import ENTRY_ACTIONS, EXIT_ACTIONS
from retro.kernels import audit, uncertainty
from retro.periods import DAY, day_of, format_instant
from retro.report import HeuristicReport, Partner, Recommendation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from retro.assemble.book import BookRow, Cited

__all__ = [
    "AuditRules",
    "History",
    "Item",
    "Outcome",
    "Role",
    "Rule",
    "Unit",
    "audit_period",
    "items_of",
    "outcomes_of",
    "resolve",
]

Unit = Literal["usd", "r", "bps"]
Role = Literal["entry", "exit"]
_UNIT_WORD: Final = {"usd": "", "r": " R", "bps": " bps of notional"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A heuristic of the playbook as the audit needs it."""

    id: str
    text: str
    tags: tuple[str, ...] = ()
    since: int | None = None
    watched: bool = True


@dataclass(frozen=True, slots=True)
class AuditRules:
    """How to judge: the playbook's heuristics, thresholds, the unit they are in, what an entry's outcome is."""

    rules: Mapping[str, Rule] = field(default_factory=dict)
    thresholds: audit.Thresholds = field(default_factory=audit.Thresholds)
    unit: Unit = "usd"
    entry_outcome: Literal["final_pnl", "vs_inaction"] = "final_pnl"
    zone: ZoneInfo | None = None

    @property
    def claims(self) -> dict[str, str]:
        """Tag -> the heuristic that claims it."""
        return {tag: rule.id for rule in self.rules.values() for tag in rule.tags}


@dataclass(frozen=True, slots=True)
class Item:
    """One outcome to be credited: the heuristics cited for it, in one role of one position."""

    role: Role
    position: str
    cites: tuple[str, ...]
    value: float | None
    resolved_at: int | None
    day: int
    notional: float | None
    risk: float | None
    decisions: tuple[Cited, ...]

    def in_unit(self, unit: Unit) -> float | None:
        """The outcome in the unit of the thresholds; None where the position does not know its size in it."""
        if self.value is None or unit == "usd":
            return self.value
        size = self.risk if unit == "r" else self.notional
        return self.value / size * (1.0 if unit == "r" else 1e4) if size else None


class Outcome(NamedTuple):
    """A resolved outcome credited to one heuristic, as the book keeps it. `day` is the entry's, `told_at` the citation's."""

    heuristic: str
    role: Role
    position: str
    day: int
    value: float
    resolved_at: int
    told_at: int


@dataclass(frozen=True, slots=True)
class History:
    """Everything that resolved before the period's end, and the mean of all outcomes of each role, cited or not."""

    outcomes: Sequence[Outcome]
    means: Mapping[Role, float | None]


def outcomes_of(items: Iterable[Item]) -> list[Outcome]:
    """One outcome per heuristic, role and position: several of one heuristic are added."""
    sums: dict[tuple[str, Role, str], tuple[Item, list[float]]] = {}
    for item in items:
        if item.value is not None and item.resolved_at is not None:
            for heuristic in item.cites:
                sums.setdefault((heuristic, item.role, item.position), (item, []))[1].append(item.value)
    return [
        Outcome(
            heuristic,
            role,
            position,
            item.day,
            fsum(values),
            item.resolved_at or 0,
            min((c.at for c in item.decisions), default=item.resolved_at or 0),
        )
        for (heuristic, role, position), (item, values) in sums.items()
    ]


def resolve(cites: Iterable[str], claims: Mapping[str, str]) -> tuple[str, ...]:
    """Tags a heuristic claims become that heuristic; each once, in order."""
    return tuple(dict.fromkeys(claims.get(cite, cite) for cite in cites))


def items_of(row: BookRow, rules: AuditRules, claims: Mapping[str, str]) -> list[Item]:
    """The outcomes one position gives to the audit; none when it is implausible."""
    if row.flagged_at is not None:
        return []
    day = row.opened_at // DAY if rules.zone is None else day_of(row.opened_at, rules.zone).toordinal()
    outcome = row.final_pnl if rules.entry_outcome == "final_pnl" else row.vs_inaction

    def item(
        role: Role, cites: tuple[str, ...], value: float | None, at: int | None, told: tuple[Cited, ...]
    ) -> Item:
        known = value is not None and at is not None
        return Item(
            role,
            row.position,
            cites,
            value if known else None,
            at if known else None,
            day,
            row.notional,
            row.risk,
            told,
        )

    entries = tuple(c for c in row.decisions if c.action in ENTRY_ACTIONS)
    main = tuple(c for c in entries if c.action != "increase")
    exits = tuple(c for c in row.decisions if c.action in EXIT_ACTIONS)
    items = [item("entry", resolve((x for c in main for x in c.cites), claims), outcome, row.closed_at, main)]
    beaten = set(items[0].cites)
    for cites, pnl in row.increases:
        own = tuple(cite for cite in resolve(cites, claims) if cite not in beaten)
        told = tuple(c for c in entries if c.action == "increase")
        if own:
            items.append(item("entry", own, pnl, row.closed_at, told))
    if not row.increases and row.closed_at is None:
        waiting = tuple(c for c in entries if c.action == "increase")
        own = tuple(x for x in resolve((x for c in waiting for x in c.cites), claims) if x not in beaten)
        if own:
            items.append(item("entry", own, None, None, waiting))
    items.append(
        item(
            "exit",
            resolve((x for c in exits for x in c.cites), claims),
            row.exit_outcome,
            row.exit_resolved_at,
            exits,
        )
    )
    return items


@dataclass(slots=True)
class _Tally:
    """Everything about one (heuristic, role)."""

    period: list[Item] = field(default_factory=list)
    ever: list[Outcome] = field(default_factory=list)
    decisions: set[str] = field(default_factory=set)


def _tally(
    items: Iterable[Item], history: History, rules: AuditRules, start: int, end: int
) -> dict[tuple[str, Role], _Tally]:
    table: dict[tuple[str, Role], _Tally] = defaultdict(_Tally)
    since = {rule.id: rule.since for rule in rules.rules.values() if rule.since is not None}
    for outcome in history.outcomes:
        if outcome.resolved_at < end and outcome.told_at >= since.get(outcome.heuristic, outcome.told_at):
            table[outcome.heuristic, outcome.role].ever.append(outcome)
    claims = rules.claims
    for item in items:
        inside = _inside(item, start, end)
        if inside:
            for heuristic in item.cites:
                table[heuristic, item.role].period.append(item)
        for decision in item.decisions:
            if inside or start <= decision.at < end:
                for heuristic in resolve(decision.cites, claims):
                    table[heuristic, item.role].decisions.add(decision.id)
    return table


def _by_position(items: Sequence[Item], unit: Unit | None = None) -> list[tuple[Item, float]]:
    """One outcome per position: several outcomes of one heuristic in one role there are added."""
    sums: dict[str, tuple[Item, list[float]]] = {}
    for item in items:
        value = item.value if unit is None else item.in_unit(unit)
        if value is not None:
            sums.setdefault(item.position, (item, []))[1].append(value)
    return [(item, fsum(values)) for item, values in sums.values()]


def audit_period(
    items: Sequence[Item],
    history: History,
    rules: AuditRules,
    start: int,
    end: int,
    seed: int,
    *,
    stray: Mapping[tuple[str, Role], set[str]] | None = None,
) -> list[HeuristicReport]:
    """One row per heuristic and role with anything to say in [start, end); playbook rules never cited come too.

    `stray` are decisions of the period that cite without naming a position: they count as citations only.
    """
    table = _tally(items, history, rules, start, end)
    for key, decisions in (stray or {}).items():
        table[key].decisions |= decisions
    shown = {key for key, row in table.items() if row.period or row.decisions}
    cited = {heuristic for heuristic, _ in shown}
    shown |= {(rule.id, "entry") for rule in rules.rules.values() if rule.watched and rule.id not in cited}
    samples = {key: _sample(row.ever) for key, row in table.items() if row.ever}
    p_values = {
        key: p for key, sample in samples.items() if (p := uncertainty.clustered_t(sample).p) is not None
    }
    adjusted = uncertainty.benjamini_hochberg(list(p_values.values())) if p_values else np.empty(0)
    q_values = {key: float(q) for key, q in zip(p_values, adjusted.tolist(), strict=True)}
    pairs = _partners(table)
    out = []
    for key in sorted(shown, key=lambda key: (_id_key(key[0]), key[1])):
        row = table.get(key, _Tally())
        rng = np.random.default_rng(_child_seed(seed, *key))
        out.append(
            _report(
                key,
                row,
                rules,
                samples.get(key),
                q_values.get(key),
                history.means[key[1]],
                rng,
                items,
                start,
                end,
                pairs,
            )
        )
    return out


def _sample(outcomes: Sequence[Outcome]) -> uncertainty.DaySums:
    return uncertainty.by_day([o.value for o in outcomes], [o.day for o in outcomes])


def _id_key(heuristic: str) -> tuple[int, str, int]:
    head, _, tail = heuristic.rpartition("-")
    return (0, head, int(tail)) if tail.isascii() and tail.isdigit() and head else (1, heuristic, 0)


def _child_seed(seed: int, heuristic: str, role: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}|{heuristic}|{role}".encode()).digest()[:8], "big")


def _partners(table: Mapping[tuple[str, Role], _Tally]) -> dict[tuple[str, Role], list[Partner]]:
    out: dict[tuple[str, Role], list[Partner]] = defaultdict(list)
    for role in ("entry", "exit"):
        keys = sorted(key for key in table if key[1] == role)
        positions: dict[str, int] = {}
        who, what = [], []
        for i, key in enumerate(keys):
            cited = [*(o.position for o in table[key].ever), *(item.position for item in table[key].period)]
            who += [i] * len(cited)
            what += [positions.setdefault(position, len(positions)) for position in cited]
        for pair in audit.partners(who, what) if who else []:
            first, second = keys[pair.first], keys[pair.second]
            out[first].append(Partner(heuristic_id=second[0], jaccard=pair.jaccard))
            out[second].append(Partner(heuristic_id=first[0], jaccard=pair.jaccard))
    return out


def _report(
    key: tuple[str, Role],
    row: _Tally,
    rules: AuditRules,
    sample: uncertainty.DaySums | None,
    q_value: float | None,
    role_mean: float | None,
    rng: np.random.Generator,
    items: Sequence[Item],
    start: int,
    end: int,
    pairs: Mapping[tuple[str, Role], list[Partner]],
) -> HeuristicReport:
    heuristic, role = key
    rule = rules.rules.get(heuristic)
    outcomes = _by_position(row.period)
    values = [value for _, value in outcomes]
    n = len(values)
    total = fsum(values)
    in_unit = [value for _, value in _by_position(row.period, rules.unit)]
    average = fsum(in_unit) / len(in_unit) if in_unit else None
    kind = audit.recommend(n if len(in_unit) == n else len(in_unit), average, rules.thresholds)
    reasons: dict[str, str] = {}
    if n == 0:
        nothing = "no outcome resolved in the period"
        reasons |= dict.fromkeys(
            ("associated_pnl", "shared_pnl", "win_rate", "avg_pnl_per_citation", "avg_in_unit"), nothing
        )
        reasons["win_rate_interval"] = reasons["largest_share"] = nothing
    elif average is None:
        reasons["avg_in_unit"] = "the positions do not know their " + (
            "risk (R)" if rules.unit == "r" else "notional"
        )
    estimate = uncertainty.mean_estimate(sample, rng) if sample is not None else None
    if estimate is None or estimate.interval is None:
        reasons |= dict.fromkeys(
            ("interval", "interval_method", "p_value", "q_value"), "outcomes on fewer than 2 days, or all 0"
        )
    if estimate is None:
        reasons["shrunk_mean"] = "no outcome resolved since the heuristic's text stands"
    largest = audit.largest_trade(in_unit, rules.thresholds) if in_unit else None
    uncited = [
        value
        for item, value in _by_position(
            [i for i in items if i.role == role and heuristic not in i.cites and _inside(i, start, end)]
        )
        if item.position not in {o.position for o, _ in outcomes}
    ]
    compared = bool(values and uncited)
    if not compared:
        reasons |= dict.fromkeys(("uncited_difference", "uncited_p"), "nothing to compare with in the period")
    if not uncited:
        reasons["uncited_avg"] = "no decision of this role without the citation"
    wins = sum(value > 0 for value in values)
    shared = [item.value / len(item.cites) for item in row.period if item.value is not None]
    first = min((outcome.resolved_at for outcome in row.ever), default=None)
    since = rule.since if rule is not None and rule.since is not None else first
    uncited_avg = fsum(uncited) / len(uncited) if uncited else None
    return HeuristicReport(
        heuristic_id=heuristic,
        heuristic_text=None if rule is None else rule.text,
        role=role,
        citation_count=max(len(row.decisions), n),
        evaluated_count=n,
        associated_pnl=total if n else None,
        shared_pnl=fsum(shared) if n else None,
        win_rate=wins / n if n else None,
        avg_pnl_per_citation=total / n if n else None,
        avg_in_unit=average,
        threshold_unit=rules.unit,
        recommendation=Recommendation(kind=kind, reason=_why(kind, n, average, len(row.decisions), rules)),
        evidence="none" if estimate is None else audit.grade(estimate.days, estimate.interval, q_value),
        evidence_n=0 if estimate is None else estimate.n,
        evidence_days=0 if estimate is None else estimate.days,
        evidence_since=None if since is None else format_instant(since),
        interval=None if estimate is None or estimate.interval is None else list(estimate.interval),
        interval_method=None if estimate is None or estimate.interval is None else estimate.method,
        p_value=None if estimate is None else estimate.p,
        q_value=q_value,
        shrunk_mean=None
        if estimate is None or estimate.mean is None or role_mean is None
        else uncertainty.shrunk_mean(estimate.mean * estimate.n, estimate.n, role_mean),
        win_rate_interval=None if not n else list(uncertainty.jeffreys_interval(wins, n) or ()) or None,
        uncited_avg=uncited_avg,
        uncited_count=len(uncited),
        uncited_difference=total / n - uncited_avg if compared and uncited_avg is not None else None,
        uncited_p=uncertainty.permutation_p(values, uncited, rng) if compared else None,
        largest_share=None if largest is None else largest.share,
        recommendation_without_largest=None if largest is None else largest.recommendation_without,
        inseparable_from=sorted(pairs.get(key, []), key=lambda partner: partner.heuristic_id),
        reasons=reasons,
    )


def _inside(item: Item, start: int, end: int) -> bool:
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
