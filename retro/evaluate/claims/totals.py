"""How an agent's claims stand at an instant, key by key: what everything that had resolved by then adds up to.

The fold of a life's claims, in the order in which they resolved. Those of two stretches are that of both, to the last
bit: sums are kept exactly (`exact_parts`), so that a review adds its own days to what stood before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, isnan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retro.evaluate.claims.fold import is_sample
from retro.evaluate.claims.record import ClaimKey
from retro.kernels.evaluators import calibration, residuals
from retro.kernels.sums import exact_parts
from retro.report.evaluators.claims import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory
    from retro.kernels.evaluators.calibration import ReliabilityBins
    from retro.kernels.evaluators.residuals import Correction
    from retro.kernels.terms import RingTerms
    from retro.kernels.uncertainty import Floats

__all__ = ["ClaimTotals", "ConfidenceBins", "KeyTotals", "SumOf", "TierKey", "totals_of"]

TierKey = tuple[str, str, int]
"""Category, difficulty ("" where none was told) and number of the tier."""


@dataclass(frozen=True, slots=True)
class SumOf:
    """`n` amounts and their exact sum, as floats that do not overlap."""

    n: int = 0
    parts: tuple[float, ...] = ()

    @classmethod
    def of(cls, amounts: Sequence[float]) -> SumOf:
        """The sum of amounts (n,)."""
        return cls(len(amounts), exact_parts(amounts))

    def plus(self, other: SumOf) -> SumOf:
        """Both together."""
        return SumOf(self.n + other.n, exact_parts([*self.parts, *other.parts]))

    @property
    def total(self) -> float:
        """The sum, rounded once."""
        return self.parts[0] if self.parts else 0.0

    @property
    def mean(self) -> float | None:
        """None of none."""
        return self.total / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class ConfidenceBins:
    """Confidences of samples by bin: their sum, and how many came true."""

    bins: Mapping[int, tuple[SumOf, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, confidence: Floats, right: Floats) -> ConfidenceBins:
        """The bins of samples (n,)."""
        rows = zip(calibration.bin_of(confidence).tolist(), confidence.tolist(), right.tolist(), strict=True)
        return cls.of_rows(rows)

    @classmethod
    def of_rows(cls, samples: Iterable[tuple[int, float, float]]) -> ConfidenceBins:
        """The bins of samples, each with its bin, its confidence and 1 if it was right."""
        bins: dict[int, list[float]] = {}
        hits: dict[int, float] = {}
        for k, value, hit in samples:
            bins.setdefault(k, []).append(value)
            hits[k] = hits.get(k, 0) + hit
        return cls(
            {k: (SumOf(len(values), exact_parts(values)), int(hits[k])) for k, values in sorted(bins.items())}
        )

    def plus(self, other: ConfidenceBins) -> ConfidenceBins:
        """Both together."""
        return ConfidenceBins(_together(self.bins, other.bins, lambda a, b: (a[0].plus(b[0]), a[1] + b[1])))

    @property
    def n(self) -> int:
        """Samples."""
        return sum(stated.n for stated, _ in self.bins.values())

    @property
    def right(self) -> int:
        """How many came true."""
        return sum(right for _, right in self.bins.values())

    @property
    def ece(self) -> float | None:
        """As the kernel makes it of the samples; None of none."""
        gaps = [
            abs(right / stated.n - stated.total / stated.n) * stated.n for stated, right in self.bins.values()
        ]
        return fsum(gaps) / self.n if gaps else None

    def reliability(self) -> ReliabilityBins:
        """As the kernel makes it of the samples."""
        rows = sorted(self.bins.items())
        return calibration.ReliabilityBins(
            np.array([k for k, _ in rows], dtype=np.int64),
            np.array([stated.n for _, (stated, _) in rows], dtype=np.int64),
            np.array([stated.mean for _, (stated, _) in rows], dtype=np.float64),
            np.array([right for _, (_, right) in rows], dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class KeyTotals:
    """Of one category and regime: `n` claims, of which `judged` could be right or wrong.

    `errors` are the sizes of the residuals, as predicted and after the correction that was in force; `ring` the newest
    residuals, oldest first. `stated` are the confidences of samples, `worth` what those were worth that had a curve.
    """

    n: int = 0
    judged: int = 0
    right: int = 0
    errors: SumOf = SumOf()
    corrected: SumOf = SumOf()
    ring: tuple[float, ...] = ()
    stated: ConfidenceBins = ConfidenceBins()
    worth: ConfidenceBins = ConfidenceBins()

    def plus(self, later: KeyTotals, ring: int) -> KeyTotals:
        """Both stretches, `later` the one that follows; `ring` residuals are kept."""
        return KeyTotals(
            self.n + later.n,
            self.judged + later.judged,
            self.right + later.right,
            self.errors.plus(later.errors),
            self.corrected.plus(later.corrected),
            (*self.ring, *later.ring)[-ring:] if ring else (),
            self.stated.plus(later.stated),
            self.worth.plus(later.worth),
        )

    @property
    def accuracy(self) -> float | None:
        """The share of the judged that was right."""
        return self.right / self.judged if self.judged else None

    def correction(self, terms: RingTerms) -> Correction:
        """What the ring says of the next prediction."""
        return residuals.correction(self.ring, terms)


@dataclass(frozen=True, slots=True)
class ClaimTotals:
    """Every key at one instant, and the judged claims of decisions by category, difficulty and tier: (right, n)."""

    keys: Mapping[ClaimKey, KeyTotals] = field(default_factory=dict)
    tiers: Mapping[TierKey, tuple[int, int]] = field(default_factory=dict)

    def plus(self, later: ClaimTotals, ring: int) -> ClaimTotals:
        """Both stretches, `later` the one that follows; `ring` residuals of a key are kept."""
        return ClaimTotals(
            _together(self.keys, later.keys, lambda a, b: a.plus(b, ring)),
            _together(self.tiers, later.tiers, lambda a, b: (a[0] + b[0], a[1] + b[1])),
        )

    def ordered(self) -> list[tuple[ClaimKey, KeyTotals]]:
        """The keys by category and regime, the pooled one of a category first."""
        return sorted(
            self.keys.items(), key=lambda row: (row[0].category, row[0].regime != ANY, row[0].regime)
        )

    def of(self, key: ClaimKey) -> KeyTotals:
        """One key; of none that resolved, an empty one."""
        return self.keys.get(key, _NONE)

    def to_json(self) -> list[Any]:
        """Lists of lists, by key: the same bytes of the same claims."""
        keys = [
            [
                key.category,
                key.regime,
                *(row.n, row.judged, row.right, _spelled(row.errors), _spelled(row.corrected), row.ring),
                *(_bins_spelled(row.stated), _bins_spelled(row.worth)),
            ]
            for key, row in self.ordered()
        ]
        return [keys, [[*key, *counts] for key, counts in sorted(self.tiers.items())]]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> ClaimTotals:
        """What `to_json` made."""
        keys, tiers = data
        return cls(
            {
                ClaimKey(category, regime): KeyTotals(
                    *(n, judged, right, _read(errors), _read(corrected), tuple(ring)),
                    *(_bins_read(stated), _bins_read(worth)),
                )
                for category, regime, n, judged, right, errors, corrected, ring, stated, worth in keys
            },
            {(category, difficulty, tier): (right, n) for category, difficulty, tier, right, n in tiers},
        )


_NONE: Final = KeyTotals()


def totals_of(claims: ClaimHistory, ring: int) -> ClaimTotals:
    """What the claims of a stretch come to."""
    columns = _Columns.of(claims.records)
    return ClaimTotals(
        {key: columns.totals(places.tolist(), ring) for key, places in claims.places()}, _tier_counts(claims)
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Claims (n,) as lists, reckoned once for all keys that they count in; None where a claim has no such figure."""

    verdict: list[float]
    residual: list[float]
    corrected: list[float]
    stated: list[tuple[int, float, float] | None]
    worth: list[tuple[int, float, float] | None]

    @classmethod
    def of(cls, records: NDArray[Any]) -> _Columns:
        """Those of records (n,) of `CLAIM`."""
        residual, sample = records["actual"] - records["predicted"], is_sample(records)
        right = records["verdict"].tolist()
        return cls(
            right,
            residual.tolist(),
            np.abs(residual - records["bias"]).tolist(),
            _samples(records["confidence"], right, sample),
            _samples(records["worth"], right, sample & ~np.isnan(records["worth"])),
        )

    def totals(self, places: Sequence[int], ring: int) -> KeyTotals:
        """What the claims at these places come to."""
        verdicts = [self.verdict[i] for i in places]
        residuals = [x for i in places if not isnan(x := self.residual[i])]
        corrected = [x for i in places if not isnan(x := self.corrected[i])]
        return KeyTotals(
            n=len(places),
            judged=len(verdicts) - sum(map(isnan, verdicts)),
            right=verdicts.count(1.0),
            errors=SumOf.of([abs(x) for x in residuals]),
            corrected=SumOf.of(corrected),
            ring=tuple(residuals[-ring:]) if ring else (),
            stated=ConfidenceBins.of_rows(row for i in places if (row := self.stated[i]) is not None),
            worth=ConfidenceBins.of_rows(row for i in places if (row := self.worth[i]) is not None),
        )


