"""The best and worst of a position's life, by its marks; where no marks tell, as the agent itself saw them.

A freqtrade bot keeps the highest and lowest rate of each trade (`max_rate`, `min_rate`), but no candles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.accounting.prices import base_and_quote
from retro.kernels import regret as kernel
from retro.kernels.series import coverage

if TYPE_CHECKING:
    from retro.evaluate.position.life import PositionPath

__all__ = ["FROM_THE_BOT", "Excursions", "Hindsight", "hindsight", "walked"]

FROM_THE_BOT: Final = "from the bot's extremes"
"""The flag of a position whose peak and deepest loss are of extremes that were told, not of marks."""

_UNSEEN: Final = "no mark lies between its entry and its exit"
_BAND: Final = 1.2
"""How far beyond the extremes a fill may lie; further, and they are not of this position."""


class Excursions(NamedTuple):
    """Gross pnl, before exit costs, at the best and worst price seen: base currency, and base currency per unit."""

    best: float
    worst: float
    best_price: float
    worst_price: float


class Hindsight(NamedTuple):
    """What the end of a life knows of its way: excursions and regret, base currency; `seen` where they rest on it.

    `mfe` and `mae` are None where nothing tells how it stood between entry and exit.
    """

    regret: kernel.Regret
    seen: Excursions | None
    mfe: float | None
    mae: float | None


def walked(life: PositionPath) -> Hindsight:
    """Excursions and regret of a life whose holdings changed: of the gross pnl at each mark inside it."""
    times, gross = life.inside()
    share = coverage(life.marks, life.track.opened_at, life.exit_at, life.gap)
    candidates = kernel.ExitCandidates(
        times,
        gross,
        exit_at=life.exit_at,
        final_pnl=life.final,
        notional=life.sizes.notional or 0.0,
        entry_costs=life.entry_fees,
        exit_costs=life.exit_costs,
        closes=life.closes(gross),
    )
    return hindsight(life, kernel.regret(candidates, share), len(times))


def hindsight(life: PositionPath, regret: kernel.Regret, marks_inside: int) -> Hindsight:
    """Excursions and regret, of the marks inside its life; where those are too few, as far as the agent itself saw."""
    life.reasons |= regret.reasons
    seen = _excursions_seen(life) if regret.regret is None else None
    if seen is not None:
        regret = _widened(regret, seen)
    elif not marks_inside:
        life.reasons |= dict.fromkeys(("mfe", "mae", "mfe_price", "mae_price", "mfe_r", "mae_r"), _UNSEEN)
        return Hindsight(regret, None, None, None)
    return Hindsight(regret, seen, regret.mfe, regret.mae)


def _excursions_seen(life: PositionPath) -> Excursions | None:
    """What the position was worth at the extremes the agent told; None where that cannot be known.

    The extremes carry no time. So they say something only of a closed position that held one and the same quantity
    from entry to exit, quoted in the base currency, and whose fills do not contradict them.
    """
    track = life.track
    _, quote = base_and_quote(track.position.instrument)
    if track.extremes is None or not life.closed or quote not in {None, life.prices.base_currency}:
        return None
    low, high = track.extremes
    paid = [*(fill.price for fill in track.openings), *(fill.price for fill in track.closings)]
    if any(not low / _BAND <= price <= high * _BAND for price in paid):
        return None
    inside = [knot for knot in track.knots if track.opened_at <= knot.at < life.exit_at]
    quantities = {knot.principal.get(track.position.instrument, 0.0) for knot in inside}
    if len(quantities) != 1:
        return None
    (quantity,), last = quantities, inside[-1]
    best, worst = (high, low) if quantity > 0 else (low, high)
    cash = last.cash - last.gas
    return Excursions(cash + quantity * best, cash + quantity * worst, best, worst)


def _widened(regret: kernel.Regret, seen: Excursions) -> kernel.Regret:
    """Excursions that reach as far as what was seen; when that was nobody knows."""
    return replace(regret, mfe=max(regret.mfe, seen.best), mae=min(regret.mae, seen.worst))
