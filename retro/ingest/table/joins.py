"""Rows of a second table that belong to rows of the first: read once, looked up by their key."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

import msgspec

from retro.ingest.rows import csv, json, sqlite
from retro.ingest.table.cells import path_reading
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.rows.row import Row
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.grammar.tables import JoinMap

__all__ = ["Joins"]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(float_hook=str).decode


class Joins:
    """Puts beside a row the rows of other tables that its keys name: of several with one key the last.

    They wait in a private database without a name, which spills to disk by itself.
    """

    def __init__(self, rules: Sequence[JoinMap]) -> None:
        self._rules = rules
        self._keys = [path_reading(rule.key) for rule in rules]
        self._connection = sqlite3.connect("", isolation_level=None)

    def close(self) -> None:
        """Let go of what was read."""
        self._connection.close()

    def open(self, path: Path) -> Iterator[Fault]:
        """Read the tables that belong to a file; what of them cannot be read are faults."""
        self._connection.execute("DROP TABLE IF EXISTS joined")
        self._connection.execute(
            "CREATE TABLE joined (n INTEGER, key TEXT, body BLOB, PRIMARY KEY (n, key)) WITHOUT ROWID"
        )
        for number, rule in enumerate(self._rules):
            key = path_reading(rule.on or rule.key)
            for row in _rows(path, rule):
                if isinstance(row, Fault):
                    yield row
                elif name := key(dict(row.cells)):
                    entry = (number, name, _encode(row.cells))
                    self._connection.execute("INSERT OR REPLACE INTO joined VALUES (?, ?, ?)", entry)

    def beside(self, cells: Cells) -> Cells:
        """A row with what belongs to it, under the names of the joins."""
        joined = dict(cells)
        for number, (rule, key) in enumerate(zip(self._rules, self._keys, strict=True)):
            query = "SELECT body FROM joined WHERE n = ? AND key = ?"
            for (body,) in self._connection.execute(query, (number, key(cells))):
                joined[rule.name] = _decode(body)
        return joined


def _rows(path: Path, rule: JoinMap) -> Iterator[Row | Fault]:
    if rule.table is not None:
        return sqlite.rows(str(path), rule.table)
    place = str(path.with_name(rule.file or ""))
    if rule.format == "csv":
        return csv.rows(place, csv.CsvLayout())
    return json.line_rows(place) if rule.format == "jsonl" else json.rows(place, rule.path)
