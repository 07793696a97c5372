"""What of one document among several is worth telling an agent; all of it is there when it asks for detail."""

from __future__ import annotations

from typing import Any, Final

from retro.surface.mcp.size import brief

__all__ = [
    "episode_in_brief",
    "experiment_item",
    "hypothesis_item",
    "memory_item",
    "position_item",
    "review_item",
    "rule_item",
]

Document = dict[str, Any]

_MEMORY: Final = (
    "at", "strategy", "symbol", "direction", "pnl", "pnl_r", "retrospective_vs_inaction", "retrospective_regret", "tags",
    "context", "reflection",
)  # fmt: skip
_RULE: Final = (
    "recommendation", "evaluated_count", "avg_in_unit", "threshold_unit", "evidence", "evidence_n", "e_against", "e_for",
    "interval", "clipped", "break_even", "weeks_to_verdict", "stopped_working", "open_count", "open_pnl",
)  # fmt: skip
_POSITION: Final = (
    "position_id", "instrument", "side", "strategy", "entry_at", "exit_at", "final_pnl", "vs_inaction", "mfe", "mae",
    "regret", "flags",
)  # fmt: skip
_UNTOLD: Final = ("agent", "heuristic", "rationale", "created", "tested_by")


def memory_item(hit: Document) -> Document:
    """A recalled memory without the components of its score."""
    memory = hit["memory"]
    fields = (
        {name: memory[name] for name in _MEMORY if name in memory} if hit["type"] == "episode" else memory
    )
    return {name: hit[name] for name in ("id", "type", "score", "reason")} | {"memory": brief(fields, 5, 160)}


def position_item(position: Document) -> Document:
    """A position as far as an agent that looks through many needs it."""
    return {name: position[name] for name in _POSITION}


def review_item(review: Document) -> Document:
    """A review as it stands in the ledger."""
    return {name: review[name] for name in ("id", "state", "revision", "period_end", "reason")}


def hypothesis_item(entry: Document) -> Document:
    """A hypothesis with the number of its tests instead of their names."""
    tests = entry.get("tested_by")
    fields: Document = brief({name: value for name, value in entry.items() if name not in _UNTOLD}, 5, 160)
    return fields | {"tests": len(tests) if isinstance(tests, list) else 0}


def experiment_item(record: Document) -> Document:
    """An experiment as far as it fits among others."""
    fields: Document = brief(
        {name: value for name, value in record.items() if name not in ("agent", "source")}, 3, 160
    )
    return {"id": record["id"]} | fields


def rule_item(row: Document) -> Document:
    """A row of the audit: the verdict, how sure it is at every look, and the newest of its weeks."""
    fields: Document = brief({name: row.get(name) for name in _RULE}, 8, 160)
    return {"heuristic_id": row["heuristic_id"], "role": row["role"]} | fields | _weeks(row)


def _weeks(row: Document) -> Document:
    return {"weeks": brief(row["weeks"][-8:], 8, 24)} if "weeks" in row else {}


def episode_in_brief(document: Document, items: int, characters: int) -> Document:
    """An episode in brief; its list of amendments stands there even when it is empty."""
    fields: Document = brief(document, items, characters)
    return {"amendments": []} | fields
