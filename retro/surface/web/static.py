"""The files that pages ask for: script, style and icon, each under a name that holds a digest of it.

A file that is put into the folder `static` is served, and a script in it stands on every page. Another content is
another address, so a browser may keep what it has for ever.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from retro.present.screen import STYLE_PREFIX, style_name, style_text

__all__ = ["StaticFile", "icon_address", "script_addresses", "static_file"]

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_STYLE_TYPE: Final = "text/css; charset=utf-8"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent."""

    type: str
    content: bytes


def static_file(name: str) -> StaticFile | None:
    """The file of a name as pages write it, with its digest; None where there is none."""
    return _manifest().get(name)


def script_addresses() -> tuple[str, ...]:
    """Where the scripts of every page are, in the order of their names."""
    return tuple(f"{STYLE_PREFIX}{name}" for name in _manifest() if name.endswith(".js"))


def icon_address() -> str:
    """Where the icon of every page is."""
    return next(f"{STYLE_PREFIX}{name}" for name in _manifest() if name.endswith(".svg"))


@cache
def _manifest() -> dict[str, StaticFile]:
    """Every file by its name, read once."""
    files = {style_name(): StaticFile(_STYLE_TYPE, style_text().encode())}
    for path in sorted(_FOLDER.iterdir()):
        if path.suffix in _TYPES:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:12]
            files[f"{path.stem}.{digest}{path.suffix}"] = StaticFile(_TYPES[path.suffix], content)
    return files
