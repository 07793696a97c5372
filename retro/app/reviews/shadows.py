"""Shadows beside the real strategy, and the positions that a what-if replays, of a book that is open.

Positions that are over stand in the book beside what each rule made of them; those that are open are replayed.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.shadows import exits_known
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.whatif.entered import entered_lives
from retro.evaluate.whatif.shadow_days import paired_by_word
from retro.evaluate.whatif.shadows import judged, paired_by_rule
from retro.periods import FOREVER, midnight
from retro.store.books.shadow_days import closed_results, stated_shadow_days

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.evaluate.inputs import Inputs
    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import ShadowStrategy, WhatIfRule
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
    stated = stated_shadow_days(book.conn, book.name, before)
    if not (len(stated) or strategies):
        return []
    if window is None or as_of is None or as_of > book.known_until:
        now = book.known_at(as_of)
    else:
        now = window.told_until  # the same, and it is known already
    zone, capital = book.settings.zone, _capital(book)
    series = []
    if len(stated):
        first = midnight(date.fromordinal(int(stated.records["day"].min())), zone)
        closed = closed_results(book.conn, book.name, first, now)
        series = paired_by_word(stated, closed, zone, capital)
    names = {paired.name for paired in series}
    running = [strategy for strategy in strategies if strategy.name not in names]
    rules: dict[WhatIfRule, int] = {}
    for strategy in running:
        since = midnight(strategy.since, zone)
        rules[strategy.rule] = min(since, rules.get(strategy.rule, since))
    exits = exits_known(book, rules, now, window)
    for strategy in running:
        own = exits[strategy.rule].since(midnight(strategy.since, zone))
        series.append(paired_by_rule(strategy, own, now, zone, capital))
    return judged(series, book.settings.shadow_terms, seed_of_life(book.name))


def _capital(book: SettledBook) -> float | None:
    """What the agent began with, where that is known."""
    if book.settings.capital is not None:
        return float(book.settings.capital)
    opening = book.opening()
    given = sum(float(quantity) for asset, quantity in opening.given if asset == book.settings.base_currency)
    return given if opening.capital_known and given > 0 else None
