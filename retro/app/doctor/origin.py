"""Where the packages lie that Python would import under our names: `memory` and `playbook` are names that others use."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from retro import version

__all__ = ["home", "is_ours", "origin_of"]


def home() -> Path:
    """The folder in which our packages lie side by side, in a checkout as in an installation."""
    return Path(version.__file__).resolve().parent.parent


def origin_of(package: str) -> Path | None:
    """The file that importing a package would run first; None when there is no such package, or it has no file."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve()


def is_ours(package: str) -> bool:
    """Whether the package of that name is the one beside `retro`."""
    return origin_of(package) == home() / package / "__init__.py"
