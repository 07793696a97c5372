"""What is kept of every position once its outcome is known, so that a review's cost follows its window.

A `PositionSummary` is derived: deleting all of them and settling again gives the same rows. It carries what the cumulative
citation audit, the alarm and the lists need without replaying a position's facts.
"""

from __future__ import annotations

from bisect import bisect_right
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from retro.accounting.prices import NEAR
from retro.evaluate.position.alternatives import outcome_of
from retro.evaluate.position.foresight import citations_in, cites_of, foreseen
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.position.measures import endings_of
from retro.evaluate.position.spark import spark
from retro.invariant import invariant
from retro.kernels.average_lots import LotClosings
from retro.kernels.lots import unrounded
from retro.kernels.series import median_gap
from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.accounting.movements import OpeningFill
    from retro.accounting.prices import PriceLine, Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.position.excursions import Hindsight
    from retro.evaluate.position.foresight import Cited

__all__ = [
    "Increase",
    "PositionSummary",
    "avoided",
    "book_rows",
    "exit_horizon",
    "flag_implausible",
    "increases",
]

_LONGEST_HORIZON: Final = 7 * DAY
_DUST: Final = 1e-6
"""Of what was put into a position: a fill smaller than that says nothing of the position."""


class PositionSummary(msgspec.Struct, frozen=True):
    """A position in the book. Money in base currency; None where unknown or not yet known.

    `increases` are the outcomes of decisions that only enlarged the position: (cites, pnl of their own lots). `mfe` to
    `spark` are what its end knows of its way, None while it is open: for lists, so that no list replays a life.
    """

    position: str
    kind: str
    instrument: str
    strategy: str
    side: str | None
    opened_at: int
    closed_at: int | None
    flagged_at: int | None
    final_pnl: float | None
    vs_inaction: float | None
    notional: float | None
    risk: float | None
    exit_outcome: float | None
    exit_resolved_at: int | None
    implausible_pnl: float
    decisions: tuple[Cited, ...]
    increases: tuple[tuple[tuple[str, ...], float], ...]
    ruling: str | None = None
    mfe: float | None = None
    mae: float | None = None
    regret: float | None = None
    regret_ratio: float | None = None
    exit_reason: str | None = None
    spark: bytes | None = None

    def counts(self, outcome: float) -> bool:
        """Whether an outcome enters rates and the audit: of a flagged position its losses do, its gains do not.

        Nothing does of one that its owner has rejected.
        """
        return self.flagged_at is None or (outcome < 0 and self.ruling != "rejected")

    def to_json(self) -> dict[str, Any]:
        """Plain data for the store."""
        return {
            "decisions": [
                [c.id, c.at, c.action, list(c.cites), c.after_the_fact, c.told_at] for c in self.decisions
            ],
            "increases": [[list(cites), pnl] for cites, pnl in self.increases],
        }


def flag_implausible(track: PositionHistory, prices: Prices) -> None:
    """Flag a position whose fills cannot be believed, from the first such fill on.

    A fill outside [low / 1.2, high x 1.2] of its candle and both neighbours, unless it lies between the low and high of
    marks within 5 minutes; without marks near it, an exit price outside [0.1, 10] times the entry price. A fill below a
    millionth of the position flags nothing: else anybody could take a loss out of the audit for next to no money. What
    its owner has confirmed is believed.
    """
    if not track.is_fill_based or track.ruling == "confirmed":
        return
    line = prices.line(track.position.instrument)
    has_marks = False
    dust = _DUST * fsum(opening.quantity for opening in track.openings)
    bought = [o for o in track.openings if o.quantity > dust]
    at_nothing = next((o.at for o in bought if not o.price and track.fills[o.tag].price), None)
    if at_nothing is not None:
        track.is_quoted, track.flagged_at = False, at_nothing
        track.flagged_why = f"no mark or fill says what the quote of {track.position.instrument} was worth"
        return
    closings = [
        fill for fill in track.closings if fill.quantity > dust
    ]  # interest that left at the close is no fill
    fills = [(o.at, o.price) for o in bought] + [(c.at, c.price) for c in closings]
    for at, price in sorted(fills):
        band = _band(line, at)
        if band is None:
            continue
        has_marks = True
        low, high = band
        if not low / 1.2 <= price <= high * 1.2 and not _traded(line, at, price):
            track.flagged_at = at
            track.flagged_why = (
                f"a fill at {price:.10g} where the market was between {low:.10g} and {high:.10g}"
            )
            return
    if has_marks or not track.openings or not track.closings:
        return
    paid = fsum(o.quantity * o.price for o in track.openings) / fsum(o.quantity for o in track.openings)
    for fill in closings:
        if paid <= 0 or not 0.1 <= fill.price / paid <= 10:
            track.flagged_at = fill.at
            track.flagged_why = (
                f"an exit at {fill.price:.10g} after an entry at {paid:.10g}, and no marks to check them"
            )
            return


