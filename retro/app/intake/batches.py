"""Batches brought together before they are stored: marks by their series, everything by transactions.

A journal tells prices of many instruments in turn, a few each. Stored like that, every few would unpack and pack the
block of a whole day; gathered, each block is touched once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.model import Batch, MarkSeries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Portion", "batched", "portions"]

_MOST: Final = 50_000
_Key = tuple[str | None, str, bool, bool]


@dataclass(frozen=True, slots=True)
class Portion:
    """What of a source is stored in one transaction; a source `is_whole` where all of it is, and is read meanwhile."""

    batches: Iterable[Batch]
    is_last: bool
    is_whole: bool = False


def portions(batches: Iterable[Batch], most: int | None) -> Iterator[Portion]:
    """A source by transactions of `most` events or a batch more, each read before it begins; None: in one. At least one."""
    if most is None:
        yield Portion(batches, is_last=True, is_whole=True)
        return
    portion: list[Batch] = []
    count = 0
    for batch in batches:
        if count >= most:
            yield Portion(portion, is_last=False)
            portion, count = [], 0
        portion.append(batch)
        count += batch.events
    yield Portion(portion, is_last=True)


def batched(batches: Iterable[Batch], most: int = _MOST) -> Iterator[Batch]:
    """The same events in the same order within each series, marks held back until `most` have come together."""
    buffer: dict[_Key, list[MarkSeries]] = {}
    count = 0
    for batch in batches:
        if not batch.marks:
            yield batch
            continue
        marks = sum(len(series.t) for series in batch.marks)
        yield replace(batch, marks=[], events=batch.events - marks)
        for series in batch.marks:
            key = (series.agent, series.instrument, series.low is None, series.high is None)
            buffer.setdefault(key, []).append(series)
        count += marks
        if count >= most:
            yield Batch(marks=[*map(_joined, buffer.values())], events=count)
            buffer, count = {}, 0
    if count:
        yield Batch(marks=[*map(_joined, buffer.values())], events=count)


def _joined(parts: list[MarkSeries]) -> MarkSeries:
    """One series of several; its instants are in no order and may repeat, which the store settles."""
    first = parts[0]
    if len(parts) == 1:
        return first
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    return MarkSeries(
        first.agent,
        first.instrument,
        np.concatenate([part.t for part in parts]),
        np.concatenate([part.price for part in parts]),
        np.concatenate(lows) if lows else None,
        np.concatenate(highs) if highs else None,
    )
