"""A position's whole life as the review tells it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.accounting.attribution import YIELD_KINDS, agree, attribution, signed_sum
from retro.evaluate.position.alternatives import inaction, vs_hold, vs_pair
from retro.evaluate.position.checkpoints import drawn, post_exit, trajectory
from retro.evaluate.position.costs import NO_SLIPPAGE, fees_between, slippage
from retro.evaluate.position.excursions import FROM_THE_BOT
from retro.evaluate.position.life import PositionPath, in_r
from retro.invariant import invariant
from retro.periods import SECOND, format_instant
from retro.report import Cites, EntryPrediction, PnlAttribution, PositionRetrospective
from retro.report.lines import COMPONENTS
from retro.report.slotted import new

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retro.evaluate.position.costs import Slip
    from retro.evaluate.position.excursions import Excursions, Hindsight
    from retro.evaluate.position.measures import Measures
    from retro.kernels import regret as kernel

__all__ = ["AgentWords", "Timing", "position_attribution", "retrospect", "timing", "with_path"]

_NOT_A_POSITIONS: Final = {
    "unattributed": "equity is stated for the whole portfolio",
    "net_yield": "it is no LP, lending or staking position",
    "net_yield_after_costs": "it is no LP, lending or staking position",
    "risk_adjusted_return": "defined for a period",
    "slippage": NO_SLIPPAGE,
    "slippage_mark_age_s": "no mark was needed",
}


@dataclass(frozen=True, slots=True)
class AgentWords:
    """What the agent wrote about a position, cites resolved by the playbook's claims."""

    entry: list[str]
    exit: list[str]
    reasoning: str | None
    exit_reasoning: str | None
    predictions: list[EntryPrediction]


def retrospect(
    life: PositionPath,
    measures: Measures,
    words: AgentWords,
    *,
    period_pnl: float | None,
    agent: str,
    slips: Sequence[Slip],
) -> PositionRetrospective:
    """One position's document, its path not drawn; `period_pnl` None: the whole life is the period.

    `slips` are those of its fills.
    """
    track, (ending, after, samples) = life.track, measures
    if after.reason is not None:
        life.reasons |= dict.fromkeys(("left_on_table", "left_on_table_capped", "hold_on"), after.reason)
    flags = _flags(life, insufficient=ending.regret.regret is None) + [FROM_THE_BOT] * (
        ending.seen is not None
    )
    if track.position.kind == "perp" and after.hold_on is not None and life.terms.ruin is None:
        flags.append("unbounded")
    idle, hold_difference = (
        inaction(track, life.final, life.exit_at, life.prices, life.reasons),
        vs_hold(life),
    )
    points, later = trajectory(life, samples), post_exit(life, samples)
    own = position_attribution(life, slips)
    document = new(
        PositionRetrospective,
        **_identity(life, agent),
        final_pnl=life.final,
        period_pnl=life.final if period_pnl is None else period_pnl,
        pnl_r=in_r(life.final, life.risk),
        pnl_trajectory=points,
        **timing(life, ending)._asdict(),
        vs_inaction=idle,
        vs_hold=hold_difference,
        vs_cash=life.final,
        vs_pair=vs_pair(life),
        left_on_table=after.left_on_table,
        left_on_table_capped=after.left_on_table_capped,
        hold_on=after.hold_on,
        post_exit_trajectory=later,
        attribution=own,
        entry_reasoning=words.reasoning,
        exit_reasoning=words.exit_reasoning,
        exit_reason=track.exit_reason,
        cites=new(Cites, entry=words.entry, exit=words.exit),
        entry_predictions=words.predictions,
        what_went_wrong=None,
        lesson=None,
        flags=flags,
        reasons=dict(sorted(life.reasons.items())),
        path=[],
    )
    if not life.track.is_quoted:
        return _without_price(document, (*_NEEDS_A_PRICE, *_NEEDS_A_QUOTE), life.track.flagged_why)
    return document if life.state.is_priced else _without_price(document, _NEEDS_A_PRICE, _UNPRICED)


