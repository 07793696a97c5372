"""What judges rest on that an owner sets. Without arrays: whoever only reads what was judged loads none."""

from __future__ import annotations

from dataclasses import dataclass, field

from retro.kernels.terms import RingTerms

__all__ = ["AgeingTerms", "ClaimTerms", "FitTerms", "ShadowTerms", "TierTerms"]


@dataclass(frozen=True, slots=True)
class FitTerms:
    """The first fit comes at `minimum` samples, the next after each `interval` more, which it leaves out."""

    minimum: int = 30
    interval: int = 50

    def samples(self, resolved: int) -> int:
        """How many of the first samples the curve in force rests on, once so many are known; 0: no curve yet."""
        if resolved < self.minimum:
            return 0
        fitted = self.minimum + (resolved - self.minimum) // self.interval * self.interval
        return self.minimum if fitted == self.minimum else fitted - self.interval


@dataclass(frozen=True, slots=True)
class ClaimTerms:
    """What correction and calibration rest on."""

    ring: RingTerms = field(default_factory=RingTerms)
    fits: FitTerms = field(default_factory=FitTerms)


@dataclass(frozen=True, slots=True)
class TierTerms:
    """When tiers are compared, which ratio suggests a shift, and what one point of accuracy is worth a prediction."""

    least: int = 20
    ratio: float = 1.5
    dollars_per_point: float | None = None


@dataclass(frozen=True, slots=True)
class AgeingTerms:
    """Whether weeks are scored at all, from which negative week on ageing speeds up, and by how much a week."""

    enabled: bool = True
    negative_weeks: int = 2
    acceleration: float = 0.10

    def multiplier(self, run: int) -> float:
        """1, and from the given run of negative weeks on faster with each."""
        return 1.0 if run < self.negative_weeks else 1 + self.acceleration * max(0, run - 1)


@dataclass(frozen=True, slots=True)
class ShadowTerms:
    """When a shadow is judged, in days, and by how much it has to be better to be promoted."""

    min_days: int = 7
    promote_at: float = 0.10
