"""When an agent should look back, and what code writes then where no model words it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memory.errors import RefusedError
from memory.instants import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

EVERY: Final = 30 * DAY
LARGEST_LOSS: Final = 0.05
LOSS_OVER: Final = 7 * DAY
SAME_FROM: Final = 0.95
"""From this similarity on a reflection on one symbol is not stored again: its date is added."""
LEAST_CONSISTENCY: Final = 0.3
_BY_SIMILARITY: Final = 0.7


@dataclass(frozen=True, slots=True)
class ReflectionFacts:
    """What decides at `at` whether a reflection is due; what is not known is None and asks for nothing.

    `since`: when the agent last reflected on this symbol, or began with it. `week_return`: what the last 7 days did to
    its equity, as a share. `strategies`, `regimes`: those of its newest decision and of the one before.
    """

    at: int
    since: int | None = None
    week_return: float | None = None
    strategies: tuple[str | None, str | None] = (None, None)
    regimes: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class ReflectionTrigger:
    """Why a reflection is asked for: `kind` is days, loss, strategy or regime; `words` say it with its figures."""

    kind: str
    words: str


def reflection_triggers(facts: ReflectionFacts) -> tuple[ReflectionTrigger, ...]:
    """Every reason there is, in a fixed order; none: no reflection is due."""
    triggers = []
    if facts.since is not None and facts.at - facts.since >= EVERY:
        days = (facts.at - facts.since) // DAY
        triggers.append(ReflectionTrigger("days", f"{days} days have passed without a reflection"))
    if facts.week_return is not None and facts.week_return < -LARGEST_LOSS:
        triggers.append(ReflectionTrigger("loss", f"the last 7 days lost {-facts.week_return:.1%} of equity"))
    for kind, (now, before) in (("strategy", facts.strategies), ("regime", facts.regimes)):
        if now is not None and before is not None and now != before:
            triggers.append(ReflectionTrigger(kind, f"the {kind} changed from {before} to {now}"))
    return tuple(triggers)


@dataclass(frozen=True, slots=True)
class Consistency:
    """How a new decision fits what was recalled for it, 0 to 1; None, with the `reason`, where nobody can say.

    `asks`: whether it is below .3, which asks for a reflection.
    """

    value: float | None
    similarity: float | None
    agreement: float | None
    asks: bool
    reason: str | None = None


def consistency(similarity: Sequence[float], outcomes: Sequence[int | None], expected: int) -> Consistency:
    """.7 times the mean similarity of what was recalled, plus .3 times the share of its outcomes that agree.

    `outcomes`: of each recalled item the sign of what came of it, 1 or -1, 0 or None where nothing is known.
    `expected`: the sign the decision reckons with, 1 for one that enters or adds, -1 for one that stays away.
    A similarity below 0 counts 0.
    """
    if len(similarity) != len(outcomes) or expected not in (1, -1):
        raise RefusedError(
            "consistency takes an outcome for each similarity, and an expected sign of 1 or -1"
        )
    if not similarity:
        return Consistency(None, None, None, asks=False, reason="nothing was recalled")
    near = sum(min(max(value, 0.0), 1.0) for value in similarity) / len(similarity)
    signs = [sign for sign in outcomes if sign]
    if not signs:
        return Consistency(None, near, None, asks=False, reason="no outcome of what was recalled is known")
    agreement = sum(sign == expected for sign in signs) / len(signs)
    value = _BY_SIMILARITY * near + (1 - _BY_SIMILARITY) * agreement
    return Consistency(value, near, agreement, asks=value < LEAST_CONSISTENCY)
