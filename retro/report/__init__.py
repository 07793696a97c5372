"""The documents a review prints: RetrospectiveReport and PositionRetrospective.

Money and prices are in the agent's base currency, times RFC 3339 UTC. A value that could not be computed is null and
`reasons` (on the report, a position, a heuristic row) says why under the field's name. No NaN, no 0 in its place.
Names load on first use: who shows another document than these two builds none of their parts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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

_HOME: Final = {
    "evaluators.changes": (
        "CalibrationChange",
        "Evaluators",
        "ForecastChange",
        "LearningChange",
        "TierChange",
    ),
    "form": ("Reasons", "dump"),
    "groups": ("Breakdowns", "Bucket", "CalendarDay"),
    "heuristic": (
        "BreakEvenGain",
        "DetectorState",
        "HeuristicReport",
        "OddsPath",
        "Partner",
        "Recommendation",
    ),
    "life": ("LifeWeek",),
    "money": ("Costs", "EquityDay", "PnlAttribution", "Risk"),
    "period": (
        "Accuracy",
        "Action",
        "BenchmarkSplit",
        "DataQuality",
        "Effectiveness",
        "Implausible",
        "Market",
        "Narrative",
        "Provenance",
        "RetrospectiveReport",
        "Unpriced",
    ),
    "position": ("Checkpoint", "Cites", "EntryPrediction", "PathPoint", "PositionRetrospective"),
    "regimes": ("RegimeAnalysis", "RegimeRow", "RuleContrast", "RuleInRegime"),
}
_WHERE: Final = {name: module for module, names in _HOME.items() for name in names}

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


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
