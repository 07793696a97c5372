"""What an item is worth before any decision has named it: the sum of what its teller states of five parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from memory.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

IMPORTANCE_PARTS: Final = "importance_parts"
"""The metadata in which an item states what its content is worth."""
PARTS: Final = {"market_impact": 30.0, "novelty": 25.0, "relevance": 20.0, "source": 15.0, "urgency": 10.0}
"""Each part and the most it may state; together 100."""
MID_FROM: Final = 55.0
LONG_FROM: Final = 85.0


def content_importance(parts: Mapping[str, object]) -> float | None:
    """The sum of the stated parts, 0 to 100, in the order of `PARTS`; None where none is stated.

    A part that is not stated adds nothing. Raises `RefusedError` for a strange part, or one outside 0 to its most.
    """
    strangers = sorted(set(parts) - set(PARTS))
    if strangers:
        raise RefusedError(f"{strangers[0]}: parts of importance are {', '.join(PARTS)}")
    total = None
    for name, most in PARTS.items():
        value = parts.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise RefusedError(f"{name}: must be a number from 0 to {most:g}")
        total = (total or 0.0) + float(value)
    return total


def stated_importance(metadata: Mapping[str, object]) -> float | None:
    """What an item is worth by its own word; None for one that says nothing, or nonsense, which must not keep others."""
    parts = metadata.get(IMPORTANCE_PARTS)
    try:
        return content_importance(parts) if isinstance(parts, dict) else None
    except RefusedError:
        return None


def layer_of_importance(importance: float) -> str:
    """Where an item of this content importance begins: short, from 55 on mid, from 85 on long."""
    if not math.isfinite(importance):
        raise RefusedError("importance must be finite")
    if importance >= LONG_FROM:
        return "long"
    return "mid" if importance >= MID_FROM else "short"
