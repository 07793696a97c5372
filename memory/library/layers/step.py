"""One step of the layers: items added, then feedback, decay, clean-up and flow, in that order.

Definition: docs/library.md, Layers. A step is a trading day that somebody tells; no clock is read.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from memory.errors import RefusedError
from memory.library.layers.columns import LayerColumns
from memory.library.layers.preset import LONG, MID, SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from memory.library.layers.columns import LayerState
    from memory.library.layers.preset import LayerPreset

ROUNDS: Final = 2
"""Of flow in a step; from long to short takes both."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """That a decision which named an item since made money (`sign` 1) or lost it (-1)."""

    id: str
    sign: int


@dataclass(frozen=True, slots=True)
class LayerStep:
    """What one step did: the items that stay, those cleaned up as they stood then, and its counts.

    `feedback` and `skipped` count items: those that feedback reached, and those that are gone.
    """

    items: LayerColumns
    cleaned: LayerColumns
    added: int
    moved_up: int
    moved_down: int
    feedback: int
    skipped: int


def step(
    items: LayerColumns, additions: Sequence[LayerState], feedback: Iterable[Feedback], preset: LayerPreset
) -> LayerStep:
    """The items a step later. An id that is there already is refused; nothing that was passed in is written to."""
    repeated = _repeated([*items.ids, *(state.id for state in additions)]) if additions else None
    if repeated is not None:
        raise RefusedError(f"item {repeated} is in a layer already")
    fed, applied, skipped = _with_feedback(items + LayerColumns.of(additions), feedback, preset)
    decayed = _decayed(fed, preset)
    low = np.array(preset.clean_recency)[decayed.layer], np.array(preset.clean_importance)[decayed.layer]
    gone = (decayed.recency < low[0]) | (decayed.importance < low[1])
    flowed, up, down = flow(decayed.where(~gone), preset)
    return LayerStep(flowed, decayed.where(gone), len(additions), up, down, applied, skipped)


def _repeated(ids: Sequence[str]) -> str | None:
    """The first id that stands twice, or None."""
    return next((name for name, times in Counter(ids).items() if times > 1), None)


def _with_feedback(
    items: LayerColumns, feedback: Iterable[Feedback], preset: LayerPreset
) -> tuple[LayerColumns, int, int]:
    """Importance and counter moved by what was named: an id once, by the sign of its mentions' sum; 0 moves nothing."""
    signs: Counter[str] = Counter()
    for mention in feedback:
        signs[mention.id] += mention.sign
    if not signs:
        return items, 0, 0
    row_of = {identity: row for row, identity in enumerate(items.ids)}
    sign = np.zeros(len(items.ids), dtype=np.int64)
    for identity in signs.keys() & row_of.keys():
        sign[row_of[identity]] = (signs[identity] > 0) - (signs[identity] < 0)
    fed = replace(
        items,
        importance=items.importance + preset.feedback * sign,
        access_counter=items.access_counter + sign,
    )
    return fed, int(np.count_nonzero(sign)), len(signs.keys() - row_of.keys())


def _decayed(items: LayerColumns, preset: LayerPreset) -> LayerColumns:
    """A step older: delta += 1, recency = exp(-delta / Q), importance *= alpha."""
    delta = items.delta + 1
    return replace(
        items,
        delta=delta,
        recency=_recency(delta, items.layer, preset),
        importance=items.importance * np.array(preset.alpha)[items.layer],
    )


def _recency(delta: NDArray[np.int64], layer: NDArray[np.int8], preset: LayerPreset) -> NDArray[np.float64]:
    """exp(-delta / Q): of each age and layer once and by the C library, whose digits numpy's vectors do not share."""
    recency = np.empty(len(delta))
    for code, stability in enumerate(preset.stability):
        mask = layer == code
        ages, place = np.unique(delta[mask], return_inverse=True)
        recency[mask] = np.array([math.exp(-(age / stability)) for age in ages.tolist()], dtype=np.float64)[
            place
        ]
    return recency


def flow(items: LayerColumns, preset: LayerPreset) -> tuple[LayerColumns, int, int]:
    """Two rounds of short up, mid down, mid up, long down; gives the items, how many moves up and how many down.

    Up: recency 1, delta 0. Down: recency stays; delta too, or 0 where the preset resets it.
    """
    layer, recency, delta = items.layer.copy(), items.recency.copy(), items.delta.copy()
    counts = {1: 0, -1: 0}
    for _ in range(ROUNDS):
        for code, move in ((SHORT, 1), (MID, -1), (MID, 1), (LONG, -1)):
            if move > 0:
                mask = (layer == code) & (items.importance >= preset.up[code])
                recency[mask], delta[mask] = 1.0, 0
            else:
                mask = (layer == code) & (items.importance < preset.down[code - 1])
                delta[mask] = 0 if preset.fall_resets else delta[mask]
            layer[mask] += move
            counts[move] += int(np.count_nonzero(mask))
    return replace(items, layer=layer, recency=recency, delta=delta), counts[1], counts[-1]
