"""Which share of the rules that were active earned, at any instant of a life."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retro.kernels.uncertainty import shrunk_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from retro.evaluate.audit.citations import Role
    from retro.evaluate.audit.history import History
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["RuleEarnings"]

_ROLES: Final[tuple[Role, ...]] = ("entry", "exit")
_ALL: Final = ""
"""The name under which every outcome of a role stands, cited or not."""


class _Outcomes(NamedTuple):
    """Values (n,) in base currency, in the order in which they were known, and when each was."""

    values: list[float]
    resolved_at: Integers

    def before(self, at: int) -> list[float]:
        return self.values[: int(np.searchsorted(self.resolved_at, at, "left"))]


@dataclass(frozen=True, slots=True)
class RuleEarnings:
    """The outcomes of a life (n,) in the order in which they were known, sorted out by rule for all instants asked for.

    `row` is twice the index into `names`, and one more for an exit. `since` says from when on the text of a rule stands;
    what was cited before counts nothing for it.
    """

    names: Sequence[str]
    row: Integers
    value: Floats
    resolved_at: Integers
    told_at: Integers
    since: Mapping[str, int]
    by_rule: dict[tuple[str, Role], _Outcomes] = field(default_factory=dict)

    @classmethod
    def of(cls, history: History, since: Mapping[str, int]) -> RuleEarnings:
        """Those of a history."""
        records = history.records
        order = np.argsort(records["resolved_at"], kind="stable")
        row = records["name"] * 2 + records["exit"]
        value, resolved_at, told_at = (records[name][order] for name in ("value", "resolved_at", "told_at"))
        return cls(history.names, row[order], value, resolved_at, told_at, since)

    def share(self, active: AbstractSet[str], at: int) -> float | None:
        """Of the rows (rule and role) of these rules, those whose mean before an instant, drawn to their role's, is above 0.

        None where no such row had an outcome by then.
        """
        earns = []
        for role in _ROLES if active else ():
            values = self._of(_ALL, role).before(at)
            prior = fsum(values) / len(values) if values else 0.0
            for rule in active:
                values = self._of(rule, role).before(at)
                if values:
                    earns.append(shrunk_mean(fsum(values), len(values), prior) > 0)
        return sum(earns) / len(earns) if earns else None

    def _of(self, rule: str, role: Role) -> _Outcomes:
        outcomes = self.by_rule.get((rule, role))
        if outcomes is None:
            number = self.names.index(rule) if rule in self.names else -1
            chosen = self.row == 2 * number + (role == "exit")
            if rule in self.since:
                chosen &= self.told_at >= self.since[rule]
            outcomes = _Outcomes(self.value[chosen].tolist(), self.resolved_at[chosen])
            self.by_rule[rule, role] = outcomes
        return outcomes