def _samples(
    confidence: Floats, right: Sequence[float], counts: NDArray[np.bool_]
) -> list[tuple[int, float, float] | None]:
    """The bin and the confidence of each claim that counts as a sample, and whether it was right."""
    rows: list[tuple[int, float, float] | None] = [None] * len(right)
    places, values = np.flatnonzero(counts).tolist(), confidence[counts]
    for place, k, value in zip(places, calibration.bin_of(values).tolist(), values.tolist(), strict=True):
        rows[place] = k, value, right[place]
    return rows


def _tier_counts(claims: ClaimHistory) -> dict[TierKey, tuple[int, int]]:
    """The judged claims of each category, difficulty and tier."""
    records = claims.records[~np.isnan(claims.records["verdict"]) & (claims.records["tier"] >= 0)]
    counts: dict[TierKey, tuple[int, int]] = {}
    columns = (records[name].tolist() for name in ("category", "difficulty", "tier", "verdict"))
    for category, difficulty, tier, verdict in zip(*columns, strict=True):
        key = claims.names[category], claims.names[difficulty], tier
        right, n = counts.get(key, (0, 0))
        counts[key] = right + int(verdict), n + 1
    return counts


def _together(first: Mapping[Any, Any], later: Mapping[Any, Any], add: Any) -> dict[Any, Any]:
    """Both mappings, what both hold added."""
    out = dict(first)
    for key, value in later.items():
        out[key] = add(out[key], value) if key in out else value
    return out


def _spelled(row: SumOf) -> list[float]:
    return [row.n, *row.parts]


def _read(data: Iterable[float]) -> SumOf:
    n, *parts = data
    return SumOf(int(n), tuple(parts))


def _bins_spelled(bins: ConfidenceBins) -> list[list[float]]:
    return [[k, right, *_spelled(stated)] for k, (stated, right) in sorted(bins.bins.items())]


def _bins_read(data: Iterable[Sequence[float]]) -> ConfidenceBins:
    return ConfidenceBins({int(k): (_read(stated), int(right)) for k, right, *stated in data})
