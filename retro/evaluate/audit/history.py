"""Every outcome of a life as columns, so that the cumulative side of the audit makes no object per outcome."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.evaluate.audit.citations import Outcome, entry_day, items_of, outcomes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.audit.citations import AuditRules, Role
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["RECORD", "History", "history_from", "identity", "joined"]

RECORD: Final = np.dtype(
    [
        ("name", "<i4"),
        ("exit", "?"),
        ("position", "<i8"),
        ("day", "<i4"),
        ("value", "<f8"),
        ("resolved_at", "<i8"),
        ("told_at", "<i8"),
        ("late", "?"),
    ]
)
"""One resolved outcome credited to one heuristic: fields as in `Outcome`, `name` an index, `position` its `identity`."""

_ALL: Final = ""
"""The name under which every outcome of a role stands, cited or not."""


@dataclass(frozen=True, slots=True)
class History:
    """Resolved outcomes: `records` (n,) of `RECORD`, whose `name` counts in `names`."""

    names: Sequence[str]
    records: NDArray[Any]

    def before(self, at: int) -> History:
        """What had resolved before an instant."""
        return History(self.names, self.records[self.records["resolved_at"] < at])

    def without(self, positions: Iterable[str]) -> History:
        """The outcomes of other positions than these."""
        gone = np.array([identity(position) for position in positions], np.int64)
        return History(self.names, self.records[~np.isin(self.records["position"], gone)])

    def of_role(self, role: Role) -> NDArray[Any]:
        """The records of all outcomes of a role, cited or not, each once."""
        every = np.isin(self.records["name"], [i for i, name in enumerate(self.names) if name == _ALL])
        chosen: NDArray[Any] = self.records[every & (self.records["exit"] == (role == "exit"))]
        return chosen

    def losing_share(self, role: Role) -> float | None:
        """Share of the outcomes of a role that are below 0; None without any."""
        values = self.of_role(role)["value"]
        return float((values < 0).mean()) if len(values) else None

    def by_heuristic(self, since: Mapping[str, int]) -> dict[tuple[str, Role], NDArray[Any]]:
        """The records of each (heuristic, role); only those cited from `since` on where it names the heuristic."""
        kind = self.records["name"] * 2 + self.records["exit"]
        order = np.argsort(kind, kind="stable")
        bounds = np.searchsorted(kind[order], np.arange(2 * len(self.names) + 1))
        groups: dict[tuple[str, Role], NDArray[Any]] = {}
        for i, name in enumerate(self.names):
            for role, k in (("entry", 2 * i), ("exit", 2 * i + 1)):
                records = self.records[order[bounds[k] : bounds[k + 1]]]
                if name in since:
                    records = records[records["told_at"] >= since[name]]
                if len(records) and name != _ALL:
                    groups[name, role] = records  # type: ignore[index]  # mypy widens the literals of the pair
        return groups


def identity(position: str) -> int:
    """A position's id as 64 bits."""
    digest = hashlib.blake2b(position.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def history_from(rows: Iterable[PositionSummary], rules: AuditRules) -> History:
    """Everything that resolved in these rows' positions."""
    claims = rules.claims
    outcomes = [
        outcome
        for row in rows
        for outcome in (*_of_all(row, rules), *outcomes_of(items_of(row, rules, claims), claims))
    ]
    names = sorted({outcome.heuristic for outcome in outcomes})
    index = {name: i for i, name in enumerate(names)}
    records = np.array(
        [
            (index[o.heuristic], o.role == "exit", identity(o.position), o.day, o.value, o.resolved_at, o.told_at, o.late)
            for o in outcomes
        ],
        RECORD,
    )  # fmt: skip
    return History(names, _ordered(records))


def joined(parts: Sequence[History]) -> History:
    """All outcomes of the parts, in one order whichever way they were divided."""
    names = sorted({name for part in parts for name in part.names})
    index = {name: i for i, name in enumerate(names)}
    moved = [np.empty(0, RECORD)]
    for part in parts:
        records = part.records.copy()
        records["name"] = np.array([index[name] for name in part.names], np.int32)[records["name"]]
        moved.append(records)
    return History(names, _ordered(np.concatenate(moved)))


def _ordered(records: NDArray[Any]) -> NDArray[Any]:
    return records[np.lexsort((records["name"], records["exit"], records["position"], records["day"]))]


def _of_all(row: PositionSummary, rules: AuditRules) -> list[Outcome]:
    """A position's own outcomes, whoever was cited; of one with an impossible fill only losses."""
    day = entry_day(row.opened_at, rules)
    entry = row.final_pnl if rules.entry_outcome == "final_pnl" else row.vs_inaction
    results: list[tuple[Role, float | None, int | None]] = [
        ("entry", entry, row.closed_at),
        ("exit", row.exit_outcome, row.exit_resolved_at),
    ]
    return [
        Outcome(_ALL, role, row.position, day, value, at, at, late=False)
        for role, value, at in results
        if value is not None and at is not None and row.counts(value)
    ]