def _traded(line: PriceLine, at: int, price: float) -> bool:
    """Whether a price lies between the low and high of its candle, or of the marks within 5 minutes."""
    first, last = np.searchsorted(line.t, [at - NEAR, at + NEAR + 1])
    ranged = np.flatnonzero(line.high[last:] > line.low[last:])[:1] + last
    candle = ranged[line.t[ranged] - at <= DAY]  # marks that are no candles may lie before its close
    for around in (slice(first, last), candle):
        if len(line.t[around]) and line.low[around].min() <= price <= line.high[around].max():
            return True
    return False


def _band(line: PriceLine, at: int) -> tuple[float, float] | None:
    """Lowest low and highest high of the candle around an instant and its two neighbours, all within a day."""
    i = line.index(at) + 1
    first = max(i - 1, 0)
    near = [first + k for k, t in enumerate(line.t[first : i + 2].tolist()) if abs(t - at) <= DAY]
    if not near:
        return None
    around = slice(near[0], near[-1] + 1)  # instants ascend: those within a day of one are a stretch
    return min(line.low[around].tolist()), max(line.high[around].tolist())


def exit_horizon(track: PositionHistory) -> int | None:
    """The instant at which the exit can be judged: exit + min(holding time, 7 d)."""
    if track.closed_at is None or not track.is_fill_based or track.closed_at <= track.opened_at:
        return None
    return track.closed_at + min(track.closed_at - track.opened_at, _LONGEST_HORIZON)


def _exit_outcome(
    track: PositionHistory, prices: Prices, known_until: int
) -> tuple[float | None, int | None]:
    """-side x quantity x (mark at exit + h - fill): the loss avoided or gain missed by the exit, whatever it closed."""
    at = exit_horizon(track)
    if at is None or track.closed_at is None:
        return None, None
    if not track.is_quoted:
        return None, at
    line = prices.line(track.position.instrument)
    gap = median_gap(line.t, track.opened_at - DAY, track.closed_at)
    i = line.index(at)
    forced = (
        track.exit_reason == "force_exit" and gap is not None and track.closed_at >= known_until - 2 * gap
    )
    if i < 0 or gap is None or at - int(line.t[i]) > 3 * gap or int(line.t[i]) <= track.closed_at or forced:
        return None, at
    if not fsum(c.quantity for c in track.closings):  # told to be closed, but of no fill
        return None, at
    return avoided(track, float(line.price[i])), at


def avoided(track: PositionHistory, mark: float) -> float:
    """The loss avoided (> 0) or gain missed by having left at the closing fills and not at a mark."""
    missed = fsum(c.sign * c.quantity * (mark - c.price) for c in track.closings)
    return unrounded(-missed, fsum(c.quantity * mark for c in track.closings))


class Increase(NamedTuple):
    """What an `increase` decision cites, the opening fills it explains, and the pnl of what of them was closed."""

    cites: tuple[str, ...]
    tags: frozenset[int]
    pnl: float


