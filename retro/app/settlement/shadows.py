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

    from sqlalchemy import Connection

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.tracks import Loaded
    from retro.evaluate.whatif.rule import WhatIfRule

__all__ = ["exits_known", "exits_of_rules", "replace_exits"]


def exits_of_rules(
    loaded: Loaded, settings: AgentSettings, now: int, rules: Mapping[WhatIfRule, int]
) -> dict[WhatIfRule, ShadowExits]:
    """What each rule made of the spot and perp positions entered since its own first instant, as of `now`."""
    if not rules:
        return {}
    horizon = Lookahead(now + 1, now, None, settings.options.offsets)
    paths = {
        name_of(name): PositionPath(track, horizon, loaded.prices)
        for name, track in loaded.tracks.items()
        if track.position.kind in {"spot", "perp"} and track.opened_at >= min(rules.values())
    }
    lives = entered_lives([*paths.values()], settings.options.rules.claims, settings.zone)
    final = _final_instants(loaded, paths)
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
    book: SettledBook, rules: Mapping[WhatIfRule, int], now: int
) -> dict[WhatIfRule, ShadowExits]:
    """What each rule made of the positions entered since its first instant, as was known at `now`.

    What the book has of positions that were over by then stands; those that were not are replayed, as are all where a
    rule is none of the settings.
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
        loaded = load_tracks(book.life, book.settings, sorted(running), Extent(now, now + 1, now, now))
        replayed = exits_of_rules(loaded, book.settings, now, rules)
    return {
        rule: stored[rule].with_replayed(replayed.get(rule, ShadowExits()), now)
        if rule in stored
        else replayed.get(rule, ShadowExits())
        for rule in rules
    }
