"""Facts of a foreign source on their way to the store, each checked as a line of a journal is.

A reader says what a row of its source means; what is wrong with a figure, a name or an instant is said here, in the
words and by the rules of the journal, with the row it stands in.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from retro.ingest.candles import series_of
from retro.ingest.journal.events import EventReader
from retro.ingest.prose import without_keys
from retro.journal import LARGEST
from retro.model import Batch, EventRow, Fault
from retro.periods import DAY, format_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.checks import SourceCheck
    from retro.model import MarkSeries

__all__ = ["BatchWriter"]

_SLICE: Final = 128
_WIDEST: Final = 100
_encode: Final = msgspec.json.Encoder().encode


class BatchWriter:
    """Collects what a source tells; `batch` hands it on, to be asked whenever `full` and at the end.

    `where` names the source in faults, `now` is the ingest clock in microseconds, `size` how much makes a batch.
    """

    def __init__(self, where: str, now: int, size: int = 2000) -> None:
        self.where = where
        self._size = size
        self._now = now
        self._reader = EventReader(now)
        self._lines: list[bytes] = []
        self._places: list[tuple[str, int | None, str]] = []
        self._marks: dict[tuple[str | None, str], tuple[list[int], list[float]]] = {}
        self._marked = 0
        self._batch = Batch()

    @property
    def full(self) -> bool:
        """Whether enough has come together for a batch."""
        return len(self._lines) + self._marked + len(self._batch.faults) >= self._size

    def event(
        self, kind: str, name: str, agent: str, at: int, /, *, line: int | None = None, **fields: Any
    ) -> None:
        """One event of the journal: its type, id, agent and instant (microseconds), and its fields; None is not given.

        `line` is the row of the source it comes from. What the journal would not take becomes a fault of that row.
        """
        event = {"type": kind, "id": name, "agent": agent}
        try:
            event["at"] = format_instant(at)
        except (ValueError, OverflowError):
            self.fault(f"its time, {at} us since 1970, is none of this calendar", line, agent=agent)
            return
        event |= {key: _plain(value) for key, value in fields.items() if value is not None}
        try:
            self._lines.append(_encode(event))
        except (UnicodeEncodeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            self.fault(f"{kind}: cannot be written as text ({error})", line, agent=agent)
            return
        self._places.append((self.where, line, agent))

    def mark(
        self, agent: str | None, instrument: str, at: int, price: Decimal, *, line: int | None = None
    ) -> None:
        """A price > 0 at an instant (microseconds): of an agent in its base currency, of None in the instrument's quote."""
        if not 0 < price <= Decimal(LARGEST) or not 0 <= at <= self._now + DAY:
            self.fault(f"the price {price!s:.40} at {at} us since 1970 is no mark", line, agent=agent)
            return
        instants, prices = self._marks.setdefault((agent, instrument), ([], []))
        instants.append(at)
        prices.append(float(price))
        self._marked += 1

    def fault(
        self, reason: str, line: int | None = None, *, where: str | None = None, agent: str | None = None
    ) -> None:
        """A piece of the source that could not be used, and why."""
        self._batch.faults.append(Fault(where or self.where, line, without_keys(reason), agent))

    def check(self, check: SourceCheck) -> None:
        """A figure the source computed itself."""
        self._batch.checks.append(check)

    def notice(self, sentence: str) -> None:
        """What whoever reads the source should know; nothing is wrong with it."""
        self._batch.notices.append(sentence)

    def base_currency(self, agent: str, currency: str) -> None:
        """What an agent's money is counted in."""
        self._batch.base_currency[agent] = currency

    def origin(self, agent: str, origin: str) -> None:
        """What kind of source tells of an agent: sources of two origins never mix."""
        self._batch.origin[agent] = origin

    def batch(self) -> Batch:
        """Everything since the last batch, checked."""
        batch, self._batch = self._batch, Batch()
        lines, places = self._lines, self._places
        self._lines, self._places = [], []
        for start in range(0, len(lines), _SLICE):
            results = self._reader.read(lines[start : start + _SLICE])
            for result, place in zip(results, places[start : start + _SLICE], strict=True):
                where, line, agent = place
                if isinstance(result, EventRow):
                    batch.rows.append(result)
                    batch.lines.append(line or 0)
                else:
                    batch.faults.append(Fault(where, line, without_keys(result), agent))
        batch.marks = self._series()
        batch.events = len(batch.rows) + sum(len(series.t) for series in batch.marks)
        batch.unknown = dict(self._reader.unknown)
        self._reader.unknown.clear()
        return batch

    def _series(self) -> list[MarkSeries]:
        marks, self._marks, self._marked = self._marks, {}, 0
        return [
            series
            for (agent, instrument), (instants, prices) in marks.items()
            for series in series_of(
                agent, instrument, np.array(instants, np.int64), np.array(prices, np.float64)
            )
        ]


def _plain(value: Any) -> Any:
    """Decimals without exponents, so that every digit is kept as it was written."""
    if isinstance(value, Decimal):
        # an exponent out of all bounds would be written out as so many zeros: the journal refuses it as it stands
        return f"{value:f}" if abs(value.adjusted()) <= _WIDEST else str(value)
    if isinstance(value, dict):
        mapping: Mapping[str, Any] = value
        return {key: _plain(entry) for key, entry in mapping.items()}
    return value
