"""A run of steps through the layers, as a pure question: nothing is stored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.errors import RefusedError
from memory.library.layers.preset import LAYERS, layer_preset
from memory.library.layers.replay import ReplayResult, replay
from retro.app.experience.door import translate_memory_errors
from retro.errors import InputError, UsageError
from retro.ingest.source import open_source, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ReplayQuestion", "replay_file", "texts_of", "threshold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayQuestion:
    """The run in `path`, - for stdin, by a preset; thresholds of clean-up by name of layer take the preset's place.

    `seed` decides what a preset draws.
    """

    path: str
    preset: str
    seed: str = ""
    clean_recency: Mapping[str, float] = field(default_factory=dict)
    clean_importance: Mapping[str, float] = field(default_factory=dict)


def threshold(text: str, option: str) -> tuple[str, float]:
    """The layer and figure in LAYER=X; `UsageError` says what is wrong with it."""
    layer, _, figure = text.partition("=")
    try:
        value = float(figure)
    except ValueError:
        value = math.nan
    if layer not in LAYERS or not math.isfinite(value):
        raise UsageError(f"{option} takes LAYER=X, such as short=0.05; layers are {', '.join(LAYERS)}")
    return layer, value


def replay_file(question: ReplayQuestion) -> ReplayResult:
    """Take the run through the layers from nothing; an error names the line and field."""
    with translate_memory_errors():
        preset = layer_preset(question.preset).with_clean_up(
            recency=question.clean_recency, importance=question.clean_importance
        )
    where = "stdin" if question.path == "-" else question.path
    try:
        return replay(texts_of(question.path), preset, where, seed=question.seed)
    except RefusedError as error:
        raise InputError(str(error)) from error


def texts_of(path: str) -> Iterator[bytes]:
    """The lines of a file (.gz too, - for stdin); `InputError` for one that has no text."""
    with open_source(path) as stream:
        for part in read_lines(stream):
            if part.fault is not None:
                raise InputError(f"{'stdin' if path == '-' else path}:{part.first}: {part.fault}")
            yield from part.texts
