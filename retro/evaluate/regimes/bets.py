"""The bets of the audit, made anew for each rule in each regime: only positions that were entered in it count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.accounting.order import natural_key
from retro.evaluate.audit.bets import bets_of
from retro.evaluate.audit.history import History, identity
from retro.evaluate.audit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from retro.evaluate.audit.bets import RuleEvidence
    from retro.evaluate.audit.rules import AuditRules

__all__ = ["MOST_REGIMES", "RegimeCell", "cells_of", "common_regimes"]

MOST_REGIMES: Final = 20
"""Regimes that rules are told apart by; each pair of them is one more comparison of every rule."""


@dataclass(frozen=True, slots=True)
class RegimeCell:
    """One heuristic in one regime, and what the bets say of it."""

    heuristic: str
    regime: str
    evidence: RuleEvidence

    @property
    def direction(self) -> int:
        """The sign of its average; 0 without one."""
        average = self.evidence.average or 0.0
        return (average > 0) - (average < 0)


def common_regimes(by_position: Mapping[str, str]) -> list[str]:
    """The regimes that most positions were entered in, in order of name: a word of its own for each compares nothing."""
    ranked = sorted(Counter(by_position.values()).items(), key=lambda row: (-row[1], row[0]))
    return sorted(regime for regime, _ in ranked[:MOST_REGIMES])


def cells_of(
    history: History, by_position: Mapping[str, str], rules: AuditRules, until: int
) -> list[RegimeCell]:
    """The cells of all entries with a regime, over the weeks that are complete at `until`; by heuristic, then regime."""
    regimes = common_regimes(by_position)
    place = {regime: number for number, regime in enumerate(regimes)}
    known = np.array(
        sorted((identity(name), place[label]) for name, label in by_position.items() if label in place),
        np.int64,
    )
    if not len(known):
        return []
    heuristics = [(number, name) for number, name in enumerate(history.names) if name]
    heuristics.sort(key=lambda row: (natural_key(row[1]), row[1]))
    # a cell's number is that of its heuristic, in this order, times the regimes, plus its regime's
    rank = np.full(len(history.names), -1, np.int64)
    rank[[number for number, _ in heuristics]] = np.arange(len(heuristics))
    names = [str(number) for number in range(len(heuristics) * len(regimes))]
    renamed = History(
        names,
        _renamed(history.records, rank, known, len(regimes)),
        _renamed(history.weeks, rank, known, len(regimes)),
    )
    bets = bets_of(renamed, replace(rules, rules=_standing(rules, heuristics, len(regimes))), until)
    limits = rules.thresholds
    evidence = bets.evidence(bets.keys, (limits.demote, limits.investigate))
    return [
        RegimeCell(
            heuristics[cell // len(regimes)][1], regimes[cell % len(regimes)], evidence[str(cell), "entry"]
        )
        for cell in sorted(int(name) for name, _ in evidence)
    ]


def _renamed(
    rows: NDArray[Any], rank: NDArray[np.int64], known: NDArray[np.int64], regimes: int
) -> NDArray[Any]:
    """Of entries with a regime that cite something: their rows, in the name of their cell."""
    place = np.minimum(np.searchsorted(known[:, 0], rows["position"]), len(known) - 1)
    chosen = (known[place, 0] == rows["position"]) & ~rows["exit"]
    if len(rank):
        chosen &= rank[rows["name"]] >= 0
    out: NDArray[Any] = rows[chosen].copy()
    out["name"] = rank[out["name"]] * regimes + known[place[chosen], 1] if len(out) else out["name"]
    return out


def _standing(rules: AuditRules, heuristics: list[tuple[int, str]], regimes: int) -> dict[str, Rule]:
    """Since when the text of each cell's heuristic stands."""
    return {
        str(cell): Rule(str(cell), "", since=rule.since)
        for number, (_, name) in enumerate(heuristics)
        if (rule := rules.rules.get(name)) is not None
        for cell in range(number * regimes, (number + 1) * regimes)
    }
