"""Kin of an open position: finished lives that the memory says began like it, and how those ended. Never a forecast."""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, Final

from retro.app.questions.recall import RecallQuestion, recall
from retro.kernels.special import t_quantile
from retro.model import Decision
from retro.report.open_positions import KinLife, PositionKin
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory import Hit
    from retro.app.questions.experience import Experience
    from retro.report.overviews import PositionOverview

__all__ = ["kin_of"]

_K: Final = 10
_LEAST: Final = 5
_UNLIKE: Final = "its entry states no situation that finished lives could be like"
_NONE: Final = "the memory has no finished life like it"


def kin_of(experience: Experience, row: PositionOverview, as_of: int | None = None) -> PositionKin:
    """The ten finished lives most like the situation at its entry; of those the mean result and its interval."""
    with experience.reading() as conn:
        facts = events.of_positions(conn, row.agent, [row.name], until=as_of)
    entries = sorted(
        (fact for fact in facts if isinstance(fact, Decision) and fact.context),
        key=lambda fact: (fact.at, fact.id),
    )
    if not entries:
        return _summed([], _UNLIKE)
    context = entries[0].context or {}
    # by what came of them the best would be chosen, and their mean would say nothing of this one
    question = RecallQuestion(agent=row.agent, as_of=as_of, context=context, k=_K, by_likeness=True)
    hits = [hit for hit in recall(experience, question) if hit.id != row.name]
    return _summed(hits, _NONE)


def _summed(hits: Sequence[Hit], why: str) -> PositionKin:
    lives = [
        KinLife(
            position=hit.id,
            likeness=hit.components["Sim"],
            pnl=float(hit.memory["pnl"]),
            exit_reason=hit.memory.get("exit_reason"),
        )
        for hit in hits
        if hit.memory.get("pnl") is not None
    ]
    made = [life.pnl for life in lives]
    mean, width = fsum(made) / len(made) if made else None, _half_width(made)
    reasons = {} if made else {"mean": why, "gained": why}
    if width is None:
        reasons |= dict.fromkeys(("low", "high"), why if not made else f"fewer than {_LEAST} lives")
    return PositionKin(
        n=len(lives),
        mean=mean,
        low=None if width is None or mean is None else mean - width,
        high=None if width is None or mean is None else mean + width,
        gained=sum(pnl > 0 for pnl in made) if made else None,
        lives=lives,
        reasons=reasons,
    )


def _half_width(made: Sequence[float]) -> float | None:
    """Half of Student's 95 % interval of the mean; None of fewer than five lives."""
    n = len(made)
    if n < _LEAST:
        return None
    mean = fsum(made) / n
    variance = fsum((pnl - mean) ** 2 for pnl in made) / (n - 1)
    return float(t_quantile(0.975, n - 1)) * sqrt(variance / n)
