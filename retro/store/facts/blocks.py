"""Columns of marks: how they are packed into a day's block, compared and joined. Pure; no SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from retro.model import MarkSeries

__all__ = [
    "DAY_MS",
    "MarkColumns",
    "Meeting",
    "Packed",
    "ascending",
    "day_blocks",
    "joined",
    "meet",
    "pack",
    "stretches",
    "unpack",
]

DAY_MS: Final = 86_400_000

Packed = tuple[bytes, bytes, bytes | None, bytes | None]
"""A day as it is stored: t, price, low, high."""


class MarkColumns(NamedTuple):
    """Marks in ascending order of `t` (int64 ms); `low` and `high` are float64, NaN where unknown."""

    t: NDArray[np.int64]
    price: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def at(self, which: Any) -> MarkColumns:
        """The marks that an index, a mask or a slice picks."""
        return MarkColumns(*(column[which] for column in self))


class Meeting(NamedTuple):
    """New marks held against known ones. Masks are over the new ones; `place` says where each stands in the old."""

    place: NDArray[np.int64]
    matched: NDArray[np.bool_]
    clash: NDArray[np.bool_]
    fills: NDArray[np.bool_]


def ascending(series: MarkSeries) -> tuple[MarkColumns, NDArray[np.int64]]:
    """The marks in order of time and the order that brings them there; `ValueError` when one is not finite."""
    unknown = np.full(len(series.t), np.nan)
    columns = MarkColumns(
        np.asarray(series.t, np.int64),
        np.asarray(series.price, np.float64),
        unknown if series.low is None else np.asarray(series.low, np.float64),
        unknown if series.high is None else np.asarray(series.high, np.float64),
    )
    if not np.isfinite(columns.price).all() or np.isinf(columns.low).any() or np.isinf(columns.high).any():
        raise ValueError(f"a mark of {series.instrument} is not finite")
    order = np.argsort(columns.t, kind="stable")
    return columns.at(order), order


def stretches(t: NDArray[np.int64], days: int) -> Iterator[slice]:
    """Slices of ascending instants (ms) that touch at most so many UTC days each."""
    day = t // DAY_MS
    starts = np.flatnonzero(np.diff(day, prepend=day[:1] - 1))[::days]
    return (slice(start, end) for start, end in zip(starts, [*starts[1:], len(t)], strict=True))


def meet(old: MarkColumns, new: MarkColumns) -> Meeting:
    """Which new marks are known, which of them say otherwise, and which fill in a low or high that was unknown."""
    place = np.searchsorted(old.t, new.t)
    matched = np.zeros(len(new.t), bool)
    inside = place < len(old.t)
    matched[inside] = old.t[place[inside]] == new.t[inside]
    clash, fills = np.zeros((2, len(new.t)), bool)
    then, now = old.at(place[matched]), new.at(matched)
    differs, adds = now.price != then.price, np.zeros(len(now.t), bool)
    for before, again in ((then.low, now.low), (then.high, now.high)):
        differs |= ~np.isnan(before) & ~np.isnan(again) & (before != again)
        adds |= np.isnan(before) & ~np.isnan(again)
    clash[matched], fills[matched] = differs, adds & ~differs
    return Meeting(place, matched, clash, fills)


def joined(old: MarkColumns, new: MarkColumns) -> MarkColumns:
    """Old and new marks in one order; a new mark takes the place of an old one of its instant."""
    keep = ~np.isin(old.t, new.t, assume_unique=True)
    both = MarkColumns(*(np.concatenate((a[keep], b)) for a, b in zip(old, new, strict=True)))
    return both.at(np.argsort(both.t, kind="stable"))


def day_blocks(columns: MarkColumns, days: NDArray[np.int64]) -> Iterator[tuple[int, Packed]]:
    """The marks of each of these UTC days, packed."""
    starts = np.searchsorted(columns.t, days * DAY_MS)
    ends = np.searchsorted(columns.t, (days + 1) * DAY_MS)
    for day, start, end in zip(days.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield day, pack(columns.at(slice(start, end)))


def pack(columns: MarkColumns) -> Packed:
    """Little-endian bytes of each column; None for a low or high that is unknown throughout."""
    low, high = (
        None if np.isnan(column).all() else column.astype("<f8", copy=False).tobytes()
        for column in (columns.low, columns.high)
    )
    return (
        columns.t.astype("<i8", copy=False).tobytes(),
        columns.price.astype("<f8", copy=False).tobytes(),
        low,
        high,
    )


def unpack(blocks: Sequence[Packed]) -> MarkColumns:
    """The marks of blocks in order of day."""
    t, price, low, high = [], [], [], []
    for packed in blocks:
        t.append(np.frombuffer(packed[0], "<i8"))
        price.append(np.frombuffer(packed[1], "<f8"))
        unknown = np.full(len(t[-1]), np.nan)
        low.append(unknown if packed[2] is None else np.frombuffer(packed[2], "<f8"))
        high.append(unknown if packed[3] is None else np.frombuffer(packed[3], "<f8"))
    if not t:
        return MarkColumns(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0))
    return MarkColumns(
        np.concatenate(t).astype(np.int64, copy=False),
        *(np.concatenate(column).astype(np.float64, copy=False) for column in (price, low, high)),
    )
