"""Why a memory was recalled, in one line of words. No text an agent wrote goes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.instants import DAY
from memory.situation.context import likeness, stated_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.episodic.episode import Episode
    from memory.experience.markers import Marker
    from memory.insight.belief import Belief
    from memory.planning.plan import PlanStatus
    from memory.situation.context import Context, Registry

_NEAR = 0.75
_FAR = 0.25


def episode_reason(
    episode: Episode,
    components: Mapping[str, float],
    context: Context,
    as_of: int,
    marks: Sequence[Marker],
    registry: Registry,
) -> str:
    """Outcome, what is alike and unlike, age, and what raised it."""
    parts = [
        f"{_outcome(episode)} {_age(as_of - episode.at)}",
        _likeness(episode, components, context, registry),
    ]
    if components["boost"] > 1:
        parts.append("a review has since judged it")
    parts.extend(
        "it felt better than it was" if mark.outcome == "Regret" else "its exit came too late or too early"
        for mark in marks
    )
    if components["Aff"] > 1:
        parts.append("the present state raises it")
    return "; ".join(parts)


def _outcome(episode: Episode) -> str:
    result = episode.result
    if result is None:
        return "no outcome"
    verb = "won" if result > 0 else "lost" if result < 0 else "neither won nor lost"
    if result == 0:
        return verb
    return f"{verb} {abs(result):.2f} R" if episode.pnl_r is not None else f"{verb} {abs(result):.2f}"


def _age(micros: int) -> str:
    days = micros / DAY
    if days < 1:
        return "less than a day before"
    return f"{days:.0f} day{'s' if round(days) != 1 else ''} before"


def _likeness(episode: Episode, components: Mapping[str, float], context: Context, registry: Registry) -> str:
    stated = [field for _, field, _ in stated_fields(registry, context)]
    if not stated:
        return "nothing is known of the present situation"
    near, far = [], []
    for field in stated:
        share = likeness(field, context[field.name], episode.context.get(field.name))
        if share >= _NEAR:
            near.append(field.name)
        elif share <= _FAR:
            far.append(field.name)
    words = f"{components['Sim']:.0%} alike"
    if near:
        words += f": near in {_listed(near)}"
    if far:
        words += f"{',' if near else ':'} far or unknown in {_listed(far)}"
    return words


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def belief_reason(belief: Belief, share: float, factor: float) -> str:
    """How often, on how much evidence, and whether its conditions hold."""
    holds = "its conditions hold" if share == 1 else f"{share:.0%} of its conditions hold"
    regime = {1.0: "", 0.3: "; held in another regime", 0.6: "; the present regime is unknown"}[factor]
    worth = "" if belief.mean_r is None else f", {belief.mean_r:+.2f} R each"
    return f"{belief.source} belief: {belief.words}{worth}; {holds}{regime}{_since_noticed(belief)}"


def _since_noticed(belief: Belief) -> str:
    """What came after an induced belief was noticed: the episodes it was made of cannot bear it out."""
    after = belief.confirmed_after + belief.contradicted_after
    if belief.source != "induced":
        return ""
    return (
        f"; {belief.confirmed_after} of the {after} since it was noticed bear it out"
        if after
        else "; not tested since"
    )


def plan_reason(standing: PlanStatus, share: float, unevaluable: int) -> str:
    """Whether its trigger is met."""
    met = "its trigger is met" if share == 1 else f"{share:.0%} of its trigger is met"
    unknown = f"; {unevaluable} of its fields are not known" if unevaluable else ""
    return f"{standing.status} plan, priority {standing.plan.priority:.2f}; {met}{unknown}"
