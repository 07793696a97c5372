"""Shadows beside the real strategy, and the positions that a what-if replays, of a book that is open.

Positions that are over stand in the book beside what each rule made of them; those that are open are replayed.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from retro.accounting.order import natural_key
from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.shadows import exits_known
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.whatif.entered import days_of, entered_lives
from retro.evaluate.whatif.shadows import PairedDays, judged, paired_by_rule
from retro.kernels.evaluators.paired_days import peak
from retro.model import Shadow
from retro.periods import FOREVER, midnight
from retro.store.books.positions import closed_results
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.evaluate.inputs import Inputs
    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.evaluate.whatif.shadows import ShadowStrategy
    from retro.report.evaluators.shadows import ShadowRow

__all__ = ["entered_positions", "shadows_of"]


def entered_positions(
    book: SettledBook, now: int, start: int | None = None, end: int | None = None
) -> EnteredLives:
    """Spot and perp positions entered in [start, end), as they stood at an instant and by the marks until then."""
    settings = book.settings
    rows = book.positions(opened_before=min(now + 1, FOREVER if end is None else end), since=start)
    names = [
        row.position
        for row in rows
        if row.kind in {"spot", "perp"} and (start is None or row.opened_at >= start)
    ]
    loaded = load_tracks(book.life, settings, names, Extent(now, now + 1, now, now))
    horizon = Lookahead(now + 1, now, None, settings.options.offsets)
    lives = [PositionPath(track, horizon, loaded.prices) for track in loaded.tracks.values()]
    return entered_lives(lives, settings.options.rules.claims, settings.zone)


def shadows_of(
    book: SettledBook,
    as_of: int | None,
    strategies: Sequence[ShadowStrategy] | None = None,
    *,
    window: Inputs | None = None,
) -> list[ShadowRow]:
    """Every shadow beside the real strategy, by name, as of an instant; one statement where there is none.

    `strategies` are those of the settings unless given, `window` what the review
    that ends at the instant is made of. What an agent tells of one goes before a rule of that name.
    """
    strategies = book.settings.shadows if strategies is None else strategies
    before = FOREVER if as_of is None else as_of
    words = events.between(book.conn, book.name, -FOREVER, before, types=[Shadow])
    if not (words or strategies):
        return []
    if window is None or as_of is None or as_of > book.known_until:
        now = book.known_at(as_of)
    else:
        now = window.told_until  # the same, and it is known already
    series = _series_by_word(book, words, now)
    names = {paired.name for paired in series}
    running = [strategy for strategy in strategies if strategy.name not in names]
    rules: dict[WhatIfRule, int] = {}
    for strategy in running:
        since = midnight(strategy.since, book.settings.zone)
        rules[strategy.rule] = min(since, rules.get(strategy.rule, since))
    exits = exits_known(book, rules, now, window)
    for strategy in running:
        own = exits[strategy.rule].since(midnight(strategy.since, book.settings.zone))
        series.append(paired_by_rule(strategy, own, now, book.settings.zone))
    return judged(series, book.settings.shadow_terms, _capital(book), seed_of_life(book.name))


def _capital(book: SettledBook) -> float | None:
    """What the agent began with, where that is known."""
    if book.settings.capital is not None:
        return float(book.settings.capital)
    opening = book.opening()
    given = sum(float(quantity) for asset, quantity in opening.given if asset == book.settings.base_currency)
    return given if opening.capital_known and given > 0 else None


def _series_by_word(book: SettledBook, words: Sequence[Shadow], now: int) -> list[PairedDays]:
    """What the agent told of shadows it runs itself, beside the positions it closed on the same days."""
    days = _days_by_word(book, words)
    if not days:
        return []
    zone = book.settings.zone
    first = min(min(of_name) for of_name in days.values())
    closed = closed_results(book.conn, book.name, midnight(date.fromordinal(first), zone), now)
    closed_on = days_of(closed["closed_at"], zone)
    series = []
    for name, of_name in days.items():
        ordinals = np.array(sorted(of_name), dtype=np.int64)
        place = np.minimum(np.searchsorted(ordinals, closed_on), len(ordinals) - 1)
        rows, place = closed[on_day := ordinals[place] == closed_on], place[on_day]
        priced = ~np.isnan(rows["pnl"])
        real = np.bincount(place[priced], rows["pnl"][priced], len(ordinals)).astype(np.float64)
        shadow = np.array([of_name[day] for day in ordinals.tolist()])
        at_risk = peak(rows["opened_at"], rows["closed_at"], rows["notional"])
        length = int(ordinals[-1] - ordinals[0]) + 1
        series.append(PairedDays(name, None, int(ordinals[0]), length, real, shadow, shadow - real, at_risk))
    return series


def _days_by_word(book: SettledBook, words: Sequence[Shadow]) -> dict[str, dict[int, float]]:
    """Shadow -> day by number -> what it made; the first word about a day counts.

    A word about a day that had not begun when it was told counts nothing: one of the year 9999 would be a long track.
    """
    days: dict[str, dict[int, float]] = {}
    ordered = sorted(words, key=lambda word: (word.at, natural_key(word.id)))
    newest = days_of(np.array([word.at for word in ordered], dtype=np.int64), book.settings.zone).tolist()
    for word, today in zip(ordered, newest, strict=True):
        day = date.fromisoformat(word.day).toordinal()
        if day <= today:
            days.setdefault(word.shadow, {}).setdefault(day, float(word.pnl))
    return days
