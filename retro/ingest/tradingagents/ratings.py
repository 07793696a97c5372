"""The five ratings of TradingAgents, and how one is read out of a decision's prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from retro.model import Action

__all__ = ["ACTIONS", "DIRECTIONS", "rating_in"]

ACTIONS: Final[dict[str, Action]] = {
    "Buy": "enter",
    "Overweight": "enter",
    "Hold": "skip",
    "Underweight": "reduce",
    "Sell": "exit",
}
"""A rating -> our action; every other word is counted and left out."""

DIRECTIONS: Final = {"Buy": 1, "Overweight": 1, "Hold": 0, "Underweight": -1, "Sell": -1}
"""Which way a rating says the price will go."""

_LABEL: Final = re.compile(
    r"rating\W{0,12}[:\-]?[\s*\"']{0,6}(buy|overweight|hold|underweight|sell)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"\b(buy|overweight|hold|underweight|sell)\b", re.IGNORECASE)


def rating_in(prose: str) -> str | None:
    """The rating a decision states: after the word rating, else the last of the five words; None where none stands."""
    if match := _LABEL.search(prose):
        return match[1].capitalize()
    words = _WORD.findall(prose)
    return words[-1].capitalize() if words else None
