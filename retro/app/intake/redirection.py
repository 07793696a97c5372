"""What is told of a name that nobody has any more: of a forgotten agent it is passed over, of a renamed one it is its."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from retro.figures import count
from retro.store.facts.departures import Departures, departures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeVar

    from sqlalchemy import Connection

    from retro.model import Batch

    ValueT = TypeVar("ValueT")

__all__ = ["Redirection", "agents_of"]


def agents_of(batch: Batch) -> set[str]:
    """Whom a batch names in anything but its faults' words."""
    names = {row.agent for row in batch.rows} | {series.agent for series in batch.marks if series.agent}
    names |= {fault.agent for fault in batch.faults if fault.agent}
    names |= {check.agent for check in batch.checks}
    return (
        names | batch.as_of.keys() | batch.capital.keys() | batch.base_currency.keys() | batch.origin.keys()
    )


@dataclass(slots=True)
class Redirection:
    """The names of one reading: `dropped` counts the events of forgotten agents, `renamed` says whom others went to.

    `gone` is whoever has departed, as the transaction at hand sees it; it holds its share of the estate, so that no other
    name goes meanwhile.
    """

    gone: Departures = field(default_factory=Departures)
    dropped: dict[str, int] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def look_up(self, conn: Connection) -> None:
        """See who has departed, at the beginning of each transaction."""
        self.gone = departures(conn)

    def present_names(self, names: Iterable[str]) -> set[str]:
        """These names and those under which their lives go on today."""
        present = set(names)
        departed = [departure for name in present if (departure := self.gone.of(name)) is not None]
        return present | {each.successor for each in departed if each.successor is not None}

    def of(self, batch: Batch) -> Batch:
        """The batch under the names of today."""
        return self._redirected(batch) if self.gone else batch

    def _redirected(self, batch: Batch) -> Batch:
        places: dict[str, str | None] = {
            name: departure.successor
            for name in agents_of(batch)
            if (departure := self.gone.of(name)) is not None
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
