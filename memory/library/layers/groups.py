"""Groups of items about one thing, by their vectors. Similarity is topic, not agreement: nothing contradicts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALIKE: Final = 0.85
"""The similarity that every pair of a group has at least."""
SMALLEST: Final = 4
"""Members: more than 3."""
_DIGITS: Final = 5
"""Of a similarity: beyond them it hangs on the order in which a library adds."""


def similarities(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cosines of unit `vectors` (n, d) with one another, (n, n), to 5 digits."""
    products = np.matmul(vectors, vectors.T).astype(np.float64)
    return np.asarray(products.round(_DIGITS), dtype=np.float64)


def similar_groups(vectors: NDArray[np.float32]) -> list[tuple[int, ...]]:
    """Groups of at least `SMALLEST` rows in which every pair is `ALIKE`; a row is in one of them at most.

    Greedy, and the same for the same rows in the same order: the row with the most neighbours begins a group, and the
    neighbour joins that keeps the most others eligible. Rows with too few neighbours are set aside first.
    """
    groups: list[tuple[int, ...]] = []
    if len(vectors) < SMALLEST:
        return groups
    alike = similarities(vectors)
    near = alike >= ALIKE
    np.fill_diagonal(near, val=True)
    free = np.ones(len(vectors), dtype=bool)
    degree = near.sum(axis=1)
    while _set_aside(near, free, degree):
        seed = int(np.where(free, degree, 0).argmax())
        group = _group(seed, alike, near, np.flatnonzero(near[seed] & free))
        is_group = len(group) >= SMALLEST
        _remove(near, free, degree, group if is_group else [seed])
        if is_group:
            groups.append(tuple(sorted(group)))
    return groups


def _group(
    seed: int, alike: NDArray[np.float64], near: NDArray[np.bool_], candidates: NDArray[np.int64]
) -> list[int]:
    """The seed and those of its neighbours that are all alike, grown one by one."""
    group, candidates = [seed], candidates[candidates != seed]
    while len(candidates):
        # of several that keep as many others eligible, the one nearest to the seed: a cosine decides between integers
        worth = near[np.ix_(candidates, candidates)].sum(axis=1) + alike[seed][candidates] / 2
        member = int(candidates[int(worth.argmax())])
        group.append(member)
        candidates = candidates[near[member][candidates] & (candidates != member)]
    return group


def _set_aside(near: NDArray[np.bool_], free: NDArray[np.bool_], degree: NDArray[np.int64]) -> bool:
    """Take out every row with fewer neighbours than a group needs; whether any is left."""
    while len(few := np.flatnonzero(free & (degree < SMALLEST))):
        _remove(near, free, degree, few.tolist())
    return bool(free.any())


def _remove(
    near: NDArray[np.bool_], free: NDArray[np.bool_], degree: NDArray[np.int64], rows: list[int]
) -> None:
    free[rows] = False
    degree -= near[:, rows].sum(axis=1)


def medoid(vectors: NDArray[np.float32], rows: Sequence[int]) -> int:
    """The row of the group that is most like the others, by the mean of its similarities; of several the first."""
    members = np.asarray(rows)
    alike = similarities(vectors[members])
    return int(members[int(alike.sum(axis=1).round(_DIGITS).argmax())])
