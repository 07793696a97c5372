"""The report on an agent's learning: its last complete week, its rules' lives, its competence, its generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.figures import percent
from retro.periods import format_instant
from retro.report.evaluators.learning import (
    Generations,
    LearningGroups,
    LearningReport,
    SurvivingShare,
    TimeToCompetence,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playbook import Playbook
    from retro.evaluate.meta.competence import Competence
    from retro.evaluate.meta.progress import LearningFacts, Progress
    from retro.evaluate.terms import AgeingTerms
    from retro.kernels.evaluators.survival import SurvivalCurve
    from retro.periods import Period

__all__ = [
    "Heritage",
    "absent_groups",
    "generations",
    "heritage_of",
    "learning_report",
    "time_of",
]

_NO_GROUP: Final = {
    "corrector": "no category has predictions with a correction, or 30 samples of confidence, in both weeks",
    "memory": "no decision that turned out had recalled episodes before it in both weeks",
    "attention": "no decision that cited something turned out in both weeks",
    "heuristics": "no rule that was active had an outcome by the end of both weeks",
    "generations": "no predecessor is configured, or one of the two was not yet competent",
}


def learning_report(
    progress: Progress,
    facts: LearningFacts,
    week: Period | None,
    terms: AgeingTerms,
    *,
    now: int,
    effectiveness: float | None,
    descent: Generations | None = None,
    reasons: Mapping[str, str] | None = None,
) -> LearningReport:
    """`week` is the last complete one, `effectiveness` its review's score; `reasons` say what of the lives is unknown."""
    why = dict(reasons or {})
    groups = LearningGroups(corrector=None, memory=None, attention=None, heuristics=None, generations=None)
    score, run = None, 0
    if not terms.enabled:
        why["score"] = "[retrospective] meta_learning_enabled is false"
    elif week is None:
        why["score"] = why["week"] = "no week is over yet"
    else:
        groups, score = progress.groups(week), progress.score(week)
        run = progress.negative_weeks(week)
        absent = absent_groups(groups)
        why |= absent
        if score is None:
            why["score"] = f"insufficient: {5 - len(absent)} of 3 groups known in both weeks"
    if effectiveness is None:
        why["epistemic_multiplier"] = "the week has no effectiveness score"
    curve = facts.lives.survival(now)
    if curve.half_life is None:
        why["half_life_days"] = _unbroken(facts, curve, now)
    if facts.competence is None:
        why["competence"] = "never yet: 70 % of the trailing 100 judged predictions, 50 at least"
    if descent is None:
        why["generations"] = "no [agent] predecessor is configured"
    return LearningReport(
        week=None if week is None else week.key,
        score=score,
        groups=groups,
        negative_weeks=run,
        ageing_multiplier=terms.multiplier(run),
        epistemic_multiplier=1.0 if effectiveness is None else 0.5 + 0.5 * effectiveness,
        half_life_days=curve.half_life,
        survival=[
            SurvivingShare(days=days, share=share)
            for days, share in zip(curve.age.tolist(), curve.share.tolist(), strict=True)
        ],
        competence=time_of(facts.competence),
        generations=descent,
        reasons=why,
    )


def absent_groups(groups: LearningGroups) -> dict[str, str]:
    """Why each group is null that is, as the reasons of a document have it."""
    return {f"groups.{name}": _NO_GROUP[name] for name, delta in groups if delta is None}


def time_of(competence: Competence | None) -> TimeToCompetence:
    """As documents say it."""
    if competence is None:
        return TimeToCompetence(decisions=None, at=None)
    return TimeToCompetence(decisions=competence.decisions, at=format_instant(competence.at))


def _unbroken(facts: LearningFacts, curve: SurvivalCurve, now: int) -> str:
    born = sum(life.born_at <= now for life in facts.lives.lives)
    if not born:
        return "no rule was ever active that anybody knows of"
    share = float(curve.share[-1]) if len(curve.share) else 1.0
    return f"more than half live on: {percent(share)} of {born} survive, {facts.lives.deaths(now)} died"


@dataclass(frozen=True, slots=True)
class Heritage:
    """The rules of a playbook as (id, text): all it ever held, and those that stand and are neither demoted nor retired."""

    ever: frozenset[tuple[str, str]] = frozenset()
    standing: frozenset[tuple[str, str]] = frozenset()


def heritage_of(*books: Playbook | None) -> Heritage:
    """The rules of a playbook's versions, the newest last."""
    known = [book for book in books if book is not None]
    newest = known[-1].heuristics if known else ()
    return Heritage(
        frozenset((rule.id, rule.text) for book in known for rule in book.heuristics),
        frozenset((rule.id, rule.text) for rule in newest if rule.status in {"active", "candidate"}),
    )


def generations(
    predecessor: str,
    own: Competence | None,
    other: Competence | None,
    rules: Heritage,
    inherited_from: Heritage,
) -> Generations:
    """An agent beside its predecessor."""
    inherited = rules.ever & inherited_from.ever
    reasons = {
        name: "never yet competent"
        for name, competence in (("decisions", own), ("predecessor_decisions", other))
        if competence is None
    }
    if reasons:
        reasons["ratio"] = "one of the two was never yet competent"
    if not inherited_from.ever:
        reasons["inherited"] = f"no playbook of {predecessor} is configured, or it holds no rule"
    return Generations(
        predecessor=predecessor,
        decisions=None if own is None else own.decisions,
        predecessor_decisions=None if other is None else other.decisions,
        ratio=None if own is None or other is None else own.decisions / other.decisions,
        inherited=len(inherited),
        kept=len(inherited & rules.standing),
        reasons=reasons,
    )
