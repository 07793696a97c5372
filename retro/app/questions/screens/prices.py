"""What a position's instrument cost while it was held and afterwards, as the marks have it. Read, never settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from retro.accounting.prices import Prices, base_and_quote, related_symbols
from retro.kernels.series import extremes
from retro.periods import DAY, parse_instant
from retro.present.page.market import PriceTrack
from retro.store.life import LifeReader

if TYPE_CHECKING:
    from retro.report import PositionRetrospective
    from retro.store.database import Store

__all__ = ["price_track"]

_DRAWN: Final = 160
_SHORTEST, _LONGEST = DAY, 30 * DAY
"""What follows the exit is drawn for as long as the position was held, within these."""


def price_track(
    store: Store, base_currency: str, life: PositionRetrospective, known_until: int
) -> PriceTrack | None:
    """Marks told of between the entry and `known_until` (microseconds); None with fewer than two while it was held."""
    opened = parse_instant(life.entry_at)
    closed = known_until if life.exit_at is None else min(parse_instant(life.exit_at), known_until)
    end = min(closed + min(max(closed - opened, _SHORTEST), _LONGEST), known_until)
    names = {life.instrument}
    _, quote = base_and_quote(life.instrument)
    if quote in {None, base_currency}:  # else prices of the asset are in another unit
        names |= {*related_symbols(life.instrument, base_currency)}
    with store.read() as conn:
        market = LifeReader(conn, life.agent).market
        series = [read(names, opened, end) for read in (market.owned, market.shared)]
    line = Prices(base_currency, *series, known_until=end).line(life.instrument)
    inside = (line.t >= opened) & (line.t <= end)
    t, x = line.t[inside], line.price[inside]
    count = int(np.searchsorted(t, closed, "right"))
    if count < 2:
        return None
    places = np.concatenate([extremes(x[:count], _DRAWN), count + extremes(x[count:], _DRAWN // 2)])
    places = np.union1d(places, [0, count - 1, len(t) - 1])
    points = tuple(zip(t[places].tolist(), x[places].tolist(), strict=True))
    return PriceTrack(points, count, len(t) - count, float(x[:count].min()), float(x[:count].max()))
