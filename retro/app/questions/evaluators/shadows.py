"""What strategies made that ran beside the real one: rules of the configuration, and what an agent told of its own.

Replayed when asked, from the positions entered since a shadow's first day: what that costs grows with the shadow's age.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from retro.accounting.order import natural_key
from retro.app.questions.evaluators.whatif import entered_positions, known_at
from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.evaluate.whatif.rule import parse_rule
from retro.evaluate.whatif.shadows import PairedDays, ShadowTerms, judged, paired_by_rule
from retro.kernels.evaluators.paired_days import peak
from retro.model import Shadow
from retro.periods import FOREVER, day_of, midnight
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.report.evaluators.shadows import ShadowRow
    from retro.store.database import Store

__all__ = ["ShadowQuestion", "ShadowStrategy", "shadow_rules", "shadows"]


@dataclass(frozen=True, slots=True)
class ShadowStrategy:
    """A rule that runs forward from the start of a day on."""

    name: str
    rule: WhatIfRule
    since: date


@dataclass(frozen=True, slots=True)
class ShadowQuestion:
    """Whose shadows; with `as_of` only what was told before that instant counts (microseconds)."""

    store: Store
    agent: str
    settings: AgentSettings
    strategies: Sequence[ShadowStrategy] = ()
    terms: ShadowTerms = field(default_factory=ShadowTerms)
    as_of: int | None = None

    @classmethod
    def of(
        cls, store: Store, agent: str, settings: AgentSettings, config: Config, as_of: int | None = None
    ) -> ShadowQuestion:
        """As the configuration says; `UsageError` for a `[[shadow]]` whose rule is none."""
        review = config.retrospective
        terms = ShadowTerms(review.shadow_min_duration_days, review.shadow_promote_threshold)
        strategies = [row for row in shadow_rules(config) if row[0] in {None, agent}]
        return cls(store, agent, settings, [strategy for _, strategy in strategies], terms, as_of)


def shadow_rules(config: Config) -> list[tuple[str | None, ShadowStrategy]]:
    """The shadows of a configuration with the agent each is of; None: of every agent."""
    strategies = []
    for table in config.shadow:
        try:
            rule = parse_rule(table.rule)
        except UsageError as error:
            raise UsageError(f"[[shadow]] {table.name}: {error}") from error
        strategies.append((table.agent, ShadowStrategy(table.name, rule, table.since)))
    return strategies


def shadows(question: ShadowQuestion) -> list[ShadowRow]:
    """Every shadow beside the real strategy, by name. What an agent tells of one goes before a rule of that name."""
    settings = question.settings
    with settled_book(question.store, question.agent, settings, measured=False) as book:
        now = known_at(book, question.as_of)
        series = _series_by_word(book, now)
        names = {paired.name for paired in series}
        lives: dict[date, EnteredLives] = {}
        for strategy in question.strategies:
            since = strategy.since
            if strategy.name in names:
                continue
            if since not in lives:
                lives[since] = entered_positions(book, now, midnight(since, settings.zone))
            series.append(paired_by_rule(strategy.name, strategy.rule, lives[since], since.toordinal(), now))
        capital = _capital(book)
    return judged(series, question.terms, capital, seed_of_life(question.agent))


def _capital(book: SettledBook) -> float | None:
    """What the agent began with, where that is known."""
    if book.settings.capital is not None:
        return float(book.settings.capital)
    opening = book.opening()
    given = sum(float(quantity) for asset, quantity in opening.given if asset == book.settings.base_currency)
    return given if opening.capital_known and given > 0 else None


def _series_by_word(book: SettledBook, now: int) -> list[PairedDays]:
    """What the agent told of shadows it runs itself, beside the positions it closed on the same days."""
    words = events.between(book.conn, book.name, -FOREVER, now + 1, types=[Shadow])
    days: dict[str, dict[int, float]] = {}
    for word in sorted(words, key=lambda word: (word.at, natural_key(word.id))):  # the first of a day counts
        day = date.fromisoformat(word.day).toordinal()
        days.setdefault(word.shadow, {}).setdefault(day, float(word.pnl))
    if not days:
        return []
    first = min(min(told) for told in days.values())
    since = midnight(date.fromordinal(first), book.settings.zone)
    closed = [
        (day_of(row.closed_at, book.settings.zone).toordinal(), row)
        for row in book.positions(opened_before=now + 1, since=since)
        if row.closed_at is not None and since <= row.closed_at <= now
    ]
    series = []
    for name, told in days.items():
        ordinals = sorted(told)
        rows = [(day, row) for day, row in closed if day in told]
        real = dict.fromkeys(ordinals, 0.0)
        for day, row in rows:
            if row.final_pnl is not None and row.counts(row.final_pnl):
                real[day] += row.final_pnl
        made, shadow = (np.array([part[day] for day in ordinals]) for part in (real, told))
        at_risk = peak(
            [row.opened_at for _, row in rows],
            [row.closed_at or now for _, row in rows],
            [row.notional or 0.0 for _, row in rows],
        )
        length = ordinals[-1] - ordinals[0] + 1
        series.append(PairedDays(name, None, ordinals[0], length, made, shadow, shadow - made, at_risk))
    return series
