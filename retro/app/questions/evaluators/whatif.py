"""What if one rule had been changed? An agent's own positions replayed, on the marks that came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.app.settlement.tracks import Extent, load_tracks
from retro.errors import UsageError
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.whatif.entered import entered_lives
from retro.evaluate.whatif.rule import GRID, parse_rule
from retro.evaluate.whatif.search import what_if

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.settings import AgentSettings
    from retro.report.evaluators.whatif import WhatIfReport
    from retro.store.database import Store

__all__ = ["WhatIfQuestion", "replayed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfQuestion:
    """Which rules, over which positions: those entered in [start, end), microseconds; None: all of the life.

    `grid` asks for the standard search as well. `slippage_bps` is what leaving earlier would have cost besides.
    """

    rules: Sequence[str] = ()
    grid: bool = False
    start: int | None = None
    end: int | None = None
    slippage_bps: float = 0.0


def replayed(store: Store, agent: str, settings: AgentSettings, question: WhatIfQuestion) -> WhatIfReport:
    """Replay each rule alone; together they are one search. `UsageError` for what is no rule, or none at all."""
    rules = [parse_rule(text) for text in (*question.rules, *(GRID if question.grid else ()))]
    if not rules:
        raise UsageError("name a rule, such as 'stop -3%', or ask for --grid")
    if question.slippage_bps < 0:
        raise UsageError(f"--slippage-bps: {question.slippage_bps:g} lies below 0")
    with settled_book(store, agent, settings, measured=False) as book:
        now, options = book.known_until, settings.options
        rows = book.positions(opened_before=(now + 1) if question.end is None else question.end)
        names = [row.position for row in rows if question.start is None or row.opened_at >= question.start]
        loaded = load_tracks(book.conn, agent, settings, names, Extent(now, now + 1, now))
        horizon = Lookahead(now + 1, now, None, options.offsets)
        lives = [PositionPath(track, horizon, loaded.prices) for track in loaded.tracks.values()]
        entered = entered_lives(lives, options.rules.claims, settings.zone)
    return what_if(entered, rules, settings.zone, seed_of_life(agent), question.slippage_bps)
