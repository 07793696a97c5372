"""Episodes as columns: what recall, beliefs, habits and the state compute on, in order of (at, id).

A number that is not stated is `MISSING` (+inf) in a context column and NaN in an outcome column; neither leaves this
package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from memory.situation.context import MISSING_CODE, Codes, Floats, Registry, code, lenient

if TYPE_CHECKING:
    from memory.episodic.episode import Episode

Packed = npt.NDArray[np.void]
Identities = Callable[[Sequence[int]], Mapping[int, str]]

NEVER: Final = 2**63 - 1
"""The instant after every other: an episode that no review has judged."""
FOREVER: Final = NEVER - 1
"""The last instant there can be: as of it, everything told is known."""
_STATED_HALF: Final = 0.5
_FIXED: Final = (
    ("at", "<i8"),
    ("head", "<u8"),
    ("tail", "<u8"),
    ("r", "<f8"),
    ("pnl", "<f8"),
    ("conf", "<f8"),
    ("strategy", "<i8"),
    ("symbol", "<i8"),
    ("direction", "<i8"),
)
_KEPT: Final = ("at", "r", "pnl", "conf", "strategy", "symbol", "direction")


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeColumns:
    """n episodes of one agent, ordered by (at, id); every array has shape (n,).

    `at` microseconds; `r` outcome in R, `pnl` in money, NaN where there is none; `conf` = .5 + .5 stated confidence
    (a missing one counts .5); `strategy`, `symbol`, `direction` category codes; `context` the registered fields'
    columns in the registry's order; `number` the position in the ledger; `judged` the instant from which a review
    has boosted the episode, `NEVER` without one.
    """

    at: Codes
    r: Floats
    pnl: Floats
    conf: Floats
    strategy: Codes
    symbol: Codes
    direction: Codes
    context: tuple[npt.NDArray[Any], ...]
    number: Codes
    judged: Codes
    reviewed: int = 0
    memo: dict[Any, Any] = field(default_factory=dict)
    """What has been computed from these columns for one instant; it is dropped with them."""

    def __len__(self) -> int:
        return len(self.at)

    @property
    def nbytes(self) -> int:
        """Bytes held by all columns together."""
        own = (*(getattr(self, name) for name in (*_KEPT, "number", "judged")), *self.context)
        return sum(int(column.nbytes) for column in own)

    @property
    def latest(self) -> int | None:
        """The newest `at`, or None without episodes."""
        return int(self.at[-1]) if len(self.at) else None

    @property
    def complete_at(self) -> int:
        """The instant from which everything told is known: of the newest episode or review; 0 without episodes."""
        return max(self.latest or 0, self.reviewed)

    def until(self, as_of: int) -> int:
        """How many episodes were known at that instant: those with at <= as_of stand first."""
        return int(np.searchsorted(self.at, as_of, side="right"))


def _map(
    columns: EpisodeColumns, change: Callable[[npt.NDArray[Any], str], npt.NDArray[Any]]
) -> EpisodeColumns:
    """The columns with every array changed; `change` is told the array's name, `x0`.. for the context."""
    named: dict[str, Any] = {
        name: change(getattr(columns, name), name) for name in (*_KEPT, "number", "judged")
    }
    context = tuple(change(column, f"x{position}") for position, column in enumerate(columns.context))
    return replace(columns, **named, context=context, memo={})


@lru_cache(maxsize=32)
def layout_of(registry: Registry) -> np.dtype[np.void]:
    """The record type of a packed episode: little-endian, the registry's fields as x0, x1, ..."""
    own = [(f"x{i}", "<i8" if f.kind == "category" else "<f8") for i, f in enumerate(registry.fields)]
    return np.dtype([*_FIXED, *own])


def pack(episodes: Iterable[Episode], registry: Registry) -> Packed:
    """One record per episode, in the order given."""
    rows = [
        (
            episode.at,
            *_prefix(episode.id),
            math.nan if episode.pnl_r is None else episode.pnl_r,
            math.nan if episode.pnl is None else episode.pnl,
            0.5 + 0.5 * (_STATED_HALF if episode.confidence is None else episode.confidence),
            _code(episode.strategy),
            _code(episode.symbol),
            _code(episode.direction),
            *(lenient(item, episode.context.get(item.name)) for item in registry.fields),
        )
        for episode in episodes
    ]
    return np.array(rows, dtype=layout_of(registry))


