"""Replaying a run: steps of a file through the layers from nothing, as a pure function. Nothing is stored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from memory.errors import RefusedError
from memory.library.layers.columns import EMPTY, LayerState
from memory.library.layers.preset import LAYERS
from memory.library.layers.step import Feedback, step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.library.layers.preset import LayerPreset


class _Addition(msgspec.Struct, frozen=True):
    id: str
    layer: Literal["short", "mid", "long", "reflection"]
    importance: float | None = None


class _Mention(msgspec.Struct, frozen=True):
    id: str
    sign: Literal[1, -1]


class StepLine(msgspec.Struct, frozen=True):
    """A line of a run: the step's number, its trading day, what came in and what feedback named."""

    step: int
    date: str | None = None
    add: tuple[_Addition, ...] = ()
    feedback: tuple[_Mention, ...] = ()

    def additions(self, preset: LayerPreset, seed: str = "") -> tuple[LayerState, ...]:
        """What came in, as it begins; importance that is not stated is the preset's."""
        return tuple(
            LayerState(
                item.id,
                item.layer,
                preset.start_importance(LAYERS.index(item.layer), item.id, seed)
                if item.importance is None
                else item.importance,
            )
            for item in self.add
        )

    def mentions(self) -> tuple[Feedback, ...]:
        """What feedback named."""
        return tuple(Feedback(mention.id, mention.sign) for mention in self.feedback)


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a run came to: its counts, and the items that are left, in order of id (m2 before m10)."""

    preset: str
    steps: int
    added: int
    moved_up: int
    moved_down: int
    cleaned: int
    feedback: int
    skipped: int
    survivors: tuple[LayerState, ...]


_DECODER: Final = msgspec.json.Decoder(StepLine)
_PLACE: Final = re.compile(r"^(?P<reason>.*) - at `\$\.?(?P<field>.*)`$", re.DOTALL)


def read_step(text: bytes | str) -> StepLine:
    """The step of one line; `RefusedError` names the field."""
    try:
        line = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        match = _PLACE.match(str(error))
        raise RefusedError(f"{match['field']}: {match['reason']}" if match else str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(f"not JSON: {error}") from None
    if line.date is not None:
        try:
            date.fromisoformat(line.date)
        except ValueError:
            raise RefusedError(f"date: {line.date!r} is no day such as 2026-03-01") from None
    return line


def replay(
    lines: Iterable[bytes | str], preset: LayerPreset, where: str = "-", *, seed: str = ""
) -> ReplayResult:
    """Take a run through the layers, its steps numbered without gaps; `RefusedError` names file, line and field.

    Blank lines are skipped. `seed` decides draws of a preset that draws.
    """
    items, steps, last = EMPTY, 0, None
    added = up = down = cleaned = feedback = skipped = 0
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = read_step(text)
            _check_order(last, line.step)
            done = step(items, line.additions(preset, seed), line.mentions(), preset)
        except RefusedError as error:
            raise RefusedError(f"{where}:{number}: {error}") from None
        items, steps, last = done.items, steps + 1, line.step
        added, up, down = added + done.added, up + done.moved_up, down + done.moved_down
        cleaned += len(done.cleaned.ids)
        feedback, skipped = feedback + done.feedback, skipped + done.skipped
    survivors = tuple(sorted(items.states(), key=lambda state: _rank(state.id)))
    return ReplayResult(preset.name, steps, added, up, down, cleaned, feedback, skipped, survivors)


def _check_order(last: int | None, number: int) -> None:
    if last is not None and number != last + 1:
        raise RefusedError(f"step: {number} follows {last}; steps are numbered without gaps")


def _rank(identity: str) -> tuple[list[tuple[int, str]], str]:
    """The id's text and numbers by turns, numbers by their value."""
    parts = re.split(r"([0-9]+)", identity)
    return [
        (len(digits := part.lstrip("0")), digits) if place % 2 else (0, part)
        for place, part in enumerate(parts)
    ], identity
