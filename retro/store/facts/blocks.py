"""Columns of marks: how they are packed into a day's block, compared and joined. Pure; no SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from retro.model import MarkSeries

__all__ = [
    "MarkColumns",
    "Meeting",
    "Packed",
    "ascending",
    "blocks_of",
    "day_blocks",
    "finer",
    "instants",
    "is_plain",
    "joined",
    "meet",
    "stretches",
    "unpack",
]

Packed = tuple[bytes, bytes, bytes | None, bytes | None, bytes | None]
"""A day as it is stored: whole milliseconds, price, low, high, the microseconds beyond the milliseconds."""

_MS: Final = 1000


class MarkColumns(NamedTuple):
    """Marks in ascending order of `t` (int64 us); `low` and `high` are float64, NaN where unknown."""

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
    """Slices of ascending instants (us) that touch at most so many UTC days each."""
    day = t // DAY
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


def finer(columns: MarkColumns) -> NDArray[np.bool_]:
    """Which marks of whole milliseconds were told again, of the same price, with microseconds: those say it better.

    Marks were once kept in milliseconds; whoever tells them again as he wrote them must not have each of them twice.
    """
    coarse = (columns.t % _MS == 0) & np.isnan(columns.low) & np.isnan(columns.high)
    again = np.zeros(len(columns.t), bool)
    ahead = 1
    while coarse.any():
        near = columns.t[:-ahead] // _MS == columns.t[ahead:] // _MS
        if not near.any():
            break
        again[:-ahead] |= coarse[:-ahead] & near & (columns.price[:-ahead] == columns.price[ahead:])
        ahead += 1
    return again


def day_blocks(columns: MarkColumns, days: NDArray[np.int64]) -> Iterator[tuple[int, Packed]]:
    """The marks of each of these UTC days, packed."""
    starts = np.searchsorted(columns.t, days * DAY)
    ends = np.searchsorted(columns.t, (days + 1) * DAY)
    return zip(days.tolist(), _packed(columns, starts, ends), strict=True)


def blocks_of(several: Sequence[MarkColumns]) -> Iterator[tuple[int, int, Packed]]:
    """The days of several series that have marks, packed: (which of them, UTC day, block); one pass over all."""
    columns = MarkColumns(*(np.concatenate(column) for column in zip(*several, strict=True)))
    which = np.repeat(np.arange(len(several)), [len(each.t) for each in several])
    day = columns.t // DAY
    starts = np.flatnonzero(np.diff(day, prepend=day[:1] - 1) | np.diff(which, prepend=0))
    ends = np.append(starts[1:], len(day))
    return zip(which[starts].tolist(), day[starts].tolist(), _packed(columns, starts, ends), strict=True)


def is_plain(columns: MarkColumns) -> bool:
    """Whether a series tells no instant twice, and no two within a millisecond, of which one may be the finer telling."""
    millis = columns.t // _MS
    return bool((millis[1:] > millis[:-1]).all())


def _packed(columns: MarkColumns, starts: NDArray[np.integer], ends: NDArray[np.integer]) -> Iterator[Packed]:
    """The marks of each stretch [start, end), packed: little-endian bytes of each column.

    None for a low or high that is unknown throughout, and where no mark has microseconds beyond its millisecond.
    """
    millis = columns.t // _MS
    beyond = (columns.t - millis * _MS).astype("<u2")
    millis = millis.astype("<i8", copy=False)
    price, low, high = (column.astype("<f8", copy=False) for column in columns[1:])
    tells = [_counts(known, starts, ends) for known in (~np.isnan(low), ~np.isnan(high), beyond != 0)]
    for start, end, lows, highs, micros in zip(starts.tolist(), ends.tolist(), *tells, strict=True):
        yield (
            millis[start:end].tobytes(),
            price[start:end].tobytes(),
            low[start:end].tobytes() if lows else None,
            high[start:end].tobytes() if highs else None,
            beyond[start:end].tobytes() if micros else None,
        )


def _counts(of: NDArray[np.bool_], starts: NDArray[np.integer], ends: NDArray[np.integer]) -> list[int]:
    """How many are true in each stretch."""
    upto = np.concatenate((np.zeros(1, np.int64), np.cumsum(of)))
    counts: list[int] = (upto[ends] - upto[starts]).tolist()
    return counts


def instants(at_ms: bytes, micros: bytes | None) -> NDArray[np.int64]:
    """The instants of a block (us, ascending)."""
    t = np.frombuffer(at_ms, "<i8").astype(np.int64, copy=False) * _MS
    return t if micros is None else t + np.frombuffer(micros, "<u2")


def unpack(blocks: Sequence[Packed]) -> MarkColumns:
    """The marks of blocks in order of day; `ValueError` where a block is damaged."""
    t, price, low, high = [], [], [], []
    for packed in blocks:
        t.append(instants(packed[0], packed[4]))
        price.append(np.frombuffer(packed[1], "<f8"))
        unknown = np.full(len(t[-1]), np.nan)
        low.append(unknown if packed[2] is None else np.frombuffer(packed[2], "<f8"))
        high.append(unknown if packed[3] is None else np.frombuffer(packed[3], "<f8"))
        if not len(t[-1]) == len(price[-1]) == len(low[-1]) == len(high[-1]):
            raise ValueError("its columns differ in length")
    if not t:
        return MarkColumns(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0))
    return MarkColumns(
        np.concatenate(t),
        *(np.concatenate(column).astype(np.float64, copy=False) for column in (price, low, high)),
    )
