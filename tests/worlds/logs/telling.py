"""What a reader of foreign logs tells of files, as plain values for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retro.checks import SourceCheck
from retro.model import Batch, Fault

NOW = 1_795_392_000_000_000
"""The ingest clock of these tests: 2026-11-23, microseconds."""


@dataclass(frozen=True)
class Telling:
    """Events as dictionaries in the order they were told, and what came with them."""

    events: list[dict[str, Any]]
    faults: list[Fault]
    checks: list[SourceCheck]
    notices: list[str]
    base_currency: dict[str, str]

    def of(self, kind: str, *names: str) -> list[Any]:
        """Of the events of a type these fields, one or a tuple each; without names the whole events."""
        events = [event for event in self.events if event["type"] == kind]
        if not names:
            return events
        rows = [tuple(event.get(name) for name in names) for event in events]
        return [row[0] for row in rows] if len(names) == 1 else rows


def telling_of(reader: Callable[..., Iterator[Batch]], *paths: Path, **options: Any) -> Telling:
    """Everything a reader tells of these paths."""
    result = Telling([], [], [], [], {})
    for batch in reader(paths, now=NOW, **({"agent": None, "zone": None} | options)):
        result.events.extend(json.loads(row.body) for row in batch.rows)
        result.faults.extend(batch.faults)
        result.checks.extend(batch.checks)
        result.notices.extend(batch.notices)
        result.base_currency.update(batch.base_currency)
    return result
