"""What a reader of foreign logs makes of them, decoded, for tests to look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from retro.journal import check
from retro.model import Batch, EventRow, Fact, Fault, decode
from retro.periods import parse_instant

NOW = parse_instant("2026-11-22T00:00:00Z")
F = TypeVar("F", bound=Fact)


class Reading:
    """All batches of one reading: `rows` by (agent, type, id), each of which reads back as it was told.

    `unknown` are the fields it may tell that nobody knows.
    """

    def __init__(self, batches: Iterable[Batch], unknown: Collection[str] = ()) -> None:
        self.batches = list(batches)
        rows = [row for batch in self.batches for row in batch.rows]
        for row in rows:
            event = check(row.body, NOW)
            assert event.row == row, "the row says what its line says"
            assert set(event.unknown) <= set(unknown)
        self.rows: dict[tuple[str, str, str], EventRow] = {(row.agent, row.type, row.id): row for row in rows}
        assert len(self.rows) == len(rows), "no two facts share a name"
        self.faults: list[Fault] = [fault for batch in self.batches for fault in batch.faults]
        self.notices = [sentence for batch in self.batches for sentence in batch.notices]
        self.checks = [check for batch in self.batches for check in batch.checks]
        self.base_currency = {
            agent: currency for batch in self.batches for agent, currency in batch.base_currency.items()
        }

    def of(self, kind: type[F]) -> list[F]:
        """The facts of one type in the order of time."""
        facts = [decode(row.body, row.at) for row in self.rows.values()]
        return sorted((fact for fact in facts if isinstance(fact, kind)), key=lambda fact: (fact.at, fact.id))

    @property
    def marks(self) -> dict[tuple[str | None, str], dict[int, float]]:
        """(Agent, instrument) -> instant -> price."""
        marks: dict[tuple[str | None, str], dict[int, float]] = {}
        for batch in self.batches:
            for series in batch.marks:
                marks.setdefault((series.agent, series.instrument), {}).update(
                    zip(series.t.tolist(), series.price.tolist(), strict=True)
                )
        return marks
