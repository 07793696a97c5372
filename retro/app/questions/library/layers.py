"""The layers of an agent: taking one step of a symbol, and how they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.errors import RefusedError
from memory.library.layers.preset import layer_preset
from memory.library.layers.replay import read_step
from memory.library.steps import Addition, layers, step_layers
from memory.store import library
from retro.app.questions.library.replays import texts_of
from retro.errors import InputError, UnknownError, UsageError

if TYPE_CHECKING:
    from memory.library.layers.replay import StepLine
    from memory.library.steps import LayersReport, SteppedLayers
    from retro.app.questions.experience import Experience

__all__ = ["LayersQuestion", "StepOrder", "layers_of", "library_agent", "take_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOrder:
    """One step of a symbol at an instant, with what the file at `path` names (None: nothing comes in, no feedback)."""

    agent: str
    symbol: str
    at: int
    path: str | None = None
    preset: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersQuestion:
    """The layers of an agent, of one symbol or of all together."""

    agent: str
    symbol: str | None = None


def library_agent(experience: Experience, name: str | None) -> str:
    """The agent whose library is meant: the named one, or the only one that has any."""
    with experience.reading() as conn:
        names = sorted({*filter(None, library.agents(conn)), *experience.agents()})
    if name is not None:
        return name if name in names else experience.agent(name)
    if not names:
        raise UnknownError("the library is empty; start with `retro library add FILE`")
    if len(names) > 1:
        raise UsageError(f"several agents; choose one with --agent: {', '.join(names)}")
    return names[0]


def take_step(experience: Experience, order: StepOrder) -> SteppedLayers:
    """Take the step, in one transaction; an error names file, line and field, and nothing has changed then."""
    line = None if order.path is None else _only_step(order.path)
    preset = order.preset or experience.config.memory.layers
    with experience.writing() as conn:
        return step_layers(
            conn,
            order.agent,
            order.symbol,
            at=order.at,
            preset=layer_preset(preset),
            additions=[] if line is None else [Addition(x.id, x.layer, x.importance) for x in line.add],
            feedback=() if line is None else line.mentions(),
        )


def _only_step(path: str) -> StepLine:
    """The step in a file that holds one."""
    where, step = "stdin" if path == "-" else path, None
    for number, text in enumerate(texts_of(path), start=1):
        if not text.strip():
            continue
        if step is not None:
            raise InputError(f"{where}:{number}: a second step; `retro library step` takes one at a time")
        try:
            step = read_step(text)
        except RefusedError as error:
            raise InputError(f"{where}:{number}: {error}") from error
    if step is None:
        raise InputError(f"{where}: holds no step")
    return step


def layers_of(experience: Experience, question: LayersQuestion) -> LayersReport:
    """How the layers stand, and what the steps so far did."""
    with experience.reading() as conn:
        return layers(conn, question.agent, question.symbol)
