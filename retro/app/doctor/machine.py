"""Is the machine fit: Python, the SQLite library, our packages and nobody else's of the same name, the extras."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sqlite3
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro import version
from retro.app.doctor.check import Examination, broken, note, ok
from retro.app.doctor.origin import home, is_ours, origin_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "extras", "packages", "python", "sqlite_library"]

_DISTRIBUTION: Final = "slow-mirror"
_OURS: Final = ("retro", "memory", "playbook")
_OLDEST_PYTHON: Final = (3, 11)
_WAL_MENDED: Final = (3, 51, 3)
_EXTRAS: Final = {
    "postgres": ("psycopg", "PostgreSQL"),
    "freqtrade": ("pyarrow", "Feather and Parquet candles"),
    "mcp": ("mcp", "`retro mcp`"),
}


def python(_: Installation) -> Iterator[Check]:
    """The interpreter, and where we run from."""
    versions = (
        f"{platform.python_version()}, slow-mirror {version.__version__} in {Path(version.__file__).parent}"
    )
    if sys.version_info < _OLDEST_PYTHON:
        yield broken("python", f"{versions}; 3.11 or newer is needed")
    else:
        yield ok("python", versions)


def sqlite_library(_: Installation) -> Iterator[Check]:
    """The library's version, and the bug that databases in WAL mode have before 3.51.3."""
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= _WAL_MENDED:
        yield ok("sqlite", version)
        return
    yield note(
        "sqlite",
        f"{version} can damage databases in WAL mode (mended in 3.51.3); ours keep a rollback journal and are"
        " safe: leave them so",
    )


def packages(_: Installation) -> Iterator[Check]:
    """Whether `memory` and `playbook`, names that others use too, are ours."""
    strangers = []
    for name in _OURS:
        if not is_ours(name):
            origin = origin_of(name)
            place = "missing" if origin is None else f"{origin.parent}, not {home() / name}"
            strangers.append(f"{name} is {place}")
    if strangers:
        yield broken("packages", f"{'; '.join(strangers)}: install slow-mirror in an environment of its own")
        return
    owners = _owners()
    foreign_owners = sorted(
        {owner for name in _OURS for owner in owners.get(name, ()) if owner != _DISTRIBUTION}
    )
    if foreign_owners:
        names = ", ".join(foreign_owners)
        yield broken(
            "packages",
            f"{names} installs packages of the same names; install slow-mirror in an environment of its own",
        )
        return
    yield ok("packages", "retro, memory and playbook are ours")


@cache
def _owners() -> Mapping[str, list[str]]:
    """Package -> the distributions that install it; read once a process, for it takes most of an examination."""
    return importlib.metadata.packages_distributions()


def extras(_: Installation) -> Iterator[Check]:
    """Which optional parts are installed, and how to get the others."""
    missing = {extra for extra, (module, _) in _EXTRAS.items() if importlib.util.find_spec(module) is None}
    installed = [label for extra, (_, label) in _EXTRAS.items() if extra not in missing]
    if installed:
        yield ok("extras", f"{', '.join(installed)} can be used")
    for extra in sorted(missing):
        yield note("extras", f'{_EXTRAS[extra][1]}: not installed; pip install "slow-mirror[{extra}]"')


CHECKS: Final = (
    Examination("python", python),
    Examination("sqlite library", sqlite_library),
    Examination("packages", packages),
    Examination("extras", extras),
)
"""In the order in which they are told."""
