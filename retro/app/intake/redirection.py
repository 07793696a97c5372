"""What is told of a name that nobody has any more: of a forgotten agent it is passed over, of a renamed one it is its."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from retro.figures import count
from retro.store.facts.departures import departures
from retro.store.schema import ingest_alone

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from sqlalchemy import Connection

    from retro.model import Batch
    from retro.store.facts.departures import Departures

    ValueT = TypeVar("ValueT")

__all__ = ["Redirection"]


@dataclass(slots=True)
class Redirection:
    """The names of one reading: `dropped` counts the events of forgotten agents, `renamed` says whom others went to."""

    dropped: dict[str, int] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def of(self, conn: Connection, batch: Batch) -> Batch:
        """The batch under the names of today. Asked of each, and once nobody else writes: a name may go meanwhile."""
        ingest_alone(conn)
        gone = departures(conn)
        return self._redirected(batch, gone) if gone else batch

    def _redirected(self, batch: Batch, gone: Departures) -> Batch:
        names = {row.agent for row in batch.rows} | {series.agent for series in batch.marks if series.agent}
        names |= {fault.agent for fault in batch.faults if fault.agent}
        names |= {check.agent for check in batch.checks}
        names |= batch.as_of.keys() | batch.capital.keys() | batch.base_currency.keys() | batch.origin.keys()
        places: dict[str, str | None] = {
            name: departure.successor for name in names if (departure := gone.of(name)) is not None
        }
        if not places:
            return batch
        self.renamed |= {name: place for name, place in places.items() if place is not None}
        keep = [number for number, row in enumerate(batch.rows) if places.get(row.agent, "") is not None]
        for row in batch.rows:
            if places.get(row.agent, "") is None:
                self.dropped[row.agent] = self.dropped.get(row.agent, 0) + 1
        marks = [series for series in batch.marks if places.get(series.agent or "", "") is not None]
        for series in batch.marks:
            if series.agent and places.get(series.agent, "") is None:
                self.dropped[series.agent] = self.dropped.get(series.agent, 0) + len(series.t)
        rows = [batch.rows[number] for number in keep]
        by_agent = sum(len(series.t) for series in marks) - sum(len(series.t) for series in batch.marks)
        return replace(
            batch,
            rows=[row._replace(agent=places.get(row.agent) or row.agent) for row in rows],
            lines=[batch.lines[number] for number in keep] if batch.lines else batch.lines,
            marks=[
                replace(series, agent=series.agent and (places.get(series.agent) or series.agent))
                for series in marks
            ],
            faults=[
                replace(fault, agent=fault.agent and (places.get(fault.agent) or fault.agent))
                for fault in batch.faults
                if places.get(fault.agent or "", "") is not None
            ],
            checks=[
                check._replace(agent=places.get(check.agent) or check.agent)
                for check in batch.checks
                if places.get(check.agent, "") is not None
            ],
            events=batch.events - (len(batch.rows) - len(rows)) + by_agent,
            as_of=_of_today(batch.as_of, places),
            capital=_of_today(batch.capital, places),
            base_currency=_of_today(batch.base_currency, places),
            origin=_of_today(batch.origin, places),
        )

    def notices(self) -> list[str]:
        """What whoever reads the source should know."""
        return [
            *(
                f"{count(size, 'event')} of {name} passed over: it was forgotten; "
                f"`retro agents forget {name} --undo` takes them in again"
                for name, size in sorted(self.dropped.items())
            ),
            *(f"{name} is {place} now: told of it" for name, place in sorted(self.renamed.items())),
        ]


def _of_today(by_agent: Mapping[str, ValueT], places: Mapping[str, str | None]) -> dict[str, ValueT]:
    """By the names of today; of two that have become one the greater, of horizons the later."""
    today: dict[str, ValueT] = {}
    for name, value in sorted(by_agent.items(), key=lambda item: (len(str(item[1])), str(item[1]))):
        place = places.get(name, name)
        if place is not None:
            today[place] = value
    return today
