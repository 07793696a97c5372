"""What an agent states of shadows that it runs itself, a day each, beside what its positions made on the same days."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.accounting.order import natural_key
from retro.evaluate.records import RESULT_COLUMNS, SHADOW_DAY_COLUMNS
from retro.evaluate.whatif.entered import days_of
from retro.evaluate.whatif.shadows import PairedDays
from retro.kernels.evaluators.paired_days import peak

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.model import Shadow

__all__ = ["RESULT", "SHADOW_DAY", "ShadowDays", "joined", "paired_by_word", "shadow_days"]

SHADOW_DAY: Final = np.dtype(list(SHADOW_DAY_COLUMNS))
"""What a shadow made on a day, by number, in base currency: its first word about that day, and when that was told."""

RESULT: Final = np.dtype(list(RESULT_COLUMNS))
"""What a closed position made and cost, instants in microseconds; NaN where what it made is not known or enters no rate."""


@dataclass(frozen=True, slots=True, eq=False)
class ShadowDays:
    """Days (n,) of `SHADOW_DAY` by shadow and day, one record each; `shadow` is an index into `names`, which ascend."""

    names: Sequence[str] = ()
    records: NDArray[Any] = field(default_factory=lambda: np.empty(0, SHADOW_DAY))

    def __len__(self) -> int:
        return len(self.records)

    def where(self, chosen: NDArray[np.bool_]) -> ShadowDays:
        """Some of them."""
        return ShadowDays(self.names, self.records[chosen])

    def before(self, at: int) -> ShadowDays:
        """As they stood before an instant: if the first word about a day came later, none had come by then."""
        return self.where(self.records["told_at"] < at)

    def by_shadow(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Each shadow with its days, ascending; none without a day."""
        ends = np.searchsorted(self.records["shadow"], np.arange(len(self.names)), "right").tolist()
        for name, first, last in zip(self.names, [0, *ends], ends, strict=False):
            if first < last:
                yield name, self.records[first:last]


def shadow_days(words: Iterable[Shadow], zone: ZoneInfo) -> ShadowDays:
    """The days of these words, in any order; of several about one day the first by (at, id) counts.

    A word about a day that had not begun when it was told counts nothing: one of the year 9999 would be a long track.
    """
    ordered = sorted(words, key=lambda word: (word.at, natural_key(word.id), word.id))
    newest = days_of(np.array([word.at for word in ordered], dtype=np.int64), zone).tolist()
    first: dict[tuple[str, int], tuple[int, float]] = {}
    for word, today in zip(ordered, newest, strict=True):
        day = date.fromisoformat(word.day).toordinal()
        if day <= today:
            first.setdefault((word.shadow, day), (word.at, float(word.pnl)))
    names = sorted({name for name, _ in first})
    place = {name: i for i, name in enumerate(names)}
    rows = [(place[name], day, *spoke) for (name, day), spoke in sorted(first.items())]
    return ShadowDays(names, np.array(rows, SHADOW_DAY))


def joined(parts: Iterable[ShadowDays]) -> ShadowDays:
    """Several as one, the same bytes in whichever order they come; of a day in two of them the earlier word counts.

    The parts are of different instants: no two of them hold words that were told at the same one.
    """
    parts = [part for part in parts if len(part)]
    if len(parts) == 1 and len(np.unique(parts[0].records["shadow"])) == len(parts[0].names):
        return parts[0]
    if len({name for part in parts for name in part.names}) == 1:
        alike = ShadowDays(parts[0].names, np.concatenate([part.records for part in parts]))
        if (np.diff(alike.records["day"]) > 0).all():
            return alike
    names = sorted({part.names[i] for part in parts for i in np.unique(part.records["shadow"]).tolist()})
    place = {name: i for i, name in enumerate(names)}
    moved = [np.empty(0, SHADOW_DAY)]
    for part in parts:
        records = part.records.copy()
        records["shadow"] = np.array([place.get(name, -1) for name in part.names])[records["shadow"]]
        moved.append(records)
    records = np.concatenate(moved)
    records = records[np.lexsort([records[name] for name in ("told_at", "day", "shadow")])]
    is_first = np.ones(len(records), dtype=np.bool_)
    is_first[1:] = (records["shadow"][1:] != records["shadow"][:-1]) | (
        records["day"][1:] != records["day"][:-1]
    )
    return ShadowDays(names, records[is_first])


def paired_by_word(
    days: ShadowDays, closed: NDArray[Any], zone: ZoneInfo, capital: float | None
) -> list[PairedDays]:
    """Each shadow beside the positions that were closed on the days it speaks of; `closed` (n,) of `RESULT`, oldest first.

    `capital` is what the agent began with, None where that is not known.
    """
    closed_on = days_of(closed["closed_at"], zone)
    series = []
    for name, records in days.by_shadow():
        ordinals, shadow = records["day"], records["pnl"].astype(np.float64)
        place = np.minimum(np.searchsorted(ordinals, closed_on), len(ordinals) - 1)
        on_day = ordinals[place] == closed_on
        counted = on_day & ~np.isnan(closed["pnl"])
        real = np.bincount(place[counted], closed["pnl"][counted], len(ordinals)).astype(np.float64)
        rows = closed[on_day]
        whole = capital or peak(rows["opened_at"], rows["closed_at"], rows["notional"])
        length = int(ordinals[-1] - ordinals[0]) + 1
        series.append(PairedDays(name, None, int(ordinals[0]), length, real, shadow, shadow - real, whole))
    return series
