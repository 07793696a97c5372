"""What the rules of shadows made of positions: kept with the book once a position is over, replayed while it is not."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.whatif.entered import entered_lives
from retro.evaluate.whatif.shadows import SHADOW_EXIT, ShadowExits, exits_by_rule
from retro.periods import FOREVER
from retro.store.books.shadow_exits import replace_shadow_exits, shadow_exits_since
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from sqlalchemy import Connection

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.tracks import Loaded
    from retro.evaluate.inputs import Inputs
    from retro.evaluate.whatif.rule import WhatIfRule

__all__ = ["exits_known", "exits_of_rules", "replace_exits"]


def exits_of_rules(
    loaded: Loaded, settings: AgentSettings, now: int, rules: Mapping[WhatIfRule, int]
) -> dict[WhatIfRule, ShadowExits]:
    """What each rule made of the spot and perp positions entered since its own first instant, as of `now`."""
    if not rules:
        return {}
    paths = _paths(loaded.tracks, loaded.prices, settings, now, min(rules.values()))
    return _exits(paths, _final_instants(loaded, paths), settings, rules)


def _paths(
    tracks: Mapping[str, PositionHistory], prices: Prices, settings: AgentSettings, now: int, since: int
) -> dict[str, PositionPath]:
    """The spot and perp positions entered since an instant, as they stood at `now`."""
    horizon = Lookahead(now + 1, now, None, settings.options.offsets)
    return {
        name_of(name): PositionPath(track, horizon, prices)
        for name, track in tracks.items()
        if track.position.kind in {"spot", "perp"} and track.opened_at >= since
    }


def _exits(
    paths: Mapping[str, PositionPath],
    final: Mapping[str, int],
    settings: AgentSettings,
    rules: Mapping[WhatIfRule, int],
) -> dict[WhatIfRule, ShadowExits]:
    """What each rule made of these; `final` says from when on nothing changes it."""
    lives = entered_lives([*paths.values()], settings.options.rules.claims, settings.zone)
    names = [name_of(name) for name in lives.names]
    final_at = np.array([final[name] for name in names], dtype=np.int64)
    left_out = sorted(paths.keys() - {*names}, key=lambda name: (paths[name].track.opened_at, name))
    uncounted = np.zeros(len(left_out), SHADOW_EXIT)
    uncounted["opened_at"] = [paths[name].track.opened_at for name in left_out]
    uncounted["final_at"] = [final[name] for name in left_out]
    exits = {}
    for rule, since in rules.items():
        records = np.concatenate([exits_by_rule(lives, rule, final_at).records, uncounted])
        exits[rule] = ShadowExits([*names, *left_out], records).where(records["opened_at"] >= since)
    return exits


def _final_instants(loaded: Loaded, paths: Mapping[str, PositionPath]) -> dict[str, int]:
    """From when on nothing that is told so far changes a position; FOREVER of what is open, or has no sure price."""
    newest: dict[str, int] = defaultdict(int)
    for fact in loaded.facts:
        name = name_of(getattr(fact, "position", None) or "")
        newest[name] = max(newest[name], fact.at)
    return {
        name: FOREVER
        if not path.closed or path.provisional or not path.state.is_priced
        else max(path.exit_at, newest[name], path.track.flagged_at or 0)
        for name, path in paths.items()
    }


def replace_exits(
    conn: Connection,
    agent: str,
    names: Sequence[str],
    entries: Iterable[int],
    parts: Sequence[Mapping[WhatIfRule, ShadowExits]],
) -> None:
    """Put what the rules made of these positions in the place of what the book has of them."""
    for rule in dict.fromkeys(rule for part in parts for rule in part):
        replace_shadow_exits(conn, agent, rule.text, names, entries, [part[rule] for part in parts])


def exits_known(
    book: SettledBook,
    rules: Mapping[WhatIfRule, int],
    now: int,
    replayed_for: Inputs | None = None,
) -> dict[WhatIfRule, ShadowExits]:
    """What each rule made of the positions entered since its first instant, as was known at `now`.

    What the book has of positions that were over by then stands; those that were not are replayed, as are all where a
    rule is none of the settings. What a review that ends just after `now` has replayed already is `replayed_for` it.
    """
    settled = book.settings.shadow_rules
    stored = {
        rule: shadow_exits_since(book.conn, book.name, rule.text, since).until(now)
        for rule, since in rules.items()
        if settled.get(rule, FOREVER) <= since
    }
    running = {name for exits in stored.values() for name in exits.running(now)}
    unsettled = {rule: since for rule, since in rules.items() if rule not in stored}
    if unsettled:
        first = min(unsettled.values())
        rows = book.positions(opened_before=now + 1, since=first)
        running |= {
            name_of(row.position) for row in rows if row.kind in {"spot", "perp"} and row.opened_at >= first
        }
    replayed: Mapping[WhatIfRule, ShadowExits] = {}
    if running:
        replayed = _replayed(book, rules, now, running, replayed_for)
    return {
        rule: stored[rule].with_replayed(replayed.get(rule, ShadowExits()), now)
        if rule in stored
        else replayed.get(rule, ShadowExits())
        for rule in rules
    }


def _replayed(
    book: SettledBook,
    rules: Mapping[WhatIfRule, int],
    now: int,
    names: AbstractSet[str],
    replayed_for: Inputs | None,
) -> dict[WhatIfRule, ShadowExits]:
    """What each rule made of these positions as of `now`."""
    if replayed_for is not None:
        tracks = {n: track for n, track in replayed_for.tracks.items() if name_of(n) in names}
        paths = _paths(tracks, replayed_for.prices, book.settings, now, min(rules.values()))
        # a price that was not there yet is another one as of the review's own now
        if paths.keys() == names and not any(path.provisional for path in paths.values()):
            return _exits(paths, dict.fromkeys(paths, FOREVER), book.settings, rules)
    loaded = load_tracks(book.life, book.settings, sorted(names), Extent(now, now + 1, now, now))
    return exits_of_rules(loaded, book.settings, now, rules)
