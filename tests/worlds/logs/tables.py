"""Tables of trades as people export them, and what a reading of one told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from retro.checks import SourceCheck
from retro.ingest.table.reader import read
from retro.model import Batch

NOW: Final = 1_800_000_000_000_000


class Reading:
    """What a reading told: its events by type, and the rest as it came."""

    def __init__(self, batches: list[Batch]) -> None:
        rows = [json.loads(row.body) for batch in batches for row in batch.rows]
        self.rows: list[dict[str, Any]] = rows
        self.faults = [(fault.line, fault.reason) for batch in batches for fault in batch.faults]
        self.checks: list[SourceCheck] = [check for batch in batches for check in batch.checks]
        self.notices = [notice for batch in batches for notice in batch.notices]
        self.bases = {agent: base for batch in batches for agent, base in batch.base_currency.items()}
        self.marks = [
            (series.instrument, int(t), float(price))
            for batch in batches
            for series in batch.marks
            for t, price in zip(series.t, series.price, strict=True)
        ]

    def of(self, kind: str, *fields: str) -> list[tuple[Any, ...]]:
        return [tuple(row.get(name) for name in fields) for row in self.rows if row["type"] == kind]


def told(folder: Path, rules: str, *texts: str, ending: str = "csv", **options: Any) -> Reading:
    (folder / "map.toml").write_text(rules, encoding="utf-8")
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"export-{number}.{ending}")
        files[-1].write_text(text, encoding="utf-8")
    given = {"agent": "bot", "zone": None, "now": NOW, "map": str(folder / "map.toml")} | options
    return Reading(list(read(files, **given)))


def reading_of(path: Path, mapping: str | None = None, **options: Any) -> Reading:
    """What a file tells by a mapping's name, or by the one that fits."""
    given = {"agent": None, "zone": None, "now": NOW, "map": mapping} | options
    return Reading(list(read([path], **given)))


KRAKEN: Final = (
    '"txid","refid","time","type","subtype","aclass","asset","amount","fee","balance"\n'
    '"","D1","2025-03-03 09:00:00","deposit","","currency","ZEUR",1000.0,0,""\n'
    '"L1","D1","2025-03-03 09:30:00","deposit","","currency","ZEUR",1000.0,0,1000.0\n'
    '"L2","T1","2025-03-03 10:00:00","trade","","currency","ZEUR",-500.0,1.3,498.7\n'
    '"L3","T1","2025-03-03 10:00:00","trade","","currency","XXBT",0.01,0,0.01\n'
    '"L4","T2","2025-03-05 10:00:00","trade","","currency","XXBT",-0.01,0,0.0\n'
    '"L5","T2","2025-03-05 10:00:00","trade","","currency","ZEUR",520.0,1.35,1017.35\n'
    '"L6","S1","2025-03-06 10:00:00","staking","","currency","DOT.S",0.5,0,0.5\n'
)
"""A deposit, 0.01 BTC bought at 50,000 and sold at 52,000 (20 less fees of 2.65), a reward; a pending row first."""
