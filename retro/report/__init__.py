"""The documents a review prints: RetrospectiveReport and PositionRetrospective.

Money and prices are in the agent's base currency, times RFC 3339 UTC. A value that could not be computed is null and
`reasons` (on the report, a position, a heuristic row) says why under the field's name. No NaN, no 0 in its place.
"""

from __future__ import annotations

from retro.report.evaluators.changes import (
    CalibrationChange,
    Evaluators,
    ForecastChange,
    LearningChange,
    TierChange,
)
from retro.report.form import Reasons, dump
from retro.report.groups import Breakdowns, Bucket, CalendarDay
from retro.report.heuristic import (
    BreakEvenGain,
    DetectorState,
    HeuristicReport,
    OddsPath,
    Partner,
    Recommendation,
)
from retro.report.life import LifeWeek
from retro.report.money import Costs, EquityDay, PnlAttribution, Risk
from retro.report.period import (
    Accuracy,
    Action,
    BenchmarkSplit,
    DataQuality,
    Effectiveness,
    Implausible,
    Market,
    Narrative,
    Provenance,
    RetrospectiveReport,
    Unpriced,
)
from retro.report.position import Checkpoint, Cites, EntryPrediction, PathPoint, PositionRetrospective
from retro.report.regimes import RegimeAnalysis, RegimeRow, RuleContrast, RuleInRegime

__all__ = [
    "Accuracy",
    "Action",
    "BenchmarkSplit",
    "BreakEvenGain",
    "Breakdowns",
    "Bucket",
    "CalendarDay",
    "CalibrationChange",
    "Checkpoint",
    "Cites",
    "Costs",
    "DataQuality",
    "DetectorState",
    "Effectiveness",
    "EntryPrediction",
    "EquityDay",
    "Evaluators",
    "ForecastChange",
    "HeuristicReport",
    "Implausible",
    "LearningChange",
    "LifeWeek",
    "Market",
    "Narrative",
    "OddsPath",
    "Partner",
    "PathPoint",
    "PnlAttribution",
    "PositionRetrospective",
    "Provenance",
    "Reasons",
    "Recommendation",
    "RegimeAnalysis",
    "RegimeRow",
    "RetrospectiveReport",
    "Risk",
    "RuleContrast",
    "RuleInRegime",
    "TierChange",
    "Unpriced",
    "dump",
]
