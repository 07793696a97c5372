"""Positions judged in hindsight: all of a period at once, or one alone by the same way. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.evaluate.position.after_exit import funding_told, holding_terms
from retro.evaluate.position.costs import slips_of
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
    from retro.evaluate.position.costs import Slip
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
    document = retrospect(life, measures, words, period_pnl=None, agent=agent, slips=slips_of(track, prices))
    return with_path(document, life)


def lives_of(
    inputs: Inputs,
    tracks: list[PositionHistory],
    slips: Mapping[str, Sequence[Slip]],
    *,
    together: int = _TOGETHER,
) -> list[PositionRetrospective]:
    """The documents of a period's positions, in order, with the paths that its page draws.

    Of a whole life it draws none, and of a day none of what was only held. What is written down is let go of, so that
    a week of positions is never there twice: `tracks` and those of the inputs are empty afterwards. `slips` are those
    of each position's fills. How many are measured `together` moves no figure.
    """
    period, kind = inputs.period, KINDS[inputs.period.horizon]
    writer = _Writer(inputs, slips)
    inputs.tracks.clear()
    tracks.reverse()
    positions: list[PositionRetrospective] = []
    largest: list[PositionRetrospective] = []
    largest_tracks: dict[str, PositionHistory] = {}
    while tracks:
        batch = [tracks.pop() for _ in range(min(len(tracks), together))]
        documents = writer.documents(batch)
        positions += documents
        if kind.scope != "life":
            largest = movers([*largest, *documents])[:DRAWN]
            largest_tracks |= {track.position.position: track for track in batch}
            largest_tracks = {p.position_id: largest_tracks[p.position_id] for p in largest}
    paths = {
        name: writer.path(track)
        for name, track in largest_tracks.items()
        if not (kind.brief and _only_held(track, period))
    }
    return [
        with_path(position, paths[position.position_id]) if position.position_id in paths else position
        for position in positions
    ]


class _Writer:
    """What the positions of one period are measured by."""

    def __init__(self, inputs: Inputs, slips: Mapping[str, Sequence[Slip]]) -> None:
        self.slips = slips
        period, options = inputs.period, inputs.options
        self.inputs = inputs
        self.horizon = Lookahead(
            end=period.end,
            known_until=inputs.known_until,
            after_until=period.end + options.settle_lag,
            offsets=options.offsets,
            use_highs_lows=options.use_highs_lows,
        )
        self.funding = funding_told(inputs.tracks.values())
        self.predictions = PredictionIndex(inputs.predictions.values())

    def path(self, track: PositionHistory) -> PositionPath:
        """The arrays of a position."""
        inputs = self.inputs
        equity = inputs.books.equity_by(track.closed_at) if inputs.capital_known else None
        payments = self.funding.get(track.position.instrument, ())
        terms = holding_terms(track, equity, payments, inputs.prices)
        return PositionPath(track, self.horizon, inputs.prices, terms)

    def documents(self, tracks: Sequence[PositionHistory]) -> list[PositionRetrospective]:
        """The documents of positions that are measured together, their paths not drawn."""
        inputs, period = self.inputs, self.inputs.period
        claims, outcomes = inputs.options.rules.claims, inputs.last_resolutions
        lives = [self.path(track) for track in tracks]
        return [
            retrospect(
                life,
                measures,
                words_of(life.track, self.predictions, outcomes, claims),
                period_pnl=inputs.books.position_pnl(life.track.position.position, period.start, period.end),
                agent=inputs.agent,
                slips=self.slips[life.track.position.position],
            )
            for life, measures in zip(lives, measures_of(lives), strict=True)
        ]


def _only_held(track: PositionHistory, period: Period) -> bool:
    """Whether nothing was told of a position in a period: a day adds 24 hours to a path that yesterday's has."""
    return not any(period.start <= knot.at < period.end for knot in track.knots)
