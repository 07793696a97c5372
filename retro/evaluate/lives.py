"""Positions judged in hindsight: all of a period at once, or one alone by the same way. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.evaluate.position.after_exit import funding_told, holding_terms
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.position.measures import measures_of
from retro.evaluate.position.retrospective import retrospect, with_path
from retro.evaluate.predictions import PredictionIndex, words_of
from retro.kinds import KINDS
from retro.report.extremes import DRAWN, movers
from retro.report.form import finite_figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.evaluate.inputs import Inputs, Options
    from retro.evaluate.position.life import HoldingTerms
    from retro.model import Prediction, Resolution
    from retro.periods import Period
    from retro.report import PositionRetrospective

__all__ = ["life_of", "lives_of"]

_TOGETHER: Final = 2000
"""Positions that are measured at once: enough for the kernels, and not all of a large week in memory."""


@finite_figures()
def life_of(
    track: PositionHistory,
    prices: Prices,
    options: Options,
    *,
    agent: str,
    horizon: Lookahead,
    predictions: Mapping[str, Prediction],
    outcomes: Mapping[str, Resolution],
    terms: HoldingTerms,
) -> PositionRetrospective:
    """One position's document, its path drawn; `terms` are those of keeping it on after its exit."""
    words = words_of(track, PredictionIndex(predictions.values()), outcomes, options.rules.claims)
    life = PositionPath(track, horizon, prices, terms)
    (measures,) = measures_of([life])
    return with_path(retrospect(life, measures, words, period_pnl=None, agent=agent), life)


def lives_of(inputs: Inputs, tracks: Sequence[PositionHistory]) -> list[PositionRetrospective]:
    """The documents of a period's positions, in order, with the paths that its page draws.

    Of a whole life it draws none, and of a day none of what was only held.
    """
    period, options = inputs.period, inputs.options
    horizon = Lookahead(
        end=period.end,
        known_until=inputs.known_until,
        after_until=period.end + options.settle_lag,
        offsets=options.offsets,
        use_highs_lows=options.use_highs_lows,
    )
    funding = funding_told(inputs.tracks.values())
    predictions = PredictionIndex(inputs.predictions.values())

    def lived(track: PositionHistory) -> PositionPath:
        equity = inputs.books.equity_by(track.closed_at) if inputs.capital_known else None
        told = funding.get(track.position.instrument, ())
        return PositionPath(track, horizon, inputs.prices, holding_terms(track, equity, told, inputs.prices))

    positions: list[PositionRetrospective] = []
    for first in range(0, len(tracks), _TOGETHER):  # what is measured is let go of when it is written down
        lives = [lived(track) for track in tracks[first : first + _TOGETHER]]
        positions += [
            retrospect(
                life,
                measures,
                words_of(life.track, predictions, inputs.last_resolutions, options.rules.claims),
                period_pnl=inputs.books.position_pnl(life.track.position.position, period.start, period.end),
                agent=inputs.agent,
            )
            for life, measures in zip(lives, measures_of(lives), strict=True)
        ]
    kind = KINDS[period.horizon]
    if kind.scope == "life":
        return positions
    shown = {position.position_id for position in movers(positions)[:DRAWN]}
    return [
        with_path(position, lived(track))
        if position.position_id in shown and not (kind.brief and _only_held(track, period))
        else position
        for position, track in zip(positions, tracks, strict=True)
    ]


def _only_held(track: PositionHistory, period: Period) -> bool:
    """Whether nothing was told of a position in a period: a day adds 24 hours to a path that yesterday's has."""
    return not any(period.start <= knot.at < period.end for knot in track.knots)
