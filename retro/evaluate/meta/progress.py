"""This week against the one before in five groups, and the run of weeks in which an agent got worse."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from retro.evaluate.claims.confidence import ALARM_FROM, in_use
from retro.evaluate.claims.fold import is_sample
from retro.evaluate.meta.rule_lives import RuleLives
from retro.periods import period_before
from retro.report.evaluators.learning import LearningGroups

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory
    from retro.evaluate.meta.competence import Competence
    from retro.evaluate.meta.earnings import RuleEarnings
    from retro.periods import Period

__all__ = [
    "LearningFacts",
    "Progress",
    "WeekSource",
    "WeekStanding",
    "WeighedDecision",
    "week_errors",
    "week_standing",
]

_LEAST_GROUPS: Final = 3
_SMALLEST: Final = 1e-9


class WeighedDecision(NamedTuple):
    """A decision that has turned out: when, how well (above 0: well), and whether it cited anything.

    Of the episodes that it `recalled`, so many `agreed`: they had ended as it did.
    """

    resolved_at: int
    signal: float
    cites: bool
    recalled: int = 0
    agreed: int = 0


@dataclass(frozen=True, slots=True)
class LearningFacts:
    """What of a life says whether it learns, all of it known at one instant."""

    claims: ClaimHistory
    earnings: RuleEarnings
    lives: RuleLives = field(default_factory=RuleLives)
    decisions: Sequence[WeighedDecision] = ()
    competence: Competence | None = None
    predecessor: Competence | None = None

    @property
    def possible(self) -> int:
        """How many groups there is anything of in the whole life: most agents tell nothing of most."""
        return sum(
            (
                bool(len(self.claims)),
                any(decision.recalled for decision in self.decisions),
                any(decision.cites for decision in self.decisions),
                bool(self.lives.lives),
                self.competence is not None and self.predecessor is not None,
            )
        )

    def standing(self, week: Period) -> WeekStanding:
        """What the life says of a week."""
        errors, calibration = dict[str, float](), dict[str, float]()
        for category, records in self.claims.before(week.end).by_category():
            errors |= week_errors(category, records, week)
            error = in_use(records[is_sample(records)])
            if error.ece is not None and error.n >= ALARM_FROM:
                calibration[category] = error.ece
        turned_out = [d for d in self.decisions if week.start <= d.resolved_at < week.end]
        earning = self.earnings.share(self.lives.living(week.end), week.end)
        return week_standing(
            errors, calibration, turned_out, earning, self.lives.survival(week.end).half_life
        )

    def generations(self, at: int) -> float | None:
        """How much sooner it was competent than its predecessor, once both were."""
        own, other = self.competence, self.predecessor
        if own is None or other is None or max(own.at, other.at) >= at:
            return None
        return _delta(other.decisions, own.decisions, -1)


@dataclass(frozen=True, slots=True)
class WeekStanding:
    """What a week and all before it say; None where too little was known.

    Of what resolved in the week: `errors` by category (mean size of the residual after correction), `precision`,
    `attention`. At its end: `calibration` by category (the error in use), `earning` (share of the active rules' rows
    with a shrunk mean above 0), `half_life` in days.
    """

    errors: Mapping[str, float]
    calibration: Mapping[str, float]
    precision: float | None
    attention: float | None
    earning: float | None
    half_life: float | None


class WeekSource(Protocol):
    """Where the weeks of a life are looked up."""

    @property
    def possible(self) -> int:
        """How many of the five groups there can be anything of."""

    def standing(self, week: Period) -> WeekStanding:
        """What a week and all before it say."""

    def generations(self, at: int) -> float | None:
        """The group that both of two generations make, as of an instant."""


class Progress:
    """The scores of the weeks of a life; what stands at a week's end is looked up once for the weeks on both sides."""

    def __init__(self, source: WeekSource, zone: ZoneInfo, birth: int) -> None:
        self._source, self._zone, self._birth = source, zone, birth
        self._at: dict[int, WeekStanding] = {}

    def groups(self, week: Period) -> LearningGroups:
        """Every group that both weeks can speak of."""
        before = period_before(week, self._zone)
        old, new = self._standing(before), self._standing(week)
        categories = sorted(new.errors.keys() | new.calibration.keys())
        return LearningGroups(
            corrector=_mean(
                delta
                for category in categories
                for delta in (
                    _delta(old.errors.get(category), new.errors.get(category), -1),
                    _delta(old.calibration.get(category), new.calibration.get(category), -1),
                )
            ),
            memory=_delta(old.precision, new.precision),
            attention=_delta(old.attention, new.attention),
            heuristics=_mean([_delta(old.earning, new.earning), _delta(old.half_life, new.half_life)]),
            generations=self._source.generations(week.end),
        )

    def score(self, week: Period) -> float | None:
        """The mean of the groups; None of fewer than three."""
        groups = [delta for _, delta in self.groups(week) if delta is not None]
        return fsum(groups) / len(groups) if len(groups) >= _LEAST_GROUPS else None

    def negative_weeks(self, week: Period, most: int | None = None) -> int:
        """How many scores below 0 there are since the last that was none; weeks without one neither count nor break.

        `most`: how many weeks are looked at; None: all.
        """
        run = 0
        if self._possible < _LEAST_GROUPS:
            return run
        looked_at = 0
        while week.end > self._birth and looked_at != most:
            score = self.score(week)
            if score is not None and score >= 0:
                break
            run += score is not None
            week, looked_at = period_before(week, self._zone), looked_at + 1
        return run

    @cached_property
    def _possible(self) -> int:
        return self._source.possible

    def _standing(self, week: Period) -> WeekStanding:
        if week.end not in self._at:
            self._at[week.end] = self._source.standing(week)
        return self._at[week.end]


def week_errors(category: str, records: NDArray[Any], week: Period) -> dict[str, float]:
    """A category's mean size of the residual after correction, of what resolved in a week; nothing without any."""
    lately = records[(records["resolved_at"] >= week.start) & (records["resolved_at"] < week.end)]
    size = np.abs(lately["actual"] - lately["predicted"] - lately["bias"])
    size = size[~np.isnan(size)]
    return {category: fsum(size.tolist()) / len(size)} if len(size) else {}


def week_standing(
    errors: Mapping[str, float],
    calibration: Mapping[str, float],
    turned_out: Sequence[WeighedDecision],
    earning: float | None,
    half_life: float | None,
) -> WeekStanding:
    """A week whose decisions `turned_out`; the rest as `WeekStanding` has it."""
    citing = [decision.signal > 0 for decision in turned_out if decision.cites]
    recalled = sum(decision.recalled for decision in turned_out)
    return WeekStanding(
        errors,
        calibration,
        sum(decision.agreed for decision in turned_out) / recalled if recalled else None,
        sum(citing) / len(citing) if citing else None,
        earning,
        half_life,
    )


def _delta(old: float | None, new: float | None, direction: int = 1) -> float | None:
    if old is None or new is None:
        return None
    change = direction * (new - old) / max(abs(new), abs(old), _SMALLEST)
    return max(-1.0, min(1.0, change))


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fsum(present) / len(present) if present else None
