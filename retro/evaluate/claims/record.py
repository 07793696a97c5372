"""Every resolved prediction of a life as columns, with what was known when it was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from retro.evaluate.records import CLAIM_COLUMNS
from retro.report.evaluators.claims import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["CLAIM", "TIERS", "UNCATEGORISED", "ClaimHistory", "ClaimKey", "joined"]

UNCATEGORISED: Final = "uncategorised"

TIERS: Final[tuple[Literal["T0", "T1", "T2"], ...]] = ("T0", "T1", "T2")
"""Tiers of inference, from none to the dearest."""

CLAIM: Final = np.dtype(list(CLAIM_COLUMNS))
"""One prediction and the first word of what came: `prediction` is the `identity` of its id, texts are indices into names,
instants microseconds, NaN is absent.

`decision` is the `identity` of the decision it was made for, 0 for none that was made by the time it resolved; `tier`
and `difficulty` are that decision's, -1 and "" where it has none.

`ends_at` is its target, else its resolution. `verdict` is 1, 0 or NaN. `bias` and the offsets are the correction that was
in force at `at`, `worth` what its confidence was worth then: both rest on what had resolved before `at`.
"""

_TEXTS: Final = ("category", "regime", "difficulty")


@dataclass(frozen=True, slots=True)
class ClaimKey:
    """A category and a regime; regime `any` pools all claims of the category."""

    category: str
    regime: str = ANY

    @property
    def pooled(self) -> ClaimKey:
        """The key to fall back to."""
        return ClaimKey(self.category)


@dataclass(frozen=True, slots=True)
class ClaimHistory:
    """Resolved claims, (n,) of `CLAIM` in the order in which they resolved; `names` are their texts."""

    names: Sequence[str] = ()
    records: NDArray[Any] = field(default_factory=lambda: np.empty(0, CLAIM))

    def __len__(self) -> int:
        return len(self.records)

    def before(self, at: int) -> ClaimHistory:
        """What had resolved before an instant."""
        return ClaimHistory(self.names, self.records[self.records["resolved_at"] < at])

    def texts(self, column: str) -> list[str]:
        """One of the text columns, (n,)."""
        return [self.names[i] for i in self.records[column].tolist()]

    def by_key(self) -> Iterator[tuple[ClaimKey, NDArray[Any]]]:
        """Each key with its records, in order of category and regime, the pooled one of a category first."""
        for key, places in self.places():
            yield key, self.records.take(places)

    def places(self) -> Iterator[tuple[ClaimKey, NDArray[np.intp]]]:
        """Each key with the places of its records, in the same order."""
        by_name = self.names.__getitem__
        categories, regimes = self.records["category"], self.records["regime"]
        for category in sorted(_present(categories), key=by_name):
            of_category = np.flatnonzero(categories == category)
            yield ClaimKey(by_name(category)), of_category
            own = regimes[of_category]
            for regime in sorted(_present(own), key=by_name):
                if by_name(regime) != ANY:
                    yield ClaimKey(by_name(category), by_name(regime)), of_category[own == regime]

    def by_category(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Each category with its records, in order."""
        categories = self.records["category"]
        for category in sorted(_present(categories), key=self.names.__getitem__):
            yield self.names[category], self.records.take(np.flatnonzero(categories == category))

    def of(self, key: ClaimKey) -> NDArray[Any]:
        """The records of a key."""
        records = self.records[self.records["category"] == self._index(key.category)]
        chosen: NDArray[Any] = (
            records if key.regime == ANY else records[records["regime"] == self._index(key.regime)]
        )
        return chosen

    def _index(self, name: str) -> int:
        return self.names.index(name) if name in self.names else -1


def _present(indices: NDArray[Any]) -> list[int]:
    """Which indices into names occur."""
    return np.flatnonzero(np.bincount(indices)).tolist() if len(indices) else []


def joined(parts: Iterable[ClaimHistory]) -> ClaimHistory:
    """Several histories as one, each after the one before; names are sorted, so that equal claims are equal bytes."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return ClaimHistory()
    records = np.concatenate([part.records for part in parts])
    texts = [name for part in parts for name in part.names]
    first = np.cumsum([0, *(len(part.names) for part in parts[:-1])], dtype="<i4")
    offset = np.repeat(first, [len(part) for part in parts])
    indices = {column: records[column] + offset for column in _TEXTS}
    used = np.zeros(len(texts), dtype=np.bool_)
    for index in indices.values():
        used |= np.bincount(index, minlength=len(texts)) > 0
    names = sorted({texts[i] for i in np.flatnonzero(used).tolist()})
    place = {name: i for i, name in enumerate(names)}
    mapped = np.array([place.get(name, -1) for name in texts], dtype="<i4")
    for column, index in indices.items():
        records[column] = mapped[index]
    return ClaimHistory(names, records)
