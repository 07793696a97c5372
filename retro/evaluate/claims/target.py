"""What instant a prediction speaks of. Without arrays: a calendar of what is due loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.periods import parse_instant

if TYPE_CHECKING:
    from retro.model import Prediction

__all__ = ["target_of"]


def target_of(prediction: Prediction) -> int | None:
    """The instant that a prediction speaks of, in microseconds, however it was told; None where it names none."""
    target = prediction.target_at
    if isinstance(target, str):
        return parse_instant(target)
    return None if target is None else target * 1000
