"""What the numbers of one agent depend on besides its facts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from retro.accounting.currencies import DOLLARS
from retro.errors import UsageError
from retro.evaluate.audit.rules import AuditRules, Rule
from retro.evaluate.inputs import BenchmarkTerms, Options
from retro.evaluate.records import (
    CLAIM_COLUMNS,
    KEY_TOTALS,
    RESULT_COLUMNS,
    SHADOW_DAY_COLUMNS,
    SHADOW_EXIT_COLUMNS,
    TIER_COST_COLUMNS,
)
from retro.evaluate.terms import AgeingTerms, ClaimTerms, FitTerms, ShadowTerms, TierTerms
from retro.evaluate.whatif.rule import ShadowStrategy, parse_rule
from retro.kernels.terms import RingTerms, Thresholds
from retro.periods import HOUR, midnight, parse_duration, zone
from retro.store.books.totals import total_columns
from retro.version import DEFINITIONS

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from playbook import Playbook
    from retro.config import Config, RetrospectiveTable
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.store.facts.agents import Agent

__all__ = ["AgentSettings", "base_currency_of", "lives_of", "rules_of", "settings_of"]


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One agent's settings, from the configuration and what its sources told."""

    base_currency: str
    zone: ZoneInfo
    capital: Decimal | None
    lot_method: Literal["fifo", "average"]
    epoch_days: int
    options: Options
    claims: ClaimTerms = field(default_factory=ClaimTerms)
    ece_alarm: float = 0.25
    """The calibration error above which the owner is told."""
    tiers: TierTerms = field(default_factory=TierTerms)
    ageing: AgeingTerms = field(default_factory=AgeingTerms)
    shadows: tuple[ShadowStrategy, ...] = ()
    shadow_faults: tuple[str, ...] = ()
    """Of each `[[shadow]]` that cannot run: why."""
    shadow_terms: ShadowTerms = field(default_factory=ShadowTerms)
    backtest: str | None = None
    """The agent its backtest was read as."""
    limits_in_r: Thresholds | None = None
    """A bot's verdicts: in R, by these, where the risk of most positions is known, whatever `options` say."""
    playbook: Playbook | None = field(default=None, compare=False)

    @property
    def shadow_rules(self) -> dict[WhatIfRule, int]:
        """The rules that run beside the real strategy, each since the first instant of the earliest of its shadows."""
        rules: dict[WhatIfRule, int] = {}
        for shadow in self.shadows:
            since = midnight(shadow.since, self.zone)
            rules[shadow.rule] = min(since, rules.get(shadow.rule, since))
        return rules

    @property
    def fingerprint(self) -> str:
        """Changes when the book has to be settled anew."""
        rules = self.options.rules
        claims = sorted(rules.claims.items())
        values = [
            self.base_currency,
            str(self.capital),
            self.lot_method,
            self.zone.key,
            self.epoch_days,
            rules.entry_outcome,
            claims,
            self.options.use_highs_lows,
            astuple(self.claims),
            CLAIM_COLUMNS,
            KEY_TOTALS,
            sorted((rule.text, since) for rule, since in self.shadow_rules.items()),
            SHADOW_EXIT_COLUMNS,
            SHADOW_DAY_COLUMNS,
            RESULT_COLUMNS,
            TIER_COST_COLUMNS,
            total_columns(),
            DEFINITIONS,
        ]
        if self.options.benchmark is not None:  # the book notes its series
            values.append(self.options.benchmark.instrument)
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]

    def measured(self, positions: int, with_risk: int) -> AgentSettings:
        """These settings where so many positions, and so many that know their risk, are in the book."""
        if self.limits_in_r is None or 2 * with_risk <= positions:
            return self
        rules = replace(self.options.rules, unit="r", thresholds=self.limits_in_r)
        return replace(self, options=replace(self.options, rules=rules))


def rules_of(book: Playbook | None, tz: ZoneInfo) -> dict[str, Rule]:
    """The heuristics of a playbook as the audit reads them: each with the labels that citing it may go by.

    Which of several claims a label is `playbook.claims`' to say, so that a retired rule takes none back.
    """
    if book is None:
        return {}
    from playbook.citation import claims  # noqa: PLC0415  an agent without a playbook waits for none

    heuristics = book.heuristics
    labels: dict[str, list[str]] = {}
    for label, claimant in claims(heuristics).items():
        labels.setdefault(claimant, []).append(label)
    rules: dict[str, Rule] = {}
    for heuristic in heuristics:
        since = None if heuristic.since is None else midnight(heuristic.since, tz)
        watched = heuristic.status in {"active", "candidate"}
        tags = tuple(labels.get(heuristic.id, ()))
        rules.setdefault(heuristic.id, Rule(heuristic.id, heuristic.text, tags, since, watched))
    return rules


