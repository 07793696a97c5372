"""The heuristics of a playbook as the audit reads them, and how it judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from retro.kernels.terms import Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

__all__ = ["AuditRules", "Rule", "Unit"]

Unit = Literal["usd", "r", "bps"]


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
    """How to judge: the playbook's heuristics, thresholds, the unit they are in, what an entry's outcome is.

    `claims`: tag -> the heuristic that claims it; `rules` name each tag once.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    thresholds: Thresholds = field(default_factory=Thresholds)
    unit: Unit = "usd"
    entry_outcome: Literal["final_pnl", "vs_inaction"] = "final_pnl"
    zone: ZoneInfo | None = None
    claims: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read off once what each tag stands for: it is asked for with every row and position."""
        claims = {tag: rule.id for rule in self.rules.values() for tag in rule.tags}
        object.__setattr__(self, "claims", claims)
