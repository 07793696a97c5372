"""Every outcome of a life as columns, so that the cumulative side of the audit makes no object per outcome."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.evaluate.audit.citations import Outcome, entry_day, items_of, outcomes_of
from retro.evaluate.audit.weeks import week_credits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from retro.evaluate.audit.citations import Role
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.position.levels import WeeklyMoney
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["RECORD", "WEEK", "History", "history_from", "identity", "joined"]

RECORD: Final = np.dtype(
    [
        ("name", "<i4"),
        ("exit", "?"),
        ("position", "<i8"),
        ("day", "<i4"),
        ("value", "<f8"),
        ("resolved_at", "<i8"),
        ("told_at", "<i8"),
        ("notional", "<f8"),
        ("risk", "<f8"),
        ("late", "?"),
    ]
)
"""One resolved outcome credited to one heuristic: fields as in `Outcome`, `name` an index, `position` its `identity`."""

WEEK: Final = np.dtype(
    [
        ("name", "<i4"),
        ("exit", "?"),
        ("position", "<i8"),
        ("day", "<i4"),
        ("week", "<i4"),
        ("told_at", "<i8"),
        ("held_at", "<i8"),
        ("change", "<f8"),
        ("notional", "<f8"),
        ("risk", "<f8"),
    ]
)
"""What one week changed of a position's marked money, for one heuristic cited for it, held since `held_at`.

