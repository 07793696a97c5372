"""What kernels judge by. Without arrays: whoever only reads what was judged loads none."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RingTerms", "Thresholds"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a heuristic is judged and how: outcomes needed, and averages in the unit of the outcomes."""

    min_citations: int = 3
    demote: float = -1.0
    investigate: float = 0.5


@dataclass(frozen=True, slots=True)
class RingTerms:
    """How many of the newest residuals speak, from how many on, and the coverage that the interval is made for."""

    size: int = 200
    minimum: int = 30
    quantile: float = 0.9
