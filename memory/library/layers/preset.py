"""The settings of the layers as values: two published systems as their code has them, and our own.

`investor_bench` and `finmem` are what the code of INVESTOR-BENCH and FinMem does, not what their papers say. In `own` a
long item really is long: falling begins a layer anew, `up` and `down` lie apart, and long memories halve in 693 steps.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from memory.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

LAYERS: Final = ("short", "mid", "long", "reflection")
"""The layers in order of their codes 0 to 3; only the first three flow into one another."""
SHORT, MID, LONG, REFLECTION = range(4)

_DRAWS: Final = 2.0**64


@dataclass(frozen=True, slots=True)
class StartDraw:
    """A start importance that is drawn: one of `values`, the n-th with probability `shares[n]` (they sum to 1)."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    def of(self, share: float) -> float:
        """The value at a uniform `share` in [0, 1): the first whose cumulative probability lies above it."""
        total = 0.0
        for value, part in zip(self.values, self.shares, strict=True):
            total += part
            if share < total:
                return value
        return self.values[-1]


@dataclass(frozen=True, slots=True)
class LayerPreset:
    """How layers behave. Tuples of four hold a figure per layer, in the order of `LAYERS`.

    `start`: importance of an item that states none. `stability`: Q, in steps. `alpha`: what importance is multiplied by
    each step. `up`: importance from which a short and a mid item rise; `down`: below which a mid and a long item fall.
    `clean_recency`, `clean_importance`: below either an item is cleaned up. `feedback`: what one mention adds or takes.
    `look_back`: steps over which a price judges a mention; None: the position's own result does. `fall_resets`: whether
    a fall sets delta to 0.
    """

    name: str
    start: tuple[StartDraw, StartDraw, StartDraw, StartDraw]
    stability: tuple[float, float, float, float]
    alpha: tuple[float, float, float, float]
    up: tuple[float, float]
    down: tuple[float, float]
    clean_recency: tuple[float, float, float, float]
    clean_importance: tuple[float, float, float, float]
    feedback: float
    look_back: int | None
    fall_resets: bool

    def start_importance(self, layer: int, identity: str, seed: str = "") -> float:
        """What an item begins with that states nothing: drawn by its id and the seed alone, so in any order alike."""
        draw = self.start[layer]
        if len(draw.values) == 1:
            return draw.values[0]
        digest = hashlib.blake2b(f"{seed}\0{identity}".encode(errors="surrogatepass"), digest_size=8).digest()
        return draw.of(int.from_bytes(digest, "little") / _DRAWS)

    def with_clean_up(
        self, *, recency: Mapping[str, float] | None = None, importance: Mapping[str, float] | None = None
    ) -> LayerPreset:
        """The same with other clean-up thresholds, by name of layer."""
        return replace(
            self,
            clean_recency=_changed(self.clean_recency, recency or {}),
            clean_importance=_changed(self.clean_importance, importance or {}),
        )


def _changed(
    figures: tuple[float, float, float, float], changes: Mapping[str, float]
) -> tuple[float, float, float, float]:
    short, mid, long, reflection = (
        changes.get(name, figure) for name, figure in zip(LAYERS, figures, strict=True)
    )
    return short, mid, long, reflection


def _constant(*values: float) -> tuple[StartDraw, StartDraw, StartDraw, StartDraw]:
    short, mid, long, reflection = (StartDraw((value,), (1.0,)) for value in values)
    return short, mid, long, reflection


_CLEAN_RECENCY: Final = (0.05, 0.05, 0.05, 0.05)
_CLEAN_IMPORTANCE: Final = (5.0, 5.0, 5.0, 5.0)

INVESTOR_BENCH: Final = LayerPreset(
    name="investor_bench",
    start=_constant(50.0, 60.0, 90.0, 80.0),
    stability=(3.0, 90.0, 365.0, 365.0),
    alpha=(0.92, 0.96, 0.96, 0.98),
    up=(55.0, 85.0),
    down=(55.0, 85.0),
    clean_recency=_CLEAN_RECENCY,
    clean_importance=_CLEAN_IMPORTANCE,
    feedback=18.0,
    look_back=3,
    fall_resets=False,
)
"""Source: configs/main.json and src/memory_db.py of INVESTOR-BENCH; recorded runs replay by it."""

_FINMEM_LONG: Final = StartDraw((40.0, 60.0, 80.0), (0.05, 0.15, 0.80))

FINMEM: Final = LayerPreset(
    name="finmem",
    start=(
        StartDraw((50.0, 70.0, 90.0), (0.50, 0.45, 0.05)),
        StartDraw((40.0, 60.0, 80.0), (0.05, 0.80, 0.15)),
        _FINMEM_LONG,
        _FINMEM_LONG,
    ),
    stability=(3.0, 90.0, 365.0, 365.0),
    alpha=(0.92, 0.967, 0.988, 0.988),
    up=(60.0, 80.0),
    down=(60.0, 80.0),
    clean_recency=_CLEAN_RECENCY,
    clean_importance=_CLEAN_IMPORTANCE,
    feedback=5.0,
    look_back=7,
    fall_resets=False,
)
"""Source: config/tsla_*_config.toml of FinMem, with 5 a mention where its code multiplies by a running count."""

OWN: Final = LayerPreset(
    name="own",
    start=_constant(50.0, 60.0, 90.0, 80.0),
    stability=(14.0, 90.0, 365.0, 365.0),
    # .995 for long would bring 90 below 60 on step 81 and, through mid and short, to its end on step 145
    alpha=(0.97, 0.98, 0.999, 0.995),
    up=(60.0, 85.0),
    down=(40.0, 60.0),
    clean_recency=_CLEAN_RECENCY,
    clean_importance=_CLEAN_IMPORTANCE,
    feedback=10.0,
    look_back=None,
    fall_resets=True,
)
"""The default."""

PRESETS: Final = {preset.name: preset for preset in (INVESTOR_BENCH, FINMEM, OWN)}


def layer_preset(name: str) -> LayerPreset:
    """The preset of that name; `RefusedError` names those there are."""
    if name not in PRESETS:
        raise RefusedError(f"there is no preset {name!r} of layers; there are {', '.join(PRESETS)}")
    return PRESETS[name]
