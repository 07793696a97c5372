"""Whether an agent is still learning, week by week, and how long its rules live."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["Generations", "LearningGroups", "LearningReport", "SurvivingShare", "TimeToCompetence"]


class LearningGroups(Document):
    """This week against the one before, each from -1 (much worse) to 1 (much better)."""

    corrector: float | None = Field(description="error after correction, and of the confidence in use")
    memory: float | None = Field(
        description="share of recalled episodes that the decision's outcome agreed with"
    )
    attention: float | None = Field(description="share of good decisions among those that cited something")
    heuristics: float | None = Field(description="share of active rules that earn, and their half-life")
    generations: float | None = Field(description="decisions to competence against the predecessor's")


class SurvivingShare(Document):
    """The share of rules that outlived an age at which one died."""

    days: float
    share: float


class TimeToCompetence(Document):
    """The first decision at which 70 % of the trailing 100 judged predictions, 50 at least, had been right."""

    decisions: int | None = Field(description="all decisions up to and including it")
    at: str | None


class Generations(Document):
    """An agent beside the one it came after."""

    predecessor: str
    decisions: int | None = Field(description="its own to competence")
    predecessor_decisions: int | None
    ratio: float | None = Field(description="its own to the predecessor's: below 1 it learned faster")
    inherited: int = Field(description="rules of the predecessor's playbook with the same id and text")
    kept: int = Field(description="of these, how many still stand and are neither demoted nor retired")
    reasons: Reasons = Field(default={})


class LearningReport(Document):
    """A score of the last complete week, and what the life so far says; numbers for the agent to read."""

    week: str | None
    score: float | None = Field(description="mean of the groups, from three on; above 0 it learns")
    groups: LearningGroups
    negative_weeks: int = Field(description="the trailing run of scores below 0")
    ageing_multiplier: float
    epistemic_multiplier: float = Field(description="0.5 + 0.5 x the effectiveness score; 1 without one")
    half_life_days: float | None = Field(description="the age that at most half of the rules outlive")
    survival: list[SurvivingShare]
    competence: TimeToCompetence
    generations: Generations | None
    reasons: Reasons = Field(default={})
