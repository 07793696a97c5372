"""Everything a report is made of, and the configuration its numbers depend on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retro.evaluate.audit.rules import AuditRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from retro.accounting.books import DailyBooks
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.audit.bets import Bets
    from retro.evaluate.audit.history import History
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Cost, Decision, Prediction, Resolution
    from retro.periods import Period

__all__ = ["BenchmarkTerms", "Inputs", "Options"]


@dataclass(frozen=True, slots=True)
class BenchmarkTerms:
    """What results are held against: an instrument, and how much of its move an asset or instrument makes (else 1)."""

    instrument: str
    betas: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """The configuration that numbers depend on."""

    offsets: tuple[tuple[str, int], ...]
    settle_lag: int
    annualisation_days: float = 365.0
    use_highs_lows: bool = False
    rules: AuditRules = field(default_factory=AuditRules)
    benchmark: BenchmarkTerms | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a report is made of. `books` reach from at least 7 days before the period's end to its end.

    `born_at` is the agent's first event, `watched` the prices of what only its decisions name, `benchmark` those of the
    benchmark, if there is one. `known_until` is K;
    `told_until` the agent's last own event among those that the report could know.
    """

    agent: str
    base_currency: str
    zone: ZoneInfo
    period: Period
    week_before: tuple[int, int] | None
    week_start: int
    known_until: int
    told_until: int
    capital_known: bool
    born_at: int
    tracks: dict[str, PositionHistory]
    books: DailyBooks
    prices: Prices
    watched: Prices
    benchmark: Prices | None
    rows: Sequence[PositionSummary]
    history: History
    bets: Bets
    decisions: Sequence[Decision]
    costs: Sequence[Cost]
    predictions: Mapping[str, Prediction]
    resolutions: Sequence[Resolution]
    last_resolutions: Mapping[str, Resolution]
    discrepancies: Sequence[tuple[int, float]]
    warnings: Sequence[str]
    quarantined: int
    digest: str
    seed: int
    version: str
    definitions: int
    options: Options