def _code(text: str | None) -> int:
    return MISSING_CODE if text is None else code(text)


def _prefix(identity: str) -> tuple[int, int]:
    """The first 16 bytes of an id as two numbers that sort as the id does."""
    raw = identity.encode("utf-8")[:16].ljust(16, b"\0")
    return int.from_bytes(raw[:8], "big"), int.from_bytes(raw[8:], "big")


def arranged(
    packed: Packed, numbers: Codes, judged: Codes, identities: Identities, reviewed: int = 0
) -> EpisodeColumns:
    """Columns in order of (at, id); `numbers` and `judged` run parallel to `packed`.

    `identities` looks up whole ids and is asked only about episodes that share instant and the id's first 16 bytes.
    """
    # episodes mostly arrive in order of time, and then there is nothing to sort
    at = packed["at"]
    order = None
    if len(at) > 1 and not bool(np.all(at[1:] > at[:-1])):
        order = np.lexsort((packed["tail"], packed["head"], at))
        keys = packed[["at", "head", "tail"]][order]
        # 16 bytes of the id settle nearly every tie; whole ids are read from the ledger for the rest alone
        ties = keys[1:] == keys[:-1]
        for start, stop in _runs(ties):
            run = order[start:stop]
            ids = identities([int(numbers[i]) for i in run])
            order[start:stop] = sorted(run, key=lambda i: ids[int(numbers[i])])

    def column(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(values) if order is None else values[order]

    own = [name for name in packed.dtype.names or () if name.startswith("x")]
    named: dict[str, Any] = {name: column(packed[name]) for name in _KEPT}
    return EpisodeColumns(
        **named,
        context=tuple(column(packed[name]) for name in own),
        number=column(numbers),
        judged=column(judged),
        reviewed=reviewed,
    )


def _runs(ties: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open stretches of equal neighbours, from `ties[i]`: row i equals row i + 1."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], ties.astype(np.int8), [0]))))
    return [(int(start), int(stop) + 1) for start, stop in edges.reshape(-1, 2)]


def merged(columns: EpisodeColumns, additions: EpisodeColumns, identities: Identities) -> EpisodeColumns:
    """Both, in order of (at, id); the result equals arranging all of them at once."""
    places = np.searchsorted(columns.at, additions.at, side="right")
    tied = np.unique(additions.at[np.searchsorted(columns.at, additions.at, side="left") < places])
    context = {f"x{position}": column for position, column in enumerate(additions.context)}
    newer = bool(len(places)) and bool(places[0] == len(columns))  # the usual case, and much cheaper

    def inserted(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
        new = context[name] if name in context else getattr(additions, name)
        return np.concatenate((values, new)) if newer else np.insert(values, places, new)

    result = _map(columns, inserted)
    if not len(tied):
        return result
    order = np.arange(len(result))
    for instant in tied:
        start, stop = (
            np.searchsorted(result.at, instant, "left"),
            np.searchsorted(result.at, instant, "right"),
        )
        run = order[start:stop]
        ids = identities([int(result.number[i]) for i in run])
        order[start:stop] = sorted(run, key=lambda i: ids[int(result.number[i])])
    return _map(result, lambda values, _: values[order])


def rejudged(columns: EpisodeColumns, judgements: Sequence[tuple[int, int]]) -> EpisodeColumns:
    """The columns with these (episode number, instant) judgements applied: the earliest instant counts."""
    if not judgements:
        return columns
    earliest: dict[int, int] = {}
    for number, at in judgements:
        earliest[number] = min(at, earliest.get(number, at))
    numbers = np.fromiter(earliest, dtype=np.int64, count=len(earliest))
    places = np.flatnonzero(np.isin(columns.number, numbers))
    judged = columns.judged.copy()
    for place in places:
        judged[place] = min(judged[place], earliest[int(columns.number[place])])
    return replace(
        columns, judged=judged, reviewed=max(columns.reviewed, *(at for _, at in judgements)), memo={}
    )


def of_episodes(episodes: Sequence[Episode], registry: Registry) -> EpisodeColumns:
    """Columns of episodes held in memory, numbered by their position in the sequence."""
    numbers = np.arange(len(episodes), dtype=np.int64)
    judged = np.full(len(episodes), NEVER, dtype=np.int64)
    packed = pack(episodes, registry)
    return arranged(packed, numbers, judged, lambda wanted: {i: episodes[i].id for i in wanted})