`notional` and `risk` are NaN where they are not known.
"""

_ROLES: Final[tuple[Role, ...]] = ("entry", "exit")
_ALL: Final = ""
"""The name under which every outcome of a role stands, cited or not."""


@dataclass(frozen=True, slots=True)
class History:
    """Resolved outcomes, and the weeks of marked money of whatever is cited, resolved or not.

    `records` (n,) of `RECORD` and `weeks` (m,) of `WEEK`, whose `name` counts in `names`.
    """

    names: Sequence[str]
    records: NDArray[Any]
    weeks: NDArray[Any] = field(default_factory=lambda: np.empty(0, WEEK))

    def before(self, at: int) -> History:
        """What had resolved before an instant; the weeks stay whole."""
        return replace(self, records=self.records[self.records["resolved_at"] < at])

    def without(self, positions: Iterable[str]) -> History:
        """The outcomes and weeks of other positions than these."""
        gone = np.array([identity(position) for position in positions], np.int64)
        records = self.records[~np.isin(self.records["position"], gone)]
        return History(self.names, records, self.weeks[~np.isin(self.weeks["position"], gone)])

    def entered_in(self, block: int, days: int) -> History:
        """The outcomes and weeks of positions entered in one block of so many days."""
        records, weeks = (rows[rows["day"] // days == block] for rows in (self.records, self.weeks))
        return History(self.names, records, weeks)

    def of_names(self, names: AbstractSet[str]) -> History:
        """The outcomes and weeks that credit any of these heuristics."""
        numbers = [number for number, name in enumerate(self.names) if name in names]
        records, weeks = (rows[np.isin(rows["name"], numbers)] for rows in (self.records, self.weeks))
        return History(self.names, records, weeks)

    def told_by(self, known_until: int) -> History:
        """The same outcomes, and the weeks of what was cited up to an instant."""
        return replace(self, weeks=self.weeks[self.weeks["told_at"] <= known_until])

    def weeks_told_by(self, known_until: int) -> History:
        """The weeks alone, of what was cited up to an instant."""
        return replace(self.told_by(known_until), records=self.records[:0])

    def used_names(self) -> set[str]:
        """The names that stand in a row: not those whose last row is gone."""
        used = np.bincount(
            np.concatenate([self.records["name"], self.weeks["name"]]), minlength=len(self.names)
        )
        return {name for name, count in zip(self.names, used.tolist(), strict=True) if count}

    def of_role(self, role: Role) -> NDArray[Any]:
        """The records of all outcomes of a role, cited or not, each once."""
        every = np.isin(self.records["name"], [i for i, name in enumerate(self.names) if name == _ALL])
        chosen: NDArray[Any] = self.records[every & (self.records["exit"] == (role == "exit"))]
        return chosen

    def cited(self) -> NDArray[Any]:
        """The records of what was cited, in order of heuristic and role."""
        every = np.isin(self.records["name"], [i for i, name in enumerate(self.names) if name == _ALL])
        chosen: NDArray[Any] = self.records[~every]
        return chosen[np.argsort(chosen["name"] * 2 + chosen["exit"], kind="stable")]

    def citing(self, names: Iterable[str], role: Role) -> NDArray[Any]:
        """The records that credit any of these heuristics in a role, each position once."""
        numbers = [i for i, name in enumerate(self.names) if name in set(names)]
        chosen = self.records[np.isin(self.records["name"], numbers)]
        chosen = chosen[chosen["exit"] == (role == "exit")]
        _, once = np.unique(chosen["position"], return_index=True)
        each: NDArray[Any] = chosen[once]
        return each

    def losing_share(self, role: Role) -> float | None:
        """Share of the outcomes of a role that are below 0; None without any."""
        values = self.of_role(role)["value"]
        return float((values < 0).mean()) if len(values) else None

    def by_heuristic(self, since: Mapping[str, int]) -> dict[tuple[str, Role], NDArray[Any]]:
        """The records of each (heuristic, role); only those cited from `since` on where it names the heuristic."""
        kind = self.records["name"].astype(np.int64) * 2 + self.records["exit"]
        order = np.argsort(kind, kind="stable")
        kind, ordered = kind[order], self.records[order]
        begins = np.flatnonzero(np.diff(kind, prepend=-1))
        groups: dict[tuple[str, Role], NDArray[Any]] = {}
        for start, end in pairwise([*begins.tolist(), len(kind)]):
            name, records = self.names[kind[start] // 2], ordered[start:end]
            if name in since:
                records = records[records["told_at"] >= since[name]]
            if len(records) and name != _ALL:
                groups[name, _ROLES[kind[start] % 2]] = records
        return groups


def identity(position: str) -> int:
    """A position's id as 64 bits."""
    digest = hashlib.blake2b(position.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def history_from(
    rows: Iterable[PositionSummary], rules: AuditRules, money: Mapping[str, WeeklyMoney] | None = None
) -> History:
    """Everything that resolved in these rows' positions, and the weeks of those whose `money` is given."""
    claims, rows = rules.claims, list(rows)
    outcomes = [
        outcome
        for row in rows
        for outcome in (*_of_all(row, rules), *outcomes_of(items_of(row, rules, claims)))
    ]
    weeks = [
        credit
        for row in rows
        if money and row.position in money
        for credit in week_credits(row, money[row.position], rules, claims)
    ]
    names = sorted({outcome.heuristic for outcome in outcomes} | {credit.heuristic for credit in weeks})
    index = {name: i for i, name in enumerate(names)}
    records = np.array(
        [
            (
                index[o.heuristic], o.role == "exit", identity(o.position), o.day, o.value, o.resolved_at, o.told_at,
                o.notional, o.risk, o.late,
            )
            for o in outcomes
        ],
        RECORD,
    )  # fmt: skip
    columns = [
        (
            index[c.heuristic], c.role == "exit", identity(c.position), c.day, c.week, c.told_at, c.held_at, c.change,
            c.notional, c.risk,
        )
        for c in weeks
    ]  # fmt: skip
    return History(names, _ordered(records), _ordered(np.array(columns, WEEK)))


def joined(parts: Sequence[History]) -> History:
    """All outcomes of the parts, in one order whichever way they were divided."""
    names = sorted({name for part in parts for name in part.used_names()})
    index = {name: i for i, name in enumerate(names)}
    moved, weeks = [np.empty(0, RECORD)], [np.empty(0, WEEK)]
    for part in parts:
        number = np.array([index.get(name, 0) for name in part.names], np.int32)
        for rows, into in ((part.records, moved), (part.weeks, weeks)):
            renamed = rows.copy()
            renamed["name"] = number[rows["name"]]
            into.append(renamed)
    return History(names, _ordered(np.concatenate(moved)), _ordered(np.concatenate(weeks)))


def _ordered(rows: NDArray[Any]) -> NDArray[Any]:
    keys = [rows[name] for name in ("name", "exit", "position", "day")]
    if "week" in (rows.dtype.names or ()):  # several increases of one position may cite alike
        keys = [rows["change"], rows["week"], *keys]
    return rows[np.lexsort(keys)]


def _of_all(row: PositionSummary, rules: AuditRules) -> list[Outcome]:
    """A position's own outcomes, whoever was cited; of one with an impossible fill only losses."""
    day = entry_day(row.opened_at, rules)
    entry = row.final_pnl if rules.entry_outcome == "final_pnl" else row.vs_inaction
    results: list[tuple[Role, float | None, int | None]] = [
        ("entry", entry, row.closed_at),
        ("exit", row.exit_outcome, row.exit_resolved_at),
    ]
    return [
        Outcome(
            _ALL, role, row.position, day, value, at, at, row.notional or nan, row.risk or nan, late=False
        )
        for role, value, at in results
        if value is not None and at is not None and row.counts(value)
    ]
