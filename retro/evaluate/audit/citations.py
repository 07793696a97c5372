"""Which heuristics were cited for what, and how it turned out: the outcomes that the audit counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, nan
from typing import TYPE_CHECKING, Literal, NamedTuple

from playbook.citation import resolve
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS
from retro.kernels import audit
from retro.periods import DAY, day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from zoneinfo import ZoneInfo

    from retro.evaluate.position.foresight import Cited
    from retro.evaluate.position.summary import PositionSummary

__all__ = [
    "AuditRules",
    "CreditItem",
    "Outcome",
    "Role",
    "Rule",
    "Unit",
    "entry_day",
    "every_item",
    "items_of",
    "outcomes_of",
]

Unit = Literal["usd", "r", "bps"]
Role = Literal["entry", "exit"]


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
        """Tag -> the heuristic that claims it; `rules` name each tag once."""
        return {tag: rule.id for rule in self.rules.values() for tag in rule.tags}


@dataclass(frozen=True, slots=True)
class CreditItem:
    """One outcome to be credited: the heuristics cited for it, in one role of one position.

    `left_out` are heuristics that only decisions after the fact cite for it: they get no credit.
    """

    role: Role
    position: str
    cites: tuple[str, ...]
    value: float | None
    resolved_at: int | None
    day: int
    notional: float | None
    risk: float | None
    decisions: tuple[Cited, ...]
    left_out: tuple[str, ...] = ()

    def told_late(self, heuristic: str, claims: Mapping[str, str]) -> bool:
        """Whether a heuristic was first cited for it when the outcome was known already, or nobody knows when."""
        clocks = [
            cited.told_at
            for cited in self.decisions
            if not cited.after_the_fact and heuristic in resolve(cited.cites, claims)
        ]
        known_at = self.resolved_at or 0
        return all(clock is None or clock >= known_at for clock in clocks)

    def cited_at(self, heuristic: str, claims: Mapping[str, str]) -> int:
        """When a heuristic was first cited for it; when it resolved where no decision that counts says so."""
        citing = (
            cited.at
            for cited in self.decisions
            if not cited.after_the_fact and heuristic in resolve(cited.cites, claims)
        )
        return min(citing, default=self.resolved_at or 0)

    def in_unit(self, unit: Unit) -> float | None:
        """The outcome in the unit of the thresholds; None where the position does not know its size in it."""
        if self.value is None or unit == "usd":
            return self.value
        size = self.risk if unit == "r" else self.notional
        return self.value / size * (1.0 if unit == "r" else 1e4) if size else None


class Outcome(NamedTuple):
    """A resolved outcome credited to one heuristic, as the book keeps it. `day` is the entry's, `told_at` the citation's.

    `notional` and `risk` are NaN where the position does not know them. `late`: the citation was first told when the outcome was known already.
    """

    heuristic: str
    role: Role
    position: str
    day: int
    value: float
    resolved_at: int
    told_at: int
    notional: float
    risk: float
    late: bool


def outcomes_of(items: Iterable[CreditItem], claims: Mapping[str, str]) -> list[Outcome]:
    """One outcome per heuristic, role and position: several of one heuristic are added."""
    sums: dict[tuple[str, Role, str], tuple[CreditItem, list[float]]] = {}
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
            item.cited_at(heuristic, claims),
            item.notional or nan,
            item.risk or nan,
            item.told_late(heuristic, claims),
        )
        for (heuristic, role, position), (item, values) in sums.items()
    ]


def entry_day(opened_at: int, rules: AuditRules) -> int:
    """The owner's day on which a position was entered, as an ordinal: outcomes of one day are one observation."""
    return opened_at // DAY if rules.zone is None else day_of(opened_at, rules.zone).toordinal()


def items_of(row: PositionSummary, rules: AuditRules, claims: Mapping[str, str]) -> list[CreditItem]:
    """The outcomes one position gives to the audit; of one with an impossible fill only those that are losses."""
    items = every_item(row, rules, claims)
    if row.flagged_at is not None:
        return [item for item in items if item.value is not None and row.counts(item.value)]
    return items


def every_item(row: PositionSummary, rules: AuditRules, claims: Mapping[str, str]) -> list[CreditItem]:
    """Whatever a position's decisions cite: its entry first, then its increases, its exit last."""
    day = entry_day(row.opened_at, rules)
    outcome = row.final_pnl if rules.entry_outcome == "final_pnl" else row.vs_inaction

    def item(
        role: Role, cites: tuple[str, ...], value: float | None, at: int | None, decisions: tuple[Cited, ...]
    ) -> CreditItem:
        resolved = value is not None and at is not None
        late = resolve((x for c in decisions if c.after_the_fact for x in c.cites), claims)
        return CreditItem(
            role,
            row.position,
            cites,
            value if resolved else None,
            at if resolved else None,
            day,
            row.notional,
            row.risk,
            decisions,
            tuple(heuristic for heuristic in late if heuristic not in cites),
        )

    entries = tuple(c for c in row.decisions if c.action in ENTRY_ACTIONS)
    main = _cited_in(c for c in entries if c.action != "increase")
    exits = tuple(c for c in row.decisions if c.action in EXIT_ACTIONS)
    items = [item("entry", resolve(main, claims), outcome, row.closed_at, entries)]
    beaten = set(items[0].cites)
    increases = tuple(c for c in entries if c.action == "increase" and not c.after_the_fact)
    for cites, pnl in row.increases:
        own = tuple(cite for cite in resolve(cites, claims) if cite not in beaten)
        if own:
            items.append(item("entry", own, pnl, row.closed_at, increases))
    if not row.increases and row.closed_at is None:
        own = tuple(x for x in resolve(_cited_in(increases), claims) if x not in beaten)
        if own:
            items.append(item("entry", own, None, None, increases))
    items.append(
        item("exit", resolve(_cited_in(exits), claims), row.exit_outcome, row.exit_resolved_at, exits)
    )
    return items


def _cited_in(decisions: Iterable[Cited]) -> tuple[str, ...]:
    """What decisions cite that came before what they explain."""
    return tuple(cite for cited in decisions if not cited.after_the_fact for cite in cited.cites)
