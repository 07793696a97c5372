"""Would anybody notice if it stood still: the address that is told of every run, and the machines that share the work."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from retro.app.doctor.check import Examination, broken, note, ok
from retro.figures import day_text, duration
from retro.periods import DAY, SECOND, format_instant
from retro.store.jobs.hosts import hosts_of_database
from retro.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from retro.app.doctor.check import Check, Installation
    from retro.store.jobs.hosts import Host

__all__ = ["CHECKS", "hosts", "ping", "records_folder"]

_PATIENCE_S: Final = 5.0
_LATE: Final = 2 * 3600 * SECOND


def ping(house: Installation) -> Iterator[Check]:
    """Whether the machine of `[service] ping_url` takes a connection; nothing is told to it, and its path not shown."""
    url = house.config.service.ping_url
    if url is None:
        yield note("ping", "no [service] ping_url: nobody outside notices when the service stands still")
        return
    parts = urlsplit(url)
    place = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((place, port), _PATIENCE_S).close()
    except OSError as error:
        yield broken(
            "ping", f"{place}:{port} takes no connection ({error.strerror or error}); it will call us dead"
        )
    else:
        yield ok("ping", f"{place}:{port} takes connections; it is told of each run")


def records_folder(house: Installation) -> Iterator[Check]:
    """Whether experiments and hypotheses can be written where the configuration wants them."""
    if not house.config.memory.records:
        return
    folder = house.config.memory.directory
    place = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    if not place.is_dir():
        why = f"{folder} cannot be made: {place} is no directory; [memory] directory names another"
        yield broken("records folder", why)
    elif not os.access(place, os.W_OK | os.X_OK):
        why = f"{place} may not be written by this user; [memory] directory names another"
        yield broken("records folder", why)
    elif folder.exists():
        yield ok("records folder", f"{folder} can be written")


def hosts(house: Installation) -> Iterator[Check]:
    """Which machines work on the database, since when one is silent, and what several have to share."""
    if house.store is None:
        return
    with house.store.read() as conn:
        known_hosts = hosts_of_database(conn)
    at_work = [host for host in known_hosts if house.now - host.knocked_at < 7 * DAY]
    for host in at_work:
        yield _host(host, house.now)
    if len(at_work) < 2:
        return
    names = ", ".join(host.name for host in at_work)
    if house.store.dialect == "sqlite":
        yield broken("hosts", f"{names} have worked on one SQLite file; several machines need PostgreSQL")
        return
    folders = ", ".join(sorted({str(path) for path in _local_folders(house)}))
    yield note(
        "hosts", f"{names} share the work; each writes its own {folders}, unless those are shared folders"
    )


def _host(host: Host, now: int) -> Check:
    silent = now - host.knocked_at
    if silent > _LATE:
        since = day_text(format_instant(host.knocked_at))
        return note(
            "hosts", f"{host.name} last worked {duration(silent / SECOND)} ago ({since}); is `retro run` up?"
        )
    if host.version != __version__:
        return note(
            "hosts", f"{host.name} runs version {host.version}, this is {__version__}; upgrade all together"
        )
    return ok("hosts", f"{host.name} worked {duration(max(0, silent) / SECOND)} ago")


def _local_folders(house: Installation) -> Iterator[Path | str]:
    yield "reviews/"
    if house.config.memory.records:
        yield house.config.memory.directory


CHECKS: Final = (
    Examination("ping", ping),
    Examination("records folder", records_folder),
    Examination("hosts", hosts),
)
"""In the order in which they are told."""
