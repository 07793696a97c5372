"""Which positions of the book may have traded an asset: those whose fills may tell a price of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, func, select

from retro.store.books.positions import book_positions
from retro.store.facts.agents import key_query
from retro.store.schema import among, events, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

__all__ = ["traded"]


def traded(conn: Connection, agent: str, since: Mapping[str, int]) -> set[str]:
    """The positions that may have traded an asset, quoted in whatever, since its instant, and those that did so last before."""
    c = book_positions.c
    slash = func.strpos if conn.dialect.name == "postgresql" else func.instr
    asset = func.substr(c.instrument, 1, slash(c.instrument + "/", "/") - 1)
    query = select(c.position, asset, c.closed_at).where(
        c.agent == key_query(agent), among(conn, asset, since)
    )
    names: set[str] = set()
    earlier: dict[str, list[_Closed]] = {}
    for position, of_asset, closed_at in conn.execute(query):
        if closed_at is None or closed_at >= since[of_asset]:
            names.add(position)
        else:
            earlier.setdefault(of_asset, []).append(_Closed(closed_at, position))
    for closed in earlier.values():
        closed.sort(reverse=True)
    return names | _last_filled(conn, agent, list(earlier.values()))


class _Closed(NamedTuple):
    """A closed position, and when it was told to be closed."""

    at: int
    position: str


def _last_filled(conn: Connection, agent: str, assets: list[list[_Closed]]) -> set[str]:
    """Those of each asset's closed positions, the last closed first, that have the last fill of all of it.

    One may be told to be closed long after its last fill, and one of another kind has none, but none has a fill after
    its close: so they are looked at from the last closed on.
    """
    f, count, names = events.c, 4, set[str]()
    while assets:
        looked_at = [closed.position for asset in assets for closed in asset[:count]]
        of_these = and_(f.agent == key_query(agent), f.type == "fill", within(conn, f.position, looked_at))
        filled_at = dict(
            conn.execute(select(f.position, func.max(f.at)).where(of_these).group_by(f.position)).all()
        )
        waiting = []
        for asset in assets:
            some = asset[:count]
            last = max((filled_at[c.position] for c in some if c.position in filled_at), default=0)
            if len(some) == len(asset) or some[-1].at < last:
                names |= {c.position for c in some if filled_at.get(c.position) == last}
            else:
                waiting.append(asset)
        assets, count = waiting, count * 8
    return names
