"""Kelly from memory: how much to risk in a situation, judged by how situations like it turned out.

f = p/a - q/b in units of R: the share of equity to put at one R of risk. The weights are Sim * Rec * Conf; a weight
that held Q would select on the outcome and find an edge in a fair coin. Advisory, and None where nothing is known: 0 would say "do not".
Source: docs/memory.md, Formulas: Kelly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memory.episodic import cache
from memory.episodic.factors import recency
from memory.episodic.results import appetite, drawdown_of
from memory.retrieval.hit import Filters
from memory.retrieval.recall import score
from memory.settings import STANDARD, Settings
from memory.situation.context import checked, stated_fields

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.episodic.columns import EpisodeColumns
    from memory.episodic.results import MarkedEquity
    from memory.situation.context import Context, Floats

SHARE: Final = 0.25
"""Quarter Kelly: an estimated edge is smaller than it looks."""
CAP: Final = 0.25
"""The most that is ever advised to risk at one R."""
LEAST: Final = 10.0
"""The least effective number of outcomes."""
_EVERYTHING: Final = Filters()


@dataclass(frozen=True, slots=True)
class Kelly:
    """`fraction` of equity to risk per R, or None and `why`; `p` of winning, mean win and loss in R (both > 0)."""

    fraction: float | None
    effective_n: float
    p: float | None
    win_r: float | None
    loss_r: float | None
    why: str

    def document(self) -> dict[str, Any]:
        """The JSON object that `retro kelly` prints."""
        return {name: getattr(self, name) for name in self.__slots__}


def kelly(
    conn: Connection,
    agent: str,
    context: Context,
    *,
    as_of: int | None = None,
    filters: Filters = _EVERYTHING,
    settings: Settings = STANDARD,
    marked: MarkedEquity | None = None,
) -> Kelly:
    """What share of equity to risk per R in this situation, by what is known at `as_of` (default: everything).

    The appetite for risk is that of the drawdown of `marked`, where somebody knows it.
    """
    checked(settings.registry, context)
    columns = cache.columns(conn, agent, settings.registry)
    instant = as_of if as_of is not None else columns.complete_at
    return kelly_of(columns, context, as_of=instant, filters=filters, settings=settings, marked=marked)


def kelly_of(
    columns: EpisodeColumns,
    context: Context,
    *,
    as_of: int,
    filters: Filters = _EVERYTHING,
    settings: Settings = STANDARD,
    marked: MarkedEquity | None = None,
) -> Kelly:
    """Kelly over the columns' episodes known at `as_of`."""
    if not stated_fields(settings.registry, context):
        return Kelly(
            None, 0.0, None, None, None, "the situation states nothing that memories are compared by"
        )
    scored = score(columns, context, as_of=as_of, filters=filters, settings=settings)
    places = scored.places
    weights = scored.sim * recency(columns.at[places], as_of) * columns.conf[places]
    return weighed(columns.r[places], weights, _appetite(columns, as_of, settings, marked))


def _appetite(
    columns: EpisodeColumns, as_of: int, settings: Settings, marked: MarkedEquity | None
) -> float | None:
    drawdown = drawdown_of(columns, columns.until(as_of), settings.capital, marked)
    return None if drawdown is None else appetite(drawdown, settings.drawdown_limit)


def weighed(r: Floats, weights: Floats, risk_appetite: float | None = None, share: float = SHARE) -> Kelly:
    """Kelly of outcomes in R (NaN: none) with weights >= 0, times `share` and the risk appetite, clamped to [0, .25].

    A scratch is neither a win nor a loss and says nothing of the edge. Fewer than 10 effective outcomes
    ((sum w)^2 / sum w^2), or no win, or no loss: no fraction, and the reason.
    """
    usable = ~np.isnan(r) & (r != 0) & (weights > 0)
    r, weights = r[usable], weights[usable]
    if not len(r):
        return Kelly(None, 0.0, None, None, None, "no outcome in R from a situation like this one")
    weights = weights / weights.max()  # so that the squares of the least weights do not vanish
    total = float(weights.sum())
    effective = total * total / float((weights * weights).sum())
    won = r > 0
    win, loss = float(weights[won].sum()), float(weights[~won].sum())
    p = win / total
    win_r = float((weights[won] * r[won]).sum()) / win if win else None
    loss_r = -float((weights[~won] * r[~won]).sum()) / loss if loss else None
    if effective < LEAST:
        why = f"{effective:.1f} effective outcomes, fewer than {LEAST:.0f}"
        return Kelly(None, effective, p, win_r, loss_r, why)
    if win_r is None or loss_r is None:
        why = f"every outcome like this one {'lost' if win_r is None else 'won'}: the odds are not known"
        return Kelly(None, effective, p, win_r, loss_r, why)
    full = p / loss_r - (1.0 - p) / win_r
    fraction = min(CAP, max(0.0, full * share * (1.0 if risk_appetite is None else risk_appetite)))
    return Kelly(fraction, effective, p, win_r, loss_r, _why(full, fraction, share, risk_appetite))


def _why(full: float, fraction: float, share: float, risk_appetite: float | None) -> str:
    if full <= 0:
        return f"situations like this one lost: full Kelly is {full:.3f}"
    state = (
        "risk appetite not known (no capital)"
        if risk_appetite is None
        else f"risk appetite {risk_appetite:.2f}"
    )
    capped = f", capped at {CAP:g}" if fraction == CAP else ""
    return f"full Kelly {full:.3f} x {share:g} x {state}{capped}; advisory"
