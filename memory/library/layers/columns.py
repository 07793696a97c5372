"""The items of one agent and symbol as columns: what a step reads and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from memory.library.layers.preset import LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from numpy.typing import NDArray


_CODES: Final = {name: code for code, name in enumerate(LAYERS)}


@dataclass(frozen=True, slots=True)
class LayerState:
    """How one item stands in its layer.

    `importance` has no upper bound. `recency` = exp(-delta / Q) of the layer it decayed in. `delta`: steps since it
    came in or rose. `access_counter`: mentions that paid less those that did not.
    """

    id: str
    layer: str
    importance: float
    recency: float = 1.0
    delta: int = 0
    access_counter: int = 0


@dataclass(frozen=True, slots=True)
class LayerColumns:
    """The items, one a row: `ids` beside arrays of shape (n,); `layer` holds codes of `LAYERS`. Never written to."""

    ids: tuple[str, ...]
    layer: NDArray[np.int8]
    importance: NDArray[np.float64]
    recency: NDArray[np.float64]
    delta: NDArray[np.int64]
    access_counter: NDArray[np.int64]

    @classmethod
    def of(cls, states: Iterable[LayerState]) -> LayerColumns:
        """The columns of these items, in their order."""
        rows = tuple(states)
        return cls(
            tuple(row.id for row in rows),
            np.array([LAYERS.index(row.layer) for row in rows], dtype=np.int8),
            np.array([row.importance for row in rows], dtype=np.float64),
            np.array([row.recency for row in rows], dtype=np.float64),
            np.array([row.delta for row in rows], dtype=np.int64),
            np.array([row.access_counter for row in rows], dtype=np.int64),
        )

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]]) -> LayerColumns:
        """The columns of rows of id, layer, importance, recency, delta, access counter."""
        ids, layer, importance, recency, delta, access = zip(*rows, strict=True) if rows else ((),) * 6
        return cls(
            tuple(ids),
            np.array([_CODES[name] for name in layer], dtype=np.int8),
            np.array(importance, dtype=np.float64),
            np.array(recency, dtype=np.float64),
            np.array(delta, dtype=np.int64),
            np.array(access, dtype=np.int64),
        )

    @classmethod
    def unaged(cls, ids: tuple[str, ...], layers: Iterable[str], importance: Sequence[float]) -> LayerColumns:
        """The columns of items that no step has aged: recency 1, delta and access counter 0."""
        return cls(
            ids,
            np.array([_CODES[name] for name in layers], dtype=np.int8),
            np.array(importance, dtype=np.float64),
            np.ones(len(ids)),
            np.zeros(len(ids), dtype=np.int64),
            np.zeros(len(ids), dtype=np.int64),
        )

    def columns(self) -> tuple[Sequence[Any], ...]:
        """Ids, names of layers, importance, recency, delta, access counter, as plain values."""
        return (
            self.ids,
            [LAYERS[code] for code in self.layer.tolist()],
            self.importance.tolist(),
            self.recency.tolist(),
            self.delta.tolist(),
            self.access_counter.tolist(),
        )

    def states(self) -> tuple[LayerState, ...]:
        """The items as values, in their order."""
        figures = zip(
            self.ids,
            self.layer.tolist(),
            self.importance.tolist(),
            self.recency.tolist(),
            self.delta.tolist(),
            self.access_counter.tolist(),
            strict=True,
        )
        return tuple(LayerState(identity, LAYERS[layer], *row) for identity, layer, *row in figures)

    def __add__(self, other: LayerColumns) -> LayerColumns:
        """These items and, after them, others."""
        return LayerColumns(
            self.ids + other.ids,
            np.concatenate([self.layer, other.layer]),
            np.concatenate([self.importance, other.importance]),
            np.concatenate([self.recency, other.recency]),
            np.concatenate([self.delta, other.delta]),
            np.concatenate([self.access_counter, other.access_counter]),
        )

    def where(self, mask: NDArray[np.bool_]) -> LayerColumns:
        """The items where `mask` (n,) is true, in their order."""
        ids = self.ids if mask.all() else tuple(self.ids[row] for row in np.flatnonzero(mask).tolist())
        return LayerColumns(
            ids,
            self.layer[mask],
            self.importance[mask],
            self.recency[mask],
            self.delta[mask],
            self.access_counter[mask],
        )


EMPTY = LayerColumns.of(())
"""No items."""
