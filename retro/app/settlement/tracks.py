"""From the store to what `assemble` takes: facts by position, with the prices they need."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retro.accounting.replay import replay
from retro.app.settlement.price_lines import MarkReach, PriceDemand, load_prices
from retro.evaluate.position.foresight import retold_of
from retro.evaluate.position.levels import weekly_money
from retro.evaluate.position.summary import flag_implausible
from retro.model import Cost, Position
from retro.periods import DAY, FOREVER, day_of, format_instant, midnight
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from zoneinfo import ZoneInfo

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.rules import AuditRules
    from retro.evaluate.position.levels import WeeklyMoney
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Fact
    from retro.store.facts.rulings import RulingRecord
    from retro.store.life import LifeReader

__all__ = [
    "Extent",
    "Loaded",
    "by_position",
    "load_tracks",
    "money_of_weeks",
]


def by_position(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts grouped by the position they name."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        name = getattr(fact, "position", None)
        if name is not None:
            groups[name].append(fact)
    return groups


@dataclass(frozen=True, slots=True)
class Loaded:
    """Positions replayed from their facts: tracks by id (in order of id), the prices they rest on, and the facts.

    `orphans` are facts of positions that no `position` event opened, or that opened later, by the name they use.
    """

    tracks: dict[str, PositionHistory]
    prices: Prices
    facts: list[Fact]
    orphans: dict[str, list[Fact]]

    def costs_of_orphans(self, start: int) -> list[Fact]:
        """What was paid, from `start` on, for positions that never came into being: gas that failed is a cost too."""
        return [
            fact
            for group in self.orphans.values()
            for fact in group
            if isinstance(fact, Cost) and fact.at >= start
        ]


@dataclass(frozen=True, slots=True)
class Extent:
    """How far positions are replayed: facts before `until`, of those known by `known_until`; marks to `marks_until`.

    What had no mark yet is priced by the first one up to `first_mark_until`.
    """

    first_mark_until: int
    until: int = FOREVER
    known_until: int = FOREVER
    marks_until: int = FOREVER


def load_tracks(
    life: LifeReader,
    settings: AgentSettings,
    names: Sequence[str],
    extent: Extent,
    demand: PriceDemand | None = None,
) -> Loaded:
    """Replay positions from their facts; a snapshot at exactly `extent.until` tells the principal there.

    Their prices are loaded with them, and those that the `demand` asks for.
    """
    demand, until = demand or PriceDemand(), extent.until
    facts = life.of_positions(names, until=min(until, extent.known_until)) if names else []
    # a snapshot at the boundary is of the state that the facts before it left: read, but not replayed
    boundary = by_position(fact for fact in facts if fact.at == until)
    facts = [fact for fact in facts if fact.at < until]
    facts += _declared_later(life, facts, extent)
    every = [*facts, *demand.facts]
    needed = [fact.at for fact in every] + ([] if demand.since is None else [demand.since])
    # a mark counts for a day (MAX_AGE), and as-of look-ups reach behind the first fact: two days are enough
    reach = MarkReach(min(needed, default=until) - 2 * DAY, extent.marks_until, extent.first_mark_until)
    every += [fact for group in boundary.values() for fact in group]
    prices = load_prices(life, settings, replace(demand, facts=every, until=until), reach)
    retold = life.retellings(names, facts) if names else []
    tracks: dict[str, PositionHistory] = {}
    orphans: dict[str, list[Fact]] = {}
    for name, group in sorted(by_position(facts).items()):
        with prices.watching() as unreliable:
            track = replay(group, prices, settings.lot_method)
        if track is None or track.opened_at >= until:  # what was paid or decided for it came first
            orphans[name] = group
            continue
        track.unreliable = frozenset(unreliable)
        track.retold = retold_of(track, retold)
        track.note_boundary(boundary.get(name, ()))
        _flag(track, prices, life.rulings.get(name_of(name)), settings.zone)
        tracks[name] = track
    return Loaded(tracks, prices, facts, orphans)


def money_of_weeks(
    loaded: Loaded, rows: Iterable[PositionSummary], known_until: int, rules: AuditRules
) -> dict[str, WeeklyMoney]:
    """The weeks of marked money of those positions whose decisions cite something, by position."""
    against = rules.entry_outcome == "vs_inaction"
    return {
        row.position: weekly_money(
            loaded.tracks[row.position], row, loaded.prices, known_until, rules.zone, against_inaction=against
        )
        for row in rows
        if row.decisions
    }


def _declared_later(life: LifeReader, facts: Sequence[Fact], extent: Extent) -> list[Fact]:
    """Declarations, known by K, of positions that these facts name and none of them declares."""
    bare = {
        name for name, group in by_position(facts).items() if not any(isinstance(f, Position) for f in group)
    }
    if not bare:  # nearly always
        return []
    known_until = min(extent.known_until, extent.first_mark_until)
    return [*life.declarations(sorted(bare), known_until)]


def _flag(track: PositionHistory, prices: Prices, given: RulingRecord | None, tz: ZoneInfo) -> None:
    """Flag what cannot be believed, from the start of its day on, as far as its owner has not ruled otherwise."""
    track.ruling = None if given is None else given.ruling
    flag_implausible(track, prices)
    if given is not None and given.ruling == "rejected":
        why = f"rejected by {given.author} on {format_instant(given.at)}"
        track.flagged_why = f"{track.flagged_why}; {why}" if track.flagged_why else why
        track.flagged_at = track.opened_at if track.flagged_at is None else track.flagged_at
    if track.flagged_at is not None:
        track.flagged_day = midnight(day_of(track.flagged_at, tz), tz)
