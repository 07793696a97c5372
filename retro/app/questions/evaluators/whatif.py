"""What if one rule had been changed? An agent's own positions replayed, on the marks that came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.app.reviews.shadows import entered_positions
from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.errors import UsageError
from retro.evaluate.whatif.rule import GRID, parse_rule
from retro.evaluate.whatif.search import what_if
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.settings import AgentSettings
    from retro.report.evaluators.whatif import WhatIfReport
    from retro.store.database import Store

__all__ = ["WhatIfQuestion", "replayed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfQuestion:
    """Which rules, over which positions: those entered in [start, end), microseconds; None: all of the life.

    `grid` asks for the standard search as well. `slippage_bps` is what leaving earlier would have cost besides. With
    `as_of` only what was told before that instant counts. `with_rows`: every position under every rule as well.
    """

    rules: Sequence[str] = ()
    grid: bool = False
    start: int | None = None
    end: int | None = None
    slippage_bps: float = 0.0
    as_of: int | None = None
    with_rows: bool = True


def replayed(store: Store, agent: str, settings: AgentSettings, question: WhatIfQuestion) -> WhatIfReport:
    """Replay each rule alone; together they are one search. `UsageError` for what is no rule, or none at all."""
    rules = [parse_rule(text) for text in (*question.rules, *(GRID if question.grid else ()))]
    if not rules:
        raise UsageError("name a rule, such as 'stop -3%', or ask for --grid")
    if not 0 <= question.slippage_bps <= 10_000:
        raise UsageError(f"--slippage-bps: {question.slippage_bps:g} does not lie between 0 and 10,000")
    if question.start is not None and question.end is not None and question.start >= question.end:
        raise UsageError(
            f"--from {format_instant(question.start)} is not before --to {format_instant(question.end)}"
        )
    with settled_book(store, agent, settings, measured=False) as book:
        now = book.known_at(question.as_of)
        entered = entered_positions(book, now, question.start, question.end)
    return what_if(entered, rules, seed_of_life(agent), question.slippage_bps, with_rows=question.with_rows)