def with_path(document: PositionRetrospective, life: PositionPath) -> PositionRetrospective:
    """A position's document with its path, for who draws it: most of its bytes and of its time."""
    return (
        document.model_copy(update={"path": drawn(life, *life.inside())})
        if life.state.is_priced and life.track.is_quoted
        else document
    )


_NEEDS_A_PRICE: Final = (
    "final_pnl", "period_pnl", "pnl_r", "mfe", "mae", "mfe_price", "mae_price", "mfe_r", "mae_r", "regret", "regret_ratio",
    "optimal_exit_at", "optimal_exit_pnl", "vs_inaction", "vs_hold", "vs_cash", "vs_pair",
)  # fmt: skip


_NEEDS_A_QUOTE: Final = (
    "entry_price", "exit_price", "notional", "left_on_table", "left_on_table_capped", "hold_on",
)  # fmt: skip

_UNPRICED: Final = "it is open, and no mark says what it is worth"


def _without_price(
    document: PositionRetrospective, names: Sequence[str], reason: str
) -> PositionRetrospective:
    """A position that nothing prices: what rests on its worth is not known, and nothing is drawn."""
    points = [replace(point, pnl=None, stale=True) for point in document.pnl_trajectory]
    why = dict.fromkeys((*names, "pnl_trajectory"), reason)
    return document.model_copy(
        update={
            **dict.fromkeys(names),
            "pnl_trajectory": points,
            "flags": [*document.flags, "unpriced"],
            "reasons": dict(sorted({**document.reasons, **why}.items())),
        }
    )


def _identity(life: PositionPath, agent: str) -> dict[str, Any]:
    """What the position was, when, and how large; and why what of it is not known."""
    _size_reasons(life)
    position, size = life.track.position, life.sizes
    return {
        "position_id": position.position,
        "agent": agent,
        "kind": position.kind,
        "instrument": position.instrument,
        "venue": position.venue,
        "strategy": position.strategy,
        "side": position.side,
        "entry_at": format_instant(life.track.opened_at),
        "exit_at": format_instant(life.exit_at) if life.closed else None,
        "open": not life.closed,
        "duration_s": (life.exit_at - life.track.opened_at) / SECOND,
        "entry_price": size.entry_price,
        "exit_price": size.exit_price,
        "quantity": size.quantity,
        "notional": size.notional,
    }


class Timing(NamedTuple):
    """How good and how bad it was on the way, and how far from the best exit it left; fields as in a retrospective."""

    mfe: float | None
    mae: float | None
    mfe_price: float | None
    mae_price: float | None
    mfe_r: float | None
    mae_r: float | None
    regret: float | None
    regret_ratio: float | None
    optimal_exit_at: str | None
    optimal_exit_pnl: float | None


def timing(life: PositionPath, ending: Hindsight) -> Timing:
    """What its marks, or the extremes its agent saw, tell of the way; why a price is not known goes to its reasons."""
    risk, regret, seen = life.risk, ending.regret, ending.seen
    best = regret.optimal_exit_at
    prices: dict[str, float | None] = dict.fromkeys(("mfe_price", "mae_price"))
    if ending.mfe is not None:
        prices = _extreme_prices(life, regret, seen)
    return Timing(
        mfe=ending.mfe,
        mae=ending.mae,
        **prices,
        mfe_r=in_r(ending.mfe, risk),
        mae_r=in_r(ending.mae, risk),
        regret=regret.regret,
        regret_ratio=regret.regret_ratio,
        optimal_exit_at=None if best is None else format_instant(best),
        optimal_exit_pnl=regret.optimal_exit_pnl,
    )


def _extreme_prices(
    life: PositionPath, regret: kernel.Regret, seen: Excursions | None
) -> dict[str, float | None]:
    """The prices at which it was worth most and least."""
    prices = {
        "mfe_price": _price_at(life, regret.mfe_at, best=True),
        "mae_price": _price_at(life, regret.mae_at, best=False),
    }
    if seen is not None and regret.mfe == seen.best:
        prices["mfe_price"] = seen.best_price
    if seen is not None and regret.mae == seen.worst:
        prices["mae_price"] = seen.worst_price
    unpriced = [name for name, price in prices.items() if price is None]
    life.reasons |= dict.fromkeys(unpriced, "no mark of the instrument itself")
    return prices


