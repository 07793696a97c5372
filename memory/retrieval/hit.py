"""What a recall returns, whatever kind of memory it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Filters:
    """What a recall is limited to; None: everything."""

    strategy: str | None = None
    symbol: str | None = None
    direction: str | None = None
    regime: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory recalled: `score` is the product of `components`, `memory` is JSON-ready.

    `amended`: a review has judged it by then. `lost`: it is an episode that lost.
    """

    id: str
    type: str
    score: float
    components: dict[str, float]
    reason: str
    amended: bool
    memory: dict[str, Any]
    at: int
    lost: bool = False

    def document(self) -> dict[str, Any]:
        """The JSON object that recall answers with."""
        names = ("id", "type", "score", "components", "reason", "amended", "memory")
        return {name: getattr(self, name) for name in names}
