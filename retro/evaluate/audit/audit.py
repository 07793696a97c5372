"""The citation audit of a period: which heuristics made or lost money, and how sure that is (numbers.md section 3)."""

from __future__ import annotations

import hashlib
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from retro.accounting.attribution import agree
from retro.evaluate.audit.evidence import Partners, RowFacts
from retro.evaluate.audit.history import identity
from retro.evaluate.audit.row import report_of
from retro.evaluate.audit.tally import Tally, inside, tally, tally_open
from retro.evaluate.audit.uncited import outcomes_by_role
from retro.invariant import invariant
from retro.kernels import audit as kernel
from retro.kernels import uncertainty
from retro.report import HeuristicReport, Partner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from retro.evaluate.audit.bets import Bets
    from retro.evaluate.audit.citations import CreditItem, Role
    from retro.evaluate.audit.history import History
    from retro.evaluate.audit.rules import AuditRules

__all__ = ["audit_period", "audit_standing"]

_ROLES: Final[tuple[Role, ...]] = ("entry", "exit")


def audit_period(
    items: Sequence[CreditItem],
    history: History,
    bets: Bets,
    rules: AuditRules,
    start: int,
    end: int,
    seed: int,
    *,
    stray: Mapping[tuple[str, Role], set[str]] | None = None,
    standing: Mapping[str, float | None] | None = None,
) -> list[HeuristicReport]:
    """One row per heuristic and role with anything to say in [start, end); playbook rules never cited come too.

    Evidence rests on `bets`, which are the history's over the weeks that are complete. `stray` are decisions of the
    period, whatever became of them: they count as citations only. `standing` is the pnl so far, at the period's end, of
    positions that were open then (None: no price).
    """
    table = tally(items, history, rules, start, end)
    tally_open(table, items, standing or {}, end)
    for key, decisions in (stray or {}).items():
        table[key].decisions |= decisions
    keys = {key for key, row in table.items() if row.period or row.decisions or row.standing}
    cited = {heuristic for heuristic, _ in keys}
    keys |= {(rule.id, "entry") for rule in rules.rules.values() if rule.watched and rule.id not in cited}
    within = [item for item in items if inside(item, start, end)]
    rows = _rows(table, keys, within, history, bets, rules, seed)
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
    history: History,
    bets: Bets,
    rules: AuditRules,
    end: int,
    seed: int,
    *,
    without: Iterable[HeuristicReport],
    names: AbstractSet[str] | None = None,
) -> list[HeuristicReport]:
    """Rows of everybody else with an outcome before `end`: what is known of those the period itself says nothing of.

    `names`: of these heuristics alone.
    """
    if names is not None and not names:
        return []
    table = tally((), history, rules, end, end)
    beyond = table.keys() - {(row.heuristic_id, row.role) for row in without}
    if names is not None:
        beyond = {key for key in beyond if key[0] in names}
    return _rows(table, beyond, (), history, bets, rules, seed) if beyond else []


def _rows(
    table: Mapping[tuple[str, Role], Tally],
    keys: Iterable[tuple[str, Role]],
    within: Sequence[CreditItem],
    history: History,
    bets: Bets,
    rules: AuditRules,
    seed: int,
) -> list[HeuristicReport]:
    roles = {role: _role_of(history, role) for role in _ROLES}
    limits = rules.thresholds
    evidence = bets.evidence(sorted(keys), (limits.demote, limits.investigate))
    pairs, outcomes = _partners(table), outcomes_by_role(within)
    out = []
    for key in sorted(keys, key=lambda key: (_id_key(key[0]), key[1])):
        row = table.get(key, Tally())
        rng = np.random.default_rng(_child_seed(seed, *key))
        role = roles[key[1]]
        estimate = uncertainty.mean_estimate(_sample(row.ever), role.spread) if len(row.ever) else None
        partners = pairs.get(key, Partners([], 0))
        facts = RowFacts(estimate, evidence.get(key), role.mean, outcomes[key[1]], partners)
        out.append(report_of(key, row, rules, facts, rng))
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


def _partners(table: Mapping[tuple[str, Role], Tally]) -> dict[tuple[str, Role], Partners]:
    """What each key of the table cannot be told apart from."""
    out: dict[tuple[str, Role], Partners] = {}
    for role in _ROLES:
        keys = sorted(key for key in table if key[1] == role)
        cited = [_positions(table[key]) for key in keys]
        key_index = np.repeat(np.arange(len(keys)), [len(positions) for positions in cited])
        positions = np.concatenate([np.empty(0, np.int64), *cited])
        for index, together in kernel.inseparable(key_index, positions).items():
            nearest = (Partner(heuristic_id=keys[i][0], jaccard=jaccard) for i, jaccard in together.nearest)
            ordered = sorted(nearest, key=lambda partner: partner.heuristic_id)
            out[keys[index]] = Partners(ordered, together.count)
    return out


def _positions(row: Tally) -> NDArray[np.int64]:
    """The positions for which it was ever cited, resolved or not."""
    now = [identity(item.position) for item in row.period]
    return np.concatenate([row.ever["position"], np.array(now, np.int64)])