def position_attribution(life: PositionPath, slips: Sequence[Slip]) -> PnlAttribution:
    """The position's own life, component by component; totals its final pnl. `slips` are those of its fills."""
    track, end = life.track, life.horizon.end
    parts: dict[str, list[float]] = {}
    for booking in track.bookings:
        if booking.at < end:
            parts.setdefault(booking.component, []).append(booking.amount)
    sums = {name: fsum(parts.get(name, ())) for name in COMPONENTS}
    sums["impermanent_loss"] += life.state.il
    sums["unrealized_pnl"] += life.state.unrealized
    _check_life(life, sums)
    slipped = slippage(slips, track.opened_at, end)
    pnl = attribution(
        sums,
        start=0.0,
        end=life.state.unrealized,
        yields=track.position.kind in YIELD_KINDS,
        trading_fees=fees_between(track, track.opened_at, end),
        slippage=slipped.amount,
        slippage_mark_age_s=slipped.mark_age_s,
    )
    life.reasons |= {
        f"attribution.{name}": why for name, why in _NOT_A_POSITIONS.items() if getattr(pnl, name) is None
    }
    return pnl


def _check_life(life: PositionPath, components: Mapping[str, float]) -> None:
    """What was booked to a position must come to what its cash and holdings say it made.

    Rounding grows with what passed through its hands, not with the result.
    """
    booked, made = signed_sum(components), life.state.pnl
    size = sum(abs(amount) for amount in components.values()) + sum(abs(e.value) for e in life.track.effects)
    if not agree(booked, made, abs(life.state.value) + size):
        invariant(
            holds=False,
            name="a position's components come to its pnl",
            detail=f"{life.track.position.position}: {booked:.10g} is booked, it made {made:.10g}",
        )


def _flags(life: PositionPath, *, insufficient: bool) -> list[str]:
    flags = [] if life.closed else ["open"]
    if life.track.flagged_at is not None:
        flags.append("implausible")
    if life.track.ruling is not None:
        flags.append(life.track.ruling)
    if insufficient:
        flags.append("insufficient_marks")
    if life.provisional:
        flags.append("provisional")
    return flags


def _size_reasons(life: PositionPath) -> None:
    kind, size = life.track.position.kind, life.sizes
    if size.quantity is None:
        life.reasons["quantity"] = f"a {kind} position of several assets has no single quantity"
    if size.entry_price is None:
        life.reasons["entry_price"] = "no mark at the entry"
    if not life.closed:
        life.reasons["exit_at"] = "the position is open"
    if size.exit_price is None:  # what an open position has sold so far has a price
        life.reasons["exit_price"] = "no mark at the exit" if life.closed else "the position is open"
    if size.notional is None:
        life.reasons["notional"] = "nothing was put in"
    if life.risk is None:
        for name in ("pnl_r", "mfe_r", "mae_r"):
            life.reasons[name] = (
                "the amount at risk (R) is not known: it was stated after the entry"
                if life.track.position.risk
                else "the amount at risk (R) is not known"
            )
    if life.track.is_fill_based:
        life.reasons["vs_hold"] = "for spot and perp, holding what was entered is the position itself"


def _price_at(life: PositionPath, at: int | None, *, best: bool) -> float | None:
    if at is None:
        return life.sizes.entry_price
    if life.closed and at == life.exit_at and (price := life.closing_price) is not None:
        return price
    i = life.line.index(at)
    if i < 0:
        return None
    if life.horizon.use_highs_lows and life.track.is_fill_based and life.holds_candle(i):
        return float((life.line.high if best == (life.track.sign > 0) else life.line.low)[i])
    return float(life.line.price[i])
