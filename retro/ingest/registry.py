"""The adapters there are: what a `[[source]]` may be, and what the rest of the house needs to know to read one.

A new adapter is a folder in this room and a row here; `tests/ingest/test_registry.py` says where else its name must
stand. Nothing is imported until a source is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retro.model import Batch

__all__ = ["ADAPTERS", "CORRECTED", "Adapter"]

CORRECTED: Final = "replaced by a later reading"
"""Why a fact was replaced that a source tells otherwise now."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one kind of source is read.

    `growth` says what reading it again means: `appended` sources grow at their end and are read on from there, of
    `folder` sources only the files that changed, `whole` ones from the start; those tell their present state, which
    corrects what an earlier reading told. `reader` is where its function stands, `module:function`; `options` are the
    keys of `[[source]]` it is called with. `beside` are endings of files that change with the source's own ("").
    `wants_candles`: without any it has no marks.
    """

    name: str
    reader: str
    growth: Literal["appended", "whole", "folder"]
    options: tuple[str, ...] = ()
    beside: tuple[str, ...] = ("",)
    wants_candles: bool = False

    @property
    def is_dated(self) -> bool:
        """Whether a reading says how far the source was seen, so that a later one corrects it and an earlier one does not."""
        return self.growth == "whole"

    def load(self) -> Callable[..., Iterator[Batch]]:
        """Its reader; imported now."""
        module, _, function = self.reader.partition(":")
        reader: Callable[..., Iterator[Batch]] = getattr(import_module(module), function)
        return reader

    def options_of(self, source: Any) -> dict[str, Any]:
        """What its reader is called with, from a `[[source]]` table."""
        return {name: getattr(source, name) for name in self.options}


_ALL: Final = (
    Adapter("journal", "retro.ingest.journal.reader:read", "appended"),
    Adapter(
        "freqtrade",
        "retro.ingest.freqtrade.reader:read",
        "whole",
        options=("agent", "candles"),
        beside=("", "-wal", "-journal"),
        wants_candles=True,
    ),
    Adapter("marks", "retro.ingest.candles:read", "folder"),
)

ADAPTERS: Final = {adapter.name: adapter for adapter in _ALL}
"""By the name that `kind` of a `[[source]]` and `retro ingest` have for them."""
