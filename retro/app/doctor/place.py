"""Is there a place for what we keep: the database, the disk under it, who may read it, and the secrets."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.errors import ConfigError, UsageError
from retro.evaluate.whatif.rule import parse_rule
from retro.figures import count
from retro.secret import SECRETS, find_secret
from retro.store.facts import agents
from retro.store.health import damage, server_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.doctor.check import Check, Installation
    from retro.config import Config

__all__ = ["CHECKS", "configuration", "database", "disk", "file_of", "permissions", "secrets"]

_MB: Final = 1 << 20
_LITTLE: Final = 1024 * _MB
_TOO_LITTLE: Final = 64 * _MB
_LARGE: Final = 1024 * _MB
_OTHERS: Final = 0o077


def file_of(config: Config) -> Path | None:
    """The file of a SQLite database, there or not; None for a server."""
    url = config.store.url
    return None if "://" in url else Path(url)


def configuration(house: Installation) -> Iterator[Check]:
    """Where the configuration comes from, and which shadow runs no rule."""
    file = house.config.file
    yield ok("configuration", "built-in defaults; `retro init` writes a file" if file is None else str(file))
    for table in house.config.shadow:
        try:
            parse_rule(table.rule)
        except UsageError as error:
            yield broken("configuration", f"[[shadow]] {table.name} does not run: {error}")


def database(house: Installation) -> Iterator[Check]:
    """What the database holds, and whether a small one is sound page by page."""
    if house.store is None:
        return
    with house.store.read() as conn:
        known_agents = agents.agents(conn)
        version = server_version(conn)
        path = house.store.path
        is_read = house.whole and path is not None and path.stat().st_size < _LARGE
        wrong = damage(conn) if is_read else None
    if wrong is not None:
        yield broken("database", f"{house.store.url} is damaged ({wrong}); restore it from a copy")
        return
    events = sum(agent.events for agent in known_agents)
    size = "" if path is None else f", {path.stat().st_size / _MB:,.1f} MB"
    kind = f"PostgreSQL {version}" if house.store.dialect == "postgresql" else f"SQLite {version}"
    contents = f"{count(len(known_agents), 'agent')}, {count(events, 'event')}"
    yield ok("database", f"{house.store.url}: {contents}{size}, {kind}")


def permissions(house: Installation) -> Iterator[Check]:
    """Whether we may write where the database is or will be, and who else may read it."""
    file = file_of(house.config)
    if file is None:
        return
    if not file.exists():
        place = _nearest(file.parent)
        if os.access(place, os.W_OK | os.X_OK):
            yield note("database", f"{file} is not there yet; the first `retro ingest` makes it")
        else:
            yield broken("database", f"{file} cannot be made: {place} may not be written")
        return
    for place in (file, file.parent):
        if not os.access(place, os.W_OK):
            yield broken("permissions", f"{place} may not be written by this user")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _OTHERS:
        yield note("permissions", f"others may read {file} (mode {mode:03o}); to keep them out: chmod 600 it")
    else:
        yield ok("permissions", "nobody else may read the database")


def disk(house: Installation) -> Iterator[Check]:
    """Room for the database to grow; a migration or a rollback journal may need its size again."""
    file = file_of(house.config)
    if file is None:
        return
    try:
        free = shutil.disk_usage(_nearest(file.parent)).free
    except OSError as error:
        yield note("disk", f"the free space cannot be read: {error.strerror or error}")
        return
    size = file.stat().st_size if file.exists() else 0
    summary = f"{free / _MB:,.0f} MB free"
    if free < _TOO_LITTLE:
        yield broken("disk", f"{summary}; make room before anything else is stored")
    elif free < max(_LITTLE, size):
        yield note("disk", f"{summary}; that is little")
    else:
        yield ok("disk", summary)


def secrets(house: Installation) -> Iterator[Check]:
    """Which secrets were given and from where, never what they are."""
    given = []
    for name in SECRETS:
        try:
            secret = find_secret(name, house.env)
        except ConfigError as error:
            yield broken("secrets", str(error))
            continue
        if secret is not None:
            given.append(f"{name} from {secret.origin}")
    yield ok("secrets", ", ".join(given) or "none was given; the numbers need none")


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))


CHECKS: Final = (
    Examination("configuration", configuration),
    Examination("database", database),
    Examination("permissions", permissions),
    Examination("disk", disk),
    Examination("secrets", secrets),
)
"""In the order in which they are told."""
