"""Diagrams of what an agent's own claims, rules and luck came to: data that `charts` draws and tables beside it repeat.

Strings here are bare, like those of blocks: each format escapes every one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Diagram",
    "Diagrams",
    "HistogramDiagram",
    "LifeLine",
    "LivesDiagram",
    "PriceDiagram",
    "RangeDiagram",
    "RangeRow",
    "ReliabilityDiagram",
    "ReliabilityPoint",
    "StepDiagram",
    "TwinsDiagram",
    "WaterfallDiagram",
    "WaterfallStep",
]


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """Claims of nearly the same stated confidence: its mean, the share that was right, how many they are."""

    stated: float
    right: float
    n: int


@dataclass(frozen=True, slots=True)
class ReliabilityDiagram:
    """Stated confidence against what came true; on the diagonal they are the same. `curve` is what (stated) is worth."""

    title: str
    points: tuple[ReliabilityPoint, ...]
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A value with an interval around it, drawn in the unit of its diagram; `text` says the value in words."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class RangeDiagram:
    """Values and intervals on one axis around 0."""

    title: str
    rows: tuple[RangeRow, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class HistogramDiagram:
    """How often values fell into equal parts of [low, high]; `real` is the one it is about, and `real_text` its words.

    `expected` is how many each part would hold were it all chance.
    """

    title: str
    counts: tuple[int, ...]
    low: float
    high: float
    low_text: str
    high_text: str
    real: float | None = None
    real_text: str = ""
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class StepDiagram:
    """A share that falls in steps from 1: after so many days, (days, share); known up to `end` days."""

    title: str
    points: tuple[tuple[float, float], ...]
    end: float


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """What one line adds; `text` says it in words."""

    label: str
    amount: float
    text: str


@dataclass(frozen=True, slots=True)
class WaterfallDiagram:
    """From one total to another, line by line: first + all steps = last, whose amounts are totals."""

    title: str
    first: WaterfallStep
    steps: tuple[WaterfallStep, ...]
    last: WaterfallStep


@dataclass(frozen=True, slots=True)
class LifeLine:
    """A life: (seconds since the common moment, share of what was put in), by steps; `text` says how it ended."""

    label: str
    points: tuple[tuple[float, float], ...]
    text: str


@dataclass(frozen=True, slots=True)
class LivesDiagram:
    """Lives laid over each other, six at most, the first of them the one it is about."""

    title: str
    rows: tuple[LifeLine, ...]


@dataclass(frozen=True, slots=True)
class TwinsDiagram:
    """A result among those of its twins, of which `quantiles` are 5, 25, 50, 75 and 95 %; each with its words.

    `words` say all of it in a sentence.
    """

    title: str
    quantiles: tuple[float, float, float, float, float]
    quantile_texts: tuple[str, str, str, str, str]
    result: float
    result_text: str
    words: str

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest amount that is drawn."""
        return min(self.quantiles[0], self.result), max(self.quantiles[-1], self.result)


@dataclass(frozen=True, slots=True)
class PriceDiagram:
    """What an instrument cost while a position was held and afterwards: (seconds since the entry, price), by steps.

    `left_after` seconds it was closed; None: it is open. `entry` and `exit` are what was paid and taken, where that is one
    price. `words` say all of it in a sentence.
    """

    title: str
    points: tuple[tuple[float, float], ...]
    left_after: float | None
    entry: float | None
    exit: float | None
    words: str


Diagram = (
    ReliabilityDiagram
    | RangeDiagram
    | HistogramDiagram
    | StepDiagram
    | WaterfallDiagram
    | LivesDiagram
    | PriceDiagram
    | TwinsDiagram
)


@dataclass(frozen=True, slots=True)
class Diagrams:
    """Diagrams side by side. Formats without drawings print `words`, where no table beside them says the same."""

    items: tuple[Diagram, ...]
    note: str = ""
    words: str = ""
