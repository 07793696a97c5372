"""Which heuristics were cited for what, and how it turned out: the outcomes that the audit counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, nan
from typing import TYPE_CHECKING, Literal, NamedTuple

from playbook.citation import resolve
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS
from retro.periods import DAY, day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from retro.evaluate.audit.rules import AuditRules, Unit
    from retro.evaluate.position.foresight import Cited
    from retro.evaluate.position.summary import PositionSummary

__all__ = [
    "CitingDecisions",
    "CreditItem",
    "FirstCitation",
    "Outcome",
    "Role",
    "citing",
    "entry_day",
    "every_item",
    "items_of",
    "outcomes_of",
]

Role = Literal["entry", "exit"]


class FirstCitation(NamedTuple):
    """When a heuristic was first cited by a decision that counts, and by the earliest clock that was looked at, if any."""

    at: int
    told_at: int | None


@dataclass(frozen=True, slots=True)
class CitingDecisions:
    """The decisions of a position in one role, each with the heuristics it cites: read once, for however many outcomes.

    `first` has what decisions cite that count, `hindsight` what those cite that came after the fact.
    """

    decisions: tuple[tuple[Cited, tuple[str, ...]], ...] = ()
    first: Mapping[str, FirstCitation] = field(default_factory=dict)
    hindsight: tuple[str, ...] = ()


def citing(decisions: Iterable[Cited], claims: Mapping[str, str]) -> CitingDecisions:
    """Read what decisions cite, in their order."""
    read = tuple((cited, resolve(cited.cites, claims)) for cited in decisions)
    first: dict[str, FirstCitation] = {}
    for cited, heuristics in read:
        if cited.after_the_fact:
            continue
        for heuristic in heuristics:
            before = first.get(heuristic)
            if before is None:
                first[heuristic] = FirstCitation(cited.at, cited.told_at)
            else:
                clocks = [clock for clock in (before.told_at, cited.told_at) if clock is not None]
                first[heuristic] = FirstCitation(min(before.at, cited.at), min(clocks, default=None))
    late = (heuristic for cited, heuristics in read if cited.after_the_fact for heuristic in heuristics)
    return CitingDecisions(read, first, tuple(dict.fromkeys(late)))


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
    citing: CitingDecisions
    left_out: tuple[str, ...] = ()

    def told_late(self, heuristic: str) -> bool:
        """Whether a heuristic was first cited for it when the outcome was known already, or nobody knows when."""
        first = self.citing.first.get(heuristic)
        return first is None or first.told_at is None or first.told_at >= (self.resolved_at or 0)

    def cited_at(self, heuristic: str) -> int:
        """When a heuristic was first cited for it; when it resolved where no decision that counts says so."""
        first = self.citing.first.get(heuristic)
        return (self.resolved_at or 0) if first is None else first.at

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


def outcomes_of(items: Iterable[CreditItem]) -> list[Outcome]:
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
            item.cited_at(heuristic),
            item.notional or nan,
            item.risk or nan,
            item.told_late(heuristic),
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
        role: Role, cites: tuple[str, ...], value: float | None, at: int | None, decisions: CitingDecisions
    ) -> CreditItem:
        resolved = value is not None and at is not None
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
            _not_in(set(cites), decisions.hindsight) if decisions.hindsight else (),
        )

    entries = tuple(c for c in row.decisions if c.action in ENTRY_ACTIONS)
    main = _cited_in(c for c in entries if c.action != "increase")
    exits = tuple(c for c in row.decisions if c.action in EXIT_ACTIONS)
    items = [item("entry", resolve(main, claims), outcome, row.closed_at, citing(entries, claims))]
    beaten = set(items[0].cites)
    increases = tuple(c for c in entries if c.action == "increase" and not c.after_the_fact)
    enlarging = citing(increases, claims) if increases else CitingDecisions()
    for cites, pnl in row.increases:
        own = _not_in(beaten, resolve(cites, claims))
        if own:
            items.append(item("entry", own, pnl, row.closed_at, enlarging))
    if not row.increases and row.closed_at is None:
        own = _not_in(beaten, resolve(_cited_in(increases), claims))
        if own:
            items.append(item("entry", own, None, None, enlarging))
    items.append(
        item(
            "exit",
            resolve(_cited_in(exits), claims),
            row.exit_outcome,
            row.exit_resolved_at,
            citing(exits, claims),
        )
    )
    return items


def _not_in(listed: AbstractSet[str], names: Iterable[str]) -> tuple[str, ...]:
    """Those names that are not listed, in their order."""
    return tuple(name for name in names if name not in listed)


def _cited_in(decisions: Iterable[Cited]) -> tuple[str, ...]:
    """What decisions cite that came before what they explain."""
    return tuple(cite for cited in decisions if not cited.after_the_fact for cite in cited.cites)
