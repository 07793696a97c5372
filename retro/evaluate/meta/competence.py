"""How many decisions it took until an agent's forecasts were mostly right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from retro.evaluate.claims.record import ClaimHistory
    from retro.kernels.uncertainty import Integers

__all__ = ["TRAILING", "Competence", "competence_of"]

TRAILING: Final = 100
"""How many of the newest judged predictions speak."""
_LEAST: Final = 50
_RIGHT_OF_TEN: Final = 7


@dataclass(frozen=True, slots=True)
class Competence:
    """The first decision before which the trailing judged predictions were right often enough: which one, and when."""

    decisions: int
    at: int


def competence_of(decided_at: Integers, claims: ClaimHistory) -> Competence | None:
    """The first decision at which 70 % of the trailing 100 judged predictions (50 at least) were right; None: never yet.

    `decided_at` are the instants of all decisions, ascending; predictions count that had resolved before it.
    """
    judged = claims.records[~np.isnan(claims.records["verdict"])]
    resolved = np.searchsorted(judged["resolved_at"], decided_at, "left")
    right = np.concatenate([[0], np.cumsum(judged["verdict"] == 1)])
    trailing = np.minimum(resolved, TRAILING)
    hits = right[resolved] - right[resolved - trailing]
    able = np.flatnonzero((trailing >= _LEAST) & (10 * hits >= _RIGHT_OF_TEN * trailing))
    return Competence(int(able[0]) + 1, int(decided_at[able[0]])) if len(able) else None
