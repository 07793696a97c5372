"""What an owner may set about the memory; everything has a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memory.errors import RefusedError
from memory.situation.context import DEFAULT, LARGEST, Registry


@dataclass(frozen=True, slots=True)
class Settings:
    """The owner's choices.

    `registry`: the fields of a situation. `capital`: what the agent began with, in its money; without it drawdown,
    risk appetite and size against Kelly are absent. `drawdown_limit`: the drawdown at which risk appetite is least.
    `sharpe_weight`: multiply recall scores by the trailing Sharpe weight. `usual_outcomes`: markers count in the usual size
    of the agent's own outcomes, once it is known, instead of in the unit of the reviews.
    """

    registry: Registry = DEFAULT
    capital: float | None = None
    drawdown_limit: float = 0.20
    sharpe_weight: bool = False
    usual_outcomes: bool = False

    def __post_init__(self) -> None:
        if self.capital is not None and not 0 < self.capital <= LARGEST:
            raise RefusedError("capital must be above 0")
        if not 0 < self.drawdown_limit <= 1:
            raise RefusedError("drawdown_limit must lie above 0 and at most 1")


STANDARD: Final = Settings()
"""The settings of an owner who set nothing."""
