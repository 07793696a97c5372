"""What to keep in mind when reading the numbers of a period: what could not be priced, believed or explained."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from retro.accounting.prices import UNPRICED
from retro.periods import format_instant
from retro.report import DataQuality, Implausible, Unpriced
from retro.report.lines import COMPONENTS, SIGNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.accounting.track import PositionHistory
    from retro.evaluate.inputs import Inputs
    from retro.report import PnlAttribution

__all__ = ["TrackDoubts", "doubts_of", "quality_of"]


@dataclass(frozen=True, slots=True)
class TrackDoubts:
    """What the positions of a report themselves say of its figures, read before they are let go of.

    `assets` are all that is held at the period's end.
    """

    warnings: list[str]
    implausible: list[Implausible]
    unpriced: list[Unpriced]
    outside: list[str]
    assets: set[str]


def doubts_of(inputs: Inputs, tracks: Sequence[PositionHistory]) -> TrackDoubts:
    """The doubts about a report's positions, in order of their ids."""
    by_name = sorted((track.position.position, track) for track in tracks)
    at_the_end = (track.knot_before(inputs.period.end) for track in tracks)
    return TrackDoubts(
        warnings=[f"{name}: {warning}" for name, track in by_name for warning in track.warnings],
        implausible=[
            Implausible(
                position_id=name,
                reason=track.flagged_why,
                pnl=inputs.books.position_pnl(name, inputs.period.start, inputs.period.end)
                if track.is_quoted
                else None,
            )
            for name, track in by_name
            if track.flagged_at is not None
        ],
        unpriced=_unpriced(inputs, [name for name, _ in by_name]),
        outside=_outside_their_lives(inputs, {name for name, _ in by_name}),
        assets={asset for knot in at_the_end if knot is not None for asset in knot.assets},
    )


def quality_of(inputs: Inputs, pnl: PnlAttribution, doubts: TrackDoubts) -> DataQuality:
    """What a report warns of, when every figure has been computed: which prices were missing is known only then."""
    warnings = list(inputs.warnings)
    size = fsum(abs(SIGNS[name] * getattr(pnl, name)) for name in COMPONENTS)
    if pnl.unattributed is not None and abs(pnl.unattributed) > max(0.01, 0.001 * size):
        warnings.append(
            f"the agent's stated equity and its events differ by {pnl.unattributed:+.2f} {inputs.base_currency}"
            " that no event explains: look for a missing event or wrong decimals"
        )
    warnings += [*doubts.warnings, *_disbelieved_marks(inputs), *doubts.outside]
    missing = _missing_marks(inputs, doubts.assets)
    return DataQuality(
        warnings=warnings,
        implausible=doubts.implausible,
        unpriced=doubts.unpriced,
        quarantined=inputs.quarantined,
        missing_marks=missing,
        provisional=bool(missing),
    )


def _unpriced(inputs: Inputs, names: Sequence[str]) -> list[Unpriced]:
    """The positions of the report that are open at its end and have no mark at all."""
    out = []
    for name in names:
        state = inputs.books.states[name][inputs.books.index(inputs.period.end)]
        if not state.is_priced:
            out.append(Unpriced(position_id=name, cost=abs(state.value) or None))
    return out


def _missing_marks(inputs: Inputs, assets: set[str]) -> list[str]:
    """Which prices could not be relied on; of what was held without a mark only what is held at the end is named."""
    out, earlier = [], 0
    for symbol, why in sorted(inputs.prices.unreliable.items()):
        if why == UNPRICED and symbol not in assets:
            earlier += 1
        else:
            out.append(f"{symbol}: {why}")
    if earlier:
        number = "1 instrument" if earlier == 1 else f"{earlier:,} instruments"
        out.append(f"{number} without a mark while a position was open; none of these is held at the end")
    return out


def _disbelieved_marks(inputs: Inputs) -> list[str]:
    """The agent's own marks of the period that shared ones contradict, by instrument."""
    out = []
    for symbol, line in sorted(inputs.prices.disbelieved.items()):
        i, j = np.searchsorted(line.t, [inputs.period.start, inputs.period.end])
        if count := int(j - i):
            many = f"{count} marks" if count > 1 else "a mark"
            out.append(
                f"{symbol}: {many} of the agent's own, more than 2 % from the market, used for nothing (the first:"
                f" {line.price[i]:.10g} at {format_instant(int(line.t[i]))})"
            )
    return out


def _outside_their_lives(inputs: Inputs, reported_names: set[str]) -> list[str]:
    """What positions cost or brought in the period before they were entered or after they were left."""
    period, out = inputs.period, []
    for name, track in sorted(inputs.tracks.items()):
        pnl = 0.0 if name in reported_names else inputs.books.position_pnl(name, period.start, period.end)
        if pnl:
            was = "left" if track.opened_at < period.start else "entered"
            at = track.closed_at if track.opened_at < period.start else track.opened_at
            out.append(
                f"{name}: {pnl:+.2f} {inputs.base_currency} of this period, gas or funding, is in the total but in no"
                f" position listed: it was {was} {format_instant(at or 0)[:10]}"
            )
    return out
