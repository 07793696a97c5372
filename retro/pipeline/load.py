"""From the store to what `assemble` takes: facts by position, and the price lines they need."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from retro.assemble.book import flag_implausible
from retro.assemble.prices import Prices, related_symbols
from retro.assemble.replay import replay
from retro.model import Cost, Equity, External, Fill, Flow, Position, Snapshot
from retro.store import facts, marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.assemble.track import Track
    from retro.model import Fact, MarkSeries
    from retro.pipeline.settings import Settings

__all__ = ["by_position", "load_prices", "load_tracks", "symbols_of"]


def symbols_of(told: Iterable[Fact]) -> set[str]:
    """Every instrument and asset that facts name and that may need a price."""
    symbols: set[str] = set()
    for fact in told:
        match fact:
            case Position():
                symbols |= {fact.instrument, *(fact.funded_with or ())}
                symbols |= {token for token in (fact.token0, fact.token1) if token}
            case Fill():
                symbols |= {name for name in (fact.instrument, fact.fee_asset) if name}
            case Flow():
                symbols.add(fact.asset)
            case Snapshot():
                symbols |= {*fact.holdings, *(fact.claimable or ()), *(fact.debt or ())}
            case Cost() | External():
                symbols |= {fact.asset} if fact.asset else set()
            case Equity():
                symbols |= set(fact.balances or ())
            case _:
                pass
    return symbols


def load_prices(
    conn: Connection, agent: str, settings: Settings, symbols: Iterable[str], start: int, end: int
) -> Prices:
    """The marks of these symbols with start <= t <= end, the agent's own and the shared ones.

    Where a series starts later, the last mark before `start` is brought along, so that as-of look-ups have one.
    """
    wanted = {name for symbol in symbols for name in related_symbols(symbol, settings.base_currency)}
    series: list[dict[str, MarkSeries]] = []
    for owner in (agent, None):
        there = wanted & set(marks.instruments(conn, owner))
        loaded = {}
        for name in sorted(there):
            before = marks.last_at_or_before(conn, owner, name, start)
            found = marks.load(conn, owner, name, start if before is None else before[0], end)
            if found is not None:
                loaded[name] = found
        series.append(loaded)
    return Prices(settings.base_currency, *series)


def by_position(told: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts grouped by the position they name."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in told:
        name = getattr(fact, "position", None)
        if name is not None:
            groups[name].append(fact)
    return groups


def load_tracks(
    conn: Connection,
    agent: str,
    settings: Settings,
    positions: Sequence[str],
    *,
    until: int,
    marks_until: int,
    more: Iterable[Fact] = (),
) -> tuple[dict[str, Track], Prices, list[Fact], list[str]]:
    """Replay positions from their facts before `until`.

    Gives tracks by id (in order of id), the prices (loaded up to `marks_until`, also for the facts in `more`), the
    facts, and the ids that facts name but no `position` event opened.
    """
    told = facts.of_positions(conn, agent, positions, until=until - 1) if positions else []
    more = list(more)
    known = [fact.at for fact in (*told, *more)]
    start = min(known, default=until) - 2 * 24 * 3600 * 1_000_000
    prices = load_prices(conn, agent, settings, symbols_of((*told, *more)), start, marks_until)
    tracks: dict[str, Track] = {}
    orphans: list[str] = []
    for name, group in sorted(by_position(told).items()):
        track = replay(group, prices, settings.lot_method)
        if track is None:
            orphans.append(name)
            continue
        flag_implausible(track, prices)
        tracks[name] = track
    return tracks, prices, told, orphans
