"""How far evidence moves a confidence.

A confidence is read as the probability that following the heuristic wins. The stated one is worth ten citations:
a Beta prior of that mean and strength 10, updated by the resolved citations. Ten, because fewer would let one week
overturn what a person wrote, and more would keep a rule that lost fourteen times of fifteen above one half.
"""

from __future__ import annotations

__all__ = ["CANDIDATE", "STEP", "STRENGTH", "posterior"]

CANDIDATE = 0.35  # what a new heuristic starts with
STRENGTH = 10.0
STEP = 0.05  # smaller moves are not worth an owner's attention


def posterior(prior: float, wins: int, resolved: int, *, strength: float = STRENGTH) -> float:
    """Mean of Beta(prior * strength + wins, (1 - prior) * strength + losses), to two digits; `prior` without citations.

    `prior` is the confidence stated *before* the citations counted here, in 0..1; using one that these very citations
    have moved already would count them twice. Source: the conjugate update of a binomial rate.
    """
    if not 0 <= wins <= resolved or not 0 <= prior <= 1:
        raise ValueError(f"need 0 <= wins <= resolved and a prior in 0..1, not {wins}, {resolved}, {prior}")
    return round((prior * strength + wins) / (strength + resolved), 2)