def base_currency_of(config: Config, agent: Agent) -> str:
    """The unit of an agent's amounts: its own table's, then what its source told, then the owner's."""
    own = config.agent.get(agent.name)
    return (own.base_currency if own else None) or agent.base_currency or config.owner.base_currency


def lives_of(config: Config) -> dict[str, list[str]]:
    """The agents that each backtest belongs to, by its name; of which none is configured is left out."""
    lives: dict[str, list[str]] = {}
    for name, table in sorted(config.agent.items()):
        if table.backtest is not None:
            lives.setdefault(table.backtest, []).append(name)
    return lives


def settings_of(config: Config, agent: Agent, book: Playbook | None) -> AgentSettings:
    """Settings of one agent: its own table first, then what its source told, then the owner's.

    The grid is that of the agent's stored reviews, where it has any: only `retro agents regrid` changes it.
    Verdicts on a bot are in basis points until its book says whether its risk is known (`AgentSettings.measured`).
    """
    own = config.agent.get(agent.name)
    base = base_currency_of(config, agent)
    capital = own.capital if own is not None and own.capital is not None else agent.capital
    review = config.retrospective
    tz = zone(config.owner.time_zone if agent.grid is None else agent.grid.time_zone)
    shadows, shadow_faults = _shadows_of(config, agent.name)
    is_bot = agent.origin is not None
    unit = review.heuristic_threshold_unit or ("usd" if base.upper() in DOLLARS and not is_bot else "bps")
    return AgentSettings(
        base_currency=base,
        zone=tz,
        capital=None if capital is None else Decimal(str(capital)),
        lot_method=review.lot_method,
        epoch_days=review.epoch_interval_days if agent.grid is None else agent.grid.epoch_days,
        playbook=book,
        claims=ClaimTerms(
            RingTerms(review.residual_buffer_size, review.residual_min_samples, review.conformal_quantile),
            FitTerms(review.calibration_min_samples, review.calibration_refit_interval),
        ),
        ece_alarm=review.ece_alarm_threshold,
        shadows=shadows,
        shadow_faults=shadow_faults,
        backtest=None if own is None else own.backtest,
        shadow_terms=ShadowTerms(review.shadow_min_duration_days, review.shadow_promote_threshold),
        tiers=TierTerms(
            review.tier_comparison_min_samples,
            review.tier_switch_threshold,
            review.dollars_per_accuracy_point,
        ),
        ageing=AgeingTerms(
            review.meta_learning_enabled,
            review.meta_negative_weeks_before_hayflick,
            review.meta_hayflick_acceleration,
        ),
        limits_in_r=_limits(review, "r") if is_bot and review.heuristic_threshold_unit is None else None,
        options=Options(
            offsets=tuple((name, parse_duration(name)) for name in review.trajectory_checkpoint_intervals),
            settle_lag=round(review.settle_lag_hours * HOUR),
            annualisation_days=review.annualisation_days,
            use_highs_lows=review.use_highs_lows,
            rules=AuditRules(
                rules=rules_of(book, tz),
                thresholds=_limits(review, unit),
                unit=unit,
                entry_outcome=review.entry_outcome,
                zone=None if tz.key == "UTC" else tz,
            ),
            benchmark=None
            if config.owner.benchmark is None
            else BenchmarkTerms(config.owner.benchmark, dict(config.benchmark.beta)),
        ),
    )


def _limits(review: RetrospectiveTable, unit: Literal["usd", "r", "bps"]) -> Thresholds:
    return Thresholds(review.heuristic_min_citations, *review.heuristic_limits(unit))


def _shadows_of(config: Config, agent: str) -> tuple[tuple[ShadowStrategy, ...], tuple[str, ...]]:
    """An agent's shadows, and a sentence of each that cannot run because its rule is none."""
    strategies, faults = [], []
    for table in config.shadow:
        if table.agent not in {None, agent}:
            continue
        try:
            strategies.append(ShadowStrategy(table.name, parse_rule(table.rule), table.since))
        except UsageError as error:
            faults.append(f"[[shadow]] {table.name} does not run: {error}")
    return tuple(strategies), tuple(faults)
