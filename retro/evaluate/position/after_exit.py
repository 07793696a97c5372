"""What holding on after the exit would have brought: how long it could have been borne, and what it would have paid."""

from __future__ import annotations

from bisect import bisect_right
from math import fsum, inf
from typing import TYPE_CHECKING, NamedTuple

from retro.evaluate.position.life import HoldingTerms
from retro.kernels import regret as kernel
from retro.periods import WEEK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.life import PositionPath

__all__ = ["FundingPayment", "funding_told", "holding_on", "holding_terms", "stop_of", "unknown_after"]


class FundingPayment(NamedTuple):
    """Funding that a position settled: at which instant, how much it held, and what each unit held long received."""

    at: int
    held: float
    rate: float
    position: str


def funding_told(tracks: Iterable[PositionHistory]) -> dict[str, list[FundingPayment]]:
    """The funding of each instrument in order of time, as its positions tell it.

    What a position settles with its own close may be all of its life's at once: it says nothing of one instant.
    """
    told: dict[str, list[FundingPayment]] = {}
    for track in tracks:
        instrument, name = track.position.instrument, track.position.position
        for booking in track.bookings:
            if booking.component != "funding" or booking.at == track.closed_at:
                continue
            knot = track.knot_before(booking.at)
            held = 0.0 if knot is None else knot.principal.get(instrument, 0.0)
            if held:
                payment = FundingPayment(booking.at, abs(held), booking.amount / held, name)
                told.setdefault(instrument, []).append(payment)
    return {instrument: sorted(payments) for instrument, payments in told.items()}


def holding_terms(
    track: PositionHistory, equity: float | None, told: Sequence[FundingPayment], prices: Prices
) -> HoldingTerms:
    """What keeping a closed perp would have met; `equity` is the agent's at the exit, None where it is not known.

    `told` is the funding of its instrument: of several positions that tell it at one instant the largest speaks. Nothing
    for what is no perp: what is paid for in full can be held for ever, and pays no funding.
    """
    if track.position.kind != "perp" or track.closed_at is None:
        return HoldingTerms()
    ruin = equity if equity is not None else _margin(track, prices)
    first = bisect_right(told, track.closed_at, key=lambda payment: payment.at)
    last = bisect_right(told, track.closed_at + WEEK, key=lambda payment: payment.at)
    own = track.position.position
    rates = {payment.at: payment.rate for payment in told[first:last] if payment.position != own}
    return HoldingTerms(None if ruin is None else max(ruin, 0.0), tuple(rates.items()))


def _margin(track: PositionHistory, prices: Prices) -> float | None:
    """What was put up for it, at the marks of its entry; None where nobody told."""
    quotes = [
        (float(quantity), prices.quote(asset, track.opened_at))
        for asset, quantity in sorted((track.position.funded_with or {}).items())
    ]
    if not quotes:
        return None
    amounts = [quantity * quote.price for quantity, quote in quotes if quote is not None]
    return fsum(amounts) if len(amounts) == len(quotes) else None


def unknown_after(life: PositionPath) -> str | None:
    """Why nothing can be said of holding on, whatever the marks are; None where they may say it."""
    duration = life.exit_at - life.track.opened_at
    if not life.closed:
        return "the position is open"
    if not life.track.is_fill_based:
        return "not defined for LP, lending and staking"
    if duration <= 0:
        return "it was held for no time"
    if (
        life.track.exit_reason == "force_exit"
        and life.gap
        and life.exit_at >= life.horizon.known_until - 2 * life.gap
    ):
        return "forced out where the data end"
    if life.exit_at + min(duration, WEEK) > life.marks_after:
        return "its time after the exit has not passed yet"
    return None


def stop_of(life: PositionPath, mae: float) -> float:
    """How far holding on may fall before a patient holder leaves: max(risk, |mae|), base currency."""
    return max(life.risk or 0.0, abs(mae))


def holding_on(life: PositionPath, mae: float) -> kernel.AfterExit:
    """What holding on would have brought, within h = min(holding time, 7 d) after the exit."""
    why = unknown_after(life)
    if why is not None:
        return kernel.AfterExit(None, None, None, why)
    until = life.exit_at + min(life.exit_at - life.track.opened_at, WEEK)
    times = life.line.t[life.line.index(life.exit_at) + 1 : life.line.index(until) + 1]
    return kernel.after_exit(
        times,
        life.gross_if_held(times),
        entry=life.track.opened_at,
        exit_at=life.exit_at,
        final_pnl=life.final,
        exit_costs=life.exit_costs,
        gap=life.gap,
        stop=stop_of(life, mae),
        tolerance=kernel.tie_tolerance(life.sizes.notional or 0.0),
        ruin=inf if life.terms.ruin is None else life.terms.ruin,
    )
