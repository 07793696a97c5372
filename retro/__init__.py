"""The slow mirror: hindsight reviews of what a trading agent did."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from retro.version import __version__ as __version__

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from retro.api import Mirror


def open(url: str, config: Path | None = None) -> Mirror:  # noqa: A001  read as retro.open
    """The mirror at a path or database URL: its reviews, and an agent's memory, as `config` (a file) has it."""
    from retro.api import open_mirror  # noqa: PLC0415  `import retro` stays light

    return open_mirror(url, config)


def __getattr__(name: str) -> ModuleType:
    """`retro.journal` after `import retro` alone, loaded when an agent first writes to one."""
    if name != "journal":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("retro.journal")