def increases(track: PositionHistory) -> list[Increase]:
    """The increases of a position that cite what its entry does not, of the decisions that count as evidence."""
    if not track.retold and not any(decision.action == "increase" for decision in track.decisions):
        return []  # nearly always
    decisions = foreseen(track)
    entries = [d for d in decisions if d.action in {"enter", "increase"}]
    decided = [d.at for d in entries]
    lots: dict[str, list[OpeningFill]] = {}
    for opening in track.openings:
        before = bisect_right(decided, opening.at)
        if before and entries[before - 1].action == "increase" and opening.at > track.opened_at:
            lots.setdefault(entries[before - 1].id, []).append(opening)
    beaten = {cite for d in decisions if d.action in {"enter", "hold", "skip"} for cite in cites_of(d)}
    lot_closings = LotClosings(track.matches)
    out = []
    for decision in entries:
        cites = tuple(cite for cite in cites_of(decision) if cite not in beaten)
        if decision.action == "increase" and cites and decision.id in lots:
            pnl = 0.0
            for opening in lots[decision.id]:
                closed = sum((piece.pnl for piece in lot_closings.of(opening.tag)), 0.0)
                pnl += unrounded(closed, opening.quantity * opening.price)
            out.append(Increase(cites, frozenset(opening.tag for opening in lots[decision.id]), pnl))
    return out


def book_rows(
    tracks: Iterable[PositionHistory],
    prices: Prices,
    known_until: int,
    told_at: Mapping[str, int] | None = None,
    *,
    use_highs_lows: bool = False,
) -> list[PositionSummary]:
    """The rows of replayed positions, in order; `told_at` says by which clock their decisions were told first."""
    tracks = list(tracks)
    horizon = Lookahead(known_until + 1, known_until, None, (), use_highs_lows)
    lives = [PositionPath(track, horizon, prices) for track in tracks if track.closed_at is not None]
    endings = {
        life.track.position.position: (life, ending)
        for life, ending in zip(lives, endings_of(lives), strict=True)
    }
    out = []
    for track in tracks:
        row = _row(track, prices, known_until, told_at or {})
        _check_finite(row)
        if row.position in endings:
            row = _with_hindsight(row, *endings[row.position])
            _check_finite(row)
        out.append(row)
    return out


def _row(
    track: PositionHistory, prices: Prices, known_until: int, told_at: Mapping[str, int]
) -> PositionSummary:
    """The row of one position, without what its marks tell."""
    valued = track.closed_at is not None and track.is_quoted
    outcome = outcome_of(track, prices, known_until)
    exit_outcome, resolved = _exit_outcome(track, prices, known_until)
    position = track.position
    implausible = 0.0
    if track.flagged_day is not None:
        implausible = outcome.final_pnl - track.state(track.flagged_day, known_until, prices).pnl
    return PositionSummary(
        position=position.position,
        kind=position.kind,
        instrument=position.instrument,
        strategy=position.strategy,
        side=position.side,
        opened_at=track.opened_at,
        closed_at=track.closed_at,
        flagged_at=track.flagged_at,
        final_pnl=outcome.final_pnl if valued else None,
        vs_inaction=outcome.vs_inaction if valued else None,
        notional=outcome.notional,
        risk=track.risk,
        exit_outcome=exit_outcome,
        exit_resolved_at=resolved,
        implausible_pnl=implausible,
        decisions=citations_in(track, told_at),
        increases=tuple((part.cites, part.pnl) for part in increases(track)) if valued else (),
        ruling=track.ruling,
    )


def _with_hindsight(row: PositionSummary, life: PositionPath, ending: Hindsight) -> PositionSummary:
    """The row of a closed position with what its end knows of its way, as its retrospective says it."""
    return msgspec.structs.replace(
        row,
        mfe=ending.mfe,
        mae=ending.mae,
        regret=ending.regret.regret,
        regret_ratio=ending.regret.regret_ratio,
        exit_reason=life.track.exit_reason,
        spark=spark(life, ending),
    )


def _check_finite(summary: PositionSummary) -> None:
    """No NaN enters the book: the audit would count it as an outcome that nobody knows, for ever."""
    figures = (
        summary.final_pnl,
        summary.vs_inaction,
        summary.notional,
        summary.exit_outcome,
        summary.implausible_pnl,
        summary.mfe,
        summary.mae,
        summary.regret,
        summary.regret_ratio,
        *(pnl for _, pnl in summary.increases),
    )
    if not all(figure is None or isfinite(figure) for figure in figures):
        invariant(
            holds=False, name="every figure is a number or absent", detail=f"{summary.position}: {figures}"
        )
